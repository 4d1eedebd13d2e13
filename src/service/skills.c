/*
 * The first request of the queue is active: it waits for a worker, or a worker is doing it. A
 * worker is started for one skills root. A worker that imports a skill is also started for the
 * directory from which it imports, the source. A worker can only do requests that need exactly
 * these directories.
 */
#include "service/skills.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "wire/skills.h"

#define READ_BYTES 65536

struct request {
	struct request *next;
	struct skills *all;
	struct buf frame;
	size_t sent;
	struct skills_file file;
	char *source;   /* the directory that the request would import, or NULL */
	bool imports;   /* the worker has asked for the source */
	bool lost_root; /* the worker has found that its root was deleted */
	loop_id timer;
	enum fault_class class; /* the class of faults other than a worker's answer */
	struct reply reply;
};

struct skills {
	struct loop *loop; /* borrowed */
	int channel;
	loop_id channel_watch;
	struct ceiling *ceiling; /* borrowed */
	char *root;
	struct request *first, **last;
	unsigned n;
	/* the worker */
	bool asked; /* the parent was asked for a worker and has not answered */
	int sock;   /* -1 if there is no worker */
	int pidfd;
	loop_id watch;
	struct buf in;
	char *worker_root, *worker_source; /* the directories that the worker was started with */
	bool ready;                        /* the worker has sent its hello */
	bool busy;                         /* the worker is doing the first request */
};

static void advance(struct skills *s);

/* --- requests -------------------------------------------------------------------------------- */

static void request_free(struct request *r)
{
	loop_remove(r->all->loop, &r->timer);
	ceiling_give(r->all->ceiling, r->frame.n + r->file.bytes);
	fd_closep(&r->file.fd);
	buf_done(&r->frame);
	free(r->source);
	free(r);
}

/* Ends R with a fault or with data. */
static void finish(struct request *r, const struct fault *f, struct buf *data)
{
	struct skills *s = r->all;
	struct request **at = &s->first;
	struct reply reply = r->reply;

	while (*at != r)
		at = &(*at)->next;
	if (r == s->first)
		s->busy = false;
	*at = r->next;
	if (!*at)
		s->last = at;
	s->n--;
	request_free(r);
	reply.done(reply.arg, f, data);
}

static void fail(struct request *r, const char *text)
{
	AUTO_FAULT f = { 0 };

	fault_set(&f, r->class, "%s", text);
	finish(r, &f, NULL);
}

/* --- the worker ------------------------------------------------------------------------------ */

static void drop_worker(struct skills *s)
{
	if (s->sock < 0)
		return;
	loop_remove(s->loop, &s->watch);
	fd_closep(&s->sock); /* an idle worker ends when its socket is closed */
	if (s->busy || !s->ready)
		/* fails if the worker has ended already */
		IGNORE(sys_pidfd_send_signal(s->pidfd, SIGKILL));
	fd_closep(&s->pidfd);
	buf_clear(&s->in);
	s->ready = false;
	if (s->busy)
		s->first->sent = 0;
	s->busy = false;
}

/* Drops the worker, and fails the request that the worker was doing or that waited for the
 * worker. */
static void lose(struct skills *s, const char *text)
{
	struct request *r = s->busy || !s->ready ? s->first : NULL;

	drop_worker(s);
	if (r)
		fail(r, text);
}

static void send_more(struct skills *s)
{
	struct request *r = s->first;
	bool full = false;

	while (r->sent < r->frame.n) {
		ssize_t k = fdpass_try(s->sock, r->frame.p + r->sent, r->frame.n - r->sent,
				       &r->file.fd, r->sent == 0 && r->file.fd >= 0);

		/* we ignore errors other than a full socket: if the worker has ended, on_socket()
		 * sees the hang-up */
		if (k < 0) {
			full = k == -EAGAIN || k == -ENOBUFS || k == -ENOMEM;
			break;
		}
		r->sent += (size_t)k;
	}
	loop_change_fd(s->loop, s->watch, LOOP_READ | (full ? LOOP_WRITE : 0));
}

/* --- messages of the worker ------------------------------------------------------------------ */

