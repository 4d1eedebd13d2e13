/*
 * Changes of a live sandbox. The record has the new configuration already (active.json in state/record.h). The request says
 * which parts of it changed.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "state/record_config.h"
#include "supervisor/supervisor.h"

#define UPDATE_MAX_BYTES (128u << 10) /* fits the buffer of the socket: we never wait for pid 1 */

static int update_limits(struct supervisor *s, const struct spec *now, unsigned what, struct err *e)
{
	struct spec *spec = &s->record.spec;

	if (s->engine->update_limits(s, now, what, e) < 0)
		return -1;
	if (what & UPDATE_MEMORY)
		spec->memory_mib = now->memory_mib;
	if (what & UPDATE_CPUS)
		spec->cpu_milli = now->cpu_milli;
	return 0;
}

/* Changes what later commands get. Pid 1 takes the variables and the working directory from the message. */
static int update_commands(struct supervisor *s, const struct spec *now, struct err *e)
{
	struct boot_message m = { .workdir = now->workdir };
	AUTO_BUF body = BUF_INIT(UPDATE_MAX_BYTES), frame = BUF_INIT(UPDATE_MAX_BYTES + 64);
	ssize_t sent = -1;
	int r = 0;

	m.env = supervisor_env(now, &m.n_env);
	boot_encode(&body, &m);
	frame_put(&frame, FRAME_UPDATE, 0, 0, body.p, body.n);
	if (buf_failed(&body) || buf_failed(&frame))
		r = err_set(e, ERR_LIMIT,
			    "an environment this large can only be changed at the next start");
	else
		sent = send(s->instance->channel, frame.p, frame.n, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (r == 0 && sent != (ssize_t)frame.n)
		r = err_sys(e, sent < 0 ? errno : EPIPE, "tell pid 1");
	if (sent > 0 && sent != (ssize_t)frame.n)
		s->engine->kill(s); /* half a frame: it would understand nothing more */
	for (size_t i = 0; i < m.n_env; i++)
		free((char *)m.env[i]);
	boot_message_done(&m);
	return r;
}

int supervisor_update(struct supervisor *s, unsigned what, struct err *e)
{
	AUTO_RECORD record = RECORD_NONE;
	const struct spec *now;

	if (s->life != LIFE_RUNNING)
		return err_set(e, ERR_NOT_RUNNING, "sandbox '%s' is not running",
			       s->record.spec.name);
	if (record_read_config(s->record_dir, &record, e) < 0 ||
	    record_read_active(s->record_dir, &record, e) < 0)
		return -1;
	now = record_in_force(&record);
	if (what & UPDATE_NETWORK && link_update(s, now, e) < 0)
		return -1;
	if (what & (UPDATE_CPUS | UPDATE_MEMORY) && update_limits(s, now, what, e) < 0)
		return -1;
	return what & UPDATE_COMMANDS ? update_commands(s, now, e) : 0;
}
