/*
 * Applies changes to a live sandbox. The record has the new configuration already (active.json in
 * state/record_config.h). The request says which parts of the configuration changed.
 *
 * Either all parts change or none: if the request fails, the client writes the old configuration
 * into the record again, and the sandbox must obey what the record says. So all parts are read and
 * encoded first. Then they are applied: first those that we can take back without help (the limits
 * and the network policy), and at last the message to pid 1, which cannot be taken back.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "spec/cpus.h"
#include "state/record_config.h"
#include "supervisor/network.h"
#include "supervisor/supervisor.h"

/* a frame of this size fits the buffer of the socket, so we never wait for pid 1 */
#define UPDATE_MAX_BYTES (128u << 10)

#define UPDATE_LIMITS (UPDATE_CPUS | UPDATE_MEMORY | UPDATE_PIDS)

static int update_limits(struct supervisor *s, const struct spec *now, unsigned what, struct err *e)
{
	struct spec *spec = &s->record.spec;
	struct err ignored;

	if (!(what & UPDATE_LIMITS))
		return 0;
	if (s->engine->update_limits(s, now, what, e) < 0) {
		/* some limits may have changed: set the old ones again */
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

/* Sets the limits that M names. Does not check that they stay below --max-memory and --max-cpus,
 * because the owner of the leash made the sandbox and may give it any limits. Does not change the
 * record on disk. */
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

/* Writes the message that tells pid 1 the variables and the working directory of later commands. */
static int encode_commands(const struct spec *now, struct buf *frame, struct err *e)
{
	struct boot_message m = { .workdir = now->workdir };
	AUTO_BUF body = BUF_INIT(UPDATE_MAX_BYTES);

	m.env = supervisor_env(now, &m.n_env);
	boot_encode(&body, &m);
	frame_put(frame, FRAME_UPDATE, 0, 0, body.p, body.n);
	for (size_t i = 0; i < m.n_env; i++)
		free((char *)m.env[i]);
	boot_message_done(&m);
	if (buf_failed(&body) || buf_failed(frame))
		return err_set(e, ERR_LIMIT,
			       "an environment this large can only be changed at the next start");
	return 0;
}

static int send_commands(struct supervisor *s, const struct buf *frame, struct err *e)
{
	ssize_t sent = send(s->instance->channel, frame->p, frame->n, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent == (ssize_t)frame->n)
		return 0;
	/* pid 1 got half a frame and would misread everything after it */
	if (sent > 0)
		s->engine->kill(s);
	return err_sys(e, sent < 0 ? errno : EPIPE, "send to pid 1");
}

/* Applies the parts that WHAT names. FRAME and POLICY were made from NOW. *POLICY becomes the
 * policy that was in force before. After an error everything is as it was, unless pid 1 got half a
 * frame: then the sandbox is killed. */
static int apply(struct supervisor *s, const struct spec *now, unsigned what, struct policy *policy,
		 const struct buf *frame, struct err *e)
{
	struct spec before = s->record.spec; /* shares all strings with the record */
	bool network = what & UPDATE_NETWORK;
	struct err ignored; /* the caller gets the first error */

	if (update_limits(s, now, what, e) < 0)
		return -1;
	if (!network || network_swap_policy(s->network, policy, e) == 0) {
		if (!(what & UPDATE_COMMANDS) || send_commands(s, frame, e) == 0)
			return 0;
		if (network)
			network_restore_policy(s->network, policy);
	}
	IGNORE(update_limits(s, &before, what, &ignored));
	return -1;
}

int supervisor_update(struct supervisor *s, unsigned what, struct err *e)
{
	AUTO_RECORD record = RECORD_NONE;
	AUTO_BUF frame = BUF_INIT(UPDATE_MAX_BYTES + 64);
	const struct spec *now;
	struct policy policy;
	int r;

	if (s->life != LIFE_RUNNING)
		return err_set(e, ERR_NOT_RUNNING, "sandbox '%s' is not running",
			       s->record.spec.name);
	if (record_read_config(s->record_dir, &record, e) < 0 ||
	    record_read_active(s->record_dir, &record, e) < 0)
		return -1;
	now = record_in_force(&record);
	if (what & UPDATE_COMMANDS && encode_commands(now, &frame, e) < 0)
		return -1;
	policy_init(&policy);
	r = what & UPDATE_NETWORK ? link_read_policy(s, now, &policy, e) : 0;
	if (r == 0)
		r = apply(s, now, what, &policy, &frame, e);
	policy_done(&policy);
	return r;
}
