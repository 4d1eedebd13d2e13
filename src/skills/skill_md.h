/*
 * Reads and writes SKILL.md. The file has front matter between two lines `---`, and then the
 * instructions of the skill.
 *
 * The front matter is YAML that people or PyYAML have written. Only three of its keys are used.
 * Anchors, tags and duplicate keys are refused (yaml/yaml.h).
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct skill_md {
	/* trimmed; NULL if the key is missing or its value is blank */
	char *name, *display_name, *description;
	struct str instructions; /* borrowed from the text */
};

#define AUTO_SKILL_MD __attribute__((cleanup(skill_md_done))) struct skill_md

void skill_md_done(struct skill_md *m);
/* Reads TEXT. Fails like yaml_to_json(), with ERR_INVALID or ERR_LIMIT and the position of the
 * mistake. If a text has no front matter, or if the closing line of the front matter is missing,
 * the whole text is instructions. Front matter that is no mapping counts as empty. */
MUST_USE int skill_md_read(struct str text, struct skill_md *ret, struct err *e);

/* Appends the text of a SKILL.md to OUT. Leaves out blank and NULL fields. If no field is left,
 * leaves out the whole front matter. */
void skill_md_write(struct buf *out, const char *name, const char *display_name,
		    const char *description, struct str instructions);
