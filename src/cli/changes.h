/* Lists the differences between the old and the new configuration of a sandbox that `modify`
 * changes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "spec/spec.h"

enum change_field {
	CHANGE_CPUS,
	CHANGE_MAX_CPUS,
	CHANGE_MEMORY,
	CHANGE_MAX_MEMORY,
	CHANGE_PIDS,
	CHANGE_ROOT_DISK,
	CHANGE_ENV,
	CHANGE_LABEL,
	CHANGE_WORKDIR,
	CHANGE_NETWORK,
	CHANGE_VOLUME,
	CHANGE_PORT,
};

struct change {
	enum change_field what;
	char *field;          /* "memory", "env.KEY" */
	char *before, *after; /* text for people; NULL if there is no such value */
	/* the same values as JSON, for programs; NULL if programs get the text, too */
	char *before_json, *after_json;
	const char *unit; /* the unit of a number, such as "MiB", or NULL */
};

struct changes {
	struct change *v;
	size_t n;
};
#define AUTO_CHANGES __attribute__((cleanup(changes_done))) struct changes

/* Lists the differences. Fails with ERR_LIMIT if there are too many. */
MUST_USE int changes_between(const struct spec *was, const struct spec *now, struct changes *ret,
			     struct err *e);
void changes_done(struct changes *c);
/* Write one of the two values as JSON. If TEXTS is true or there is no value for programs, write
 * the text for people. */
void change_write_before(struct json_writer *w, const struct change *c, bool texts);
void change_write_after(struct json_writer *w, const struct change *c, bool texts);
const char *change_kind(const struct change *c); /* "resource", "env", "labels", … */
const char *change_word(const struct change *c); /* "add", "remove" or "change" */
