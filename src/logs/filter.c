#include "logs/filter.h"

#include "base/cleanup.h"
#include "regex/regex.h"

int filter_grep(struct filter *f, const char *pattern, struct err *e)
{
	/* as in grep, `^` and `$` match at the start and end of each line */
	if (regex_new(pattern, REGEX_LINES, &f->grep, e) < 0)
		return err_wrap(e, "--grep: invalid expression '%s'", pattern);
	return 0;
}

void filter_done(struct filter *f)
{
	regex_free(TAKE(f->grep));
}

int filter_passes(const struct filter *f, const struct entry *x, struct err *e)
{
	int r;

	if (!(f->sources & 1u << x->source) || x->t_ns < f->since_ns || x->t_ns >= f->until_ns)
		return 0;
	if (f->id && x->id != f->id)
		return 0;
	if (!f->grep)
		return 1;
	r = regex_matches(f->grep, (struct str){ x->body.p ? x->body.p : "", x->body.n }, false);
	if (r >= 0)
		return r;
	return err_set(e, ERR_LIMIT,
		       "--grep: the expression takes too many steps on the record of %s", x->time);
}
