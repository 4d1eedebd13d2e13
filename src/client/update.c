#include "client/update.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "client/control.h"
#include "state/record.h"
#include "state/record_config.h"
#include "state/record_lock.h"

/* Tells the supervisor to apply the parts of the configuration that LIVE names (bits of enum
 * update_what). */
static int tell_supervisor(const struct home *h, const char *name, unsigned live, struct err *e)
{
	AUTO_BUF number = BUF_INIT(64), frame = BUF_INIT(128), body = BUF_INIT(4096);
	AUTO_FD fd = -1;
	int r = home_connect(h, name, "ctl", &fd);

	if (r < 0)
		return err_set(e, ERR_NOT_RUNNING, "sandbox '%s' is not running", name);
	number_encode(&number, live);
	frame_put(&frame, FRAME_UPDATE, 0, 0, number.p, number.n);
	r = fdpass_send(fd, frame.p, frame.n, NULL, 0);
	if (r == 0)
		r = control_wait(fd, FRAME_OK, clock_mono_ns() + CONTROL_ANSWER_MS * NS_PER_MS,
				 &body);
	if (r <= 0)
		return err_set(e, ERR_TIMEOUT, "the supervisor of sandbox '%s' does not answer",
			       name);
	return body.n ? err_set(e, ERR_UNSUPPORTED, "%s", buf_str(&body)) : 0;
}

/* Writes ACTIVE to the file of the active configuration, and NEXT to the file of the configuration.
 * Writing NULL removes the file of the active configuration. If the second write fails, writes
 * BEFORE to the first file again, so that neither file has changed. NEXT must not be written first:
 * as long as there is no file of the active configuration, a process that reads NEXT would think
 * that the running sandbox already has it. */
static int write_both(const struct record *r, const struct spec *next, const struct spec *active,
		      const struct spec *before, struct err *e)
{
	struct err ignored;

	if (record_write_active(r->dir, active, e) < 0)
		return -1;
	if (record_write_config(r->dir, next, r->created_ns, e) == 0)
		return 0;
	IGNORE(record_write_active(r->dir, before, &ignored)); /* the caller gets the first error */
	return -1;
}

int sandbox_update(const struct home *h, const struct record *r, const struct spec *next,
		   const struct spec *active, unsigned live, struct err *e)
{
	const struct spec *before = r->has_active ? &r->active : NULL;
	AUTO_RECORD now = RECORD_NONE;
	struct err ignored;
	AUTO_FD lock = -1;

	if (record_lock_config(r->dir, &lock, e) < 0 || record_read_config(r->dir, &now, e) < 0)
		return -1;
	if (now.updated_ns != r->updated_ns)
		return err_set(e, ERR_BUSY, "sandbox '%s' was changed meanwhile; try again",
			       r->spec.name);
	if (write_both(r, next, active, before, e) < 0)
		return -1;
	if (!live || tell_supervisor(h, r->spec.name, live, e) == 0)
		return 0;
	/* write the old configurations again; the caller gets the first error */
	IGNORE(write_both(r, &now.spec, before, before, &ignored));
	return -1;
}
