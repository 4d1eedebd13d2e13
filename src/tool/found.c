#include "tool/found.h"

#include <string.h>

#include "base/cleanup.h"

#define MATCHES_MAX 200u

/* Writes a match with its path in the sandbox. Returns -1 if the match is not valid. */
static int write_match(const struct json_value *m, const char *top, struct json_writer *w)
{
	const char *file = json_get_str(m, "file", NULL),
		   *content = json_get_str(m, "content", NULL);
	int64_t line = json_get_int(m, "line", 0);
	AUTO_FREE char *shown = NULL;

	if (!file || !content || line < 1)
		return -1;
	shown = xasprintf("%s%s%s", top, *file ? "/" : "", file);
	json_begin_object(w);
	json_key_str(w, "file", shown);
	json_key_int(w, "line", line);
	json_key_str(w, "content", content);
	json_end_object(w);
	return 0;
}

static const char *read_limit(const struct json_value *answer)
{
	static const char *const limits[] = { "matches", "bytes", "line", "scan" };
	const char *limit = json_get_str(answer, "truncated_by", "");

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (strcmp(limits[i], limit) == 0)
			return limits[i];
	return NULL;
}

int found_write(struct str answer, const char *top, bool cut, struct json_writer *w)
{
	AUTO_JSON doc = NULL;
	const struct json_value *matches;
	const char *limit;
	struct err e;

	if (json_parse(answer.p, answer.n, &doc, &e) < 0)
		return -1;
	matches = json_get(json_root(doc), "matches");
	if (!matches || matches->type != JSON_ARRAY || matches->array.n > MATCHES_MAX)
		return -1;
	limit = read_limit(json_root(doc));
	if (!limit && cut)
		limit = "scan";
	json_begin_object(w);
	json_key_bool(w, "ok", true);
	json_key(w, "matches");
	json_begin_array(w);
	for (size_t i = 0; i < matches->array.n; i++)
		if (write_match(&matches->array.item[i], top, w) < 0)
			return -1;
	json_end_array(w);
	json_key_int(w, "total", (int64_t)matches->array.n);
	json_key_bool(w, "truncated", limit != NULL);
	json_key_str(w, "truncated_by", limit);
	json_end_object(w);
	return 0;
}
