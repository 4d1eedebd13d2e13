#include "endpoint/endpoint.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "endpoint/answer.h"
#include "endpoint/child.h"
#include "endpoint/socket.h"

#define REQUEST_MAX_BYTES (16u << 20)
#define FIRST_NUMBER_MAX 100000u
#define SHUTDOWN_SEC 1 /* enough to write one short line to a pipe */
#define CALL_SEC 15
#define DELETE_SEC 30

struct endpoint {
	const struct runtime_config *config;
	const struct interrupts *interrupts;
	struct interrupt interrupt;
	struct link link;
	bool linked;
	struct child child;   /* pidfd is -1 if the server is not our child */
	int64_t seq;          /* number of the next request */
	uint64_t ready_by_ns; /* deadline for the connection, ENDPOINT_PING and ENDPOINT_INIT */
	bool committed;       /* the server may have got an action that changes something */
};

static const struct {
	const char *name;
	bool tenant; /* the action is about the sandboxes of a Workspace */
	bool reads;  /* the action may be done twice: it runs nothing and ends nothing */
	unsigned seconds;
} actions[ENDPOINT_ACTION_COUNT] = {
	[ENDPOINT_PING] = { "__ping", false, true, CALL_SEC },
	[ENDPOINT_INIT] = { "box_init", false, true, CALL_SEC },
	[ENDPOINT_STATUS] = { "box_status", true, true, CALL_SEC },
	[ENDPOINT_SESSIONS] = { "box_get_sessions", true, true, CALL_SEC },
	[ENDPOINT_EXEC] = { "box_exec", true, false,
			    0 }, /* the configuration sets the time limit */
	[ENDPOINT_DELETE] = { "box_delete_session", true, false, DELETE_SEC },
	[ENDPOINT_SKILLS] = { "box_list_skills", true, true, CALL_SEC },
};

/* --- calls ----------------------------------------------------------------------------------- */

static uint64_t deadline_of(const struct endpoint *p, enum endpoint_action action)
{
	uint64_t seconds =
		actions[action].seconds ? actions[action].seconds : (uint64_t)p->config->exec_sec;
	uint64_t until = clock_mono_ns() + seconds * NS_PER_SEC;

	if ((action == ENDPOINT_PING || action == ENDPOINT_INIT) && p->ready_by_ns < until)
		until = p->ready_by_ns;
	return until;
}

/* Returns the instance id that we send, or NULL if we send none. If the server is not our child, we
 * send only an id from the configuration. */
static const char *instance_of(const struct endpoint *p)
{
	if (p->config->instance)
		return p->config->instance;
	return p->child.pidfd >= 0 ? SERVICE_INSTANCE_ID : NULL;
}

static void put_request(struct endpoint *p, const char *action, bool tenant, struct str data,
			struct buf *out)
{
	const char *instance = instance_of(p);
	struct json_writer w;

	json_writer_init(&w, out, 0);
	json_begin_object(&w);
	json_key_int(&w, "seq_id", p->seq);
	json_key_str(&w, "action", action);
	json_key(&w, "data");
	json_written(&w, data.p, data.n);
	if (tenant && instance) {
		json_key(&w, "context");
		json_begin_object(&w);
		json_key_str(&w, "instance_uuid", instance);
		json_key_str(&w, "workspace_uuid", p->config->workspace);
		json_key_int(&w, "placement_generation", 1);
		json_end_object(&w);
	}
	json_end_object(&w);
}

/* Sends the request. Notes in p->committed whether the server may have got a part of an action that
 * changes something. */
static int send_request(struct endpoint *p, enum endpoint_action action, const struct buf *request,
			uint64_t until, struct fault *f)
{
	uint64_t begin;
	int r;

	/* if the server has closed the connection, fail now, before we send an action that changes
	 * something */
	if (!actions[action].reads && link_check(&p->link, f) < 0)
		return -1;
	begin = link_end(&p->link);
	r = link_send(&p->link, (struct str){ request->p, request->n }, until, f);
	if (!actions[action].reads && p->link.handed > begin)
		p->committed = true;
	return r;
}

static int call(struct endpoint *p, enum endpoint_action action, struct str data,
		struct json_doc **ret, struct fault *f)
{
	uint64_t until = deadline_of(p, action);
	AUTO_BUF request = BUF_INIT(REQUEST_MAX_BYTES);
	struct str message;
	int64_t seq = p->seq;
	int r;

