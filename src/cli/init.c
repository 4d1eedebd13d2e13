#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/say.h"
#include "cli/commands.h"
#include "client/project.h"

static const char text[] =
	"# What a sandbox of this project gets. It takes effect after 'cordon allow'; then\n"
	"#     cordon shell                opens a shell in a new sandbox\n"
	"#     cordon run -- make test     runs one command\n"
	"# Options of the command line override this file. Manual: cordon help project\n"
	"\n"
	"# host: the programs of this machine, read-only. Or an image of a registry: debian:12\n"
	"image: host\n"
	"\n"
	"# SOURCE:PATH[:ro]. A source begins in the directory of this file. Nothing else of your\n"
	"# files is visible inside.\n"
	"mounts:\n"
	"  - .:/workspace\n"
	"# - ../library:/library:ro\n"
	"workdir: /workspace\n"
	"\n"
	"cpus: 2\n"
	"memory: \"2G\"\n"
	"\n"
	"# none, public (the Internet, but not this machine or its network) or open; or an object\n"
	"# with lists of targets:\n"
	"#     network: {allow: [\"pypi.org\", \"*.pythonhosted.org\"]}\n"
	"network: public\n"
	"\n"
	"# ports:\n"
	"#   - \"8080:80\"\n"
	"\n"
	"# env_file: .env          # NAME=VALUE in each line\n"
	"# env:\n"
	"#   CI: \"1\"\n"
	"\n"
	"# Commands that are on the PATH inside:\n"
	"# scripts:\n"
	"#   check: make lint test\n";

static int write_file(struct err *e)
{
	AUTO_FD fd = open(PROJECT_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int r;

	if (fd < 0 && errno == EEXIST)
		return err_set(e, ERR_EXISTS, "'%s' already exists here", PROJECT_FILE);
	if (fd < 0)
		return err_sys(e, errno, "make '%s'", PROJECT_FILE);
	r = io_write_all(fd, text, strlen(text));
	if (r < 0) {
		IGNORE(unlink(PROJECT_FILE));
		return err_sys(e, -r, "write '%s'", PROJECT_FILE);
	}
	return 0;
}

int cmd_init(const struct args *a)
{
	struct err e;

	if (write_file(&e) < 0)
		return say_error(&e);
	say_done("Wrote", PROJECT_FILE, 0);
	say_hint("edit it, then allow it: cordon allow");
	return 0;
}
