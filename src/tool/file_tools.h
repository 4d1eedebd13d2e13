/*
 * The tools that handle files of a session's workspace: read, write, edit, glob and grep.
 *
 * If the workspace is a directory of this machine, a tool opens the workspace and reaches the files
 * in it by descriptor. The tool follows no link, because a command in the sandbox may change the
 * tree at any moment. If the workspace exists in the sandbox only, or belongs to a Box server on
 * another machine, the tools run shell scripts in the sandbox. Error messages show the path that a
 * file has in the sandbox.
 */
#pragma once

#include "base/json.h"
#include "files/pattern.h"
#include "service/boxspec.h"
#include "service/fault.h"
#include "service/query.h"
#include "service/way.h"

#define FILE_RESULT_MAX_BYTES 51200u /* the longest text of one result */

struct file_call {
	const struct service_config *config;
	const struct query *query;
	const struct box_spec *spec; /* spec of the session */
	struct way *way;             /* runs commands in the session */
	const struct json_value *parameters;
	struct json_writer *w; /* gets the result, as an object */
	/* no command of this call may begin after this time; 0 before the first command */
	uint64_t until_ns;
	const char *hint; /* static text: what the model can do after a failure; or NULL */
};

typedef int file_tool_fn(struct file_call *c, struct fault *f);

struct file_tool {
	const char *name;
	bool writes; /* the tool changes files, so the quota applies */
	file_tool_fn *run;
};

/* Returns the tool of this name, or NULL. */
const struct file_tool *file_tool_find(const char *name);

/* Reads TEXT as a pattern of file names. TEXT may begin with the path of the workspace, because
 * paths in results begin with it, too. */
MUST_USE int file_pattern(struct file_call *c, struct str text, struct pattern *ret,
			  struct fault *f);

file_tool_fn file_read, file_write, file_edit, file_glob, file_grep;