	put_request(p, actions[action].name, actions[action].tenant, data, &request);
	p->seq++;
	if (buf_failed(&request))
		return fault_set(f, FAULT_VALIDATION, "the call is too long");
	if (send_request(p, action, &request, until, f) < 0)
		return -1;
	do {
		if (link_receive(&p->link, until, &message, f) < 0)
			return -1;
		r = answer_read(message, seq, ret, f);
	} while (r == 0);
	return r < 0 ? -1 : 0;
}

int endpoint_call(struct endpoint *p, enum endpoint_action action, struct str data,
		  struct json_doc **ret, struct fault *f)
{
	if (call(p, action, data, ret, f) == 0)
		return 0;
	if (p->committed)
		f->again = false;
	return -1;
}

/* --- beginning and end ----------------------------------------------------------------------- */

/* Writes the configuration without the member `runtime`, because this member is for us and not
 * for the server. */
static void put_config(const struct json_value *box, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, 0);
	json_begin_object(&w);
	for (size_t i = 0; box && box->type == JSON_OBJECT && i < box->object.n; i++) {
		const struct json_member *m = &box->object.member[i];

		if (str_eq(m->key, "runtime"))
			continue;
		json_key(&w, m->key.p);
		json_value_copy(&w, &m->value);
	}
	json_end_object(&w);
}

static int greet(struct endpoint *p, struct fault *f)
{
	AUTO_BUF config = BUF_INIT(REQUEST_MAX_BYTES);
	AUTO_JSON pong = NULL;
	AUTO_JSON ready = NULL;

	put_config(p->config->box, &config);
	if (endpoint_call(p, ENDPOINT_PING, STR("{}"), &pong, f) < 0)
		return -1;
	return endpoint_call(p, ENDPOINT_INIT, (struct str){ buf_str(&config), config.n }, &ready,
			     f);
}

static int link_up(struct endpoint *p, struct fault *f)
{
	int r = p->config->kind == RUNTIME_CHILD
			? child_open(p->config, &p->interrupt, &p->child, &p->link, f)
			: socket_open(p->config, &p->interrupt, p->ready_by_ns, &p->link, f);

	p->linked = r == 0;
	return r;
}

int endpoint_open(const struct runtime_config *c, const struct interrupts *interrupts,
		  uint64_t until_ns, struct endpoint **ret, int *ret_signal, struct fault *f)
{
	struct endpoint *p = xcalloc(1, sizeof(*p));
	uint32_t first = 0;
	struct err e;

	*p = (struct endpoint){ .config = c, .interrupts = interrupts, .child = { -1, -1 } };
	p->ready_by_ns = until_ns;
	if (getrandom(&first, sizeof(first), 0) == (ssize_t)sizeof(first))
		p->seq = first % (FIRST_NUMBER_MAX + 1);
	if (interrupts->open(&p->interrupt, &e) < 0) {
		free(p);
		return fault_set(f, FAULT_BOX, "%s", e.msg);
	}
	if (link_up(p, f) == 0 && greet(p, f) == 0) {
		*ret = p;
		return 0;
	}
	*ret_signal = endpoint_close(p);
	return -1;
}

/* Ends the child. Signals do not interrupt this function. */
static void shut_down(struct endpoint *p)
{
	struct interrupt none = { .fd = -1 };
	AUTO_BUF request = BUF_INIT(REQUEST_MAX_BYTES);
	AUTO_FAULT ignored = { 0 };

	p->link.interrupt = &none;
	put_request(p, "box_shutdown", false, STR("{}"), &request);
	IGNORE(link_send(&p->link, (struct str){ request.p, request.n },
			 clock_mono_ns() + SHUTDOWN_SEC * NS_PER_SEC, &ignored));
	child_end(&p->child, &p->link);
}

int endpoint_close(struct endpoint *p)
{
	int signal = 0;

	if (p->linked) {
		signal = p->link.signal;
		if (p->child.pidfd >= 0)
			shut_down(p);
		link_done(&p->link);
	}
	if (!signal)
		signal = interrupt_signal(&p->interrupt);
	p->interrupts->close(&p->interrupt);
	free(p);
	return signal;
}
