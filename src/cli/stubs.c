/* Commands whose file does not exist yet: one clear line each. */
#include "cli/commands.h"
#include "cli/ui.h"

#define STUB(fn, name)                                                              \
	int fn(const struct args *a)                                                \
	{                                                                           \
		return ui_errorf(ERR_UNSUPPORTED, "%s is not supported yet", name); \
	}

STUB(cmd_logs, "logs")
STUB(cmd_metrics, "metrics")
STUB(cmd_modify, "modify")
STUB(cmd_ssh, "ssh")
STUB(cmd_pull, "pull")
STUB(cmd_load, "load")
STUB(cmd_save, "save")
STUB(cmd_image_list, "image list")
STUB(cmd_image_inspect, "image inspect")
STUB(cmd_image_remove, "image remove")
STUB(cmd_image_prune, "image prune")
STUB(cmd_registry_login, "registry login")
STUB(cmd_registry_logout, "registry logout")
STUB(cmd_registry_list, "registry list")
STUB(cmd_snapshot, "snapshot")
STUB(cmd_install, "install")
STUB(cmd_uninstall, "uninstall")
STUB(cmd_self_uninstall, "self uninstall")
