#include "store/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "image/store.h"
#include "store/confine.h"
#include "store/inflate.h"
#include "store/merge.h"
#include "store/owners.h"
#include "store/stage.h"
#include "store/tree.h"
#include "store/unpack.h"

/* If an ordinary user runs cordon, the worker sends one byte before it begins. If this byte is
 * SAYS_NAMESPACE, the parent answers with one byte. */
#define SAYS_NAMESPACE 'u' /* worker: I am in a user namespace without ids */
#define SAYS_PLAIN 'p'     /* worker: the host allows no user namespace */
#define SAYS_MAPPED 'm'    /* parent: you have the subordinate ids */
#define SAYS_SINGLE 's'    /* parent: map yourself */

/* --- in the parent -------------------------------------------------------------------------- */

static int give_ids(const struct worker *w)
{
	char c = SAYS_PLAIN;
	int r = io_read_exact(w->control_fd, &c, 1);

	if (r < 0 || c != SAYS_NAMESPACE)
		return r;
	c = owners_map(w->child.pid) ? SAYS_MAPPED : SAYS_SINGLE;
	return io_write_all(w->control_fd, &c, 1);
}

static int spawn_worker(const struct worker_order *o, int control_fd, struct child *ret,
			struct err *e)
{
	AUTO_FD null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const char *argv[] = { "cordon-image", "--worker", o->op, o->arg, NULL };
	const struct spawn s = {
		.path = "/proc/self/exe",
		.argv = argv,
		.fd = { { o->in_fd < 0 ? null : o->in_fd, STDIN_FILENO },
			{ o->out_fd < 0 ? null : o->out_fd, STDOUT_FILENO },
			{ o->dir_fd < 0 ? null : o->dir_fd, WORKER_DIR_FD },
			{ control_fd, WORKER_CONTROL_FD } },
		.n_fds = 4,
		.cwd_fd = -1,
	};

	if (null < 0)
		return err_sys(e, errno, "open '/dev/null'");
	return spawn(&s, ret, e);
}

int worker_start(const struct worker_order *o, struct worker *ret, struct err *e)
{
	struct worker w = { .control_fd = -1, .reply = BUF_INIT(WORKER_REPLY_MAX_BYTES) };
	AUTO_FD theirs = -1;
	int pair[2];
	int r = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, errno, "make a socket for the %s worker", o->op);
	w.control_fd = pair[0];
	theirs = pair[1];
	if (spawn_worker(o, theirs, &w.child, e) < 0) {
		fd_closep(&w.control_fd);
		return -1;
	}
	fd_closep(&theirs);
	if (geteuid() != 0)
		r = give_ids(&w);
	if (r == 0 && fcntl(w.control_fd, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r < 0) {
		worker_stop(&w);
		return err_sys(e, -r, "prepare the %s worker", o->op);
	}
	*ret = w;
	return 0;
}

bool worker_advance(struct worker *w)
{
	for (;;) {
		char *room = buf_room(&w->reply, 4096);
		ssize_t k;

		if (!room) {
			/* the reply is too long: worker_finish() will report that the worker
			 * died */
			kill(w->child.pid, SIGKILL);
			return true;
		}
		k = read(w->control_fd, room, 4096);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0 && errno == EAGAIN)
			return false;
		if (k <= 0)
			return true;
		w->reply.n += (size_t)k;
	}
}

static int read_reply(const struct worker *w, int status, struct json_doc **ret, struct err *e)
{
	AUTO_JSON doc = NULL;
	const char *message;
	int64_t code;

	if (w->reply.n == 0 || json_parse(w->reply.p, w->reply.n, &doc, e) < 0)
		return err_set(e, ERR_PROTOCOL, "a worker process died with status 0x%x",
			       (unsigned)status);
	message = json_get_str(json_root(doc), "error", NULL);
	if (message) {
		code = json_get_int(json_root(doc), "code", ERR_SYSTEM);
		if (code <= ERR_NONE || code >= ERR_CODE_COUNT)
			code = ERR_PROTOCOL;
		err_set(e, (enum err_code)code, "%s", message);
		e->sys = (int)json_get_int(json_root(doc), "errno", 0);
		return -1;
	}
	if (ret)
		*ret = TAKE(doc);
	return 0;
}

