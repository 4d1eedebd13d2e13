/*
 * SKILL.md: front matter between two lines `---`, then instructions.
 *
 * The front matter is YAML, written by people and by PyYAML. Only three keys of it mean something. We refuse
 * anchors, tags and duplicate keys (yaml/yaml.h), and a text with such front matter cannot be read.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct matter {
	/* trimmed; NULL where the text has none or a blank one */
	char *name, *display_name, *description;
	struct str instructions; /* borrowed from the text */
};

#define AUTO_MATTER __attribute__((cleanup(matter_done))) struct matter

void matter_done(struct matter *m);
/* ERR_INVALID or ERR_LIMIT with the place of the fault, as yaml_to_json() says it. A text without front matter, or
 * without its closing line, consists of instructions. Front matter that is no mapping counts as empty. */
MUST_USE int matter_read(struct str text, struct matter *ret, struct err *e);

/* Appends the text. Blank or NULL fields are left out; without any field there is no front matter. */
void matter_write(struct buf *out, const char *name, const char *display_name,
		  const char *description, struct str instructions);
