/* The file system parts of configuration files: mounts, the root, writable paths and patches. */
#include "spec/conf_apply.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "spec/bad.h"
#include "spec/grammar.h"
#include "spec/words.h"

struct mount_in {
	const char *bind, *named, *disk, *target, *create, *format, *fstype;
	const char *stat_virtualization, *host_permissions;
	bool readonly, noexec, nosuid, nodev;
	const struct json_value *tmpfs;
};

static const struct json_field mount_fields[] = {
	FIELD_STR(struct mount_in, bind, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, named, JSON_OPTIONAL),
	FIELD_VALUE(struct mount_in, tmpfs, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, disk, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, target, JSON_REQUIRED),
	FIELD_STR(struct mount_in, create, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, format, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, fstype, JSON_OPTIONAL),
	FIELD_BOOL(struct mount_in, readonly, JSON_OPTIONAL),
	FIELD_BOOL(struct mount_in, noexec, JSON_OPTIONAL),
	FIELD_BOOL(struct mount_in, nosuid, JSON_OPTIONAL),
	FIELD_BOOL(struct mount_in, nodev, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, stat_virtualization, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, host_permissions, JSON_OPTIONAL),
};

static int mount_tmpfs_size(const struct json_value *v, const char *path, struct spec_mount *m,
			    struct err *e)
{
	struct {
		const char *size;
	} in = { 0 };
	static const struct json_field fields[] = { FIELD_STR(__typeof__(in), size,
							      JSON_OPTIONAL) };
	AUTO_FREE char *at = xasprintf("%s.tmpfs", path);

	if (conf_decode(v, at, fields, ARRAY_SIZE(fields), &in, e) < 0)
		return -1;
	return in.size ? parse_size_mib(at, in.size, &m->size_mib, e) : 0;
}

/* Checks that the mount has exactly one kind and only options of this kind. Also checks the values
 * of `create` and `fstype`. */
static int check_mount(const struct mount_in *in, const char *path, struct err *e)
{
	if (!!in->bind + !!in->named + !!in->tmpfs + !!in->disk != 1)
		return err_set(e, ERR_INVALID, "%s: give one of bind, named, tmpfs, disk", path);
	if ((in->stat_virtualization || in->host_permissions) && !in->bind && !in->named)
		return err_set(e, ERR_INVALID,
			       "%s: stat_virtualization and host_permissions go with bind or named",
			       path);
	if ((in->format || in->fstype) && !in->disk)
		return err_set(e, ERR_INVALID, "%s: format and fstype go with disk", path);
	if (in->create && !in->named)
		return err_set(e, ERR_INVALID, "%s: create goes with named", path);
	if (in->create && strcmp(in->create, "ensure-exists") != 0)
		return conf_not_yet("create other than ensure-exists", e);
	if (in->fstype && !fstype_valid(in->fstype))
		return err_set(e, ERR_INVALID, "%s.fstype: '%.32s' is not a file system name", path,
			       in->fstype);
	return 0;
}

static int mount_words(const struct mount_in *in, const char *path, struct spec_mount *m,
		       struct err *e)
{
	static const char *const perms[] = { "private", "mirror", NULL };
	static const char *const formats[] = { "raw", "qcow2", "vmdk", NULL };
	int virt = STAT_VIRT_STRICT, perm = 0;

	if (in->stat_virtualization)
		virt = word_index(spec_stat_virt_names, in->stat_virtualization);
	if (in->host_permissions)
		perm = word_index(perms, in->host_permissions);
	if (virt < 0)
		return err_set(e, ERR_INVALID,
			       "%s.stat_virtualization: expected strict, relaxed or off", path);
	if (perm < 0)
		return err_set(e, ERR_INVALID, "%s.host_permissions: expected private or mirror",
			       path);
	if (in->format && word_index(formats, in->format) < 0)
		return err_set(e, ERR_INVALID, "%s.format: expected raw, qcow2 or vmdk", path);
	m->stat_virt = (enum spec_stat_virt)virt;
	m->stat_virt_set = in->stat_virtualization != NULL;
	m->host_perms_set = in->host_permissions != NULL;
	m->host_perms_mirror = perm == 1;
	m->readonly = in->readonly;
	m->noexec = in->noexec;
	m->nosuid = in->nosuid;
	m->nodev = in->nodev;
	return 0;
}

static int fill_mount(const struct mount_in *in, const char *path, struct spec_mount *m,
		      struct err *e)
{
	if (check_mount(in, path, e) < 0 || mount_words(in, path, m, e) < 0)
		return -1;
	if (in->tmpfs) {
		m->kind = MOUNT_TMPFS;
		return mount_tmpfs_size(in->tmpfs, path, m, e);
	}
	if (in->named) {
		m->kind = MOUNT_NAMED;
		m->source = xstrdup(in->named);
		return spec_check_name(path, in->named, e);
	}
	m->kind = in->bind ? MOUNT_BIND : MOUNT_DISK;
	if (in->disk) {
		m->format = xstrdup(in->format ? in->format : disk_format(in->disk));
		m->fstype = in->fstype ? xstrdup(in->fstype) : NULL;
	}
	return path_absolute(in->bind ? in->bind : in->disk, &m->source, e);
}

