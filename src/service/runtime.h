/*
 * A Box runtime has the sessions, the skills and the backend that the configuration describes. It
 * does not depend on the transport. A function that takes time answers later: it calls its reply
 * exactly once.
 */
#pragma once

#include "service/grant_gate.h"
#include "service/sessions.h"
#include "service/skills.h"

#define RUNTIME_INSTANCE_BYTES 13 /* 12 hex digits with the terminator */

struct runtime;

struct runtime_parts {
	struct loop *loop;
	struct hands *hands;     /* the runtime frees them */
	struct skills *skills;   /* the runtime frees them */
	struct ceiling *ceiling; /* borrowed */
	/* the working directory, at which relative paths of the configuration begin; borrowed */
	const char *directory;
	const char *home;                    /* replaces "~" in paths; borrowed */
	const struct namespaces *namespaces; /* the server's own namespaces; borrowed */
	uint64_t descriptors;                /* how many descriptors this process may have open */
	bool unsafe_storage; /* the operator has switched off the readiness checks of storage */
	/* these three members are as in struct grant_gate_parts */
	void (*cut)(void *arg, const struct tenant *t, const struct fault *why);
	void (*advanced)(void *arg, const struct tenant *newer);
	void *arg;
};

/* CONFIG is the value of the environment variable LANGBOT_BOX_CONFIG, or NULL if the variable is
 * not set or not valid. Peers can send another configuration later (runtime_configure()). */
MUST_USE int runtime_new(const struct runtime_parts *parts, const struct json_value *config,
			 struct runtime **ret, struct fault *f);
void runtime_free(struct runtime *r);

struct sessions *runtime_sessions(const struct runtime *r);
struct fence *runtime_fence(struct runtime *r);
struct grant_gate *runtime_gate(const struct runtime *r);
const struct box_limits *runtime_limits(const struct runtime *r);

/* These functions carry out actions that concern the whole server. */
void runtime_configure(struct runtime *r, const struct json_value *config,
		       const struct reply *reply);
void runtime_backend_info(struct runtime *r, const struct reply *reply);
/* In standard mode, answers like runtime_backend_info(). If grants are enforced, answers with the
 * readiness or a failure. */
void runtime_health(struct runtime *r, const struct reply *reply);
/* Answers with the size and the hash of a marker, a file that the peer has written to the default
 * workspace. The peer learns in this way whether both see the same directory. */
void runtime_verify_volume(struct runtime *r, const struct json_value *data,
			   const struct reply *reply);
void runtime_status(struct runtime *r, const struct tenant *t, const struct reply *reply);
struct skills *runtime_skills(const struct runtime *r);

/* These functions make the bodies of /healthz and /readyz. */
void runtime_write_health(const struct runtime *r, struct buf *body);
typedef void runtime_ready_fn(void *arg, bool ready, struct str body);
void runtime_readiness(struct runtime *r, runtime_ready_fn *fn, void *arg);
