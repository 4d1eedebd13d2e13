/*
 * The actions of one connection, for every transport. At most ENVELOPE_ACTIONS_MAX actions run at
 * the same time. Answers are sent in the order in which actions end. When the connection closes,
 * its actions are cancelled and its uploads are deleted.
 */
#pragma once

#include "box/envelope.h"
#include "box/uploads.h"
#include "box/server.h"
#include "service/context.h"

/* The WebSocket library of legacy peers accepts messages of at most 1 MiB. So in an answer to such
 * a peer, stdout and stderr may each have this many bytes of JSON. */
#define RPC_LEGACY_OUTPUT_BYTES (500u << 10)

struct rpc;

struct rpc_transport {
	void (*send)(void *arg, struct str message); /* UTF-8 */
	void *arg;
};

/* One action that runs. */
struct action {
	struct action *next;
	struct rpc *rpc; /* NULL if the connection is gone; then no answer is sent */
	struct server *server;
	const struct action_row *row;
	struct envelope_request request;
	struct holding held; /* bytes of memory that the request and copies of its parts take */
	bool legacy;
	bool of_tenant;
	bool of_sandbox;      /* the action uses sandboxes, so it may need a grant */
	struct tenant tenant; /* valid only if of_tenant is set */
	/* the work that the action waits for; NULL if there is none that can be cancelled */
	struct work *work;
};

struct rpc *rpc_new(struct server *s, bool legacy, const struct rpc_transport *t);
void rpc_free(struct rpc *r);
/* Handles a whole message. Returns 0. If the connection must be dropped, returns -EPROTO or, if no
 * memory is left, -ENOMEM. */
MUST_USE int rpc_take(struct rpc *r, struct str message);
struct uploads *rpc_uploads(struct rpc *r);
/* Returns how many bytes of JSON each output of an exec may have on this connection. 0 means no
 * bound. */
size_t rpc_output_max(const struct rpc *r);

/* Answers and frees an action. If its connection is gone, no answer is sent. */
void action_succeed(struct action *a, struct str data);
void action_fail(struct action *a, const struct fault *f);
/* Frees an action without an answer. */
void action_free(struct action *a);
/* Ends all actions of older generations of this tenant's Workspace with the fault of a stale
 * generation. */
void rpc_end_stale(struct server *s, const struct tenant *newer);
/* Ends all sandbox actions of T's Workspace with the fault WHY. If T is NULL, ends the sandbox
 * actions of every Workspace. */
void rpc_cut(struct server *s, const struct tenant *t, const struct fault *why);
