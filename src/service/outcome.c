#include "service/outcome.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "service/capture.h"
#include "service/clip.h"

void outcome_init(struct outcome *o)
{
	*o = (struct outcome){ 0 };
	buf_init(&o->out, 2 * CAPTURE_LIMIT_BYTES);
	buf_init(&o->err, 2 * CAPTURE_LIMIT_BYTES);
}

void outcome_done(struct outcome *o)
{
	free(o->session_id);
	free(o->backend);
	buf_done(&o->out);
	buf_done(&o->err);
}

/* Initialises OUT and stores TEXT in it, cut to LIMIT characters. Returns true if something was
 * cut. */
static bool clip(const struct buf *text, int64_t limit, struct buf *out)
{
	buf_init(out, text->n + 256); /* 256 bytes for the notice */
	return clip_text((struct str){ buf_str(text), text->n }, limit, out);
}

static void write_text(const char *key, const struct buf *text, struct json_writer *w)
{
	json_key(w, key);
	json_strn(w, buf_str(text), text->n);
}

/* Writes stdout and stderr as one text. TRUNCATED is true if one of them was cut before. */
static void write_preview(const struct buf *out, const struct buf *err, bool truncated,
			  struct json_writer *w)
{
	AUTO_BUF text = BUF_INIT(out->n + err->n + 64);
	bool both = out->n && err->n, cut, bad;

	buf_add_str(&text, both ? "stdout:\n" : "");
	buf_add(&text, buf_str(out), out->n);
	buf_add_str(&text, both ? "\n\nstderr:\n" : "");
	buf_add(&text, buf_str(err), err->n);
	cut = text.n > OUTCOME_PREVIEW_MAX_BYTES;
	if (cut)
		buf_cut(&text, utf8_prefix(text.p, OUTCOME_PREVIEW_MAX_BYTES, &bad));
	write_text("preview", &text, w);
	json_key_bool(w, "truncated", truncated || cut);
	if (cut)
		json_key_str(w, "truncated_by", "bytes");
}

void outcome_write(const struct outcome *o, int64_t limit, bool preview, struct json_writer *w)
{
	AUTO_BUF out = BUF_INIT(0), err = BUF_INIT(0);
	bool out_cut = clip(&o->out, limit, &out), err_cut = clip(&o->err, limit, &err);

	json_begin_object(w);
	json_key_str(w, "session_id", o->session_id);
	json_key_str(w, "backend", o->backend);
	json_key_str(w, "status", o->timed_out ? "timed_out" : "completed");
	json_key_bool(w, "ok", !o->timed_out && o->exit_code == 0);
	if (o->timed_out)
		json_key_null(w, "exit_code");
	else
		json_key_int(w, "exit_code", o->exit_code);
	write_text("stdout", &out, w);
	write_text("stderr", &err, w);
	json_key_bool(w, "stdout_truncated", out_cut);
	json_key_bool(w, "stderr_truncated", err_cut);
	json_key_int(w, "duration_ms", (int64_t)o->duration_ms);
	if (preview)
		write_preview(&out, &err, out_cut || err_cut, w);
	json_end_object(w);
}
