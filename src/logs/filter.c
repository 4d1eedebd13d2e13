#include "logs/filter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/cleanup.h"

struct grep {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
};

static void grep_free(struct grep *g)
{
	if (!g)
		return;
	pcre2_match_context_free(g->context);
	pcre2_match_data_free(g->data);
	pcre2_code_free(g->code);
	free(g);
}

int filter_grep(struct filter *f, const char *pattern, struct err *e)
{
	/* ^ and $ match at lines, as in grep; bodies may hold any bytes */
	const uint32_t options =
		PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
	struct grep *g = xcalloc(1, sizeof(*g));
	PCRE2_SIZE at = 0;
	int error = 0;

	g->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &error, &at,
				NULL);
	if (!g->code) {
		PCRE2_UCHAR text[256] = "";

		pcre2_get_error_message(error, text, sizeof(text));
		grep_free(g);
		return err_set(e, ERR_INVALID, "--grep: invalid expression '%s' at offset %zu: %s",
			       pattern, (size_t)at, (const char *)text);
	}
	g->data = pcre2_match_data_create_from_pattern(g->code, NULL);
	g->context = pcre2_match_context_create(NULL);
	if (!g->data || !g->context)
		out_of_memory(); /* ends the program, as xcalloc does: the allocations are small */
	pcre2_set_match_limit(g->context, GREP_MATCH_LIMIT);
	pcre2_set_depth_limit(g->context, GREP_DEPTH_LIMIT);
	pcre2_set_heap_limit(g->context, GREP_HEAP_LIMIT_KIB);
	f->grep = g;
	return 0;
}

void filter_done(struct filter *f)
{
	grep_free(TAKE(f->grep));
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
	r = pcre2_match(f->grep->code, (PCRE2_SPTR)(x->body.p ? x->body.p : ""), x->body.n, 0, 0,
			f->grep->data, f->grep->context);
	if (r >= 0 || r == PCRE2_ERROR_NOMATCH)
		return r >= 0;
	return err_set(e, ERR_LIMIT,
		       "--grep: the expression takes too many steps on the record of %s", x->time);
}
