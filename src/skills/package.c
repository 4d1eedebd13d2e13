#include "skills/package.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "skills/name.h"
#include "skills/skill_md.h"

const char *const package_entries[PACKAGE_ENTRIES] = { PACKAGE_ENTRY, "skill.md" };
const char *const package_project_files[PACKAGE_PROJECT_FILES] = { "requirements.txt",
								   "pyproject.toml", "setup.py",
								   "setup.cfg" };

void skill_done(struct skill *s)
{
	free(s->name);
	free(s->display_name);
	free(s->description);
	free(s->instructions);
	free(s->path);
	*s = (struct skill){ 0 };
}

int skill_read(struct str text, const char *entry, const char *path, const char *dir_name,
	       struct skill *ret, struct why *y)
{
	AUTO_SKILL_MD m = { 0 };
	char *name;
	struct err e;

	if (!utf8_valid(text.p, text.n))
		return why_set(y, "Skill entry file %s is not valid UTF-8 text", entry);
	if (skill_md_read(text, &m, &e) < 0)
		return why_set(y, "Skill entry file %s has front matter that cannot be read: %s",
			       entry, e.msg);
	if (name_check(str_of(m.name ? m.name : dir_name), &name, y) < 0)
		return -1;
	*ret = (struct skill){
		.name = name,
		.display_name = m.display_name ? TAKE(m.display_name) : xstrdup(name),
		.description = m.description ? TAKE(m.description) : xstrdup(""),
		.instructions = xmalloc(m.instructions.n + 1),
		.instructions_n = m.instructions.n,
		.path = xstrdup(path),
		.entry = entry,
	};
	if (m.instructions.n)
		memcpy(ret->instructions, m.instructions.p, m.instructions.n);
	ret->instructions[m.instructions.n] = '\0';
	return 0;
}

/* --- on disk --------------------------------------------------------------------------------- */

const char *package_entry(int dir)
{
	for (unsigned i = 0; i < PACKAGE_ENTRIES; i++)
		if (beneath_has_file(dir, package_entries[i]))
			return package_entries[i];
	return NULL;
}

static bool is_python_project(int dir)
{
	for (unsigned i = 0; i < PACKAGE_PROJECT_FILES; i++)
		if (beneath_has_file(dir, package_project_files[i]))
			return true;
	return beneath_has_dir(dir, ".venv");
}

static int too_large(const char *entry, struct why *y)
{
	return why_set(y, "Skill entry file %s exceeds the %u-byte limit", entry,
		       PACKAGE_TEXT_MAX_BYTES);
}

int package_load(int dir, const char *entry, const char *path, const char *dir_name,
		 struct skill *ret, struct why *y)
{
	AUTO_BUF text = BUF_INIT(PACKAGE_TEXT_MAX_BYTES);
	struct stat st;
	int r = beneath_read(dir, entry, &text, &st);

	if (r == -EFBIG)
		return too_large(entry, y);
	if (r < 0)
		return why_sys(y, -r, "Skill entry file %s cannot be read", entry);
	if (skill_read((struct str){ buf_str(&text), text.n }, entry, path, dir_name, ret, y) < 0)
		return -1;
	ret->python_project = is_python_project(dir);
	ret->changed = st.st_ctim;
	ret->modified = st.st_mtim;
	return 0;
}

int package_write(int dir, const char *name, const char *display_name, const char *description,
		  struct str instructions, struct why *y)
{
	AUTO_BUF text = BUF_INIT(PACKAGE_TEXT_MAX_BYTES);
	int r;

	skill_md_write(&text, name, display_name, description, instructions);
	if (buf_failed(&text))
		return too_large(PACKAGE_ENTRY, y);
	r = beneath_write(dir, PACKAGE_ENTRY, (struct str){ text.p, text.n });
	/* EXDEV means that the entry file is a link that leads out of the package; we replace the
	 * link */
	if (r == -EXDEV)
		r = beneath_replace(dir, PACKAGE_ENTRY, (struct str){ text.p, text.n });
	return r < 0 ? why_sys(y, -r, "Skill entry file " PACKAGE_ENTRY " cannot be written") : 0;
}

/* --- for the peer ---------------------------------------------------------------------------- */

/* Writes "2026-01-02T03:04:05.678901+00:00". Python's parsers want six digits after the point. */
static void write_time(struct json_writer *w, const char *key, const struct timespec *t)
{
	uint64_t ns = t->tv_sec < 0 ? 0 : (uint64_t)t->tv_sec * NS_PER_SEC + (uint64_t)t->tv_nsec;
	char text[CLOCK_RFC3339_BYTES];

	clock_rfc3339_ns(ns, text);
	memmove(text + 26, text + 29, strlen(text + 29) + 1);
	json_key_str(w, key, text);
}

void skill_write_json(const struct skill *s, const char *package_root, const char *source,
		      struct json_writer *w)
{
	json_begin_object(w);
	json_key_str(w, "name", s->name);
	json_key_str(w, "display_name", s->display_name);
	json_key_str(w, "description", s->description);
	json_key(w, "instructions");
	json_strn(w, s->instructions, s->instructions_n);
	json_key_str(w, "package_root", package_root);
	json_key_str(w, "entry_file", s->entry);
	json_key_bool(w, "python_project", s->python_project);
	write_time(w, "created_at", &s->changed);
	write_time(w, "updated_at", &s->modified);
	if (source)
		json_key_str(w, "source_path", source);
	json_end_object(w);
}

size_t skill_text_bytes(const struct skill *s)
{
	return strlen(s->name) + strlen(s->display_name) + strlen(s->description) +
	       s->instructions_n + strlen(s->path);
}
