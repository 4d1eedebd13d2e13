/* The state of a command that `cordon` runs for the user. Only client/exec.c, client/piped.c and
 * client/terminal.c use this header. */
#pragma once

#include "client/call.h"
#include "client/exec.h"
#include "client/inlet.h"
#include "client/replay.h"
#include "client/tap.h"

struct run {
	struct client *c;
	const struct exec_request *q;
	struct exec_result *result;
	struct err *e;
	struct call call;
	struct tap tap;
	struct inlet in;
	bool attached;           /* the command was started before, perhaps by another client */
	struct replay replay;    /* after an attach: the output that pid 1 kept, for our terminal */
	struct screen screen;    /* the modes that the program has set on our terminal */
	bool in_open;            /* our own input has not ended, and the command reads it */
	int output_error;        /* -errno if the output could not be written */
	const char *output_step; /* which step failed with output_error */
};

/* Makes pipes and sends EXEC with the ends of the pipes that the command uses. Then copies input
 * and output until the command ends. Returns 0 or -1. */
MUST_USE int run_piped(struct run *r);
/* The caller has sent the request already (EXEC or ATTACH). Sends input and receives output as
 * frames, within the granted credit, until the command ends or the client detaches. Returns 0 or
 * -1. */
MUST_USE int run_terminal(struct run *r);

/* --- for both -------------------------------------------------------------------------------- */

/* Sends EXEC with FLAGS in addition to the flags of the request. */
MUST_USE int run_send_exec(struct run *r, unsigned flags, const int *fds, unsigned n_fds);
/* Shows the terminal output that pid 1 kept. Does nothing if it was already shown. */
void run_replay(struct run *r);
/* Receives the frames that have come from pid 1, and handles them. Returns 0 or -1. */
MUST_USE int run_hear(struct run *r);
/* Returns a time-out for poll(): the milliseconds until UNTIL_NS (0 means never) or until pid 1
 * must have reported the end, whichever is earlier. */
int run_poll_ms(const struct run *r, uint64_t until_ns);
/* If pid 1 should have reported the end by now, ends the sandbox, because pid 1 hangs, or an
 * attacker controls it. ANSWERED says that poll() found bytes from pid 1. These are read first,
 * because the report may have come in time and only we are late. Returns 0, or -1 if this reading
 * failed. */
MUST_USE int run_check_deadline(struct run *r, bool answered);
/* K is the result of a write to our own output: 0 or -errno. Returns true if K is 0. Otherwise
 * notes in R how the output broke, and returns false. */
bool run_wrote(struct run *r, int k);
