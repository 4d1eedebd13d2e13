/* Commands whose file does not exist yet: one clear line each. */
#include "cli/commands.h"
#include "cli/ui.h"

#define STUB(fn, name)                                                                            \
	int fn(const struct args *a)                                                              \
	{                                                                                         \
		return ui_errorf(ERR_UNSUPPORTED, "the command '%s' is not supported yet", name); \
	}

STUB(cmd_create, "create")
STUB(cmd_run, "run")
STUB(cmd_exec, "exec")
STUB(cmd_attach, "attach")
STUB(cmd_start, "start")
STUB(cmd_stop, "stop")
STUB(cmd_restart, "restart")
STUB(cmd_remove, "remove")
STUB(cmd_list, "list")
STUB(cmd_status, "status")
STUB(cmd_inspect, "inspect")
STUB(cmd_ping, "ping")
STUB(cmd_touch, "touch")
STUB(cmd_doctor, "doctor")
