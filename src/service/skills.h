/*
 * Operations on skills. One worker (the program cordon-skills) does all operations of the server,
 * one at a time. The server is confined and cannot start programs, so it asks its parent for a
 * worker, through a channel.
 *
 * Every operation has a deadline, counted from the call of skills_ask(). At its deadline, an
 * operation that is still queued fails. If the worker is doing the operation at that time, the
 * worker is killed. If a worker ends, its current operation fails, and the next operation gets a
 * new worker.
 *
 * The channel is a unix socket that carries packets. The server asks for a worker with a packet
 * that holds the skills root and, for a worker that imports a skill, also the source. Each of the
 * two is a path and a NUL. The parent answers each packet with one packet. The answer is
 * SKILLS_WORKER with two descriptors (the socket and the pidfd of the worker), or a text that says
 * why there is no worker.
 */
#pragma once

#include "base/json.h"
#include "loop/loop.h"
#include "service/ceiling.h"
#include "service/sessions.h"
#include "service/tenant.h"

#define SKILLS_WORKER "w"
#define SKILLS_PATH_MAX 4096u                /* in bytes with the NUL, like the kernel's PATH_MAX */
#define SKILLS_ASK_MAX (2 * SKILLS_PATH_MAX) /* for a root and a source */
/* how many operations may wait; the ceiling limits their bytes */
#define SKILLS_QUEUE_MAX 256u
#define SKILLS_DEADLINE_SEC 60u
/* longer, because an installation writes up to 64 MiB in 512 files */
#define SKILLS_INSTALL_DEADLINE_SEC 120u

struct skills;

/* An archive that a peer has uploaded, already counted in the server's ceiling for memory
 * (service/ceiling.h). */
struct skills_file {
	int fd; /* -1 if there is no archive */
	size_t bytes;
};

/* Takes ownership of CHANNEL. Returns 0 or -errno. */
MUST_USE int skills_new(struct loop *loop, int channel, struct ceiling *ceiling,
			struct skills **ret);
/* Operations that still wait get no reply. */
void skills_free(struct skills *s);
/* Sets the skills root for operations that have not begun. ROOT is an absolute path. */
void skills_set_root(struct skills *s, const char *root);
/* Does the operation OP (wire/skills.h) for the tenant. Takes ownership of FILE. Calls the reply
 * exactly once, perhaps before skills_ask() returns. */
void skills_ask(struct skills *s, const char *op, const struct tenant *t,
		const struct json_value *data, struct skills_file file, const struct reply *reply);
