/* `cordon update` and `downgrade`: programs do not replace themselves here, packages do. */
#include "cli/commands.h"

#include "cli/ui.h"

int cmd_self_update(const struct args *a)
{
	return ui_errorf(
		ERR_UNSUPPORTED,
		"%s does not update itself\n"
		"install another version with the package manager, or build it from source",
		a->program);
}
