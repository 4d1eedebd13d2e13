#include "client/volumes.h"

#include "base/cleanup.h"
#include "client/removal.h"

int volumes_check(const struct home *h, struct spec_mount *m, struct err *e)
{
	AUTO_VOLUME v = { 0 };

	if (volume_load(h, m->source, &v, e) < 0)
		return e->code == ERR_NOT_FOUND ? 0 : -1;
	if (m->kind_disk && v.kind != VOLUME_DISK)
		return err_set(e, ERR_INVALID, "volume '%s' exists and is a directory, not a disk",
			       v.name);
	if (m->kind_dir && v.kind == VOLUME_DISK)
		return err_set(e, ERR_INVALID, "volume '%s' exists and is a disk, not a directory",
			       v.name);
	if (m->kind_disk && m->size_mib != v.size_mib)
		return err_set(e, ERR_INVALID,
			       "volume '%s' exists and is a disk of %llu MiB, not %llu", v.name,
			       (unsigned long long)v.size_mib, (unsigned long long)m->size_mib);
	if (m->quota_mib && v.kind == VOLUME_DISK)
		return err_set(e, ERR_INVALID, "volume '%s' exists and is a disk: no quota= for it",
			       v.name);
	if (m->quota_mib && !v.quota_mib)
		return err_set(e, ERR_INVALID, "volume '%s' exists and has no quota", v.name);
	if (m->quota_mib && m->quota_mib != v.quota_mib)
		return err_set(e, ERR_INVALID,
			       "volume '%s' exists and has a quota of %llu MiB, not %llu", v.name,
			       (unsigned long long)v.quota_mib, (unsigned long long)m->quota_mib);
	m->quota_mib = v.quota_mib;
	if (v.kind == VOLUME_DISK) {
		m->kind_disk = true;
		m->size_mib = v.size_mib;
	}
	return 0;
}

int volumes_prepare(const struct home *h, const struct spec *s, int *ret_lock, struct strv *made,
		    struct err *e)
{
	for (size_t i = 0; i < s->n_mounts; i++) {
		const struct spec_mount *m = &s->mount[i];

		if (m->kind != MOUNT_NAMED)
			continue;
		if (*ret_lock < 0 && volumes_lock(h, false, ret_lock, e) < 0)
			return -1;
		const struct volume_form form = {
			.kind = m->kind_disk ? VOLUME_DISK : VOLUME_DIR,
			.size_mib = m->size_mib,
			.quota_mib = m->quota_mib,
		};

		if (volume_create(h, m->source, &form, e) == 0)
			strv_add(made, m->source);
		else if (e->code != ERR_EXISTS)
			return m->origin ? err_wrap(e, "%s", m->origin) : -1;
	}
	return 0;
}

int volumes_remove(const struct home *h, const char *name, struct err *e)
{
	if (volume_remove(h, name, e) == 0)
		return 0;
	return e->code == ERR_DENIED ? leftovers_sweep_range(h, e) : -1;
}
