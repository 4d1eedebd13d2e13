/*
 * Sends any bytes to the skill worker (skills/serve.h), as a hijacked server could. The worker must
 * end or answer, and nothing may appear outside of its skills root. Many inputs share one root, so
 * later requests find what earlier requests made.
 *
 * If the first byte is odd, the rest is the raw stream. Otherwise the rest is the body of one
 * request.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/erase.h"
#include "skills/serve.h"
#include "wire/skills.h"

#define BYTES_MAX 32768u  /* as much as a socket holds, so that no write blocks */
#define ROOT_INPUTS 1000u /* after this many inputs the root is emptied */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOP_PARENT "/tmp"

static char top[] = TOP_PARENT "/cordon-fuzz-skills-XXXXXX";
static struct places places;
static unsigned inputs;

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void erase(const char *parent, const char *name)
{
	AUTO_FD fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	check(fd >= 0 && erase_tree(fd, name) == 0);
}

static void remove_top(void)
{
	erase(TOP_PARENT, top + sizeof(TOP_PARENT));
}

static void open_root(void)
{
	AUTO_FREE char *root = NULL;
	struct err e;

	if (!inputs)
		check(mkdtemp(top) && atexit(remove_top) == 0);
	else
		places_done(&places);
	root = xasprintf("%s/root", top);
	erase(top, "root");
	check(places_open(root, NULL, NULL, &places, &e) == 0);
}

/* Checks that the directory above the root holds the root and nothing else. */
static void check_outside(void)
{
	DIR *d = opendir(top);
	const struct dirent *entry;

	check(d != NULL);
	while ((entry = readdir(d)))
		check(strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		      strcmp(entry->d_name, "root") == 0);
	closedir(d);
}

static void send_input(int sock, const char *p, size_t n, bool raw)
{
	AUTO_BUF b = BUF_INIT(SKILLS_HEAD_BYTES + BYTES_MAX);

	if (!raw)
		skills_message_begin(&b);
	buf_add(&b, p, n);
	if (!raw)
		skills_message_end(&b);
	check(send(sock, buf_str(&b), b.n, MSG_DONTWAIT) == (ssize_t)b.n);
	check(shutdown(sock, SHUT_WR) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct timeval soon = { .tv_usec = 100000 };
	struct err e;
	int pair[2];

	if (size < 2 || size > BYTES_MAX)
		return 0;
	if (inputs % ROOT_INPUTS == 0)
		open_root();
	inputs++;
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	/* nobody reads the answers: a worker whose answers do not fit into the socket ends */
	check(setsockopt(pair[1], SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon)) == 0);
	send_input(pair[0], (const char *)data + 1, size - 1, data[0] & 1);
	IGNORE(serve(pair[1], &places, &e)); /* the stream may break the protocol */
	close(pair[0]);
	close(pair[1]);
	check_outside();
	return 0;
}
