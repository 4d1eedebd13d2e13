/*
 * Measures bytes and connections over TCP, for the benchmarks in network.py. The same client runs
 * behind each network, so that only the network differs. The client prints nanoseconds.
 *
 * usage: transfer serve ADDRESS PORT
 *        transfer get|put ADDRESS PORT BYTES      one connection, BYTES of data
 *        transfer connect ADDRESS PORT COUNT      COUNT connections, one after the other
 *
 * First the client sends a struct wish, which says how many bytes each side sends. The server
 * serves one connection at a time.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"

#define CHUNK_BYTES (256u << 10)
#define BACKLOG 64

struct wish {
	uint64_t get_bytes, put_bytes;
};

static char chunk[CHUNK_BYTES];

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static void send_bytes(int fd, uint64_t n)
{
	while (n > 0) {
		size_t k = n < sizeof(chunk) ? (size_t)n : sizeof(chunk);

		if (io_write_all(fd, chunk, k) < 0)
			die("send");
		n -= k;
	}
}

static void receive_bytes(int fd, uint64_t n)
{
	while (n > 0) {
		ssize_t k = read(fd, chunk, n < sizeof(chunk) ? (size_t)n : sizeof(chunk));

		if (k <= 0)
			die("receive");
		n -= (uint64_t)k;
	}
}

static struct sockaddr_in parse_place(const char *address, const char *port)
{
	struct sockaddr_in place = { .sin_family = AF_INET };
	uint64_t number;

	if (inet_pton(AF_INET, address, &place.sin_addr) != 1 ||
	    parse_u64(port, 1, 65535, &number) < 0)
		exit(2);
	place.sin_port = htons((uint16_t)number);
	return place;
}

static _Noreturn void serve(struct sockaddr_in place)
{
	const int on = 1;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(listener, (struct sockaddr *)&place, sizeof(place)) < 0 ||
	    listen(listener, BACKLOG) < 0)
		die("listen");
	puts("ready");
	fflush(stdout);
	for (;;) {
		AUTO_FD fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		struct wish w;

		if (fd < 0)
			die("accept");
		if (io_read_exact(fd, &w, sizeof(w)) < 0)
			continue;
		receive_bytes(fd, w.put_bytes);
		send_bytes(fd, w.get_bytes);
		send_bytes(fd, 1); /* one more byte tells the client that everything has arrived */
	}
}

static void exchange(struct sockaddr_in place, struct wish w)
{
	const int on = 1;
	AUTO_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&place, sizeof(place)) < 0)
		die("connect");
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    io_write_all(fd, &w, sizeof(w)) < 0)
		die("ask");
	send_bytes(fd, w.put_bytes);
	receive_bytes(fd, w.get_bytes + 1);
}

int main(int argc, char **argv)
{
	struct sockaddr_in place;
	uint64_t n = 0, begin;

	if (argc < 4)
		return 2;
	place = parse_place(argv[2], argv[3]);
	if (strcmp(argv[1], "serve") == 0)
		serve(place);
	if (argc != 5 || parse_u64(argv[4], 1, UINT64_MAX / 2, &n) < 0)
		return 2;
	begin = clock_mono_ns();
	if (strcmp(argv[1], "get") == 0)
		exchange(place, (struct wish){ .get_bytes = n });
	else if (strcmp(argv[1], "put") == 0)
		exchange(place, (struct wish){ .put_bytes = n });
	else
		for (uint64_t i = 0; i < n; i++)
			exchange(place, (struct wish){ 0 });
	printf("%llu\n", (unsigned long long)(clock_mono_ns() - begin));
	return 0;
}
