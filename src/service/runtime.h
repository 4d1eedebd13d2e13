/*
 * A Box runtime: sessions, skills and the backend behind them, as configured. It is independent of the transport.
 * Functions that take time answer by calling their reply exactly once.
 */
#pragma once

#include "service/gate.h"
#include "service/sessions.h"
#include "service/skills.h"

#define RUNTIME_INSTANCE_BYTES 13 /* 12 hex digits with the terminator */
#define RUNTIME_PROBE_MS 5000     /* a sandbox must have run a command within this time */

struct runtime;

struct runtime_parts {
	struct loop *loop;
	struct hands *hands;     /* the runtime frees them */
	struct skills *skills;   /* the runtime frees them */
	struct ceiling *ceiling; /* borrowed */
	const char *
		directory; /* the working directory, for relative paths of the configuration; borrowed */
	const char *home;                    /* replaces "~" in paths; borrowed */
	const struct namespaces *namespaces; /* the server's own; borrowed */
	uint64_t descriptors;                /* how many this process may open */
	bool unsafe_storage; /* the operator has switched off the readiness checks of storage */
	/* as in struct gate_parts */
	void (*cut)(void *arg, const struct tenant *t, const struct fault *why);
	void (*advanced)(void *arg, const struct tenant *newer);
	void *arg;
};

/* CONFIG is the `box` section of the environment, or NULL. */
MUST_USE int runtime_new(const struct runtime_parts *parts, const struct json_value *config,
			 struct runtime **ret, struct fault *f);
void runtime_free(struct runtime *r);

struct sessions *runtime_sessions(const struct runtime *r);
struct fence *runtime_fence(struct runtime *r);
struct gate *runtime_gate(const struct runtime *r);
const struct box_limits *runtime_limits(const struct runtime *r);

/* Actions about the whole server. */
void runtime_configure(struct runtime *r, const struct json_value *config,
		       const struct reply *reply);
void runtime_backend_info(struct runtime *r, const struct reply *reply);
/* In standard mode, answers like runtime_backend_info(). If grants are enforced, answers with the readiness or a
 * failure. */
void runtime_health(struct runtime *r, const struct reply *reply);
/* Reads a marker that the peer has written to the default workspace. */
void runtime_verify_volume(struct runtime *r, const struct json_value *data,
			   const struct reply *reply);
void runtime_status(struct runtime *r, const struct tenant *t, const struct reply *reply);
struct skills *runtime_skills(const struct runtime *r);

/* The bodies of /healthz and /readyz. */
void runtime_write_health(const struct runtime *r, struct buf *body);
typedef void runtime_ready_fn(void *arg, bool ready, struct str body);
void runtime_readiness(struct runtime *r, runtime_ready_fn *fn, void *arg);