static void tell_failure(struct request *r, const struct json_value *v)
{
	const struct json_value *text = json_get(v, "text");
	const char *name = json_get_str(v, "class", "");
	AUTO_FREE char *before = xasprintf("%s: ", *name ? name : "BoxError");
	enum fault_class class = FAULT_BARE; /* if no fault class has this name */
	AUTO_FAULT f = { 0 };

	for (int i = FAULT_NONE + 1; i < FAULT_CLASS_COUNT; i++)
		if (*name && strcmp(fault_class_name((enum fault_class)i), name) == 0)
			class = (enum fault_class)i;
	fault_about(&f, class, class == FAULT_BARE ? before : "",
		    text && text->type == JSON_STRING ? text->string : STR(""), "");
	finish(r, &f, NULL);
}

static void tell_data(struct request *r, const struct json_value *data)
{
	AUTO_BUF b = BUF_INIT(2 * SKILLS_REPLY_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	json_value_copy(&w, data);
	if (buf_failed(&b))
		fail(r, "the answer of the skill worker is too long");
	else
		finish(r, NULL, &b);
}

/* Drops the worker, so that another worker does the first request again. The worker asks for this
 * if it needs the source of an import (WITH is "source"), or if its root was deleted ("root"). The
 * worker may ask once for each reason. In every other case changes nothing and returns false. */
static bool begin_again(struct skills *s, const char *with)
{
	struct request *r = s->first;

	if (strcmp(with, "source") == 0 && r->source && !r->imports)
		r->imports = true;
	else if (strcmp(with, "root") == 0 && !r->lost_root)
		r->lost_root = true;
	else
		return false;
	s->busy = false;
	r->sent = 0;
	drop_worker(s);
	return true;
}

static void take_reply(struct skills *s, const struct json_value *v)
{
	const struct json_value *data = json_get(v, "data");
	const char *again = json_get_str(v, "again", NULL);
	struct request *r = s->first;
	bool once = s->worker_source != NULL;

	if (again) {
		if (!begin_again(s, again))
			lose(s, "the skill worker cannot find its directories");
		return;
	}
	s->busy = false;
	if (once) /* a worker that imports serves only one request */
		drop_worker(s);
	if (json_get_bool(v, "ok", false) && data && data->type == JSON_OBJECT)
		tell_data(r, data);
	else
		tell_failure(r, v);
}

static void take_hello(struct skills *s, const struct json_value *v)
{
	if (json_get_bool(v, "ok", false)) {
		s->ready = true;
		return;
	}
	drop_worker(s);
	if (s->first)
		fail(s->first, json_get_str(v, "text", "the skill worker cannot begin"));
}

/* Returns true if the worker has the whole request, so that it may answer. */
static bool has_request(const struct skills *s)
{
	return s->busy && s->first->sent == s->first->frame.n;
}

static void take_message(struct skills *s, const char *p, size_t n)
{
	AUTO_JSON doc = NULL;
	struct err e;

	if (json_parse(p, n, &doc, &e) < 0 || (s->ready && !has_request(s)))
		lose(s, "the skill worker sent garbage");
	else if (s->ready)
		take_reply(s, json_root(doc));
	else
		take_hello(s, json_root(doc));
}

/* Takes a message from S->in when the message is complete. The worker sends one message at a time,
 * so bytes after the message are an error. */
static void take_input(struct skills *s)
{
	AUTO_BUF message = BUF_INIT(s->in.max);
	size_t n;

	if (s->in.n < SKILLS_HEAD_BYTES)
		return;
	if (skills_message_size((const unsigned char *)s->in.p, SKILLS_REPLY_MAX_BYTES, &n) < 0 ||
	    s->in.n > SKILLS_HEAD_BYTES + n) {
		lose(s, "the skill worker sent garbage");
		return;
	}
	if (s->in.n < SKILLS_HEAD_BYTES + n)
		return;
	message = s->in;
	buf_init(&s->in, message.max);
	take_message(s, message.p + SKILLS_HEAD_BYTES, n);
}

static void hear(struct skills *s)
{
	char *room = buf_room(&s->in, READ_BYTES);
	unsigned n_fds = 0;
	ssize_t k = room ? fdpass_recv(s->sock, room, READ_BYTES, NULL, 0, &n_fds) : -ENOMEM;

	if (k == -EAGAIN)
		return;
	if (k <= 0) {
		lose(s, "the skill worker (cordon-skills) ended before it answered");
		return;
	}
	s->in.n += (size_t)k;
	take_input(s);
}

static void on_socket(void *arg, int fd, uint32_t events)
{
	struct skills *s = arg;

	if (events & LOOP_WRITE && s->busy)
		send_more(s);
	if (events & ~LOOP_WRITE)
		hear(s);
	advance(s);
}

/* --- getting a worker ------------------------------------------------------------------------ */

static const char *needed_source(const struct request *r)
{
	return r->imports ? r->source : NULL;
}

static bool fits(const struct skills *s, const struct request *r)
{
	const char *source = needed_source(r);

	return strcmp(s->worker_root, s->root) == 0 && !source == !s->worker_source &&
	       (!source || strcmp(source, s->worker_source) == 0);
}

static int ask_for_worker(struct skills *s)
{
	AUTO_BUF b = BUF_INIT(SKILLS_ASK_MAX);
	const char *source = needed_source(s->first);
	ssize_t k;

	free(s->worker_root);
	free(s->worker_source);
	s->worker_root = xstrdup(s->root);
	s->worker_source = source ? xstrdup(source) : NULL;
	buf_add(&b, s->root, strlen(s->root) + 1);
	if (source)
		buf_add(&b, source, strlen(source) + 1);
	if (buf_failed(&b))
		return -ENAMETOOLONG;
	k = fdpass_try(s->channel, b.p, b.n, NULL, 0);
	if (k < 0)
		return (int)k;
	s->asked = true;
	return 0;
}

/* Takes ownership of both descriptors. */
static void add_worker(struct skills *s, int sock, int pidfd)
{
	s->sock = sock;
	s->pidfd = pidfd;
	IGNORE(fcntl(sock, F_SETFL, O_NONBLOCK)); /* F_SETFL cannot fail on a socket */
	s->watch = loop_add_fd(s->loop, sock, LOOP_READ, on_socket, s);
	if (!s->watch)
		lose(s, "the skill worker cannot be watched");
}

static void on_channel(void *arg, int fd, uint32_t events)
{
	struct skills *s = arg;
	char text[512];
	int fds[2] = { -1, -1 };
	unsigned n_fds = 0;
	ssize_t k = fdpass_recv(fd, text, sizeof(text) - 1, fds, 2, &n_fds);

	/* either the parent has ended, so the server will end too, or the parent answered without a
	 * question */
	if (k <= 0 || !s->asked) {
		for (unsigned i = 0; k > 0 && i < n_fds; i++)
			fd_closep(&fds[i]);
		loop_remove(s->loop, &s->channel_watch);
		return;
	}
	s->asked = false;
	text[k] = '\0';
	if (n_fds == 2) {
		add_worker(s, fds[0], fds[1]);
	} else {
		if (n_fds == 1)
			fd_closep(&fds[0]);
		if (s->first)
			fail(s->first, text);
	}
	advance(s);
}

/* Does the next steps of the first request, until a step must wait. */
static void advance(struct skills *s)
{
	while (s->first && !s->busy && !s->asked) {
		if (s->sock >= 0 && !fits(s, s->first))
			drop_worker(s);
		if (s->sock >= 0) {
			if (s->ready) {
				s->busy = true;
				send_more(s);
			}
			return;
		}
		if (ask_for_worker(s) < 0)
			fail(s->first, "a skill worker cannot be started");
	}
}

/* --- asking ---------------------------------------------------------------------------------- */

static void on_deadline(void *arg)
{
	struct request *r = arg;
	struct skills *s = r->all;

	r->timer = 0;
	if (r == s->first)
		drop_worker(s);
	fail(r, "the operation on skills took too long");
	advance(s);
}

static void encode(struct buf *b, const char *op, const struct tenant *t,
		   const struct json_value *data)
{
	struct json_writer w;

	skills_message_begin(b);
	json_writer_init(&w, b, 0);
	json_begin_object(&w);
	json_key_str(&w, "op", op);
	json_key_str(&w, "tenant", t->legacy ? NULL : t->persistent);
	json_key(&w, "data");
	json_value_copy(&w, data);
	json_end_object(&w);
	skills_message_end(b);
}

/* Returns the directory that the request may import, as the peer wrote it. Only the legacy tenant
 * may import. */
static char *find_source(const char *op, const struct tenant *t, const struct json_value *data)
{
	const struct json_value *v = NULL;

	if (t->legacy && strcmp(op, "scan") == 0)
		v = json_get(data, "path");
	else if (t->legacy && strcmp(op, "create") == 0)
		v = json_get(json_get(data, "skill"), "package_root");
	if (!v || v->type != JSON_STRING || v->string.n == 0 || v->string.n >= SKILLS_PATH_MAX ||
	    memchr(v->string.p, '\0', v->string.n))
		return NULL;
	return xstrndup(v->string.p, v->string.n);
}

/* Returns the class of faults other than a worker's answer: FAULT_BOX for the operations `list` and
 * `get`, and FAULT_VALIDATION for all other operations. */
static enum fault_class failure_class(const char *op)
{
	return strcmp(op, "list") == 0 || strcmp(op, "get") == 0 ? FAULT_BOX : FAULT_VALIDATION;
}

static void refuse(struct skills *s, struct skills_file *file, const struct reply *reply)
{
	AUTO_FAULT f = { 0 };

	ceiling_give(s->ceiling, file->bytes);
	fd_closep(&file->fd);
	fault_set(&f, FAULT_CAPACITY, "too many operations on skills wait");
	reply->done(reply->arg, &f, NULL);
}

void skills_ask(struct skills *s, const char *op, const struct tenant *t,
		const struct json_value *data, struct skills_file file, const struct reply *reply)
{
	AUTO_BUF frame = BUF_INIT(SKILLS_HEAD_BYTES + SKILLS_REQUEST_MAX_BYTES);
	unsigned seconds =
		strcmp(op, "install_zip") == 0 ? SKILLS_INSTALL_DEADLINE_SEC : SKILLS_DEADLINE_SEC;
	struct request *r;

	encode(&frame, op, t, data);
	if (s->n >= SKILLS_QUEUE_MAX || buf_failed(&frame) || !ceiling_take(s->ceiling, frame.n)) {
		refuse(s, &file, reply);
		return;
	}
	r = xcalloc(1, sizeof(*r));
	*r = (struct request){ .all = s,
			       .frame = frame,
			       .file = file,
			       .source = find_source(op, t, data),
			       .class = failure_class(op),
			       .reply = *reply };
	frame = (struct buf){ 0 };
	r->timer = loop_add_timer(s->loop, clock_mono_ns() + seconds * NS_PER_SEC, on_deadline, r);
	if (!r->timer)
		out_of_memory();
	*s->last = r;
	s->last = &r->next;
	s->n++;
	advance(s);
}

void skills_set_root(struct skills *s, const char *root)
{
	char *copy = xstrdup(root);

	free(s->root);
	s->root = copy;
}

int skills_new(struct loop *loop, int channel, struct ceiling *ceiling, struct skills **ret)
{
	struct skills *s = xcalloc(1, sizeof(*s));

	*s = (struct skills){
		.loop = loop, .channel = channel, .ceiling = ceiling, .sock = -1, .pidfd = -1
	};
	s->root = xstrdup("/");
	s->last = &s->first;
	buf_init(&s->in, SKILLS_HEAD_BYTES + SKILLS_REPLY_MAX_BYTES + READ_BYTES);
	s->channel_watch = loop_add_fd(loop, channel, LOOP_READ, on_channel, s);
	if (!s->channel_watch) {
		int r = -errno;

		skills_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void skills_free(struct skills *s)
{
	if (!s)
		return;
	drop_worker(s);
	while (s->first) {
		struct request *r = s->first;

		s->first = r->next;
		request_free(r);
	}
	loop_remove(s->loop, &s->channel_watch);
	fd_closep(&s->channel);
	buf_done(&s->in);
	free(s->root);
	free(s->worker_root);
	free(s->worker_source);
	free(s);
}
