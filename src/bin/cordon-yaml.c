/* Reads YAML from standard input and writes JSON to standard output. It is a separate program, so
 * that no other program links a YAML parser. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/io.h"
#include "base/say.h"
#include "yaml/yaml.h"

/* After this call the program can only read its input and write its output. */
static int confine(struct err *e)
{
	struct confine_files f;

	if (confine_core(e) < 0 || confine_capabilities(0, e) < 0 ||
	    confine_files_begin(&f, e) < 0 || confine_files_end(&f, e) < 0 ||
	    confine_calls(reader_filter, reader_filter_len, e) < 0)
		return err_wrap(e, "confine cordon-yaml");
	return 0;
}

static int convert(struct err *e)
{
	AUTO_BUF in = BUF_INIT(YAML_TEXT_MAX_BYTES);
	AUTO_BUF out = BUF_INIT(YAML_JSON_MAX_BYTES);
	int r = io_read_to_end(STDIN_FILENO, &in);

	if (r < 0)
		return err_sys(e, -r, "read the text");
	if (yaml_to_json(buf_str(&in), in.n, YAML_TYPED, &out, e) < 0)
		return -1;
	r = io_write_all(STDOUT_FILENO, buf_str(&out), out.n);
	return r < 0 ? err_sys(e, -r, "write the result") : 0;
}

int main(int argc, char **argv)
{
	struct err e;

	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		printf("cordon-yaml %s\n", CORDON_VERSION);
		return 0;
	}
	if (argc > 1) {
		fputs("usage: cordon-yaml <YAML >JSON\n", stderr);
		return 2;
	}
	if (confine(&e) == 0 && convert(&e) == 0)
		return 0;
	say_error(&e);
	return 1;
}
