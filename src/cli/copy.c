#include <string.h>

#include "base/cleanup.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/start.h"
#include "client/copy.h"
#include "client/sandbox.h"
#include "client/visit.h"
#include "spec/grammar.h"

#define NOTES_SHOWN_MAX 20u /* notes about skipped files; further notes are only counted */

struct endpoint {
	char *name;       /* name of the sandbox; NULL for this machine */
	const char *path; /* borrowed from the arguments */
};

static void endpoint_done(struct endpoint *p)
{
	free_p(&p->name);
}
#define AUTO_ENDPOINT __attribute__((cleanup(endpoint_done))) struct endpoint

static int parse_endpoint(const char *s, struct endpoint *ret, struct err *e)
{
	const char *colon = path_is_host(s) ? NULL : strchr(s, ':');

	ret->path = s;
	if (!colon)
		return *s ? 0 : err_set(e, ERR_INVALID, "an empty path names nothing");
	ret->name = xstrndup(s, (size_t)(colon - s));
	ret->path = colon + 1;
	if (spec_check_name("sandbox", ret->name, e) < 0) {
		err_wrap(e, "'%s'", s);
		return err_hint(
			e, "write ./NAME for a file of this machine that has a colon in its name");
	}
	if (*ret->path == '/')
		return 0;
	err_set(e, ERR_INVALID, "'%s': a path in a sandbox is absolute: %s:/%s", s, ret->name,
		ret->path);
	return err_hint(e, "write ./NAME for a file of this machine that has a colon in its name");
}

struct notes {
	unsigned shown, hidden;
	bool missed;
};

static void show_note(void *arg, bool missed, const char *text)
{
	struct notes *n = arg;

	n->missed |= missed;
	if (n->shown == NOTES_SHOWN_MAX) {
		n->hidden++;
		return;
	}
	n->shown++;
	if (missed)
		say_errorf(ERR_SYSTEM, "%s", text);
	else
		say_warn("%s", text);
}

static int copy(const struct home *h, const struct endpoint *from, const struct endpoint *to,
		const struct copy_notes *notes, struct err *e)
{
	struct visit a, b;
	int r;

	if (from->name && to->name) {
		r = visit_open(&a, h, from->name, start_one, e);
		if (r == 0) {
			r = visit_open(&b, h, to->name, start_one, e);
			if (r == 0)
				r = copy_across(&a.client, from->path, &b.client, to->path, notes,
						e);
			visit_done(&b);
		}
		visit_done(&a);
		return r;
	}
	r = visit_open(&a, h, from->name ? from->name : to->name, start_one, e);
	if (r == 0)
		r = from->name ? copy_out(&a.client, from->path, to->path, notes, e)
			       : copy_in(&a.client, from->path, to->path, notes, e);
	visit_done(&a);
	return r;
}

int cmd_copy(const struct args *a)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_ENDPOINT from = { 0 };
	AUTO_ENDPOINT to = { 0 };
	struct notes seen = { 0 };
	const struct copy_notes notes = { .note = show_note, .arg = &seen };
	struct err e = { 0 };

	if (parse_endpoint(a->word.v[0], &from, &e) < 0 ||
	    parse_endpoint(a->word.v[1], &to, &e) < 0)
		return say_error(&e);
	if (!from.name && !to.name)
		return say_errorf(ERR_INVALID,
				  "neither '%s' nor '%s' is in a sandbox\n"
				  "write NAME:/path for the side that is",
				  from.path, to.path);
	if (home_open(&home, &e) < 0)
		return say_error(&e);
	if (copy(&home, &from, &to, &notes, &e) < 0)
		return say_error(&e);
	if (seen.hidden)
		say_warn("and %u more", seen.hidden);
	return seen.missed;
}
