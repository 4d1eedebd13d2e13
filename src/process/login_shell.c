#include "process/login_shell.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "process/image_file.h"

#define PROFILE_MAX_BYTES 65536

char *login_shell_profile(const struct rootfs *r, bool with_fallback)
{
	AUTO_BUF text = BUF_INIT(PROFILE_MAX_BYTES);
	struct stat st;
	AUTO_FD fd = image_file_open(r, "etc/profile", &st);

	if (fd < 0 || io_read_to_end(fd, &text) < 0)
		return NULL;
	if (text.n && text.p[text.n - 1] != '\n')
		buf_add_char(&text, '\n');
	buf_add_str(&text, "# >>> sandbox scripts\nPATH=/.msb/scripts:$PATH");
	buf_add_str(&text, with_fallback ? ":/.msb/bin\n" : "\n");
	buf_add_str(&text, "export PATH\n# <<< sandbox scripts\n");
	return buf_failed(&text) || strlen(buf_str(&text)) != text.n ? NULL : buf_take(&text);
}

int login_shell_fallback(const struct rootfs *r, int *ret_fd, struct err *e)
{
	static const char *const inside[] = { "bin/bash", "usr/bin/bash", "usr/local/bin/bash" };
	static const char *const lent[] = { "/bin/bash-static", "/usr/bin/bash-static" };
	struct stat st;

	*ret_fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(inside); i++) {
		AUTO_FD fd = image_file_open(r, inside[i], &st);

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
