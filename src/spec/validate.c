#include "spec/spec.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

static int check_resources(const struct spec *s, struct err *e)
{
	if (s->cpus < 1 || s->cpus > SPEC_CPUS_MAX)
		return err_set(e, ERR_INVALID, "--cpus: bad number '%u': expected 1 to %u", s->cpus,
			       SPEC_CPUS_MAX);
	if (s->max_cpus < s->cpus || s->max_cpus > SPEC_CPUS_MAX)
		return err_set(e, ERR_INVALID,
			       "--max-cpus: bad number '%u': expected %u (--cpus) to %u",
			       s->max_cpus, s->cpus, SPEC_CPUS_MAX);
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

int spec_validate(const struct spec *s, struct err *e)
{
	if (!s->image.reference)
		return err_set(e, ERR_INVALID,
			       "no image given: name one, or 'host' for this machine's programs");
	if (s->image.root_disk.explicit &&
	    (s->image.kind == IMAGE_DIR || s->image.kind == IMAGE_DISK))
		return err_set(e, ERR_INVALID,
			       "--root-disk: '%s' is used in place and takes no root disk",
			       s->image.reference);
	return check_resources(s, e);
}

/* FLAG wants SOURCE to be a directory, a regular file, or merely there. Links are followed. */
static int check_source(const char *flag, const char *source, enum spec_want want, struct err *e)
{
	struct stat st;

	if (stat(source, &st) < 0)
		return err_sys(e, errno, "%s: source '%s'", flag, source);
	if (want == WANT_DIR && !S_ISDIR(st.st_mode))
		return err_set(e, ERR_INVALID, "%s: source '%s' is not a directory", flag, source);
	if (want == WANT_FILE && !S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s: source '%s' is not a file", flag, source);
	return 0;
}

/* Sockets and devices are doors, not files. */
static int check_mountable(const struct spec_mount *m, struct err *e)
{
	struct stat st;

	if (stat(m->source, &st) == 0 && !S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s: source '%s' is neither a file nor a directory",
			       m->origin, m->source);
	return 0;
}

static int check_patch(const struct spec_patch *p, struct err *e)
{
	if (strcmp(p->op, "copy") == 0)
		return check_source("--copy", p->source, WANT_ANY, e);
	if (strcmp(p->op, "copy_file") == 0)
		return check_source("--copy-file", p->source, WANT_FILE, e);
	if (strcmp(p->op, "copy_dir") == 0)
		return check_source("--copy-dir", p->source, WANT_DIR, e);
	return 0;
}

int spec_check_sources(const struct spec *s, struct err *e)
{
	if (s->image.kind == IMAGE_DIR &&
	    check_source("IMAGE", s->image.reference, WANT_DIR, e) < 0)
		return -1;
	if (s->image.kind == IMAGE_DISK &&
	    check_source("IMAGE", s->image.reference, WANT_FILE, e) < 0)
		return -1;
	for (size_t i = 0; i < s->n_mounts; i++) {
		const struct spec_mount *m = &s->mount[i];

		if (m->kind == MOUNT_BIND && m->want == WANT_ANY && check_mountable(m, e) < 0)
			return -1;
		if ((m->kind == MOUNT_BIND || m->kind == MOUNT_DISK) &&
		    check_source(m->origin, m->source, m->kind == MOUNT_DISK ? WANT_FILE : m->want,
				 e) < 0)
			return -1;
	}
	for (size_t i = 0; i < s->n_patches; i++)
		if (check_patch(&s->patch[i], e) < 0)
			return -1;
	return 0;
}
