/*
 * Applies changes to a live sandbox. The record has the new configuration already (active.json in
 * state/record_config.h). The request says which parts of the configuration changed.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "spec/cpus.h"
#include "state/record_config.h"
#include "supervisor/supervisor.h"

/* a frame of this size fits the buffer of the socket, so we never wait for pid 1 */
#define UPDATE_MAX_BYTES (128u << 10)

static int update_limits(struct supervisor *s, const struct spec *now, unsigned what, struct err *e)
{
	struct spec *spec = &s->record.spec;
	struct err ignored;

	if (s->engine->update_limits(s, now, what, e) < 0) {
		/* set the old limits again: either all changes succeed or none */
		IGNORE(s->engine->update_limits(s, spec, what, &ignored));
		return -1;
	}
	if (what & UPDATE_MEMORY)
		spec->memory_mib = now->memory_mib;
	if (what & UPDATE_CPUS)
		spec->cpu_milli = now->cpu_milli;
	if (what & UPDATE_PIDS)
		spec->pids_limit = now->pids_limit;
	return 0;
}

static int check_numbers(const struct limits_message *m, struct err *e)
{
	if (m->memory_mib > (uint64_t)SPEC_SIZE_MAX_MIB)
		return err_set(e, ERR_INVALID, "memory: too large");
	if (m->cpu_milli &&
	    (m->cpu_milli < CPUS_MIN_MILLI || m->cpu_milli > SPEC_CPUS_MAX * CPUS_ONE))
		return err_set(e, ERR_INVALID, "cpus: expected 0.01 to %u", SPEC_CPUS_MAX);
	if (m->pids > SPEC_PIDS_MAX)
		return err_set(e, ERR_INVALID, "pids: expected 1 to %u", SPEC_PIDS_MAX);
	return 0;
}

/* Sets the limits that M names. Does not check ceilings, because the owner of the leash made the
 * sandbox and may give it any limits. Does not change the record on disk. */
int supervisor_limit(struct supervisor *s, const struct limits_message *m, struct err *e)
{
	struct spec now = s->record.spec; /* shares all strings with the record */
	unsigned what = 0;

	if (s->life != LIFE_RUNNING)
		return err_set(e, ERR_NOT_RUNNING, "sandbox '%s' is not running",
			       s->record.spec.name);
	if (check_numbers(m, e) < 0)
		return -1;
	if (m->memory_mib) {
		now.memory_mib = m->memory_mib;
		what |= UPDATE_MEMORY;
	}
	if (m->cpu_milli) {
		now.cpu_milli = (uint32_t)m->cpu_milli;
		what |= UPDATE_CPUS;
	}
	if (m->pids) {
		now.pids_limit = m->pids;
		what |= UPDATE_PIDS;
	}
	return update_limits(s, &now, what, e);
}

/* Sends pid 1 the variables and the working directory of later commands. */
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
		r = err_sys(e, sent < 0 ? errno : EPIPE, "send to pid 1");
	/* pid 1 got half a frame and would misread everything after it */
	if (sent > 0 && sent != (ssize_t)frame.n)
		s->engine->kill(s);
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
	if (what & (UPDATE_CPUS | UPDATE_MEMORY | UPDATE_PIDS) &&
	    update_limits(s, now, what, e) < 0)
		return -1;
	return what & UPDATE_COMMANDS ? update_commands(s, now, e) : 0;
}
