#include "supervisor/loginshell.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/compat.h"
#include "base/io.h"

#define PROFILE_MAX_BYTES 65536

/* PATH as the overlay of all layers would show it: the topmost layer that knows the name decides. A
 * link is followed inside its own layer only, which is where images keep such links. */
static int open_topmost(const struct rootfs *r, const char *path, struct stat *ret)
{
	for (size_t i = r->n_layers; i-- > 0;) {
		struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
					.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
		AUTO_FD probe = openat(r->layer_fd[i], ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
		AUTO_FD fd = probe < 0 ? -1 : sys_openat2(probe, path, &how);

		if (fd < 0 || fstat(fd, ret) < 0)
			continue;
		if (!S_ISREG(ret->st_mode))
			return -1; /* removed by a whiteout, or nothing for us */
		return fd_take(&fd);
	}
	return -1;
}

char *loginshell_profile(const struct rootfs *r, bool with_fallback)
{
	AUTO_BUF text = BUF_INIT(PROFILE_MAX_BYTES);
	struct stat st;
	AUTO_FD fd = open_topmost(r, "etc/profile", &st);

	if (fd < 0 || io_read_to_end(fd, &text) < 0)
		return NULL;
	if (text.n && text.p[text.n - 1] != '\n')
		buf_add_char(&text, '\n');
	buf_add_str(&text, "# >>> sandbox scripts\nPATH=/.msb/scripts:$PATH");
	buf_add_str(&text, with_fallback ? ":/.msb/bin\n" : "\n");
	buf_add_str(&text, "export PATH\n# <<< sandbox scripts\n");
	return buf_failed(&text) || strlen(buf_str(&text)) != text.n ? NULL : buf_take(&text);
}

int loginshell_fallback(const struct rootfs *r, int *ret_fd, struct err *e)
{
	static const char *const inside[] = { "bin/bash", "usr/bin/bash", "usr/local/bin/bash" };
	static const char *const lent[] = { "/bin/bash-static", "/usr/bin/bash-static" };
	struct stat st;

	*ret_fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(inside); i++) {
		AUTO_FD fd = open_topmost(r, inside[i], &st);

		if (fd >= 0)
			return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(lent); i++) {
		*ret_fd = open(lent[i], O_PATH | O_CLOEXEC);
		if (*ret_fd >= 0)
			return 0;
	}
	err_set(e, ERR_UNSUPPORTED, "MSB_SHELL_FALLBACK: this host has no static bash to lend");
	return err_hint(e, "install the package 'bash-static'");
}
