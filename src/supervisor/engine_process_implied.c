/* Owners and modes of directories that the layers of an image only imply (image/implied.h). */
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "image/implied.h"
#include "supervisor/engine_process.h"

/* The id inside of a file that belongs to N on disk. 0, which is root, if the payload has no id for N. */
static uint32_t inside(const struct ids *i, uint32_t n, uint32_t caller, uint32_t base)
{
	switch (i->mode) {
	case IDS_RANGE:
		return n < IDS_PER_SANDBOX ? n : 0;
	case IDS_SUBID:
		return n != caller && n >= base && n - base < IDS_PER_SANDBOX - 2 ? n - base + 1
										  : 0;
	case IDS_SINGLE:
		break;
	}
	return 0;
}

static void add(struct rootfs *r, const struct image_implied *p)
{
	struct rootfs_owner *d;

	if (!r->owners)
		r->owners = xcalloc(IMAGE_IMPLIED_MAX, sizeof(*r->owners));
	d = &r->owners[r->n_owners];
	d->mode = p->mode;
	d->uid = inside(r->ids, p->uid, r->ids->caller_uid, r->ids->uid_base);
	d->gid = inside(r->ids, p->gid, r->ids->caller_gid, r->ids->gid_base);
	snprintf(d->path, sizeof(d->path), "%s", p->path);
	r->n_owners += d->mode != 0755 || d->uid || d->gid;
}

void implied_find(const struct supervisor *s, const struct image_record *record, struct rootfs *r)
{
	AUTO_FREE struct image_implied *found = xcalloc(IMAGE_IMPLIED_MAX, sizeof(*found));
	AUTO_BUF text = BUF_INIT(IMAGE_IMPLIED_MAX_BYTES);
	char path[IMAGE_PATH_BYTES];
	int n = -1;

	image_implied_path(record, path);
	if (io_read_file(s->home.fd, path, &text) == 0)
		n = image_implied_read(buf_str(&text), text.n, found);
	if (n < 0) /* an earlier cordon has filled the store */
		n = (int)image_implied_find(r->layer_fd + 1, r->n_layers - 1, found);
	for (int i = 0; i < n; i++)
		add(r, &found[i]);
}