int worker_finish(struct worker *w, struct json_doc **ret, struct err *e)
{
	int status = 0, r;

	fcntl(w->control_fd, F_SETFL, 0);
	worker_advance(w);
	r = child_wait(&w->child, &status);
	r = r < 0 ? err_sys(e, -r, "wait for a worker") : read_reply(w, status, ret, e);
	worker_stop(w);
	return r;
}

void worker_stop(struct worker *w)
{
	int status;

	if (w->child.pid > 0) {
		kill(w->child.pid, SIGKILL);
		IGNORE(child_wait(&w->child, &status)); /* the worker was killed */
	}
	fd_closep(&w->control_fd);
	buf_done(&w->reply);
}

int worker_run(const struct worker_order *o, struct json_doc **ret, struct err *e)
{
	struct worker w;

	if (worker_start(o, &w, e) < 0)
		return -1;
	return worker_finish(&w, ret, e);
}

/* --- in the worker -------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(const char *arg, enum layer_owners owners, struct json_writer *reply,
		   struct err *e);
} ops[] = {
	{ "unpack", unpack_run }, { "inflate", inflate_run }, { "stage", stage_run },
	{ "merge", merge_run },   { "erase", tree_run },
};

static int enter_namespace(enum layer_owners *ret_owners, struct err *e)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	char c = SAYS_NAMESPACE;
	int r;

	*ret_owners = LAYER_OWNERS_SINGLE;
	if (unshare(CLONE_NEWUSER) < 0) {
		c = SAYS_PLAIN;
		r = io_write_all(WORKER_CONTROL_FD, &c, 1);
		return r < 0 ? err_sys(e, -r, "talk to the parent") : 0;
	}
	r = io_write_all(WORKER_CONTROL_FD, &c, 1);
	if (r == 0)
		r = io_read_exact(WORKER_CONTROL_FD, &c, 1);
	if (r < 0)
		return err_sys(e, -r, "talk to the parent");
	if (c == SAYS_MAPPED)
		*ret_owners = LAYER_OWNERS_MAPPED;
	else if ((r = owners_map_self(uid, gid)) < 0)
		return err_sys(e, -r, "map the caller into a user namespace");
	/* become root of the namespace, so that new files belong to this root; needed after either
	 * kind of map */
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return err_sys(e, errno, "become root of the worker's user namespace");
	return 0;
}

/* Returns true if the parent died before the kernel was told to kill the worker with it. */
static bool parent_is_gone(void)
{
	struct pollfd p = { .fd = WORKER_CONTROL_FD };

	return poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

static int run_op(const char *op, const char *arg, struct json_writer *reply, struct err *e)
{
	enum layer_owners owners = LAYER_OWNERS_NATIVE;

	/* The parent holds a lock while the worker writes to WORKER_DIR_FD. When the parent dies,
	 * the kernel releases the lock, and another process may write to the same directory. So the
	 * worker must die with its parent. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_sys(e, errno, "make the worker end with its parent");
	setlocale(LC_CTYPE, "C.UTF-8"); /* otherwise libarchive fails on names beyond ASCII */
	if (geteuid() != 0 && enter_namespace(&owners, e) < 0)
		return -1;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) /* set it again: a change of ids clears it */
		return err_sys(e, errno, "make the worker end with its parent");
	if (parent_is_gone())
		return err_set(e, ERR_SYSTEM, "the parent of the worker has ended");
	if (confine(WORKER_DIR_FD, STDIN_FILENO, e) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (strcmp(op, ops[i].name) == 0)
			return ops[i].run(arg, owners, reply, e);
	return err_set(e, ERR_USAGE, "no worker '%s'", op);
}

static void write_error(struct json_writer *w, const struct err *e)
{
	json_begin_object(w);
	json_key_int(w, "code", e->code);
	json_key_int(w, "errno", e->sys);
	json_key_str(w, "error", e->msg);
	json_end_object(w);
}

int worker_main(int argc, char **argv)
{
	AUTO_BUF text = BUF_INIT(WORKER_REPLY_MAX_BYTES);
	struct json_writer reply;
	struct err e;
	int r;

	if (argc < 1 || argc > 2)
		return 2;
	json_writer_init(&reply, &text, 0);
	r = run_op(argv[0], argv[1], &reply, &e);
	if (r < 0) {
		buf_clear(&text);
		json_writer_init(&reply, &text, 0);
		write_error(&reply, &e);
	}
	if (buf_failed(&text) || io_write_all(WORKER_CONTROL_FD, text.p, text.n) < 0)
		_exit(1);
	_exit(r < 0);
}
