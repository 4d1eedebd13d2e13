#include "regex/regex.h"

#include <errno.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/cleanup.h"

struct regex {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	const char *text; /* borrowed */
	bool literal;
};

void regex_free(struct regex *r)
{
	if (!r)
		return;
	pcre2_match_context_free(r->context);
	pcre2_match_data_free(r->data);
	pcre2_code_free(r->code);
	free(r);
}

int regex_new(const char *text, unsigned flags, struct regex **ret, struct err *e)
{
	const uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C |
				 (flags & REGEX_LINES ? PCRE2_MULTILINE : 0);
	struct regex *r = xcalloc(1, sizeof(*r));
	PCRE2_SIZE at = 0;
	int error = 0;

	r->code =
		pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, &error, &at, NULL);
	if (!r->code) {
		PCRE2_UCHAR why[256] = "";

		pcre2_get_error_message(error, why, sizeof(why));
		regex_free(r);
		return err_set(e, ERR_INVALID, "%s at offset %zu", (const char *)why, (size_t)at);
	}
	r->data = pcre2_match_data_create(1, NULL);
	r->context = pcre2_match_context_create(NULL);
	if (!r->data || !r->context)
		out_of_memory(); /* ends the process, as a failed xcalloc() does */
	pcre2_set_match_limit(r->context, REGEX_MATCH_LIMIT);
	pcre2_set_depth_limit(r->context, REGEX_DEPTH_LIMIT);
	pcre2_set_heap_limit(r->context, REGEX_HEAP_LIMIT_KIB);
	r->text = text;
	r->literal = *text && strpbrk(text, "\\^$.[]|()?*+{}#") == NULL;
	*ret = r;
	return 0;
}

struct str regex_literal(const struct regex *r)
{
	return str_of(r->literal ? r->text : "");
}

int regex_matches(struct regex *r, struct str line, bool valid)
{
	int k = pcre2_match(r->code, (PCRE2_SPTR)line.p, line.n, 0, valid ? PCRE2_NO_UTF_CHECK : 0,
			    r->data, r->context);

	if (k >= 0 || k == PCRE2_ERROR_NOMATCH)
		return k >= 0;
	return -ETIME;
}
