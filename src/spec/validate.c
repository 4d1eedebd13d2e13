#include "spec/spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "spec/cpus.h"

static int check_resources(const struct spec *s, struct err *e)
{
	char cpus[CPUS_TEXT_BYTES], max[CPUS_TEXT_BYTES];

	cpus_text(s->cpu_milli, cpus);
	cpus_text(s->max_cpu_milli, max);
	if (s->cpu_milli < CPUS_MIN_MILLI || s->cpu_milli > SPEC_CPUS_MAX * CPUS_ONE)
		return err_set(e, ERR_INVALID, "--cpus: bad number '%s': expected 0.01 to %u", cpus,
			       SPEC_CPUS_MAX);
	if (s->max_cpu_milli < s->cpu_milli || s->max_cpu_milli > SPEC_CPUS_MAX * CPUS_ONE)
		return err_set(e, ERR_INVALID,
			       "--max-cpus: bad number '%s': expected %s (--cpus) to %u", max, cpus,
			       SPEC_CPUS_MAX);
	if (s->memory_mib < 1)
		return err_set(e, ERR_INVALID, "--memory: bad size '0': must be greater than 0");
	if (s->max_memory_mib < s->memory_mib)
		return err_set(
			e, ERR_INVALID, "--max-memory: bad size '%lluM': below --memory %lluM",
			(unsigned long long)s->max_memory_mib, (unsigned long long)s->memory_mib);
	if (s->pids_limit < 1 || s->pids_limit > SPEC_PIDS_MAX)
		return err_set(e, ERR_INVALID, "--pids-limit: bad number '%llu': expected 1 to %u",
			       (unsigned long long)s->pids_limit, SPEC_PIDS_MAX);
	return 0;
}

/* Checks a root disk that the user named together with a directory or a disk image. A disk image
 * takes no root disk. For a directory, a size is enough: the sandbox then gets its own layer above
 * the directory. Other kinds of root disks need ",cow" behind the directory, as with msb. */
static int check_root_disk(const struct spec_image *i, struct err *e)
{
	if (!i->root_disk.asked || (i->kind != IMAGE_DIR && i->kind != IMAGE_DISK))
		return 0;
	if (i->kind == IMAGE_DISK)
		return err_set(e, ERR_INVALID,
			       "--root-disk: '%s' is used in place and takes no root disk",
			       i->reference);
	if (i->cow || i->root_disk.kind == ROOT_DISK_MANAGED)
		return 0;
	err_set(e, ERR_INVALID, "--root-disk: a directory image takes a size only");
	return err_hint(e, "for another root disk make it copy-on-write: write ',cow' behind the "
			   "directory");
}

int spec_validate(const struct spec *s, struct err *e)
{
	if (!s->image.reference)
		return err_set(e, ERR_INVALID,
			       "no image given: name one, or 'host' for this machine's programs");
	if (check_root_disk(&s->image, e) < 0)
		return -1;
	return check_resources(s, e) < 0 ? -1 : spec_check_writable(s, e);
}

/* Looks up *PATH, replaces it by the path without links, and stores the identity of the file or
 * directory in *ID. If *ID is known already, only checks that *PATH still leads to the same file or
 * directory. Fails if the file or directory is not of the kind WANT. */
static int hold(const char *flag, const char *what, char **path, struct identity *id,
		enum spec_want want, struct err *e)
{
	char *real = NULL;
	AUTO_FD fd = -1;

	if (id->known ? identity_open(*path, id, &fd, e) < 0
		      : identity_hold(what, *path, &real, id, &fd, e) < 0)
		return flag ? err_wrap(e, "%s", flag) : -1;
	if (want == WANT_DIR && id->of_parent)
		err_set(e, ERR_INVALID, "%s '%s' is not a directory", what, *path);
	else if (want == WANT_FILE && !id->of_parent)
		err_set(e, ERR_INVALID, "%s '%s' is not a file", what, *path);
	else
		want = WANT_ANY;
	if (real) {
		free(*path);
		*path = real;
	}
	if (want == WANT_ANY)
		return 0;
	return flag ? err_wrap(e, "%s", flag) : -1;
}

int spec_hold_mount(struct spec_mount *m, struct err *e)
{
	if (m->kind != MOUNT_BIND && m->kind != MOUNT_DISK)
		return 0;
	return hold(m->origin, "source", &m->source, &m->identity,
		    m->kind == MOUNT_DISK ? WANT_FILE : m->want, e);
}

static int hold_patch(struct spec_patch *p, struct err *e)
{
	static const struct {
		const char *op, *flag;
		enum spec_want want;
	} kinds[] = { { "copy", "--copy", WANT_ANY },
		      { "copy_file", "--copy-file", WANT_FILE },
		      { "copy_dir", "--copy-dir", WANT_DIR } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(p->op, kinds[i].op) == 0)
			return hold(kinds[i].flag, "source", &p->source, &p->identity,
				    kinds[i].want, e);
	return 0;
}

int spec_hold_image(struct spec_image *i, struct err *e)
{
	if (i->kind == IMAGE_DIR)
		return hold(NULL, "image directory", &i->reference, &i->identity, WANT_DIR, e);
	if (i->kind == IMAGE_DISK)
		return hold(NULL, "disk image", &i->reference, &i->identity, WANT_FILE, e);
	return 0;
}

int spec_hold_sources(struct spec *s, size_t *ret_mount, struct err *e)
{
	struct spec_root_disk *d = &s->image.root_disk;

	*ret_mount = 0;
	if (spec_hold_image(&s->image, e) < 0)
		return -1;
	if (d->kind == ROOT_DISK_PATH &&
	    hold(NULL, "--root-disk:", &d->path, &d->identity, WANT_FILE, e) < 0)
		return -1;
	for (size_t k = 0; k < s->n_mounts; k++) {
		*ret_mount = k + 1;
		if (spec_hold_mount(&s->mount[k], e) < 0)
			return -1;
	}
	*ret_mount = 0;
	for (size_t k = 0; k < s->n_patches; k++)
		if (hold_patch(&s->patch[k], e) < 0)
			return -1;
	return 0;
}
