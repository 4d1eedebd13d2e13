#include "tool/session_script.h"

#include <errno.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"

void session_begin(struct buf *script, const struct place *p)
{
	buf_add_str(script, "p=");
	buf_add_shell_word(script, p->shown);
	buf_add_char(script, '\n');
}

static int took_too_long(struct file_call *c, struct fault *f)
{
	c->hint = "Use the tool exec to look at the files.";
	return fault_set(f, FAULT_BOX, "The sandbox took too long.");
}

int session_run(struct file_call *c, const struct buf *script, struct outcome *o, struct fault *f)
{
	struct box_spec s = *c->spec; /* a shallow copy */

	if (buf_failed(script))
		return fault_set(f, FAULT_VALIDATION, "the call is too long");
	if (!c->until_ns)
		c->until_ns = clock_mono_ns() + (uint64_t)c->config->runtime.exec_sec * NS_PER_SEC;
	if (clock_mono_ns() >= c->until_ns)
		return took_too_long(c, f);
	s.cmd = (char *)(uintptr_t)buf_str(script);
	if (c->way->row->exec(c->way, &s, o, f) < 0)
		return -1;
	return o->timed_out ? took_too_long(c, f) : 0;
}

int session_fail(struct file_call *c, const struct place *p, const struct outcome *o,
		 struct fault *f)
{
	switch (o->exit_code) {
	case SESSION_DIRECTORY:
		return place_error(c, p, -EISDIR, f);
	case SESSION_MISSING:
		return place_error(c, p, -ENOENT, f);
	case SESSION_SPECIAL:
		return place_error(c, p, -EINVAL, f);
	default:
		c->hint = "Use the tool exec to look at the files.";
		return fault_about(f, FAULT_BOX, "The sandbox could not handle the file: ",
				   (struct str){ buf_str(&o->err), o->err.n }, "");
	}
}

int session_makes_no_sense(struct fault *f)
{
	return fault_set(f, FAULT_BOX, "The sandbox gave an answer that makes no sense.");
}

int session_decode(struct str text, size_t max, struct buf *out, struct fault *f)
{
	size_t before = out->n;

	if (base64_decode(out, text.p, text.n) < 0 || out->n - before > max)
		return session_makes_no_sense(f);
	return 0;
}
