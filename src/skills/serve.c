#include "skills/serve.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/io.h"
#include "base/json.h"
#include "skills/operation.h"
#include "skills/sweep.h"
#include "wire/skills.h"

#define VALIDATION "BoxValidationError"

/* --- replies --------------------------------------------------------------------------------- */

static void reply_begin(struct buf *out, struct json_writer *w)
{
	buf_clear(out);
	skills_message_begin(out);
	json_writer_init(w, out, 0);
	json_begin_object(w);
}

static void reply_end(struct buf *out, struct json_writer *w)
{
	json_end_object(w);
	skills_message_end(out);
}

static void reply_failure(struct buf *out, const char *class, struct str text)
{
	struct json_writer w;

	reply_begin(out, &w);
	json_key_bool(&w, "ok", false);
	json_key_str(&w, "class", class);
	json_key(&w, "text");
	json_strn(&w, text.p, text.n);
	reply_end(out, &w);
}

static void reply_again(struct buf *out, const char *with)
{
	struct json_writer w;

	reply_begin(out, &w);
	json_key_str(&w, "again", with);
	reply_end(out, &w);
}

/* Writes the reply for an operation that failed. If the operation needs a directory that this
 * worker has not opened, the reply asks for another worker. Otherwise the reply has an error class,
 * and the operation decides which class the peer sees. */
static void reply_why(struct buf *out, const struct operation *o, const struct why *y)
{
	if (y->elsewhere)
		reply_again(out, "source");
	else
		reply_failure(out, o->own_class ? y->class : VALIDATION,
			      (struct str){ buf_str(&y->text), y->text.n });
}

/* --- requests -------------------------------------------------------------------------------- */

static void run(const struct places *p, const struct operation *o, const char *tenant,
		const struct json_value *data, int file, struct buf *out)
{
	AUTO_WHY y = WHY_INIT;
	AUTO_STORE s = { .fd = -1 };
	struct json_writer w;
	int r;

	reply_begin(out, &w);
	json_key_bool(&w, "ok", true);
	json_key(&w, "data");
	r = store_open(p, tenant, &s, &y);
	if (r == 0)
		r = o->run(&s, data, file, &w, &y);
	if (r == 0)
		reply_end(out, &w);
	if (r == 0 && buf_failed(out))
		r = why_set(&y, "Skill listing exceeds the configured text limit");
	if (r < 0)
		reply_why(out, o, &y);
}

static void answer(const struct places *p, struct str request, int file, struct sweep *w,
		   struct buf *out)
{
	struct {
		const char *op, *tenant;
		const struct json_value *data;
	} in = { 0 };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), op, JSON_REQUIRED),
		FIELD_STR(__typeof__(in), tenant, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), data, JSON_REQUIRED),
	};
	const struct operation *o;
	AUTO_JSON doc = NULL;
	struct err e;

	if (json_parse(request.p, request.n, &doc, &e) < 0 ||
	    json_decode(json_root(doc), "request", fields, ARRAY_SIZE(fields), true, &in, &e) < 0) {
		reply_failure(out, VALIDATION, str_of(e.msg));
		return;
	}
	o = operation_find(in.op);
	if (!o || in.data->type != JSON_OBJECT)
		reply_failure(out, VALIDATION,
			      o ? STR("data must be an object") : STR("unknown operation"));
	else if (places_gone(p))
		reply_again(out, "root");
	else
		run(p, o, in.tenant, in.data, file, out);
	if (o && o->changes)
		sweep_add(w, in.tenant);
}

/* --- the socket ------------------------------------------------------------------------------ */

/* Reads one request. Returns 1, 0 at the end of the stream, or -errno. */
static int receive(int sock, struct buf *in, int *ret_file)
{
	unsigned char head[SKILLS_HEAD_BYTES];
	unsigned n_fds = 0;
	AUTO_FD file = -1;
	ssize_t k;
	size_t n;
	int r;

	k = fdpass_recv(sock, head, sizeof(head), &file, 1, &n_fds);
	if (k <= 0) {
		/* After a failure FILE may hold a number that fdpass_recv() has already closed, so
		 * AUTO_FD must not close it. */
		fd_take(&file);
		return (int)k;
	}
	r = io_read_exact(sock, head + k, sizeof(head) - (size_t)k);
	if (r == 0)
		r = skills_message_size(head, in->max, &n);
	if (r < 0)
		return r;
	if (!buf_room(in, n))
		return -ENOMEM;
	r = io_read_exact(sock, in->p, n);
	if (r < 0)
		return r;
	in->n = n;
	*ret_file = fd_take(&file);
	return 1;
}

static int serve_one(int sock, const struct places *p, struct sweep *w)
{
	AUTO_BUF in = BUF_INIT(SKILLS_REQUEST_MAX_BYTES);
	AUTO_BUF out = BUF_INIT(SKILLS_REPLY_MAX_BYTES);
	AUTO_FD file = -1;
	int r = receive(sock, &in, &file);

	if (r <= 0)
		return r;
	answer(p, (struct str){ in.p, in.n }, file, w, &out);
	r = io_write_all(sock, out.p, out.n);
	return r < 0 ? r : 1;
}

/* True if the owner has sent a request or closed the socket. */
static bool is_asked(int sock)
{
	struct pollfd f = { .fd = sock, .events = POLLIN };

	return poll(&f, 1, 0) != 0;
}

int serve(int sock, const struct places *p, struct err *e)
{
	struct sweep w = { 0 };
	int r;

	do {
		while (!is_asked(sock) && sweep_some(&w, p))
			;
		r = serve_one(sock, p, &w);
	} while (r > 0);
	sweep_done(&w);
	if (r == 0 || r == -EPIPE || r == -ECONNRESET)
		return 0; /* the owner closed the socket */
	return err_sys(e, -r, "speak to the owner of this worker");
}

int serve_hello(int sock, const struct places *p, const struct err *e)
{
	AUTO_BUF out = BUF_INIT(SKILLS_REPLY_MAX_BYTES);
	struct json_writer w;

	if (e) {
		reply_failure(&out, WHY_OS, str_of(e->msg));
	} else {
		reply_begin(&out, &w);
		json_key_bool(&w, "ok", true);
		json_key(&w, "data");
		json_begin_object(&w);
		json_key_str(&w, "root", p->root_path);
		json_end_object(&w);
		reply_end(&out, &w);
	}
	return io_write_all(sock, out.p, out.n);
}
