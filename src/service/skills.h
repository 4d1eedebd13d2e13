/*
 * Operations on skills, done by one worker (the program cordon-skills) for the whole server, one at a time. The server
 * is confined and can start no program, so it asks its parent for a worker on a channel (SKILLS_WORKER, below).
 *
 * Every operation has a deadline, counted from the moment when it is asked: one that is still queued then fails; a
 * worker that is still at it is killed. A worker that ends fails the one operation that it had. The next operation gets
 * another worker.
 *
 * The channel is a unix socket of packets. The server sends a root and, for a worker that imports, a source: each is a
 * path and a NUL. The parent answers each packet with one: SKILLS_WORKER with two descriptors, the socket and the pidfd
 * of the worker, or a text that says why there is no worker.
 */
#pragma once

#include "base/json.h"
#include "loop/loop.h"
#include "service/ceiling.h"
#include "service/sessions.h"
#include "service/tenant.h"

#define SKILLS_WORKER "w"
#define SKILLS_PATH_MAX 4096u                /* bytes with the NUL, as the kernel has it */
#define SKILLS_ASK_MAX (2 * SKILLS_PATH_MAX) /* a root and a source */
#define SKILLS_QUEUE_MAX 256u                /* operations; their bytes count against the ceiling */
#define SKILLS_DEADLINE_SEC 60u
#define SKILLS_INSTALL_DEADLINE_SEC 120u /* it writes up to 64 MiB in 512 files */

struct skills;

/* An archive that a peer has uploaded. Its bytes are taken from the ceiling already. */
struct skills_file {
	int fd; /* -1: none */
	size_t bytes;
};

/* Takes CHANNEL. */
MUST_USE int skills_new(struct loop *loop, int channel, struct ceiling *ceiling,
			struct skills **ret);
/* Operations that wait are not answered any more. */
void skills_free(struct skills *s);
/* Operations that have not begun use the directory ROOT, an absolute path. */
void skills_set_root(struct skills *s, const char *root);
/* Does OP (wire/skills.h) for the tenant. Takes FILE. The reply comes exactly once, perhaps before this returns. */
void skills_ask(struct skills *s, const char *op, const struct tenant *t,
		const struct json_value *data, struct skills_file file, const struct reply *reply);
