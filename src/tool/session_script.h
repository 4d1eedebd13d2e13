/*
 * The tools use these shell scripts to reach a workspace that exists in the sandbox only. The
 * scripts use programs that every image with a shell has: base64, cat, find, head, ls, mkdir, sed,
 * stat, tail, tr, wc.
 *
 * A hostile command in the sandbox cannot make a script harm files of the host, because the script
 * runs in the same sandbox. The script's answers are checked, because the sandbox may answer
 * anything.
 */
#pragma once

#include "service/outcome.h"
#include "tool/place.h"

/* The most bytes that one command reads or writes. In base64 this is less than 500 KiB, the longest
 * output that cordon-box sends to a peer without an instance id. */
#define SESSION_CHUNK_BYTES 360000u
#define SESSION_SCRIPT_MAX_BYTES (1u << 20) /* the longest command that a runtime takes */

/* Exit statuses of our scripts. */
enum {
	SESSION_DIRECTORY = 10,
	SESSION_MISSING = 11,
	SESSION_SPECIAL = 12, /* neither a regular file nor a directory */
	SESSION_FILE = 13,
};

/* Begins a script: sets the shell variable p to the path of P. */
void session_begin(struct buf *script, const struct place *p);
/* Runs the script in the session. Fails if the runtime fails, but not if the script does. All
 * scripts of a tool's call must begin within service.exec_timeout_sec: otherwise a sandbox that
 * answers each script with one byte could prolong the call without end. */
MUST_USE int session_run(struct file_call *c, const struct buf *script, struct outcome *o,
			 struct fault *f);
/* Turns the exit status of a script that failed into a message about P. Returns -1. */
int session_fail(struct file_call *c, const struct place *p, const struct outcome *o,
		 struct fault *f);
/* Decodes TEXT from base64 and appends the bytes to OUT. Fails if TEXT is no base64 or has more
 * than MAX bytes. */
MUST_USE int session_decode(struct str text, size_t max, struct buf *out, struct fault *f);
/* Sets the fault that the answer of a script cannot be understood. Returns -1. */
int session_makes_no_sense(struct fault *f);
