/* The first byte chooses one of the small parsers, and the rest is the text for this parser. No
 * input may crash a parser. If an accepted spec is written and read again, it must be the same
 * spec. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "spec/grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_round_trip(const struct spec *s)
{
	AUTO_BUF b = BUF_INIT(JSON_TEXT_MAX);
	AUTO_JSON d = NULL;
	struct json_writer w;
	struct spec back;
	struct err e;

	json_writer_init(&w, &b, 0);
	spec_write_json(s, &w);
	if (json_parse(buf_str(&b), b.n, &d, &e) < 0 || spec_read_json(json_root(d), &back, &e) < 0)
		abort();
	if (back.n_mounts != s->n_mounts || back.n_env != s->n_env ||
	    (s->n_mounts && strcmp(s->mount[0].guest, back.mount[0].guest) != 0) ||
	    (s->n_env && strcmp(s->env[0].value, back.env[0].value) != 0))
		abort();
	spec_done(&back);
}

/* Checks that the word which cordon shows for an image means this image. */
static void must_be_shown(const struct spec_image *i)
{
	AUTO_FREE char *word = image_word(i);
	struct spec_image back = { 0 };
	struct err e;

	if (parse_image(word, &back, &e) < 0 || back.kind != i->kind || back.cow != i->cow ||
	    strcmp(back.reference, i->reference) != 0)
		abort();
	spec_image_done(&back);
}

/* Returns 0 if the value was accepted into S. */
static int into_spec(unsigned which, struct spec *s, const char *v, struct err *e)
{
	switch (which) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		return spec_add_mount(s, (enum mount_flag)which, v, e);
	case 5:
		return spec_add_tmpfs(s, v, e);
	case 6:
		return spec_add_port(s, v, e);
	case 7:
		return strchr(v, '=') ? spec_add_env(&s->env, &s->n_env, "--env", v, e) : -1;
	case 8:
		return spec_add_label(s, v, e);
	case 9:
		return spec_add_script(s, "--script", v, e);
	case 10:
		return spec_add_patch(s, "--copy", v, e);
	case 11:
		return spec_add_patch(s, "--mkdir", v, e);
	case 12:
		if (parse_image(v, &s->image, e) < 0)
			return -1;
		must_be_shown(&s->image);
		return 0;
	default:
		return parse_root_disk("--root-disk", v, &s->image.root_disk, e);
	}
}

static void plain(unsigned which, const char *v, struct err *e)
{
	unsigned char keys[DETACH_KEYS_MAX];
	struct spec_rlimit r;
	uint64_t n;
	size_t n_keys;

	switch (which) {
	case 0:
		IGNORE(parse_size_mib("--memory", v, &n, e));
		break;
	case 1:
		IGNORE(parse_duration_ms("--timeout", v, &n, e));
		break;
	case 2:
		IGNORE(parse_duration_s("--timeout", v, &n, e));
		break;
	case 3:
		IGNORE(parse_rlimit(v, &r, e));
		break;
	case 4:
		IGNORE(parse_user(v, e));
		break;
	case 5:
		IGNORE(parse_shell(v, e));
		break;
	case 6:
		IGNORE(parse_hostname(v, e));
		break;
	default:
		IGNORE(parse_detach_keys(v, keys, &n_keys, e));
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *v = NULL;
	struct err e = { 0 };
	struct spec s;
	unsigned which;

	if (size == 0 || size > 65536)
		return 0;
	v = xstrndup((const char *)data + 1, size - 1);
	which = data[0] % 22;
	if (which >= 14) {
		plain(which - 14, v, &e);
		return 0;
	}
	spec_init(&s);
	s.image.reference = xstrdup("x");
	if (into_spec(which, &s, v, &e) == 0)
		must_round_trip(&s);
	spec_done(&s);
	return 0;
}
