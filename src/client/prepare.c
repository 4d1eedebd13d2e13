#include "client/prepare.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/owner.h"
#include "client/sources.h"

#define HOST_BASH "/bin/bash"

/* Checks a flat root disk before anything is fetched. If a flat disk is impossible, and only the
 * configuration file asks for it, the sandbox gets a plain layer. `inspect` shows this. */
static int check_flat(struct spec *s, struct err *e)
{
	struct spec_root_disk *d = &s->image.root_disk;

	if (d->kind != ROOT_DISK_FLAT)
		return 0;
	if (!d->explicit && (s->image.kind != IMAGE_OCI || !image_flat_usable())) {
		d->kind = ROOT_DISK_MANAGED;
		return 0;
	}
	if (s->image.kind != IMAGE_OCI)
		return err_set(e, ERR_INVALID,
			       "--root-disk flat: only an image of a registry has a flat form, "
			       "'%s' is none",
			       s->image.reference ? s->image.reference : "host");
	if (d->fstype && strcmp(d->fstype, "ext4") != 0)
		return err_set(e, ERR_UNSUPPORTED,
			       "--root-disk flat: 'fstype=%s': flat root disks are ext4",
			       d->fstype);
	return image_check_flat("--root-disk", "flat", e);
}

/* For the image `host`: if the user has named no shell and the host has bash, the shell is the
 * host's bash. */
static void choose_shell(struct spec *s)
{
	if (s->image.kind == IMAGE_HOST && !s->shell && access(HOST_BASH, X_OK) == 0)
		s->shell = xstrdup(HOST_BASH);
}

int prepare(const struct home *h, const struct preparation *p, struct spec *s, struct err *e)
{
	size_t ignored, *ret_mount = p->ret_mount ? p->ret_mount : &ignored;

	if (spec_validate(s, e) < 0 || check_flat(s, e) < 0 ||
	    sources_hold(s, p->image_word, p->rules, h, ret_mount, e) < 0)
		return -1;
	choose_shell(s);
	/* the image comes after the checks, because fetching it may take long */
	if (s->image.kind == IMAGE_OCI && image_resolve(h, &p->fetch, s, e) < 0)
		return -1;
	return owner_find(h, &p->fetch, s, e);
}
