#include "tool/session_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "service/outcome.h"

#define SCRIPT_MAX_BYTES (1u << 20)
#define SCAN_MAX_BYTES (256u << 20) /* text that is skipped to find the first line */

/* Exit statuses of our scripts. */
enum {
	STATUS_DIRECTORY = 10,
	STATUS_MISSING = 11,
	STATUS_SPECIAL = 12,
};
#define END_IF_MISSING "exit 11"

/* Begins the script: sets the shell variable p to the path. */
static void begin(struct buf *script, const struct place *p)
{
	buf_add_str(script, "p='");
	for (const char *s = p->shown; *s; s++)
		if (*s == '\'')
			buf_add_str(script, "'\\''");
		else
			buf_add_char(script, *s);
	buf_add_str(script, "'\n");
}

/* Adds lines that end the script if the path is a directory or a special file. For a directory, the lines first run
 * IF_DIRECTORY. If the path does not exist, they run IF_MISSING. */
static void add_check(struct buf *script, const char *if_directory, const char *if_missing)
{
	buf_addf(script,
		 "if [ -d \"$p\" ]; then %s exit %d; fi\n"
		 "[ -e \"$p\" ] || %s\n"
		 "[ ! -e \"$p\" ] || [ -f \"$p\" ] || exit %d\n",
		 if_directory, STATUS_DIRECTORY, if_missing, STATUS_SPECIAL);
}

static int fail(struct file_call *c, const struct place *p, const struct outcome *o,
		struct fault *f)
{
	switch (o->exit_code) {
	case STATUS_DIRECTORY:
		return place_error(c, p, -EISDIR, f);
	case STATUS_MISSING:
		return place_error(c, p, -ENOENT, f);
	case STATUS_SPECIAL:
		return place_error(c, p, -EINVAL, f);
	default:
		return fault_about(f, FAULT_BOX, "The sandbox could not handle the file: ",
				   (struct str){ buf_str(&o->err), o->err.n }, "");
	}
}

/* Runs the script in the session. */
static int run(struct file_call *c, const struct buf *script, struct outcome *o, struct fault *f)
{
	struct box_spec s = *c->spec; /* a shallow copy */

	if (buf_failed(script))
		return fault_set(f, FAULT_VALIDATION, "the call is too long");
	s.cmd = (char *)(uintptr_t)buf_str(script);
	if (c->way->row->exec(c->way, &s, o, f) < 0)
		return -1;
	return o->timed_out ? fault_set(f, FAULT_BOX, "The sandbox took too long.") : 0;
}

static int decode(struct str text, size_t max, struct buf *out, struct fault *f)
{
	size_t before = out->n;

	if (base64_decode(out, text.p, text.n) < 0 || out->n - before > max)
		return fault_set(f, FAULT_BOX, "The sandbox gave an answer that makes no sense.");
	return 0;
}

int session_read_lines(struct file_call *c, const struct place *p, int64_t first, int64_t lines,
		       size_t max, bool *ret_directory, struct buf *out, struct fault *f)
{
	AUTO_BUF script = BUF_INIT(SCRIPT_MAX_BYTES), list = BUF_INIT(256);
	struct outcome o;
	int r;

	buf_addf(&list, "ls -A \"$p\" | head -c %zu | base64 | tr -d '\\n';", max);
	begin(&script, p);
	add_check(&script, buf_str(&list), END_IF_MISSING);
	buf_addf(&script,
		 "head -c %u \"$p\" | tail -n +%" PRId64 " | head -n %" PRId64
		 " | head -c %zu | base64 | tr -d '\\n'\n",
		 SCAN_MAX_BYTES, first, lines, max);
	outcome_init(&o);
	r = run(c, &script, &o, f);
	*ret_directory = r == 0 && o.exit_code == STATUS_DIRECTORY;
	if (r == 0 && o.exit_code != 0 && !*ret_directory)
		r = fail(c, p, &o, f);
	if (r == 0)
		r = decode((struct str){ buf_str(&o.out), o.out.n }, max, out, f);
	outcome_done(&o);
	return r;
}

int session_read_bytes(struct file_call *c, const struct place *p, int64_t offset, size_t max,
		       int64_t *ret_size, struct buf *out, struct fault *f)
{
	AUTO_BUF script = BUF_INIT(SCRIPT_MAX_BYTES);
	struct outcome o;
	struct str size, rest;
	uint64_t n = 0;
	int r;

	begin(&script, p);
	add_check(&script, "", END_IF_MISSING);
	buf_addf(&script,
		 "printf '%%s:' $(wc -c < \"$p\"); tail -c +%" PRId64
		 " \"$p\" | head -c %zu | base64 | tr -d '\\n'\n",
		 offset + 1, max);
	outcome_init(&o);
	r = run(c, &script, &o, f);
	if (r == 0 && o.exit_code != 0)
		r = fail(c, p, &o, f);
	rest = (struct str){ buf_str(&o.out), o.out.n };
	size = str_cut(&rest, ':');
	if (r == 0 && (!rest.p || parse_u64_str(size, 0, INT64_MAX, &n) < 0))
		r = fault_set(f, FAULT_BOX, "The sandbox gave an answer that makes no sense.");
	if (r == 0)
		r = decode(rest, max, out, f);
	*ret_size = (int64_t)n;
	outcome_done(&o);
	return r;
}

static int write_chunk(struct file_call *c, const struct place *p, struct str content, bool append,
		       struct fault *f)
{
	AUTO_BUF script = BUF_INIT(SCRIPT_MAX_BYTES);
	struct outcome o;
	int r;

	begin(&script, p);
	add_check(&script, "", "mkdir -p \"${p%/*}\" || exit 1");
	buf_add_str(&script, "printf %s '");
	base64_encode(&script, content.p, content.n);
	buf_addf(&script, "' | base64 -d %s \"$p\"\n", append ? ">>" : ">");
	outcome_init(&o);
	r = run(c, &script, &o, f);
	if (r == 0 && o.exit_code != 0)
		r = fail(c, p, &o, f);
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
