/*
 * The actions of one connection, whatever carries their messages. At most ENVELOPE_ACTIONS_MAX run at once; answers go out in
 * the order in which actions end. When the connection closes, its actions are cancelled and its uploads are deleted.
 */
#pragma once

#include "box/envelope.h"
#include "box/uploads.h"
#include "box/server.h"
#include "service/context.h"

/* The older client's WebSocket library takes messages of 1 MiB: of each output so much, as JSON. */
#define RPC_LEGACY_OUTPUT_BYTES (500u << 10)

struct rpc;

struct rpc_transport {
	void (*send)(void *arg, struct str message); /* UTF-8 */
	void *arg;
};

/* One action that runs. */
struct action {
	struct action *next;
	struct rpc *rpc; /* NULL: the connection is gone, and nobody is to be told */
	struct server *server;
	const struct action_row *row;
	struct envelope_request request;
	struct holding held; /* bytes of the request and of what is copied from it */
	bool legacy;
	bool of_tenant;
	bool of_sandbox;      /* a grant may be needed for it */
	struct tenant tenant; /* if it is one's */
	struct work *work;    /* what it waits for, if that can be cancelled; or NULL */
};

struct rpc *rpc_new(struct server *s, bool legacy, const struct rpc_transport *t);
void rpc_free(struct rpc *r);
/* A whole message came. -EPROTO: the connection must be dropped. -ENOMEM: it must too, because the server is short of
 * memory. */
MUST_USE int rpc_take(struct rpc *r, struct str message);
struct uploads *rpc_uploads(struct rpc *r);
/* How many bytes of JSON each output of an exec of this connection may take; 0: no bound. */
size_t rpc_output_max(const struct rpc *r);

/* Ends an action, once. If its connection is gone, nobody is told. */
void action_succeed(struct action *a, struct str data);
void action_fail(struct action *a, const struct fault *f);
/* Ends it without a word. */
void action_free(struct action *a);
/* Ends all actions of older generations of this tenant's Workspace: they answer that they are stale. */
void rpc_end_stale(struct server *s, const struct tenant *newer);
/* Ends all actions on sandboxes of this tenant's Workspace with a fault; those of every tenant if T is NULL. */
void rpc_cut(struct server *s, const struct tenant *t, const struct fault *why);
