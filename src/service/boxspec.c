#include "service/boxspec.h"

#include <assert.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "service/python.h"

static const char *const network_names[] = { [BOX_OFFLINE] = "off", [BOX_ONLINE] = "on" };
static const char *const mode_names[] = {
	[BOX_MODE_NONE] = "none", [BOX_MODE_RO] = "ro", [BOX_MODE_RW] = "rw"
};

const char *box_network_name(enum box_network n)
{
	return network_names[n];
}

const char *box_mode_name(enum box_mode m)
{
	return mode_names[m];
}

/* --- paths ------------------------------------------------------------------------------------ */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Recognises "C:\x", "C:/x" and "\\server\share". LangBot accepts such paths as absolute paths, but
 * such paths never exist on this machine. */
static bool is_windows_path(const char *p)
{
	return (is_letter(p[0]) && p[1] == ':' && (p[2] == '\\' || p[2] == '/')) ||
	       (p[0] == '\\' && p[1] == '\\');
}

static bool is_host_path(const char *p)
{
	return p[0] == '/' || is_windows_path(p);
}

bool box_path_inside(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (strcmp(path, dir) == 0)
		return true;
	while (n && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

void box_path_normal(const char *path, struct buf *out)
{
	struct str rest = str_of(path);
	size_t start = out->n;

	while (rest.p) {
		struct str part = str_cut(&rest, '/');

		if (part.n == 0 || str_eq(part, "."))
			continue;
		if (str_eq(part, "..")) {
			while (out->n > start && out->p[--out->n] != '/')
				;
			buf_cut(out, out->n);
			continue;
		}
		buf_add_char(out, '/');
		buf_add(out, part.p, part.n);
	}
}

/* --- decoding --------------------------------------------------------------------------------- */

/* If the workdir is missing, null or "", and a mount_path is given, the workdir is the
 * mount_path. */
static char *read_workdir(struct model *m)
{
	const struct json_value *v = model_get(m, "workdir"), *mount = model_get(m, "mount_path");
	struct str given =
		mount && mount->type == JSON_STRING ? python_trim(mount->string) : STR("");
	char *workdir;

	if (given.n && (!v || v->type == JSON_NULL || (v->type == JSON_STRING && !v->string.n)))
		workdir = model_text(m, "mount_path", NULL, true);
	else
		workdir = model_text(m, "workdir", BOX_DEFAULT_PLACE, true);
	if (workdir[0] != '/')
		model_fail(m, "workdir", "must be an absolute path inside the sandbox");
	return workdir;
}

static char *read_host_path(struct model *m)
{
	char *path = model_text_or_null(m, "host_path", true);

	if (path && !is_host_path(path))
		model_fail(m, "host_path", "must be an absolute host path");
	return path;
}

static char *read_mount_path(struct model *m, const char *fallback)
{
	char *path = model_text(m, "mount_path", fallback, false);

	if (path[0] != '/')
		model_fail(m, "mount_path", "must be an absolute path inside the sandbox");
	return path;
}

static char *read_skill_name(struct model *m)
{
	char *name = model_text_or_null(m, "skill_name", true);

	if (name && !*name) {
		free(name);
		return NULL;
	}
	if (name && python_length(str_of(name)) > BOX_SKILL_NAME_MAX)
		model_fail(m, "skill_name", "cannot exceed 64 characters");
	else if (name && !python_is_name(str_of(name)))
		model_fail(m, "skill_name",
			   "can only contain letters, numbers, hyphens and underscores");
	return name;
}

static void read_mount(struct model *all, const struct json_value *v, size_t i,
		       struct box_mount *ret)
{
	char inside[64];
	struct model m = { .v = v, .inside = inside, .class = all->class, .f = all->f };

	snprintf(inside, sizeof(inside), "extra_mounts[%zu].", i);
	ret->host_path = model_text(&m, "host_path", NULL, false);
	if (!is_host_path(ret->host_path))
		model_fail(&m, "host_path", "must be an absolute host path");
	ret->mount_path = read_mount_path(&m, NULL);
	ret->mode = model_choice(&m, "mode", BOX_MODE_RW, mode_names, ARRAY_SIZE(mode_names));
	all->bad = m.bad;
}

static void read_mounts(struct model *m, struct box_mounts *ret)
{
	const struct json_value *v = model_get(m, "extra_mounts");

	*ret = (struct box_mounts){ 0 };
	if (!v)
		return;
	if (v->type != JSON_ARRAY) {
		model_fail(m, "extra_mounts", "must be a list of mounts");
		return;
	}
	if (v->array.n > BOX_MOUNTS_MAX) {
		model_fail(m, "extra_mounts", "has too many entries");
		return;
	}
	ret->item = xcalloc(v->array.n + 1, sizeof(*ret->item));
	for (size_t i = 0; i < v->array.n && !m->bad; i++) {
		if (v->array.item[i].type != JSON_OBJECT)
			model_fail(m, "extra_mounts", "must be a list of mounts");
		else
			read_mount(m, &v->array.item[i], i, &ret->item[ret->n++]);
	}
}

static void read_session_id(struct model *m, struct box_spec *s)
{
	s->session_id = model_text(m, "session_id", NULL, true);
	if (!*s->session_id)
		model_fail(m, "session_id", "must not be empty");
}

/* Reads the fields in the order of LangBot's model. The message names the first bad field. */
static void read_fields(struct model *m, struct box_spec *s)
{
	read_session_id(m, s);
	s->cmd = model_text(m, "cmd", "", true);
	s->workdir = read_workdir(m);
	s->timeout_sec = model_int(m, "timeout_sec", 30, 1);
	s->network =
		model_choice(m, "network", BOX_OFFLINE, network_names, ARRAY_SIZE(network_names));
	model_env(m, "env", &s->env);
	s->image = model_text(m, "image", BOX_DEFAULT_IMAGE, false);
	s->host_path = read_host_path(m);
	s->host_path_mode =
		model_choice(m, "host_path_mode", BOX_MODE_RW, mode_names, ARRAY_SIZE(mode_names));
	s->mount_path = read_mount_path(m, BOX_DEFAULT_PLACE);
	read_mounts(m, &s->extra_mounts);
	s->skill_name = read_skill_name(m);
	s->persistent = model_bool(m, "persistent", false);
	s->cpus = model_positive(m, "cpus", 1.0);
	s->memory_mb = model_int(m, "memory_mb", 512, 32);
	s->pids_limit = model_int(m, "pids_limit", 128, 1);
	s->read_only_rootfs = model_bool(m, "read_only_rootfs", true);
	s->workspace_quota_mb = model_int(m, "workspace_quota_mb", 0, 0);
}

int box_spec_decode(const struct json_value *v, struct box_spec *ret, struct fault *f)
{
	struct model m = { .v = v, .inside = "", .class = FAULT_VALIDATION, .f = f };
	struct box_spec s = { 0 };

	read_fields(&m, &s);
	if (!m.bad && s.host_path && s.host_path_mode != BOX_MODE_NONE &&
	    !box_path_inside(s.workdir, s.mount_path))
		model_fail(&m, "workdir", "must stay under mount_path when host_path is provided");
	if (m.bad) {
		box_spec_done(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

void box_spec_done(struct box_spec *s)
{
	if (!s)
		return;
	free(s->session_id);
	free(s->cmd);
	free(s->workdir);
	model_env_done(&s->env);
	free(s->image);
	free(s->host_path);
	free(s->mount_path);
	for (size_t i = 0; i < s->extra_mounts.n; i++) {
		free(s->extra_mounts.item[i].host_path);
		free(s->extra_mounts.item[i].mount_path);
	}
	free(s->extra_mounts.item);
	free(s->skill_name);
	*s = (struct box_spec){ 0 };
}

static size_t text_bytes(const char *s)
{
	return s ? strlen(s) + 1 : 0;
}

size_t box_spec_held_bytes(const struct box_spec *s)
{
	size_t n = text_bytes(s->session_id) + text_bytes(s->cmd) + text_bytes(s->workdir) +
		   text_bytes(s->image) + text_bytes(s->host_path) + text_bytes(s->mount_path) +
		   text_bytes(s->skill_name);

	for (size_t i = 0; i < s->env.n; i++)
		n += sizeof(s->env.item[i]) + text_bytes(s->env.item[i].name) +
		     text_bytes(s->env.item[i].value);
	for (size_t i = 0; i < s->extra_mounts.n; i++)
		n += sizeof(s->extra_mounts.item[i]) +
		     text_bytes(s->extra_mounts.item[i].host_path) +
		     text_bytes(s->extra_mounts.item[i].mount_path);
	return n;
}

/* --- encoding --------------------------------------------------------------------------------- */

static void key_double(struct json_writer *w, const char *key, double v)
{
	json_key(w, key);
	json_double(w, v);
}

static void encode_mounts(const struct box_mounts *mounts, struct json_writer *w)
{
	json_key(w, "extra_mounts");
	json_begin_array(w);
	for (size_t i = 0; i < mounts->n; i++) {
		json_begin_object(w);
		json_key_str(w, "host_path", mounts->item[i].host_path);
		json_key_str(w, "mount_path", mounts->item[i].mount_path);
		json_key_str(w, "mode", box_mode_name(mounts->item[i].mode));
		json_end_object(w);
	}
	json_end_array(w);
}

void box_spec_encode(const struct box_spec *s, struct json_writer *w)
{
	json_begin_object(w);
	json_key_str(w, "session_id", s->session_id);
	json_key_str(w, "cmd", s->cmd);
	json_key_str(w, "workdir", s->workdir);
	json_key_int(w, "timeout_sec", s->timeout_sec);
	json_key_str(w, "network", box_network_name(s->network));
	json_key(w, "env");
	json_begin_object(w);
	for (size_t i = 0; i < s->env.n; i++)
		json_key_str(w, s->env.item[i].name, s->env.item[i].value);
	json_end_object(w);
	json_key_str(w, "image", s->image);
	json_key_str(w, "host_path", s->host_path);
	json_key_str(w, "host_path_mode", box_mode_name(s->host_path_mode));
	json_key_str(w, "mount_path", s->mount_path);
	encode_mounts(&s->extra_mounts, w);
	json_key_str(w, "skill_name", s->skill_name);
	json_key_bool(w, "persistent", s->persistent);
	key_double(w, "cpus", s->cpus);
	json_key_int(w, "memory_mb", s->memory_mb);
	json_key_int(w, "pids_limit", s->pids_limit);
	json_key_bool(w, "read_only_rootfs", s->read_only_rootfs);
	json_key_int(w, "workspace_quota_mb", s->workspace_quota_mb);
	json_end_object(w);
}

/* --- checks ----------------------------------------------------------------------------------- */

int box_spec_check_command(const struct box_spec *s, struct fault *f)
{
	if (!*s->cmd)
		return fault_set(f, FAULT_VALIDATION, "cmd must not be empty");
	if (strlen(s->cmd) > BOX_COMMAND_MAX_BYTES)
		return fault_set(f, FAULT_VALIDATION, "cmd exceeds %u bytes",
				 BOX_COMMAND_MAX_BYTES);
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the targets of all mounts of S except those with the mode `none`. The targets are in
 * their normal form and sorted. */
static struct model_texts all_targets(const struct box_spec *s)
{
	struct model_texts t = { 0 };
	bool main_one = s->host_path && s->host_path_mode != BOX_MODE_NONE;

	t.item = xcalloc(s->extra_mounts.n + 2, sizeof(*t.item));
	for (size_t i = 0; i <= s->extra_mounts.n; i++) {
		const struct box_mount *m = i ? &s->extra_mounts.item[i - 1] : NULL;
		AUTO_BUF path = BUF_INIT(strlen(m ? m->mount_path : s->mount_path) + 1);

		if (m ? m->mode == BOX_MODE_NONE : !main_one)
			continue;
		box_path_normal(m ? m->mount_path : s->mount_path, &path);
		t.item[t.n++] = buf_take(&path);
	}
	qsort(t.item, t.n, sizeof(*t.item), by_text);
	return t;
}

int box_spec_check_targets(const struct box_spec *s, struct fault *f)
{
	struct model_texts t = all_targets(s);
	int r = 0;

	for (size_t i = 1; i < t.n && r == 0; i++)
		if (strcmp(t.item[i - 1], t.item[i]) == 0)
			r = fault_about(f, FAULT_VALIDATION, "two mounts have the mount_path ",
					str_of(*t.item[i] ? t.item[i] : "/"), "");
	model_texts_done(&t);
	return r;
}

/* --- comparing -------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Sets a fault about FIELD. The fault shows HAS, the value that the session has, in the form in
 * which Python prints it. */
static int conflict(struct fault *f, struct str id, const char *field, struct str has)
{
	AUTO_BUF behind = BUF_INIT(256 + has.n);

	buf_addf(&behind, " already exists with %s=", field);
	buf_add(&behind, has.p, has.n);
	return fault_about(f, FAULT_SESSION_CONFLICT, "Box session ", id, buf_str(&behind));
}

int box_spec_conflict(struct str id, const char *field, const char *has, struct fault *f)
{
	return conflict(f, id, field, str_of(has));
}

static int compare_text(const char *has, const char *wants, const char *field, struct str id,
			struct fault *f)
{
	return same_text(has, wants) ? 0 : conflict(f, id, field, str_of(has ? has : "None"));
}

static int compare_int(int64_t has, int64_t wants, const char *field, struct str id,
		       struct fault *f)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)has);
	return has == wants ? 0 : conflict(f, id, field, str_of(text));
}

static int compare_bool(bool has, bool wants, const char *field, struct str id, struct fault *f)
{
	return has == wants ? 0 : conflict(f, id, field, str_of(has ? "True" : "False"));
}

static int compare_float(double has, double wants, const char *field, struct str id,
			 struct fault *f)
{
	AUTO_BUF text = BUF_INIT(64);

	python_print_float(&text, has);
	return has == wants ? 0 : conflict(f, id, field, str_of(buf_str(&text)));
}

int box_spec_compare(const struct box_spec *has, const struct box_spec *wants, struct str id,
		     struct fault *f)
{
	if (compare_text(box_network_name(has->network), box_network_name(wants->network),
			 "network", id, f) < 0 ||
	    compare_text(has->image, wants->image, "image", id, f) < 0 ||
	    compare_text(has->host_path, wants->host_path, "host_path", id, f) < 0 ||
	    compare_text(box_mode_name(has->host_path_mode), box_mode_name(wants->host_path_mode),
			 "host_path_mode", id, f) < 0 ||
	    compare_text(has->mount_path, wants->mount_path, "mount_path", id, f) < 0 ||
	    compare_bool(has->persistent, wants->persistent, "persistent", id, f) < 0 ||
	    compare_float(has->cpus, wants->cpus, "cpus", id, f) < 0 ||
	    compare_int(has->memory_mb, wants->memory_mb, "memory_mb", id, f) < 0 ||
	    compare_int(has->pids_limit, wants->pids_limit, "pids_limit", id, f) < 0 ||
	    compare_bool(has->read_only_rootfs, wants->read_only_rootfs, "read_only_rootfs", id,
			 f) < 0 ||
	    compare_int(has->workspace_quota_mb, wants->workspace_quota_mb, "workspace_quota_mb",
			id, f) < 0)
		return -1;
	return 0;
}

static bool has_mount(const struct box_mounts *all, const struct box_mount *m)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->item[i].mode == m->mode &&
		    strcmp(all->item[i].mount_path, m->mount_path) == 0 &&
		    strcmp(all->item[i].host_path, m->host_path) == 0)
			return true;
	return false;
}

static bool has_all_of(const struct box_mounts *all, const struct box_mounts *of)
{
	for (size_t i = 0; i < of->n; i++)
		if (of->item[i].mode != BOX_MODE_NONE && !has_mount(all, &of->item[i]))
			return false;
	return true;
}

bool box_spec_same_mounts(const struct box_spec *a, const struct box_spec *b)
{
	return has_all_of(&a->extra_mounts, &b->extra_mounts) &&
	       has_all_of(&b->extra_mounts, &a->extra_mounts);
}

static void copy_env(const struct model_env *from, struct model_env *to)
{
	to->n = from->n;
	to->item = xcalloc(from->n + 1, sizeof(*to->item));
	for (size_t i = 0; i < from->n; i++)
		to->item[i] = (struct model_variable){ xstrdup(from->item[i].name),
						       xstrdup(from->item[i].value) };
}

static char *copy_text(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

void box_spec_copy(const struct box_spec *from, struct box_spec *to)
{
	*to = *from;
	to->session_id = xstrdup(from->session_id);
	to->cmd = xstrdup(from->cmd);
	to->workdir = xstrdup(from->workdir);
	to->image = xstrdup(from->image);
	to->host_path = copy_text(from->host_path);
	to->mount_path = xstrdup(from->mount_path);
	to->skill_name = copy_text(from->skill_name);
	copy_env(&from->env, &to->env);
	to->extra_mounts.item = xcalloc(from->extra_mounts.n + 1, sizeof(*to->extra_mounts.item));
	for (size_t i = 0; i < from->extra_mounts.n; i++) {
		const struct box_mount *m = &from->extra_mounts.item[i];

		to->extra_mounts.item[i] = (struct box_mount){ xstrdup(m->host_path),
							       xstrdup(m->mount_path), m->mode };
	}
}
