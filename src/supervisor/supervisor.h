/*
 * The life of one sandbox. There is one supervisor process per live sandbox, single-threaded and
 * event-driven. The supervisor holds the record's lock as long as it lives, so every command sees
 * at once when the supervisor ends. wire/leash.h lists the supervisor's descriptors.
 */
#pragma once

#include "base/buf.h"
#include "loop/loop.h"
#include "spec/spec.h"
#include "state/execlog.h"
#include "state/home.h"
#include "state/record.h"
#include "supervisor/engine.h"
#include "wire/message.h"

struct policy;

#define READY_TIMEOUT_NS (180 * NS_PER_SEC)
#define STOP_USUAL UINT32_MAX /* a grace time of this value means the usual time */
/* the usual time between the first signal and SIGKILL, unless our environment sets another time */
#define STOP_GRACE_MS 2000
/* if the image has its own stop signal, we send that signal first, then SIGTERM, and SIGKILL at
 * most this long after SIGTERM */
#define STOP_TERM_MS 1000
#define CONTROL_CLIENTS_MAX 64

enum life { LIFE_STARTING, LIFE_RUNNING, LIFE_STOPPING, LIFE_DEAD, LIFE_COUNT };

struct supervisor {
	struct home home;
	int record_dir, lock, leash;
	int connection; /* the connection of the first client, or -1 */
	int guest_listener, control;
	struct record record;
	const struct engine *engine;
	struct engine_instance *instance; /* belongs to the engine */
	struct watched_layer *watched;    /* NULL if the layer need not be watched */
	struct loop *loop;
	enum life life;
	loop_id pidfd_watch, channel_watch, leash_watch, control_watch;
	loop_id ready_timer, duration_timer, idle_timer, late_timer;
	/* if the image has its own stop signal: the time between SIGTERM and SIGKILL */
	unsigned last_grace_ms;
	struct buf channel_in, leash_in;
	bool busy; /* pid 1 has said that commands run; the idle time begins when they are over */
	/* The first client passed us its connection to pid 1. This client waits on the connection
	 * until its command ends, and does not wait for our report on the leash. */
	bool attended;
	/* the sandbox is up, but a client must still change it before its first command
	 * (wire/leash.h) */
	bool unsettled;
	struct execlog log;
	struct control_client *clients;
	unsigned n_clients;
	struct buf warnings;     /* lines for the command that started us */
	struct network *network; /* NULL if the sandbox has no network */
	bool gateway_failed;     /* the log has the failure of the gateway already */
	/* the link of the ended gateway; closed last, because closing it takes the kernel tens of
	 * milliseconds */
	int old_link;
	const char *stage; /* the current stage of the start; the record of a failure names it */
	struct err failure;
};

/* launch.c: starts an instance from the record. Does not wait until the instance is ready. */
MUST_USE int supervisor_launch(struct supervisor *s, struct err *e);
/* Returns the "K=V" strings of the image and the user, each allocated. */
const char **supervisor_env(const struct spec *spec, size_t *ret_n);
/* sweep.c: deletes retired records whose files belong to a sub-range. This function and the next
 * two return the exit status of the program. */
int supervisor_sweep(void);
/* Deletes everything in the home. The home must have no sandbox any more. */
int supervisor_erase_home(void);
/* Removes what a killed supervisor has left. ENTRY is the name of the record's directory, retired
 * or not. */
int supervisor_release(const char *entry);
/* life.c */
MUST_USE int supervisor_run(struct supervisor *s);
/* Stops the sandbox. Kills it after GRACE_MS: STOP_USUAL means the usual time, and 0 kills at once.
 * REASON is written to the log and to the record. */
void supervisor_stop(struct supervisor *s, unsigned grace_ms, const char *reason);
void supervisor_touch(struct supervisor *s);
/* Notes that the sandbox has booted. From now on, the record of a sandbox that is not ephemeral
 * stays. Called when the sandbox is up. If `unsettled` is true, called later, when the client says
 * that it has made all its changes (LEASH_SETTLED in wire/leash.h). */
void supervisor_settle(struct supervisor *s);
/* Sends pid 1 a frame of TYPE with a NUMBER. Returns false if pid 1 does not take the frame. */
bool supervisor_tell(const struct supervisor *s, enum frame_type type, uint64_t number);
/* Adds a line to the sandbox's log. */
void supervisor_note(struct supervisor *s, const char *text);
/* Writes the output in a LOG frame into the sandbox's log. Ignores a frame with too much output. */
void supervisor_log(struct supervisor *s, const struct frame *f);
/* leash.c: watches the leash. Returns false after a failure. */
bool leash_watch(struct supervisor *s);
/* Tells the command on the leash that the sandbox is up. If that fails, a new sandbox is ended and
 * removed. */
void leash_tell_up(struct supervisor *s);
/* Tells the command on the leash that the start has failed, and why (S->failure). */
void leash_tell_failure(struct supervisor *s);
/* update.c: applies the parts of the record that WHAT names (enum update_what). */
MUST_USE int supervisor_update(struct supervisor *s, unsigned what, struct err *e);
/* Sets all limits that M names. If one of them cannot be set, sets none and fails. */
MUST_USE int supervisor_limit(struct supervisor *s, const struct limits_message *m, struct err *e);
/* Completes a start that waited for the gateway to bind the ports. */
void supervisor_gateway_up(struct supervisor *s);
/* Makes the start fail, for the reason WHY. */
void supervisor_fail(struct supervisor *s, const struct err *why);
/* Ends the sandbox, for the reason WHY, because a process that it needs has ended. */
void supervisor_lost(struct supervisor *s, const struct err *why);
/* Returns true if the record is deleted when the sandbox ends. If a sandbox that is not ephemeral
 * has been up once, its record stays until `remove`. */
static inline bool supervisor_may_vanish(const struct supervisor *s)
{
	return s->record.spec.ephemeral || !s->record.state.booted_once;
}
/* link.c: the network of the sandbox. If the sandbox has no network, link_read_policy() fails,
 * link_count() reports 0 bytes, and the other functions do nothing. */
/* Makes S->network. */
MUST_USE int link_prepare(struct supervisor *s, struct err *e);
/* Opens the link when pid 1 is ready. If *RET_WAITS is set, the start must wait until
 * supervisor_gateway_up() or supervisor_fail() is called. */
MUST_USE int link_open(struct supervisor *s, bool *ret_waits, struct err *e);
/* Reads the policy of NOW, to which the running network will change. The caller must call
 * policy_done() for *RET. */
MUST_USE int link_read_policy(struct supervisor *s, const struct spec *now, struct policy *ret,
			      struct err *e);
void link_count(const struct supervisor *s, struct usage_message *u);
/* Ends the gateway and closes its ports. */
void link_close(struct supervisor *s);
/* control.c */
MUST_USE int control_open(struct supervisor *s);
/* Call this when the sandbox is down. Answers the clients that asked for the stop. */
void control_stopped(struct supervisor *s);
/* Closes the connections. Called after the lock is released: clients that asked for the stop wait
 * for the close. */
void control_hang_up(struct supervisor *s);
