#include "service/outcome.h"

#include <stdlib.h>

#include "base/cleanup.h"
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

static bool write_stream(const char *key, const struct buf *text, int64_t limit,
			 struct json_writer *w)
{
	AUTO_BUF clipped = BUF_INIT(text->n + 256);
	bool cut = clip_text((struct str){ buf_str(text), text->n }, limit, &clipped);

	json_key(w, key);
	json_strn(w, buf_str(&clipped), clipped.n);
	return cut;
}

void outcome_write(const struct outcome *o, int64_t limit, struct json_writer *w)
{
	bool out, err;

	json_begin_object(w);
	json_key_str(w, "session_id", o->session_id);
	json_key_str(w, "backend", o->backend);
	json_key_str(w, "status", o->timed_out ? "timed_out" : "completed");
	json_key_bool(w, "ok", !o->timed_out && o->exit_code == 0);
	if (o->timed_out)
		json_key_null(w, "exit_code");
	else
		json_key_int(w, "exit_code", o->exit_code);
	out = write_stream("stdout", &o->out, limit, w);
	err = write_stream("stderr", &o->err, limit, w);
	json_key_bool(w, "stdout_truncated", out);
	json_key_bool(w, "stderr_truncated", err);
	json_key_int(w, "duration_ms", (int64_t)o->duration_ms);
	json_end_object(w);
}
