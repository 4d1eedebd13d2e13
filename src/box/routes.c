#include "box/routes.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "box/relay.h"
#include "box/rpc_peer.h"
#include "box/socket_owner.h"
#include "service/runtime.h"

#define JSON_TYPE "application/json"
#define TEXT_TYPE "text/plain"

static void refuse(struct peer *p)
{
	peer_answer(p, 401, TEXT_TYPE, STR("Unauthorized"));
}

/* --- health and readiness -------------------------------------------------------------------- */

static void answer_health(struct peer *p)
{
	AUTO_BUF body = BUF_INIT(64u << 10);

	runtime_write_health(peer_server(p)->runtime, &body);
	peer_answer(p, 200, JSON_TYPE, (struct str){ body.p, body.n });
}

/* A peer that asked whether the server is ready. The peer may leave before the answer. */
struct waiting {
	struct peer *peer;
};

static void on_left(void *arg)
{
	struct waiting *w = arg;

	w->peer = NULL;
}

static void on_ready(void *arg, bool ready, struct str body)
{
	struct waiting *w = arg;

	if (w->peer)
		peer_answer(w->peer, ready ? 200 : 503, JSON_TYPE, body);
	free(w);
}

static void answer_readiness(struct peer *p)
{
	struct waiting *w = xcalloc(1, sizeof(*w));

	w->peer = p;
	peer_await(p, on_left, w);
	runtime_readiness(peer_server(p)->runtime, on_ready, w);
}

/* --- the RPC --------------------------------------------------------------------------------- */

/* Finds out whether the peer is on this machine and runs as our user. The owner of the peer's
 * socket is known only on loopback. */
static struct handshake_peer who_is(struct peer *p)
{
	const struct server *s = peer_server(p);
	bool local = peer_is_local(p);

	return (struct handshake_peer){ .loopback = local,
					.own_user = local && s->diag >= 0 &&
						    socket_owner_is(s->diag, peer_fd(p), s->uid) };
}

static void open_rpc(struct peer *p)
{
	const struct http_request *r = peer_request(p);
	struct server *s = peer_server(p);
	enum handshake_verdict v;
	struct str key;
	int status;

	s->trust.admission = grant_gate_is_on(runtime_gate(s->runtime));
	v = handshake_rpc(&s->trust, r, who_is(p));
	if (v == HANDSHAKE_REFUSED) {
		refuse(p);
		return;
	}
	status = websocket_check_request(r, &key);
	if (status < 0)
		peer_answer(p, (unsigned)-status, TEXT_TYPE, STR("this route is a WebSocket"));
	else
		rpc_peer_open(p, v == HANDSHAKE_LEGACY);
}

/* --- relays ---------------------------------------------------------------------------------- */

static void answer_fault(struct peer *p, const struct fault *f)
{
	AUTO_BUF body = BUF_INIT(64u << 10);
	struct json_writer w;

	json_writer_init(&w, &body, 0);
	json_begin_object(&w);
	json_key(&w, "error");
	json_begin_object(&w);
	json_key_str(&w, "code", fault_class_name(f->class));
	json_key(&w, "message");
	json_strn(&w, f->text, f->n);
	json_end_object(&w);
	json_end_object(&w);
	peer_answer(p, 400, JSON_TYPE, (struct str){ body.p, body.n });
}

/* Reads the ids S and P from the path "/v1/sessions/S/managed-process[/P]/ws". If the path has no
 * P, PROCESS becomes PROCESS_DEFAULT_ID. Returns false for any other path, and if an id has a
 * NUL. */
static bool split_path(struct str path, struct buf *session, struct buf *process)
{
	struct str part[7];
	size_t n = 0;

	while (n < ARRAY_SIZE(part) && http_path_next(&path, &part[n]))
		n++;
	if (path.n > 0 || (n != 5 && n != 6) || !str_eq(part[0], "v1") ||
	    !str_eq(part[1], "sessions") || !str_eq(part[3], "managed-process") ||
	    !str_eq(part[n - 1], "ws"))
		return false;
	if (http_unescape(part[2], session) < 0 || (n == 6 && http_unescape(part[4], process) < 0))
		return false;
	if (n == 5)
		buf_add_str(process, PROCESS_DEFAULT_ID);
	return !memchr(buf_str(session), '\0', session->n) &&
	       !memchr(buf_str(process), '\0', process->n);
}

/* Returns true if T is the legacy tenant, or if its generation is the current generation of its
 * Workspace. */
static bool is_current(struct peer *p, const struct tenant *t)
{
	return t->legacy || fence_is_current(runtime_fence(peer_server(p)->runtime), t);
}

/* Returns true if T is the legacy tenant, if grants are not enforced, or if the tenant's grant
 * allows relays. */
static bool may_relay(struct server *s, const struct tenant *t, struct fault *f)
{
	struct grant_gate *g = runtime_gate(s->runtime);

	return t->legacy || !grant_gate_is_on(g) || grant_gate_check(g, t, ADMISSION_RELAY, f) == 0;
}

static bool owns(const struct tenant *t, struct str session, struct str *ret_id)
{
	*ret_id = session;
	return t->legacy || tenant_owns(t, session, ret_id);
}

static void open_relay(struct peer *p, const char *session, const char *process_id)
{
	struct server *s = peer_server(p);
	const struct http_request *r = peer_request(p);
	AUTO_FAULT f = { 0 };
	struct process *process;
	struct tenant tenant;
	struct str id, key;

	s->trust.admission = grant_gate_is_on(runtime_gate(s->runtime));
	if (handshake_relay(&s->trust, r, who_is(p), &tenant) == HANDSHAKE_REFUSED ||
	    !is_current(p, &tenant)) {
		refuse(p);
	} else if (!may_relay(s, &tenant, &f)) {
		answer_fault(p, &f);
	} else if (!owns(&tenant, str_of(session), &id)) {
		refuse(p);
	} else if (!(process = sessions_find_process(runtime_sessions(s->runtime), &tenant, id.p,
						     process_id, &f))) {
		answer_fault(p, &f);
	} else if (!process_is_running(process)) {
		fault_set(&f, FAULT_PROCESS_CONFLICT,
			  "managed process %s of session %s is not running", process_id, session);
		answer_fault(p, &f);
	} else if (websocket_check_request(r, &key) < 0) {
		peer_answer(p, 400, TEXT_TYPE, STR("this route is a WebSocket"));
	} else {
		relay_open(p, process);
	}
}

/* --- all routes ------------------------------------------------------------------------------ */

void routes_take(struct peer *p)
{
	const struct http_request *r = peer_request(p);
	AUTO_BUF session = BUF_INIT(HTTP_HEAD_MAX_BYTES);
	AUTO_BUF process = BUF_INIT(HTTP_HEAD_MAX_BYTES);

	if (!str_eq(r->method, "GET"))
		peer_answer(p, 405, TEXT_TYPE, STR("only GET is known here"));
	else if (str_eq(r->path, "/healthz"))
		answer_health(p);
	else if (str_eq(r->path, "/readyz"))
		answer_readiness(p);
	else if (str_eq(r->path, "/rpc/ws"))
		open_rpc(p);
	else if (split_path(r->path, &session, &process))
		open_relay(p, buf_str(&session), buf_str(&process));
	else
		peer_answer(p, 404, TEXT_TYPE, STR("not found"));
}
