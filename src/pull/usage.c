#include "pull/usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"

#define SANDBOX_CONFIG_MAX_BYTES (4u << 20) /* as the program that writes it allows */

static void read_one(int dir_fd, const char *name, struct usage *u)
{
	AUTO_FREE char *path = xasprintf("%s/config.json", name);
	AUTO_BUF text = BUF_INIT(SANDBOX_CONFIG_MAX_BYTES);
	AUTO_JSON doc = NULL;
	struct err ignored;
	const char *digest;

	if (io_read_file(dir_fd, path, &text) < 0 ||
	    json_parse(buf_str(&text), text.n, &doc, &ignored) < 0)
		return;
	digest = json_get_str(json_get(json_root(doc), "config"), "manifest_digest", "");
	if (!digest_valid(digest))
		return;
	u->line = reallocarray(u->line, u->n + 1, sizeof(*u->line));
	if (!u->line)
		abort(); /* a line per sandbox of this user */
	u->line[u->n].sandbox = xstrdup(name);
	memcpy(u->line[u->n++].digest, digest, DIGEST_BYTES);
}

int usage_read(int home_fd, struct usage *ret, struct err *e)
{
	int fd = openat(home_fd, "sandboxes", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct usage u = { 0 };
	struct dirent *d;

	if (!dir && errno != ENOENT) {
		err_sys(e, errno, "read the list of sandboxes");
		fd_closep(&fd);
		return -1;
	}
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			read_one(dirfd(dir), d->d_name, &u);
	if (dir)
		closedir(dir);
	*ret = u;
	return 0;
}

void usage_done(struct usage *u)
{
	for (size_t i = 0; i < u->n; i++)
		free(u->line[i].sandbox);
	free(u->line);
	*u = (struct usage){ 0 };
}

bool usage_of(const struct usage *u, const char *manifest_digest, struct buf *names)
{
	bool used = false;

	for (size_t i = 0; i < u->n; i++) {
		if (strcmp(u->line[i].digest, manifest_digest) != 0)
			continue;
		buf_addf(names, "%s%s", used ? ", " : "", u->line[i].sandbox);
		used = true;
	}
	return used;
}
