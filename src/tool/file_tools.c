#include "tool/file_tools.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

#define PATTERN_MAX_BYTES 4096u

static const struct file_tool tools[] = {
	{ "read", false, file_read }, { "write", true, file_write }, { "edit", true, file_edit },
	{ "glob", false, file_glob }, { "grep", false, file_grep },
};

const struct file_tool *file_tool_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

int file_pattern(struct file_call *c, struct str text, struct pattern *ret, struct fault *f)
{
	const struct str top = STR(BOX_DEFAULT_PLACE "/");
	int r;

	if (text.n > PATTERN_MAX_BYTES)
		return fault_set(f, FAULT_VALIDATION, "a pattern has at most %u bytes",
				 PATTERN_MAX_BYTES);
	if (text.n > top.n && memcmp(text.p, top.p, top.n) == 0)
		text = (struct str){ text.p + top.n, text.n - top.n };
	r = pattern_read(ret, text);
	if (r == 0)
		return 0;
	c->hint = "Use a pattern like **/*.py and name the directory with path.";
	return fault_about(f, FAULT_VALIDATION,
			   r == -E2BIG ? "Pattern has too many components: "
				       : "Pattern must be relative, without '..': ",
			   text, "");
}
