/* Commands whose file does not exist yet: one clear line each. */
#include "cli/commands.h"
#include "cli/ui.h"

#define STUB(fn, name)                                                              \
	int fn(const struct args *a)                                                \
	{                                                                           \
		return ui_errorf(ERR_UNSUPPORTED, "%s is not supported yet", name); \
	}

STUB(cmd_ssh, "ssh")
STUB(cmd_snapshot, "snapshot")
