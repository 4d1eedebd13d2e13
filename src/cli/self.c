/* `cordon update` and `cordon downgrade` only tell the user to use the package manager, because
 * cordon does not replace its own programs. `cordon uninstall` removes the state of an
 * installation. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/targets.h"
#include "client/removal.h"

int cmd_self_update(const struct args *a)
{
	return say_errorf(
		ERR_UNSUPPORTED,
		"%s does not update itself\n"
		"install another version with the package manager, or build it from source",
		a->program);
}

static bool agreed(const struct home *h, const struct sandbox_list *all)
{
	char line[16] = "";

	say_ask("Remove '%s' with %zu sandboxes, all images and all volumes? [y/N]", h->path,
		all->n + all->n_unread);
	return fgets(line, sizeof(line), stdin) &&
	       (strcmp(line, "y\n") == 0 || strcmp(line, "Y\n") == 0);
}

int cmd_self_uninstall(const struct args *a)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_SANDBOX_LIST all = { 0 };
	struct err e = { 0 };

	if (home_open(&home, &e) < 0 || targets_load(&home, &all, &e) < 0)
		return say_error(&e);
	if (!args_has(a, "yes")) {
		if (!isatty(STDIN_FILENO))
			return say_errorf(
				ERR_INVALID,
				"cannot ask whether to remove '%s' and everything in it: standard "
				"input is no terminal\n"
				"answer in advance with --yes",
				home.path);
		if (!agreed(&home, &all))
			return 1;
	}
	for (size_t i = 0; i < all.n; i++)
		if (sandbox_remove(&home, all.item[i].spec.name, true, &e) < 0 &&
		    e.code != ERR_NOT_FOUND)
			return say_error(&e);
	for (size_t i = 0; i < all.n_unread; i++)
		if (sandbox_remove(&home, all.unread[i].name, true, &e) < 0 &&
		    e.code != ERR_NOT_FOUND)
			return say_error(&e);
	if (home_erase(&home, &e) < 0)
		return say_error(&e);
	say_done("Removed", home.path, 0);
	return 0;
}
