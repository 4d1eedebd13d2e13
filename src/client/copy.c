#include "client/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/transfer.h"
#include "tree/build.h"
#include "tree/walk.h"

/* --- the answer of an agent that takes files ------------------------------------------------- */

/* The answer of the file agent, a process in the sandbox: notes, then a record DONE or FAIL. After
 * a FAIL our next write fails, too. `failure` keeps the text of the FAIL, because this text says
 * more than the error of the write. */
struct answer {
	const struct copy_notes *notes;
	struct buf in;
	bool done;
	struct err failure;
	struct file_record record;
};

static void answer_init(struct answer *a, const struct copy_notes *n)
{
	*a = (struct answer){ .notes = n };
	buf_init(&a->in, FILE_RECORD_MAX_BYTES + FILE_RECORD_HEADER_BYTES + FRAME_DATA_MAX_BYTES);
}

static int on_answer(void *arg, const char *p, size_t n, struct err *e)
{
	struct answer *a = arg;
	struct str in;
	int r;

	buf_add(&a->in, p, n);
	in = (struct str){ a->in.p, a->in.n };
	while ((r = file_record_next(&in, &a->record)) > 0) {
		switch (a->record.type) {
		case FILE_NOTE:
		case FILE_MISS:
			a->notes->note(a->notes->arg, a->record.type == FILE_MISS, a->record.text);
			break;
		case FILE_FAIL:
			err_set(&a->failure, (enum err_code)a->record.code, "%s", a->record.text);
			break;
		case FILE_DONE:
			a->done = true;
			break;
		default:
			r = -1;
		}
		if (r < 0)
			break;
	}
	if (r < 0 || buf_failed(&a->in))
		return err_set(e, ERR_PROTOCOL, "the sandbox's answer makes no sense");
	buf_drop(&a->in, a->in.n - in.n);
	return 0;
}

/* R is what our sending returned. If the sending succeeded, waits for the end of the answer. If it
 * failed, *E has the error, and we do not wait. Returns 0 if the sending succeeded and the agent
 * sent DONE, otherwise -1. If the agent sent a FAIL, *E becomes the text of the FAIL. */
static int answer_wait(struct answer *a, struct transfer *t, int r, struct err *e)
{
	if (r == 0)
		r = transfer_finish(t, e);
	if (a->failure.code)
		*e = a->failure;
	else if (r == 0 && !a->done)
		r = err_set(e, ERR_PROTOCOL, "the sandbox did not say whether the copy succeeded");
	buf_done(&a->in);
	return a->failure.code ? -1 : r;
}

static int write_to_transfer(void *arg, const void *p, size_t n, struct err *e)
{
	return transfer_write(arg, p, n, e);
}

static int send_done(struct transfer *t, struct err *e)
{
	AUTO_BUF b = BUF_INIT(64);

	file_put_done(&b);
	return transfer_write(t, b.p, b.n, e);
}

/* The source of a copy into the sandbox is what `path` names. If `path` is NULL, the source is the
 * object that `fd` has open, and the copy gets the name `as`. */
struct source {
	const char *path;
	int fd;
	const char *as;
};

static int walk_source(void *arg, const struct tree_sink *to, struct err *e)
{
	struct source *from = arg;

	return from->path ? tree_walk(from->path, to, e)
			  : tree_walk_fd(fd_take(&from->fd), from->as, to, e);
}

int copy_send(struct client *c, const struct file_message *m, copy_producer *produce, void *arg,
	      const struct copy_notes *n, struct err *e)
{
	struct transfer t;
	struct answer a;
	const struct tree_sink sink = { .write = write_to_transfer, .arg = &t };
	int r;

	answer_init(&a, n);
	r = transfer_open(&t, c, m, on_answer, &a, e);
	if (r == 0)
		r = produce(arg, &sink, e);
	if (r == 0)
		r = send_done(&t, e);
	return answer_wait(&a, &t, r, e);
}

/* Sends one file or tree. Closes FROM's descriptor. */
static int put(struct client *c, const struct source *from, const struct file_message *m,
	       const struct copy_notes *n, struct err *e)
{
	struct source own = *from;
	int r = copy_send(c, m, walk_source, &own, n, e);

	fd_closep(&own.fd);
	return r;
}

int copy_in(struct client *c, const char *from, const char *to, unsigned flags,
	    const struct copy_notes *n, struct err *e)
{
	struct file_message m = { .op = FILE_PUT, .path = to };
	char name[FILE_NAME_MAX_BYTES + 1];
	AUTO_FREE char *real = NULL;

	if (flags & COPY_FOLLOW) {
		real = realpath(from, NULL);
		if (!real)
			return err_sys(e, errno, "'%s'", from);
		/* the copy gets the name of the link, not of the file that the link leads to */
		if (tree_name_of(from, name) < 0)
			return err_sys(e, ENAMETOOLONG, "'%s'", from);
		m.name = name;
	}
	return put(c, &(struct source){ .path = real ? real : from, .fd = -1 }, &m, n, e);
}

