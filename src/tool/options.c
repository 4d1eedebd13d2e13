#include "tool/options.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *name;
	size_t offset;
} values[] = {
	{ "--config", offsetof(struct options, config) },
	{ "--session", offsetof(struct options, session) },
	{ "--query", offsetof(struct options, query) },
	{ "--workspace", offsetof(struct options, workspace) },
	{ "--output-limit", offsetof(struct options, output_limit) },
	{ "--format", offsetof(struct options, format) },
};

/* Takes an option and its value, `--name=value` or `--name value`. Returns 1 if NEXT was the value,
 * 0 if not, or -1. */
static int take_option(struct options *o, const char *word, const char *next, struct err *e)
{
	if (strcmp(word, "--standalone-box") == 0) {
		o->standalone = true;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		size_t n = strlen(values[i].name);
		const char **to = (const char **)((char *)o + values[i].offset);

		if (strncmp(word, values[i].name, n) != 0 || (word[n] && word[n] != '='))
			continue;
		if (word[n] == '=') {
			*to = word + n + 1;
			return 0;
		}
		if (!next)
			return err_set(e, ERR_USAGE, "%s needs a value", values[i].name);
		*to = next;
		return 1;
	}
	return err_set(e, ERR_USAGE, "unknown option '%s'", word);
}

static int take_word(struct options *o, const char *word, struct err *e)
{
	const char **to = !o->group ? &o->group : !o->verb ? &o->verb : &o->json;

	if (*to)
		return err_set(e, ERR_USAGE, "unexpected '%s'", word);
	*to = word;
	return 0;
}

int options_read(struct options *o, int argc, char **argv, struct err *e)
{
	bool options = true;
	int r;

	*o = (struct options){ 0 };
	for (int i = 1; i < argc; i++) {
		if (options && strcmp(argv[i], "--") == 0) {
			options = false;
			continue;
		}
		r = options && argv[i][0] == '-' && argv[i][1]
			    ? take_option(o, argv[i], argv[i + 1], e)
			    : take_word(o, argv[i], e);
		if (r < 0)
			return -1;
		i += r;
	}
	if (!o->group || (strcmp(o->group, "tool") != 0 && strcmp(o->group, "service") != 0))
		return err_set(e, ERR_USAGE, "give 'tool' or 'service' first");
	if (!o->verb)
		return err_set(e, ERR_USAGE, "say what the %s shall do", o->group);
	return 0;
}
