#include "store/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/json.h"

#define SANDBOX_CONFIG_MAX_BYTES (4u << 20) /* the writer of config.json has the same limit */
#define SANDBOX_CONFIG_FORMAT 1             /* the same as RECORD_FORMAT of state/format.h */

static int read_one(int dir_fd, const char *name, struct usage *u, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/config.json", name);
	AUTO_BUF text = BUF_INIT(SANDBOX_CONFIG_MAX_BYTES);
	AUTO_JSON doc = NULL;
	struct err torn;
	const char *digest;
	int r = io_read_file(dir_fd, path, &text);

	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		return err_sys(e, -r, "read the configuration of sandbox '%s'", name);
	if (r < 0 || json_parse(buf_str(&text), text.n, &doc, &torn) < 0)
		return 0;
	if (json_get_int(json_root(doc), "format", 0) > SANDBOX_CONFIG_FORMAT) {
		err_set(e, ERR_UNSUPPORTED,
			"sandbox '%s' was made by a newer cordon: it may use any image", name);
		return err_hint(e, "remove the sandbox, or remove images with the newer cordon");
	}
	digest = json_get_str(json_get(json_root(doc), "config"), "manifest_digest", "");
	if (!digest_valid(digest))
		return 0;
	u->line = xreallocarray(u->line, u->n + 1, sizeof(*u->line));
	u->line[u->n].sandbox = xstrdup(name);
	memcpy(u->line[u->n++].digest, digest, DIGEST_BYTES);
	return 0;
}

int usage_read(int home_fd, struct usage *ret, struct err *e)
{
	AUTO_DIR dir = dir_open(home_fd, "sandboxes");
	struct usage u = { 0 };
	const struct dirent *d;
	int r = 0;

	if (!dir && errno != ENOENT)
		return err_sys(e, errno, "read the list of sandboxes");
	while (r == 0 && (d = dir_next(dir)))
		if (d->d_name[0] != '.')
			r = read_one(dirfd(dir), d->d_name, &u, e);
	if (r < 0)
		usage_done(&u);
	else
		*ret = u;
	return r;
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