static const char *option_of(const struct spec_patch *p)
{
	static const char *const words[][2] = {
		{ "copy", "--copy" },         { "copy_file", "--copy-file" },
		{ "copy_dir", "--copy-dir" }, { "mkdir", "--mkdir" },
		{ "remove", "--rm" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i][0], p->op) == 0)
			return words[i][1];
	return p->op;
}

/* Copies the object to which the path led when the user named it. Fails if the path leads to
 * another object now (base/identity.h). */
static int put_patch(struct client *c, const struct spec_patch *p, const struct file_message *m,
		     const struct copy_notes *n, struct err *e)
{
	struct source from = { .as = p->name };
	struct identity id = p->identity;
	AUTO_FD held = -1;

	if (identity_open(p->source, &id, &held, e) < 0)
		return -1;
	from.fd = identity_reopen(held, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	return from.fd < 0 ? err_sys(e, errno, "'%s'", p->source) : put(c, &from, m, n, e);
}

int copy_patch(struct client *c, const struct spec_patch *p, const struct copy_notes *n,
	       struct err *e)
{
	struct file_message m = { .op = FILE_PUT, .flags = FILE_PATCH, .path = p->path };
	struct transfer t;
	struct answer a;
	int r;

	if (p->source) {
		if (strcmp(p->op, "copy") != 0)
			m.flags |= FILE_EXACT;
		r = put_patch(c, p, &m, n, e);
	} else {
		m.op = strcmp(p->op, "mkdir") == 0 ? FILE_MKDIR : FILE_REMOVE;
		answer_init(&a, n);
		r = transfer_open(&t, c, &m, on_answer, &a, e);
		r = answer_wait(&a, &t, r, e);
	}
	return r < 0 ? err_wrap(e, "%s: '%s'", option_of(p), p->path) : 0;
}

/* --- out ------------------------------------------------------------------------------------- */

static void pass_note(void *arg, enum file_record_type type, const char *text)
{
	const struct copy_notes *n = arg;

	n->note(n->arg, type == FILE_MISS, text);
}

static int feed(void *arg, const char *p, size_t n, struct err *e)
{
	return tree_build_feed(arg, p, n, e);
}

static unsigned follow_flag(unsigned flags)
{
	return flags & COPY_FOLLOW ? FILE_FOLLOW : 0;
}

int copy_out(struct client *c, const char *from, const char *to, unsigned flags,
	     const struct copy_notes *n, struct err *e)
{
	const struct file_message m = { .op = FILE_GET,
					.flags = FILE_KEEP_SAME | follow_flag(flags),
					.path = from };
	char name[FILE_NAME_MAX_BYTES + 1];
	struct tree_build *b;
	struct transfer t;
	int r;

	if (tree_name_of(from, name) < 0)
		return err_sys(e, ENAMETOOLONG, "'%s'", from);
	b = tree_build_new(to, TREE_OUTSIDE, pass_note, (void *)n);
	b->name = name;
	b->source = from;
	r = transfer_open(&t, c, &m, feed, b, e);
	if (r == 0)
		r = transfer_finish(&t, e);
	if (r == 0 && !b->ended)
		r = err_set(e, ERR_PROTOCOL, "sandbox '%s' did not send everything", c->name);
	tree_build_free(b);
	return r;
}

/* --- across ---------------------------------------------------------------------------------- */

static int relay(void *arg, const char *p, size_t n, struct err *e)
{
	return transfer_write(arg, p, n, e);
}

int copy_across(struct client *from_client, const char *from, struct client *to_client,
		const char *to, unsigned flags, const struct copy_notes *n, struct err *e)
{
	const struct file_message get = { .op = FILE_GET,
					  .flags = follow_flag(flags),
					  .path = from };
	char name[FILE_NAME_MAX_BYTES + 1];
	const struct file_message take = { .op = FILE_PUT, .path = to, .name = name };
	struct transfer source, sink;
	struct answer a;
	int r;

	/* We pass the bytes on without reading them, because the receiving sandbox checks them. The
	 * name of the copy comes from us, not from the sending sandbox. */
	if (tree_name_of(from, name) < 0)
		return err_sys(e, ENAMETOOLONG, "'%s'", from);
	answer_init(&a, n);
	r = transfer_open(&sink, to_client, &take, on_answer, &a, e);
	if (r == 0)
		r = transfer_open(&source, from_client, &get, relay, &sink, e);
	if (r == 0)
		r = transfer_finish(&source, e);
	return answer_wait(&a, &sink, r, e);
}
