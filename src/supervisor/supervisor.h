/*
 * The life of one sandbox. One process per live sandbox, single-threaded, event-driven; it holds
 * the record's lock for as long as it lives, so its death is visible to everyone at once. wire/leash.h says
 * what it is started with. */
#pragma once

#include "base/buf.h"
#include "loop/loop.h"
#include "spec/spec.h"
#include "state/execlog.h"
#include "state/home.h"
#include "state/record.h"
#include "supervisor/engine.h"
#include "wire/message.h"

#define READY_TIMEOUT_NS (180 * NS_PER_SEC)
#define STOP_USUAL UINT32_MAX /* a stop that does not say how long to wait … */
#define STOP_GRACE_MS 2000    /* … between SIGTERM and SIGKILL, unless our environment does */
#define STOP_TERM_MS 1000 /* before SIGKILL at most, where the image has a stop signal of its own */
#define CONTROL_CLIENTS_MAX 64

enum life { LIFE_STARTING, LIFE_RUNNING, LIFE_STOPPING, LIFE_DEAD, LIFE_COUNT };

struct supervisor {
	struct home home;
	int record_dir, lock, leash;
	int connection; /* or -1 */
	int guest_listener, control;
	struct record record;
	const struct engine *engine;
	struct engine_instance *instance; /* the engine's own */
	struct watched_layer
		*watched; /* NULL: something else keeps the size of the writable layer */
	struct loop *loop;
	enum life life;
	loop_id pidfd_watch, channel_watch, leash_watch, control_watch;
	loop_id ready_timer, stop_timer, duration_timer, idle_timer, tidy_timer;
	unsigned last_grace_ms; /* between SIGTERM and SIGKILL, where another signal came first */
	struct buf channel_in;
	bool busy;
	bool attended; /* by a first client, who waits for his command and not for us */
	bool unsettled; /* up, but its first changes are not made yet: nobody was promised anything */
	struct execlog log;
	struct control_client *clients;
	unsigned n_clients;
	struct buf warnings;     /* lines for the command that started us */
	struct network *network; /* NULL: loopback only */
	bool gateway_failed;     /* and that was told */
	int old_link;      /* closed by our end: the kernel takes tens of milliseconds for it */
	const char *stage; /* of the start, for a record of its failure */
	struct err failure;
};

/* launch.c: from the record to a started instance (not yet ready). */
MUST_USE int supervisor_launch(struct supervisor *s, struct err *e);
/* "K=V" strings of the image and the user, allocated each. */
const char **supervisor_env(const struct spec *spec, size_t *ret_n);
/* sweep.c: deletes retired records whose files belong to a sub-range; the exit status. */
int supervisor_sweep(void);
/* … or everything in the home, which holds no sandbox any more. */
int supervisor_erase_home(void);
/* … and removes the control groups of a sandbox whose supervisor was killed; ENTRY is where its record
 * is, by its name or retired. */
int supervisor_release(const char *entry);
/* life.c */
MUST_USE int supervisor_run(struct supervisor *s);
/* Graceful stop; GRACE_MS 0 kills at once, or STOP_USUAL. REASON goes to the log and the record. */
void supervisor_stop(struct supervisor *s, unsigned grace_ms, const char *reason);
void supervisor_touch(struct supervisor *s);
/* The changes before the first command are made: the sandbox and its record stay. */
void supervisor_settle(struct supervisor *s);
/* Sends pid 1 a frame of TYPE with a NUMBER. False if it does not take it. */
bool supervisor_tell(const struct supervisor *s, enum frame_type type, uint64_t number);
/* A line for whoever reads the sandbox's log. */
void supervisor_note(struct supervisor *s, const char *text);
/* leash.c: watches the leash. False if that cannot be done. */
bool leash_watch(struct supervisor *s);
/* The sandbox is up. A new one that nobody can be told of does not stay. */
void leash_tell_up(struct supervisor *s);
/* The start has failed, for the reason in S. */
void leash_tell_failure(struct supervisor *s);
/* update.c: WHAT is of enum update_what. */
MUST_USE int supervisor_update(struct supervisor *s, unsigned what, struct err *e);
/* The gateway holds the ports: a start that waited for that is over. */
void supervisor_gateway_up(struct supervisor *s);
/* The start fails for this reason. */
void supervisor_fail(struct supervisor *s, const struct err *why);
/* Something has ended that the sandbox cannot do without: it ends, for this reason. */
void supervisor_lost(struct supervisor *s, const struct err *why);
/* The record goes when the sandbox ends. One that was up before stays, and only `remove` deletes it. */
static inline bool supervisor_may_vanish(const struct supervisor *s)
{
	return s->record.spec.ephemeral || !s->record.state.booted_once;
}
/* link.c: the network of the sandbox; all do nothing where it has none. */
/* Makes S->network. */
MUST_USE int link_prepare(struct supervisor *s, struct err *e);
/* Pid 1 is ready. WAITS: supervisor_gateway_up() or supervisor_fail() will follow. */
MUST_USE int link_open(struct supervisor *s, bool *ret_waits, struct err *e);
/* The policy of NOW, for new connections. */
MUST_USE int link_update(struct supervisor *s, const struct spec *now, struct err *e);
void link_count(const struct supervisor *s, struct usage_message *u);
/* No gateway and no published port from here on. */
void link_close(struct supervisor *s);
/* control.c */
MUST_USE int control_open(struct supervisor *s);
/* Tells everyone who asked for it that the sandbox is down. */
void control_stopped(struct supervisor *s);
/* After the lock is gone: who asked for the stop knows by the end of the stream that it is. */
void control_hang_up(struct supervisor *s);
