/*
 * How sandboxes are run: one table of operations, with a row for each engine. The life of a sandbox (life.c)
 * is the same for all of them; everything about ids, namespaces, control groups, layers and mounts is behind a
 * row. Today there is one: process/ behind engine_process.c. No other file of this room includes a header of
 * process/.
 *
 * Every engine has a pid 1 of ours on this machine. The supervisor talks to it in frames over the channel, and
 * nothing that goes over the channel differs between engines, so it has no operation here.
 */
#pragma once

#include <sys/types.h>

#include "base/confine.h"
#include "base/err.h"
#include "spec/spec.h"
#include "state/home.h"
#include "wire/message.h"

struct supervisor;

/* The beginning of what each engine keeps of a sandbox: what the life of the sandbox needs to see. The engine
 * opens and closes the descriptors. */
struct engine_instance {
	pid_t pid; /* of pid 1, for messages */
	int pidfd;
	int channel; /* frames to and from pid 1 */
};

struct engine {
	/* Makes S->instance. There is no record yet: begins what takes the kernel longest. */
	void (*begin)(struct supervisor *s);
	/* The record is read and S->network is there, if the sandbox has one: opens what the sandbox is made
	 * of. Names the stage in S for the record of a failure. */
	int (*prepare)(struct supervisor *s, struct err *e);
	/* Makes pid 1, which comes up while the caller goes on. */
	int (*start)(struct supervisor *s, struct err *e);
	/* Tells pid 1 what to be. The caller has written into BOOT what the record says; the engine adds what it
	 * knows, hands over the sockets of S, and writes into the record how each limit holds. */
	int (*boot)(struct supervisor *s, struct boot_message *boot, struct err *e);
	/* Adds to F what the instance needs until its end: the supervisor is about to confine itself. */
	int (*confine)(const struct supervisor *s, struct confine_files *f, struct err *e);
	/* Pid 1 has said READY: frees what only the start needed. */
	void (*ready)(struct supervisor *s);
	/* After READY, if S has a network: the gateway's end of the interface, which is the caller's then. */
	int (*link)(struct supervisor *s, int *ret_fd, struct err *e);
	/* The process PID works for the sandbox: what it uses counts as the sandbox's. */
	void (*adopt)(const struct supervisor *s, pid_t pid);
	/* Limits of the live sandbox become those of NOW; WHAT is of enum update_what. */
	int (*update_limits)(struct supervisor *s, const struct spec *now, unsigned what,
			     struct err *e);
	/* Fills in what the sandbox uses now, as far as it is counted. */
	void (*usage)(const struct supervisor *s, struct usage_message *u);
	/* Asks everything inside to end, by SIGNAL. False if pid 1 cannot be told. */
	bool (*stop)(struct supervisor *s, int signal);
	/* Ends everything inside at once. Harmless when it has ended. */
	void (*kill)(struct supervisor *s);
	/* Pid 1 has ended before READY: the reason, and the stage of the start in a word. */
	void (*explain)(struct supervisor *s, const char **ret_stage, struct err *e);
	/* Ends what still runs and removes everything that the engine made but the record. */
	void (*done)(struct supervisor *s);

	/* Without an instance: */

	/* Removes what a supervisor that was killed has left of the sandbox NAME: SPEC is what its record says,
	 * or NULL if that cannot be read. */
	void (*release)(const struct home *h, const char *name, struct spec *spec);
	/* Runs WORK, in another process, as the owner of all files that the caller's sandboxes have made. */
	int (*run_as_owner)(int (*work)(void *arg), void *arg, struct err *e);
};

extern const struct engine engine_process;
