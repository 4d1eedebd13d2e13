#include "service/skill_list.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/io.h"
#include "base/program.h"
#include "base/spawn.h"
#include "wire/skills.h"

#define WAIT_SEC 15 /* how long to wait for each part of an answer */

static int start(const char *root, struct child *ret, int *ret_sock, struct err *e)
{
	AUTO_FREE char *program = NULL;
	const char *const argv[] = { "cordon-skills", root, NULL };
	const struct timeval wait = { .tv_sec = WAIT_SEC };
	AUTO_FD null = open("/dev/null", O_RDWR | O_CLOEXEC);
	AUTO_FD ours = -1;
	AUTO_FD theirs = -1;
	struct spawn p = { .argv = argv, .new_session = true, .tied = true, .cwd_fd = -1 };
	int pair[2];

	if (null < 0)
		return err_sys(e, errno, "open '/dev/null'");
	if (program_ours("cordon-skills", &program, e) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, errno, "make a socket for the skill worker");
	ours = pair[0];
	theirs = pair[1];
	if (setsockopt(ours, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0)
		return err_sys(e, errno, "bound the wait for the skill worker");
	p.path = program;
	p.fd[p.n_fds++] = (struct spawn_fd){ theirs, 0 };
	p.fd[p.n_fds++] = (struct spawn_fd){ null, 1 };
	if (spawn(&p, ret, e) < 0)
		return -1;
	*ret_sock = fd_take(&ours);
	return 0;
}

static int receive(int sock, struct json_doc **ret, struct err *e)
{
	unsigned char head[SKILLS_HEAD_BYTES];
	AUTO_BUF text = BUF_INIT(SKILLS_REPLY_MAX_BYTES);
	size_t n;
	int r = io_read_exact(sock, head, sizeof(head));

	if (r == 0)
		r = skills_message_size(head, SKILLS_REPLY_MAX_BYTES, &n);
	if (r == 0) {
		void *room = buf_room(&text, n);

		r = room ? io_read_exact(sock, room, n) : -ENOMEM;
	}
	if (r < 0)
		return err_sys(e, -r, "read the answer of the skill worker");
	return json_parse(text.p, n, ret, e);
}

static int ask(int sock, struct json_doc **ret, struct err *e)
{
	AUTO_BUF request = BUF_INIT(4096);
	AUTO_JSON hello = NULL;
	int r;

	if (receive(sock, &hello, e) < 0)
		return -1;
	if (!json_get_bool(json_root(hello), "ok", false))
		return err_set(e, ERR_SYSTEM, "%s",
			       json_get_str(json_root(hello), "text", "no skill worker"));
	skills_message_begin(&request);
	buf_add_str(&request, "{\"op\":\"list\",\"tenant\":null,\"data\":{}}");
	skills_message_end(&request);
	r = io_write_all(sock, request.p, request.n);
	return r < 0 ? err_sys(e, -r, "ask the skill worker") : receive(sock, ret, e);
}

/* Copies the member `data` of a reply to a new document. */
static int take_data(const struct json_value *reply, struct json_doc **ret, struct err *e)
{
	AUTO_BUF text = BUF_INIT(SKILLS_REPLY_MAX_BYTES);
	const struct json_value *data = json_get(reply, "data");
	struct json_writer w;

	if (!json_get_bool(reply, "ok", false) || !data || data->type != JSON_OBJECT)
		return err_set(e, ERR_SYSTEM, "%s",
			       json_get_str(reply, "text", "the skill worker failed"));
	json_writer_init(&w, &text, 0);
	json_value_copy(&w, data);
	return json_parse(buf_str(&text), text.n, ret, e);
}

int skill_list(const char *root, struct json_doc **ret, struct fault *f)
{
	static const char none[] = "{\"skills\":[]}";
	struct child c = { -1, -1 };
	AUTO_JSON reply = NULL;
	AUTO_FD sock = -1;
	struct stat st;
	struct err e = { 0 };
	int r, ignored;

	if (!root || stat(root, &st) < 0 || !S_ISDIR(st.st_mode))
		r = json_parse(none, strlen(none), ret, &e);
	else
		r = start(root, &c, &sock, &e);
	if (sock >= 0) {
		r = ask(sock, &reply, &e);
		if (r == 0)
			r = take_data(json_root(reply), ret, &e);
		/* safe: the worker is not reaped yet, so no other process can have its pid */
		kill(c.pid, SIGKILL);
		IGNORE(child_wait(&c, &ignored));
	}
	return r < 0 ? fault_set(f, FAULT_BOX, "skills: %s", e.msg) : 0;
}
