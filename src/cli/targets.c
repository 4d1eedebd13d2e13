#include "cli/targets.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/say.h"
#include "spec/grammar.h"

int targets_load(const struct home *h, struct sandbox_list *ret, struct err *e)
{
	if (sandbox_list_load(h, ret, e) < 0)
		return -1;
	for (size_t i = 0; i < ret->n_unread; i++)
		say_warn("%s", ret->unread[i].why.msg);
	return 0;
}

static bool has(const struct strv *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i], name) == 0)
			return true;
	return false;
}

static int add_labelled(const struct home *h, const struct strv *labels, struct strv *names,
			struct err *e)
{
	AUTO_SANDBOX_LIST all = { 0 };
	bool matched = false;

	if (targets_load(h, &all, e) < 0)
		return -1;
	for (size_t i = 0; i < all.n; i++) {
		const struct spec *s = &all.item[i].spec;

		if (!spec_matches_labels(s, labels))
			continue;
		matched = true;
		if (!has(names, s->name))
			strv_add(names, s->name);
	}
	if (!matched)
		say_warn("no sandboxes matched the given labels");
	return 0;
}

static int act(const struct args *a, const struct home *h, const struct strv *names, target_fn *fn,
	       void *data, bool quiet_errors)
{
	bool silent = quiet_errors && args_has(a, "quiet");
	struct err e = { 0 };
	int status = 0;

	for (size_t i = 0; i < names->n; i++)
		if (fn(a, h, names->v[i], data, &e) < 0) {
			status = 1;
			if (!silent)
				say_error(&e);
		}
	return status;
}

int targets_each(const struct args *a, target_fn *fn, void *data, bool quiet_errors)
{
	const struct strv *labels = args_list(a, "label");
	AUTO_HOME home = { .fd = -1 };
	struct strv names = { 0 };
	struct err e = { 0 };
	int status = 0;

	if (home_open(&home, &e) < 0)
		return say_error(&e);
	for (size_t i = 0; i < a->word.n; i++)
		if (!has(&names, a->word.v[i]))
			strv_add(&names, a->word.v[i]);
	if (labels->n && add_labelled(&home, labels, &names, &e) < 0)
		status = say_error(&e);
	status |= act(a, &home, &names, fn, data, quiet_errors);
	strv_done(&names);
	return status;
}

int targets_all(const struct args *a, target_fn *fn, void *data, bool quiet_errors, bool only_up)
{
	AUTO_SANDBOX_LIST all = { 0 };
	AUTO_HOME home = { .fd = -1 };
	struct strv names = { 0 };
	struct err e = { 0 };
	int status;

	if (home_open(&home, &e) < 0 || targets_load(&home, &all, &e) < 0)
		return say_error(&e);
	for (size_t i = 0; i < all.n; i++)
		if (!only_up || sandbox_is_up(&all.item[i]))
			strv_add(&names, all.item[i].spec.name);
	status = act(a, &home, &names, fn, data, quiet_errors);
	strv_done(&names);
	return status;
}