static int apply_mount(const struct json_value *v, const char *path, struct conf_target *a,
		       struct err *e)
{
	struct mount_in in = { 0 };
	struct spec_mount m = { 0 };

	if (v->type == JSON_STRING) {
		struct spec_mount *added;

		if (spec_add_mount(a->s, MOUNT_FLAG_VOLUME, v->string.p, e) < 0)
			return err_wrap(e, "%s", path);
		added = &a->s->mount[a->s->n_mounts - 1];
		free(added->origin);
		added->origin = bad_beginning(path, "mount", v->string.p);
		return 0;
	}
	if (conf_decode(v, path, mount_fields, ARRAY_SIZE(mount_fields), &in, e) < 0)
		return -1;
	if (fill_mount(&in, path, &m, e) < 0) {
		spec_mount_done(&m);
		return -1;
	}
	return spec_take_mount(a->s, path, in.target, &m, e);
}

int conf_apply_mounts(const struct json_value *v, const char *path, struct conf_target *a,
		      struct err *e)
{
	return conf_each(v, path, a, apply_mount, e);
}

int conf_apply_read_only(const struct json_value *v, const char *path, struct conf_target *a,
			 struct err *e)
{
	if (v->type != JSON_BOOL)
		return err_set(e, ERR_INVALID, "%s: expected true or false", path);
	a->s->read_only = v->boolean;
	return 0;
}

static int apply_writable(const struct json_value *v, const char *path, struct conf_target *a,
			  struct err *e)
{
	const char *s = conf_text(v, path, e);

	return s ? spec_add_writable(a->s, path, s, e) : -1;
}

int conf_apply_writable(const struct json_value *v, const char *path, struct conf_target *a,
			struct err *e)
{
	return conf_each(v, path, a, apply_writable, e);
}

int conf_apply_root_disk(const struct json_value *v, const char *path, struct conf_target *a,
			 struct err *e)
{
	const char *s = conf_text(v, path, e);

	return s ? parse_root_disk(path, s, &a->s->image.root_disk, e) : -1;
}

/* --- patches ------------------------------------------------------------------------------- */

struct patch_in {
	const char *src, *dst, *path, *mode;
	bool replace;
};

static int decode_patch(const struct json_value *v, const char *path, bool copy,
			struct patch_in *in, struct err *e)
{
	static const struct json_field copy_fields[] = {
		FIELD_STR(struct patch_in, src, JSON_REQUIRED),
		FIELD_STR(struct patch_in, dst, JSON_REQUIRED),
		FIELD_STR(struct patch_in, mode, JSON_OPTIONAL),
		FIELD_BOOL(struct patch_in, replace, JSON_OPTIONAL),
	};
	static const struct json_field path_fields[] = {
		FIELD_STR(struct patch_in, path, JSON_REQUIRED),
		FIELD_STR(struct patch_in, mode, JSON_OPTIONAL),
	};

	if ((copy ? conf_decode(v, path, copy_fields, ARRAY_SIZE(copy_fields), in, e)
		  : conf_decode(v, path, path_fields, ARRAY_SIZE(path_fields), in, e)) < 0)
		return -1;
	if (in->mode || in->replace)
		return conf_not_yet(in->mode ? "the mode of a patch" : "a patch that replaces", e);
	return 0;
}

static int apply_patch(const struct json_value *v, const char *path, struct conf_target *a,
		       struct err *e)
{
	static const char *const ops[] = { "copy_file", "copy_dir", "mkdir",  "remove", "text",
					   "file",      "symlink",  "append", NULL };
	AUTO_FREE char *at = NULL;
	struct patch_in in = { 0 };
	const char *op;
	int i;

	if (conf_refuse_unknown(v, path, ops, e) < 0)
		return -1;
	if (v->object.n != 1)
		return err_set(e, ERR_INVALID, "%s: expected one operation", path);
	op = v->object.member[0].key.p;
	i = word_index(ops, op);
	at = xasprintf("%s.%s", path, op);
	if (i > 3)
		return conf_not_yet(at, e);
	if (decode_patch(&v->object.member[0].value, at, i < 2, &in, e) < 0)
		return -1;
	return spec_put_patch(a->s, at, op, in.src, i < 2 ? in.dst : in.path, e);
}

int conf_apply_patches(const struct json_value *v, const char *path, struct conf_target *a,
		       struct err *e)
{
	return conf_each(v, path, a, apply_patch, e);
}

/* The key `patch_files` of a configuration lists names of files. conf.c has already replaced each
 * name by the list of patches in that file (see `expand` there), so V is a list of such lists. */
int conf_apply_patch_files(const struct json_value *v, const char *path, struct conf_target *a,
			   struct err *e)
{
	return conf_each(v, path, a, conf_apply_patches, e);
}
