#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/start.h"
#include "client/archive.h"
#include "client/copy.h"
#include "client/sandbox.h"
#include "client/visit.h"
#include "spec/grammar.h"

/* how many notes about single files (client/copy.h) are shown; the others are counted */
#define NOTES_SHOWN_MAX 20u

struct endpoint {
	char *name;       /* name of the sandbox; NULL for this machine */
	const char *path; /* borrowed from the arguments, or the same as `whole` */
	char *whole; /* the absolute path, if the user gave a relative path in a sandbox; owned */
	bool stream; /* this side is our standard input or output */
};

static void endpoint_done(struct endpoint *p)
{
	free_p(&p->name);
	free_p(&p->whole);
}
#define AUTO_ENDPOINT __attribute__((cleanup(endpoint_done))) struct endpoint

static int parse_endpoint(const struct args *a, size_t i, struct endpoint *ret, struct err *e)
{
	const char *s = a->word.v[i];
	const char *colon = path_is_host(s) ? NULL : strchr(s, ':');

	ret->path = s;
	ret->stream = strcmp(s, "-") == 0 && !args_as_msb(a);
	if (!colon)
		return *s ? 0 : err_set(e, ERR_INVALID, "an empty path names nothing");
	ret->name = xstrndup(s, (size_t)(colon - s));
	ret->path = colon + 1;
	if (spec_check_name("sandbox", ret->name, e) < 0) {
		err_wrap(e, "'%s'", s);
		return err_hint(
			e, "write ./NAME for a file of this machine that has a colon in its name");
	}
	if (*ret->path == '/' || !args_as_msb(a))
		return 0;
	err_set(e, ERR_INVALID, "'%s': a path in a sandbox is absolute: %s:/%s", s, ret->name,
		ret->path);
	return err_hint(e, "write ./NAME for a file of this machine that has a colon in its name");
}

/* Makes a path in a sandbox absolute. A relative path begins in the working directory of the
 * sandbox's commands. */
static int complete(const struct home *h, struct endpoint *p, struct err *e)
{
	AUTO_RECORD r = RECORD_NONE;
	const char *dir;

	if (!p->name || *p->path == '/')
		return 0;
	if (record_load(h, p->name, &r, e) < 0)
		return -1;
	dir = record_in_force(&r)->workdir;
	p->whole = xasprintf("%s/%s", dir && strcmp(dir, "/") != 0 ? dir : "", p->path);
	p->path = p->whole;
	return 0;
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

/* Copies between this machine and the sandbox of C. */
static int copy_one(struct client *c, const struct home *h, const struct endpoint *from,
		    const struct endpoint *to, unsigned flags, const struct copy_notes *notes,
		    struct err *e)
{
	if (from->stream)
		return archive_in(c, STDIN_FILENO, to->path, notes, e);
	if (to->stream)
		return archive_out(c, h, from->path, flags, STDOUT_FILENO, notes, e);
	return from->name ? copy_out(c, from->path, to->path, flags, notes, e)
			  : copy_in(c, from->path, to->path, flags, notes, e);
}

static int copy(const struct home *h, const struct endpoint *from, const struct endpoint *to,
		unsigned flags, const struct copy_notes *notes, struct err *e)
{
	struct visit a, b;
	int r;

	if (from->name && to->name) {
		r = visit_open(&a, h, from->name, start_one, e);
		if (r == 0) {
			r = visit_open(&b, h, to->name, start_one, e);
			if (r == 0)
				r = copy_across(&a.client, from->path, &b.client, to->path, flags,
						notes, e);
			visit_done(&b);
		}
		visit_done(&a);
		return r;
	}
	r = visit_open(&a, h, from->name ? from->name : to->name, start_one, e);
	if (r == 0)
		r = copy_one(&a.client, h, from, to, flags, notes, e);
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

	if (parse_endpoint(a, 0, &from, &e) < 0 || parse_endpoint(a, 1, &to, &e) < 0)
		return say_error(&e);
	if (!from.name && !to.name)
		return say_errorf(ERR_INVALID,
				  "neither '%s' nor '%s' is in a sandbox\n"
				  "write NAME:/path for the side that is",
				  from.path, to.path);
	if (to.stream && isatty(STDOUT_FILENO))
		return say_errorf(ERR_INVALID, "standard output is a terminal\n"
					       "send the archive to a file or a program");
	if (home_open(&home, &e) < 0 || complete(&home, &from, &e) < 0 ||
	    complete(&home, &to, &e) < 0)
		return say_error(&e);
	if (copy(&home, &from, &to, args_has(a, "follow-link") ? COPY_FOLLOW : 0, &notes, &e) < 0)
		return say_error(&e);
	if (seen.hidden)
		say_warn("and %u more", seen.hidden);
	return seen.missed;
}
