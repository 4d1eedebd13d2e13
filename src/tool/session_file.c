#include "tool/session_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/cleanup.h"

#define SCAN_MAX_BYTES (256u << 20) /* how much of a file is read to find its lines */
#define END_IF_MISSING "exit 11"    /* 11 is SESSION_MISSING */

/* Adds lines that end the script if the path is a directory or a special file. For a directory, the
 * lines first run IF_DIRECTORY. If the path does not exist, they run IF_MISSING. */
static void add_check(struct buf *script, const char *if_directory, const char *if_missing)
{
	buf_addf(script,
		 "if [ -d \"$p\" ]; then %s exit %d; fi\n"
		 "[ -e \"$p\" ] || %s\n"
		 "[ ! -e \"$p\" ] || [ -f \"$p\" ] || exit %d\n",
		 if_directory, SESSION_DIRECTORY, if_missing, SESSION_SPECIAL);
}

int session_read_lines(struct file_call *c, const struct place *p, int64_t first, int64_t lines,
		       size_t max, bool *ret_directory, struct buf *out, struct fault *f)
{
	AUTO_BUF script = BUF_INIT(SESSION_SCRIPT_MAX_BYTES), list = BUF_INIT(256);
	struct outcome o;
	int r;

	buf_addf(&list, "ls -A \"$p\" | head -c %zu | base64 | tr -d '\\n';", max);
	session_begin(&script, p);
	add_check(&script, buf_str(&list), END_IF_MISSING);
	buf_addf(&script,
		 "head -c %u \"$p\" | tail -n +%" PRId64 " | head -n %" PRId64
		 " | head -c %zu | base64 | tr -d '\\n'\n",
		 SCAN_MAX_BYTES, first, lines, max);
	outcome_init(&o);
	r = session_run(c, &script, &o, f);
	*ret_directory = r == 0 && o.exit_code == SESSION_DIRECTORY;
	if (r == 0 && o.exit_code != 0 && !*ret_directory)
		r = session_fail(c, p, &o, f);
	if (r == 0)
		r = session_decode((struct str){ buf_str(&o.out), o.out.n }, max, out, f);
	outcome_done(&o);
	return r;
}

int session_read_bytes(struct file_call *c, const struct place *p, int64_t offset, size_t max,
		       int64_t *ret_size, struct buf *out, struct fault *f)
{
	AUTO_BUF script = BUF_INIT(SESSION_SCRIPT_MAX_BYTES);
	struct outcome o;
	struct str size, rest;
	uint64_t n = 0;
	int r;

	session_begin(&script, p);
	add_check(&script, "", END_IF_MISSING);
	buf_addf(&script,
		 "printf '%%s:' $(wc -c < \"$p\"); tail -c +%" PRId64
		 " \"$p\" | head -c %zu | base64 | tr -d '\\n'\n",
		 offset + 1, max);
	outcome_init(&o);
	r = session_run(c, &script, &o, f);
	if (r == 0 && o.exit_code != 0)
		r = session_fail(c, p, &o, f);
	rest = (struct str){ buf_str(&o.out), o.out.n };
	size = str_cut(&rest, ':');
	if (r == 0 && (!rest.p || parse_u64_str(size, 0, INT64_MAX, &n) < 0))
		r = session_makes_no_sense(f);
	if (r == 0)
		r = session_decode(rest, max, out, f);
	*ret_size = (int64_t)n;
	outcome_done(&o);
	return r;
}

static int write_chunk(struct file_call *c, const struct place *p, struct str content, bool append,
		       struct fault *f)
{
	AUTO_BUF script = BUF_INIT(SESSION_SCRIPT_MAX_BYTES);
	struct outcome o;
	int r;

	session_begin(&script, p);
	add_check(&script, "", "mkdir -p \"${p%/*}\" || exit 1");
	buf_add_str(&script, "printf %s '");
	base64_encode(&script, content.p, content.n);
	buf_addf(&script, "' | base64 -d %s \"$p\"\n", append ? ">>" : ">");
	outcome_init(&o);
	r = session_run(c, &script, &o, f);
	if (r == 0 && o.exit_code != 0)
		r = session_fail(c, p, &o, f);
	outcome_done(&o);
	return r;
}

int session_write(struct file_call *c, const struct place *p, struct str content, bool append,
		  struct fault *f)
{
	do {
		struct str part = content;

		if (part.n > SESSION_CHUNK_BYTES)
			part.n = SESSION_CHUNK_BYTES;
		if (write_chunk(c, p, part, append, f) < 0)
			return -1;
		content = (struct str){ content.p + part.n, content.n - part.n };
		append = true;
	} while (content.n);
	return 0;
}
