#include "service/default_workspace.h"

#include "base/cleanup.h"
#include "client/source_rules.h"
#include "client/workspace.h"

#define KEY "box.local.default_workspace"
/* The list of all roots is shorter than this, because a configuration file is at most 1 MiB
 * long. */
#define ROOTS_TEXT_MAX_BYTES (1u << 20)

static int explain(const struct service_config *c, const struct err *why, struct fault *f)
{
	AUTO_BUF list = BUF_INIT(ROOTS_TEXT_MAX_BYTES);

	for (size_t i = 0; i < c->roots.n; i++)
		buf_addf(&list, "%s%s", i ? ", " : "", c->roots.item[i]);
	switch (why->code) {
	case ERR_INVALID:
		return fault_set(f, FAULT_VALIDATION, KEY " must point to a directory on the host");
	case ERR_NOT_FOUND:
		if (c->roots.n)
			break;
		return fault_set(f, FAULT_VALIDATION,
				 KEY " cannot be created because no allowed_mount_roots are "
				     "configured");
	case ERR_DENIED:
		return fault_set(f, FAULT_VALIDATION, KEY " is outside allowed_mount_roots: %s",
				 buf_str(&list));
	default:
		break;
	}
	return fault_set(f, FAULT_VALIDATION, KEY ": %s", why->msg);
}

int default_workspace_prepare(const struct service_config *c, struct fault *f)
{
	const struct source_rules rules = { .root = (const char *const *)c->roots.item,
					    .n_roots = c->roots.n };
	AUTO_FREE char *found = NULL;
	bool usable;
	struct err e = { 0 };

	if (!c->default_workspace || c->workspace_given)
		return 0;
	if (workspace_find(c->default_workspace, &rules, true, &found, &usable, &e) < 0)
		return explain(c, &e, f);
	return 0;
}
