/* A home in a temporary directory, for tests of state/. */
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/erase.h"
#include "base/io.h"
#include "base/str.h"
#include "spec/spec.h"
#include "state/home.h"
#include "t.h"

static struct home home;
static char home_path[] = "/tmp/cordon-unit-XXXXXX";

static inline void begin_home(void)
{
	struct err e = { .msg = "" };

	T_TRUE(mkdtemp(home_path));
	T_INT(setenv("CORDON_HOME", home_path, 1), 0);
	T_INT(home_open(&home, &e), 0);
	T_STR(e.msg, "");
}

static inline void end_home(void)
{
	AUTO_FD parent = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	home_done(&home);
	T_INT(erase_tree(parent, home_path + strlen("/tmp/")), 0);
}

static inline struct spec named(const char *name)
{
	struct spec s;

	spec_init(&s);
	s.name = xstrdup(name);
	s.image.kind = IMAGE_HOST;
	s.image.reference = xstrdup("host");
	return s;
}

static inline void put(int dir, const char *file, const char *text)
{
	T_INT(io_replace_file(dir, file, text, strlen(text), 0600), 0);
}

static inline bool in_home(const char *path)
{
	return faccessat(home.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
