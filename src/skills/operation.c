#include "skills/operation.h"

#include <string.h>

#include "base/cleanup.h"

static const struct operation operations[] = {
	// clang-format off
	{ "list",        true,  false, run_list },
	{ "get",         true,  false, run_get },
	{ "create",      false, true,  run_create },
	{ "update",      false, false, run_update },
	{ "delete",      false, true,  run_delete },
	{ "scan",        false, false, run_scan },
	{ "list_files",  false, false, run_list_files },
	{ "read",        false, false, run_read },
	{ "write",       false, false, run_write },
	{ "preview_zip", false, false, run_preview_zip },
	{ "install_zip", false, true,  run_install_zip },
	// clang-format on
};

const struct operation *operation_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		if (strcmp(operations[i].name, name) == 0)
			return &operations[i];
	return NULL;
}
