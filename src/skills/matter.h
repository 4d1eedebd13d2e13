/*
 * SKILL.md: front matter between two lines `---`, then instructions.
 *
 * The front matter is YAML, written by people and by PyYAML. Only three of its keys are used. Anchors, tags and
 * duplicate keys are refused (yaml/yaml.h).
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct matter {
	/* trimmed; NULL if the key is missing or its value is blank */
	char *name, *display_name, *description;
	struct str instructions; /* borrowed from the text */
};

#define AUTO_MATTER __attribute__((cleanup(matter_done))) struct matter

void matter_done(struct matter *m);
/* Reads TEXT. Fails like yaml_to_json(), with ERR_INVALID or ERR_LIMIT and the position of the mistake. A text without
 * front matter consists of instructions only, and so does a text whose front matter has no closing line. Front matter
 * that is no mapping counts as empty. */
MUST_USE int matter_read(struct str text, struct matter *ret, struct err *e);

/* Appends the text to OUT. Leaves out blank and NULL fields, and the whole front matter if no field is left. */
void matter_write(struct buf *out, const char *name, const char *display_name,
		  const char *description, struct str instructions);
