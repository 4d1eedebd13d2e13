/* Commands that are not supported yet. Each prints one line that says so. */
#include "base/say.h"
#include "cli/commands.h"

#define STUB(fn, name)                                                               \
	int fn(const struct args *a)                                                 \
	{                                                                            \
		return say_errorf(ERR_UNSUPPORTED, "%s is not supported yet", name); \
	}

STUB(cmd_ssh, "ssh")
STUB(cmd_snapshot, "snapshot")
