/*
 * An engine is a table of operations that run a sandbox. The life of a sandbox (life.c) is the same
 * for all engines. Only the engine knows ids, namespaces, control groups, layers and mounts. Today
 * there is one engine, the process engine: engine_process.c calls process/, and only
 * engine_process*.c include headers of process/.
 *
 * Every engine runs our pid 1 on this machine. The supervisor and pid 1 exchange the same frames in
 * every engine.
 */
#pragma once

#include <sys/types.h>

#include "base/confine.h"
#include "base/err.h"
#include "spec/spec.h"
#include "state/home.h"
#include "wire/message.h"

struct supervisor;

/* What every engine shows of a sandbox. This struct is the first member of the engine's own struct.
 * The engine opens and closes the descriptors. */
struct engine_instance {
	pid_t pid; /* pid 1 of the sandbox, by its number in our pid namespace */
	int pidfd;
	int channel; /* frames to and from pid 1 */
};

struct engine {
	/* Makes S->instance. The caller reads the record only after this function, so the function
	 * can begin slow work that does not depend on the record. For example, the process engine
	 * lets the kernel begin to make namespaces. */
	void (*begin)(struct supervisor *s);
	/* Opens layers, volumes and files. The caller has read the record, and has made S->network
	 * if the sandbox has a network. Sets S->stage: if the start fails, the record says at which
	 * stage. */
	int (*prepare)(struct supervisor *s, struct err *e);
	/* Makes pid 1. Does not wait until pid 1 is ready. */
	int (*start)(struct supervisor *s, struct err *e);
	/* Sends BOOT to pid 1, with the sockets of S. The caller has filled BOOT from the record.
	 * The engine completes BOOT, and writes into the record how each limit is enforced. */
	int (*boot)(struct supervisor *s, struct boot_message *boot, struct err *e);
	/* Adds to F the files that the instance needs after the supervisor has confined itself. */
	int (*confine)(const struct supervisor *s, struct confine_files *f, struct err *e);
	/* Frees the memory that only the start needed. Called after READY. */
	void (*ready)(struct supervisor *s);
	/* Gives the caller the gateway's end of the interface. Called after READY if S has a
	 * network. */
	int (*link)(struct supervisor *s, int *ret_fd, struct err *e);
	/* PID is a process that works for the sandbox. Makes the resources of this process count as
	 * resources of the sandbox. */
	void (*adopt)(const struct supervisor *s, pid_t pid);
	/* Changes limits of the live sandbox to the values in NOW. WHAT says which limits: it is a
	 * set of bits of enum update_what. */
	int (*update_limits)(struct supervisor *s, const struct spec *now, unsigned what,
			     struct err *e);
	/* Fills in U with what the sandbox uses now. Numbers that nothing counts stay unknown. */
	void (*usage)(const struct supervisor *s, struct usage_message *u);
	/* Lets pid 1 send SIGNAL to all processes in the sandbox, so that they end. Returns false
	 * if the frame SHUTDOWN could not be sent to pid 1. */
	bool (*stop)(struct supervisor *s, int signal);
	/* Kills all processes in the sandbox at once. Does nothing if all have ended already. */
	void (*kill)(struct supervisor *s);
	/* Fills E with the reason why pid 1 ended before READY, and sets *RET_STAGE to the stage at
	 * which pid 1 failed. */
	void (*explain)(struct supervisor *s, const char **ret_stage, struct err *e);
	/* Kills what still runs and removes everything that the engine made. Frees S->instance. */
	void (*done)(struct supervisor *s);

	/* The operations below need no instance: */

	/* Removes what a killed supervisor has left of the sandbox NAME. SPEC is from the sandbox's
	 * record, or NULL if the record cannot be read. */
	void (*release)(const struct home *h, const char *name, struct spec *spec);
	/* Runs WORK with the right to delete all files that sandboxes of this user have made.
	 * Returns 0 if WORK returned 0. */
	int (*run_as_owner)(int (*work)(void *arg), void *arg, struct err *e);
};

extern const struct engine engine_process;
