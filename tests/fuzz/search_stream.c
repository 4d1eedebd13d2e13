/* The first NUL divides the input into an expression and a stream of files. A search must fail, or
 * end with an answer that is JSON and stays within its limits. */
#include "search/grep.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX_BYTES 4096u /* the whole input must fit into a pipe */
#define ANSWER_MAX_BYTES (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str files = { (const char *)data, size };
	struct str text = str_cut(&files, '\0');
	AUTO_FREE char *expression = xstrndup(text.p, text.n);
	AUTO_BUF out = BUF_INIT(ANSWER_MAX_BYTES);
	AUTO_JSON doc = NULL;
	struct json_writer w;
	struct err e;
	int in[2];

	if (size == 0 || !files.p || size > INPUT_MAX_BYTES || pipe2(in, O_CLOEXEC) < 0)
		return 0;
	if (io_write_all(in[1], files.p, files.n) < 0)
		abort();
	close(in[1]);
	json_writer_init(&w, &out, 0);
	if (grep_run(in[0], expression, "", &w, &e) < 0)
		return 0;
	if (json_parse(buf_str(&out), out.n, &doc, &e) < 0 ||
	    json_get(json_root(doc), "matches")->array.n > GREP_MATCHES_MAX)
		abort();
	return 0;
}
