/* The first byte chooses the kind of the file (enum conf_scope, for example CONF_NET), and the rest
 * is the text of the configuration file in JSON. If the configuration has the key `patch_files`,
 * the first of these files has the same text as the configuration, and the others do not exist.
 * Every env_file has this text, too. */
#include <stdint.h>

#include "base/cleanup.h"
#include "spec/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const char *text;
	size_t n;
	unsigned loads;
};

static int load(void *arg, const char *path, struct json_doc **ret, struct err *e)
{
	struct input *in = arg;

	if (in->loads++ > 1)
		return err_set(e, ERR_NOT_FOUND, "no more files");
	return json_parse(in->text, in->n, ret, e);
}

static int load_text(void *arg, const char *path, struct buf *out, struct err *e)
{
	struct input *in = arg;

	buf_add(out, in->text, in->n);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { (const char *)data + (size > 0), size - (size > 0), 0 };
	struct conf_loader loader = { .load = load, .text = load_text, .arg = &in };
	struct conf_extra x = { 0 };
	struct conf c = { 0 };
	struct spec s;
	struct err e;

	if (size == 0)
		return 0;
	spec_init(&s);
	if (conf_add(&c, data[0] % (CONF_PROJECT + 1), "/f", &loader, &e) == 0) {
		in.loads = 0; /* merge the same file again */
		IGNORE(conf_add(&c, data[0] % (CONF_PROJECT + 1), "/f", &loader, &e));
		IGNORE(conf_apply(&c, NULL, &s, &x, &e));
	}
	conf_done(&c);
	conf_extra_done(&x);
	spec_done(&s);
	return 0;
}
