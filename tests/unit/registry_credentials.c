/*
 * Secrets in memory. The tests look for a password in the whole heap of this process, also in
 * memory that was freed. The password is put together on the stack, which they do not search.
 */
#include "registry/credentials.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/erase.h"
#include "base/io.h"
#include "t.h"

#define REGISTRY "registry.example"

static char dir[] = "/tmp/registry_credentials.XXXXXX";

/* Puts a password of 40 characters into TO. malloc() itself overwrites the first 16 bytes of a
 * freed block, so is_in() looks only for the last 24 characters. */
static void spell(char to[41])
{
	for (unsigned i = 0; i < 40; i++)
		to[i] = (char)('a' + (i * i + 7 * i) % 23);
	to[40] = '\0';
}

static bool is_in(const char *from, const char *to)
{
	char secret[41];

	spell(secret);
	for (const char *p = from; p + 24 <= to; p++)
		if (memcmp(p, secret + 16, 24) == 0)
			return true;
	return false;
}

static bool is_in_heap(void)
{
	char line[512];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "re");

	setvbuf(maps, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (strstr(line, "[heap]") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			found |= is_in((const char *)from, (const char *)to); // NOLINT
	}
	fclose(maps);
	return found;
}

/* Writes a file whose text contains the password instead of %s. */
static void put(const char *name, const char *format, mode_t mode)
{
	char secret[41], path[256], text[512];
	int fd;

	spell(secret);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(text, sizeof(text), format, secret);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	T_INT(io_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static int find(struct err *e)
{
	const struct settings none = { 0 };
	struct credentials c;
	AUTO_FD home = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = credentials_find(home, &none, REGISTRY, &c, e);
	char secret[41];

	spell(secret);
	if (r < 0)
		return r;
	T_STR(c.password, secret);
	T_TRUE(is_in_heap());
	credentials_done(&c);
	return r;
}

static void a_good_answer_of_a_helper_is_wiped(void)
{
	struct err e;

	put("config.json", "{\"credsStore\": \"test\"}", 0600);
	put("docker-credential-test",
	    "#!/bin/sh\necho '{\"Username\": \"ann\", \"Secret\": \"%s\"}'\n", 0700);
	T_INT(find(&e), 0);
	T_TRUE(!is_in_heap());
}

static void a_broken_answer_of_a_helper_is_wiped(void)
{
	struct err e;

	put("config.json", "{\"credsStore\": \"test\"}", 0600);
	put("docker-credential-test",
	    "#!/bin/sh\necho '{\"Username\": \"ann\", \"Secret\": \"%s\", }'\n", 0700);
	T_INT(find(&e), -1);
	T_INT(e.code, ERR_INVALID);
	T_TRUE(!is_in_heap());
}

static void the_file_of_docker_is_wiped(void)
{
	struct err e;

	put("config.json", "{\"auths\": {\"" REGISTRY "\": {\"identitytoken\": \"%s\"}}}", 0600);
	T_INT(find(&e), 0);
	T_TRUE(!is_in_heap());
	put("config.json", "{\"auths\": {\"" REGISTRY "\": {\"identitytoken\": \"%s\"}}", 0600);
	T_INT(find(&e), -1);
	T_TRUE(!is_in_heap());
}

static void our_own_file_is_wiped(void)
{
	AUTO_FD home = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char secret[41];
	struct err e;
	bool known;

	spell(secret);
	T_INT(credentials_store(home, REGISTRY, "ann", secret, &e), 0);
	T_TRUE(!is_in_heap());
	T_INT(find(&e), 0);
	T_TRUE(!is_in_heap());
	T_INT(credentials_remove(home, REGISTRY, &known, &e), 0);
	T_TRUE(!is_in_heap());
}

int main(void)
{
	AUTO_FD tmp = -1;
	char path[128];

#ifdef __SANITIZE_ADDRESS__
	puts("1..0 # SKIP the sanitizer has a heap of its own");
	return 0;
#endif
	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", dir);
	signal(SIGPIPE, SIG_IGN); /* a helper may end before it reads the host's name */
	setenv("DOCKER_CONFIG", dir, 1);
	setenv("PATH", path, 1);
	T_RUN(a_good_answer_of_a_helper_is_wiped);
	T_RUN(a_broken_answer_of_a_helper_is_wiped);
	T_RUN(the_file_of_docker_is_wiped);
	T_RUN(our_own_file_is_wiped);
	tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	T_INT(erase_tree(tmp, dir + strlen("/tmp/")), 0);
	return t_end();
}
