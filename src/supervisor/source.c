#include "supervisor/source.h"

#include "base/cleanup.h"
#include "state/record_config.h"

int source_open(const char *what, const char *path, struct identity *id, const char *hint,
		int *ret_fd, struct err *e)
{
	if (identity_open(path, id, ret_fd, e) == 0)
		return 0;
	err_wrap(e, "%s", what);
	return e->code == ERR_DENIED || e->code == ERR_NOT_FOUND ? err_hint(e, hint) : -1;
}

static int learn(const char *what, const char *path, struct identity *id, const char *hint,
		 bool *learned, struct err *e)
{
	AUTO_FD fd = -1;

	if (id->known)
		return 0;
	*learned = true;
	return source_open(what, path, id, hint, &fd, e);
}

int sources_learn(struct supervisor *s, struct err *e)
{
	struct spec *spec = &s->record.spec;
	struct spec_image *image = &spec->image;
	bool learned = false;
	AUTO_FD lock = -1;
	int r = 0;

	if (image->kind == IMAGE_DIR)
		r = learn("image directory", image->reference, &image->identity, ANEW_HINT,
			  &learned, e);
	if (r == 0 && image->root_disk.kind == ROOT_DISK_PATH)
		r = learn("--root-disk", image->root_disk.path, &image->root_disk.identity,
			  ANEW_HINT, &learned, e);
	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++) {
		struct spec_mount *m = &spec->mount[i];

		if (m->kind == MOUNT_BIND || m->kind == MOUNT_DISK)
			r = learn("volume source", m->source, &m->identity, VOLUME_HINT, &learned,
				  e);
	}
	if (r < 0 || !learned)
		return r;
	if (record_lock_config(s->record_dir, &lock, e) < 0)
		return -1;
	return record_write_config(s->record_dir, spec, s->record.created_ns, e);
}
