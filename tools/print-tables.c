/* Prints the command tables as JSON, for gen-man.py and check-options.py. This program is not
 * installed. */
#include "base/json.h"
#include "cli/commands.h"
#include "base/say.h"

#define OUTPUT_MAX_BYTES (16u << 20)

static void write_list(struct json_writer *w, const char *key, const char *list)
{
	struct str rest = list ? str_of(list) : (struct str){ NULL, 0 };

	json_key(w, key);
	json_begin_array(w);
	while (rest.p) {
		struct str item = str_cut(&rest, ',');

		json_strn(w, item.p, item.n);
	}
	json_end_array(w);
}

static void write_words(struct json_writer *w, const char *key, const char *const *words)
{
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; words && words[i]; i++)
		json_str(w, words[i]);
	json_end_array(w);
}

static void write_pairs(struct json_writer *w, const char *key, const char *const (*pairs)[2])
{
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; pairs && pairs[i][0]; i++) {
		json_begin_array(w);
		json_str(w, pairs[i][0]);
		json_str(w, pairs[i][1]);
		json_end_array(w);
	}
	json_end_array(w);
}

static void write_opts(struct json_writer *w, const struct opt_set *sets)
{
	static const char *const kinds[] = {
		[OPT_FLAG] = "flag", [OPT_STR] = "str",   [OPT_LIST] = "list",
		[OPT_UINT] = "uint", [OPT_CPUS] = "cpus",
	};

	json_begin_array(w);
	for (const struct opt_set *s = sets; s && s->opt; s++)
		for (const struct opt *o = s->opt; o->name; o++) {
			char letter[] = { o->letter, '\0' };

			json_begin_object(w);
			json_key_str(w, "heading", s->heading ? s->heading : "Options");
			json_key_str(w, "name", o->name);
			json_key_str(w, "alias", o->alias);
			json_key_str(w, "letter", o->letter ? letter : NULL);
			json_key_str(w, "kind", kinds[o->kind]);
			json_key_str(w, "value", o->value);
			json_key_str(w, "help", o->help);
			json_key_str(w, "more", o->more);
			write_words(w, "choices", o->choices);
			json_key_bool(w, "number", o->max > 0);
			json_key_bool(w, "hidden", o->marks & OPT_HIDDEN);
			json_key_bool(w, "bare", o->marks & OPT_BARE);
			json_key_bool(w, "unsupported", o->marks & OPT_UNSUPPORTED);
			json_end_object(w);
		}
	json_end_array(w);
}

static void write_command(struct json_writer *w, const struct command *c)
{
	json_begin_object(w);
	json_key_str(w, "name", c->name);
	write_list(w, "aliases", c->aliases);
	write_list(w, "hidden_aliases", c->hidden_aliases);
	json_key_str(w, "group", c->group);
	json_key_bool(w, "hidden", c->hidden);
	json_key_str(w, "summary", c->summary);
	json_key_str(w, "description", c->description);
	json_key_str(w, "usage", c->usage);
	json_key_bool(w, "runs", c->run != NULL);
	json_key_int(w, "min_args", c->min_args);
	json_key_int(w, "max_args", c->max_args);
	write_words(w, "word_choices", c->word_choices);
	write_pairs(w, "conflicts", c->conflicts);
	write_pairs(w, "requires", c->requires);
	json_key(w, "options");
	write_opts(w, c->sets);
	json_key(w, "commands");
	json_begin_array(w);
	for (const struct command *s = c->sub; s && s->name; s++)
		write_command(w, s);
	json_end_array(w);
	json_end_object(w);
}

int main(void)
{
	AUTO_BUF out = BUF_INIT(OUTPUT_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &out, 1);
	json_begin_object(&w);
	json_key_str(&w, "version", CORDON_VERSION);
	json_key_str(&w, "msb_version", MSB_VERSION);
	json_key(&w, "global");
	write_opts(&w, args_global_sets);
	json_key(&w, "root");
	write_command(&w, &cordon_root);
	json_end_object(&w);
	buf_add_char(&out, '\n');
	return say_output(&out);
}
