#include "tool/file_tools.h"

#include <string.h>

#include "base/cleanup.h"

static const struct file_tool tools[] = {
	{ "read", false, file_read },
	{ "write", true, file_write },
	{ "edit", true, file_edit },
};

const struct file_tool *file_tool_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}
