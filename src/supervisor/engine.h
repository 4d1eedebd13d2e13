/*
 * How sandboxes are run: one table of operations, with a row for each engine. The life of a sandbox (life.c) is the same
 * for all engines. Everything about ids, namespaces, control groups, layers and mounts is behind a row. Today there is
 * one row, the process engine: engine_process.c in front of process/. No other file of this room includes a header of
 * process/.
 *
 * Every engine has a pid 1 of ours on this machine, and the supervisor talks to it in the same frames.
 */
#pragma once

#include <sys/types.h>

#include "base/confine.h"
#include "base/err.h"
#include "spec/spec.h"
#include "state/home.h"
#include "wire/message.h"

struct supervisor;

/* What every engine shows of a sandbox. It is the first member of the engine's own struct. The engine opens and
 * closes the descriptors. */
struct engine_instance {
	pid_t pid; /* pid 1, seen from here */
	int pidfd;
	int channel; /* frames to and from pid 1 */
};

struct engine {
	/* Makes S->instance, before the record is read: begins the work that takes the kernel
	 * longest. */
	void (*begin)(struct supervisor *s);
	/* Opens what the sandbox is made of. The record is read, and S->network exists if the sandbox has one. Sets
	 * S->stage for the record of a failure. */
	int (*prepare)(struct supervisor *s, struct err *e);
	/* Makes pid 1, which comes up while the caller goes on. */
	int (*start)(struct supervisor *s, struct err *e);
	/* Tells pid 1 what to be. The caller has written into BOOT what the record says; the engine adds what it
	 * knows, hands over the sockets of S, and writes into the record how each limit holds. */
	int (*boot)(struct supervisor *s, struct boot_message *boot, struct err *e);
	/* The supervisor is about to confine itself: adds to F the files that the instance needs until its end. */
	int (*confine)(const struct supervisor *s, struct confine_files *f, struct err *e);
	/* Pid 1 has said READY: frees what only the start needed. */
	void (*ready)(struct supervisor *s);
	/* After READY, if S has a network: gives the caller the gateway's end of the interface. */
	int (*link)(struct supervisor *s, int *ret_fd, struct err *e);
	/* The process PID works for the sandbox: counts what it uses as the sandbox's. */
	void (*adopt)(const struct supervisor *s, pid_t pid);
	/* Changes the limits of the live sandbox to those of NOW. WHAT is of enum update_what. */
	int (*update_limits)(struct supervisor *s, const struct spec *now, unsigned what,
			     struct err *e);
	/* Fills in what the sandbox uses now, as far as it is counted. */
	void (*usage)(const struct supervisor *s, struct usage_message *u);
	/* Sends SIGNAL to everything inside, so that it ends. False if pid 1 cannot be told. */
	bool (*stop)(struct supervisor *s, int signal);
	/* Ends everything inside at once. Does nothing if everything has ended already. */
	void (*kill)(struct supervisor *s);
	/* Pid 1 has ended before READY: fills E with the reason and names the stage of the start
	 * at which pid 1 failed. */
	void (*explain)(struct supervisor *s, const char **ret_stage, struct err *e);
	/* Kills what still runs and removes everything that the engine made. Frees S->instance. */
	void (*done)(struct supervisor *s);

	/* The operations below need no instance: */

	/* Removes what a killed supervisor has left of the sandbox NAME. SPEC is what its record says, or NULL if
	 * that cannot be read. */
	void (*release)(const struct home *h, const char *name, struct spec *spec);
	/* Runs WORK with the right to delete all files that sandboxes of the caller have made.
	 * Returns 0 if WORK returned 0. */
	int (*run_as_owner)(int (*work)(void *arg), void *arg, struct err *e);
};

extern const struct engine engine_process;
