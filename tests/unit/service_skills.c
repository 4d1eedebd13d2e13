/* Tests the server with a hijacked skill worker. The test acts as the worker, and also as the
 * parent that starts workers. Each worker has a process that only sleeps, so that a test sees
 * whether the server killed it. */
#include "service/skills.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "t.h"
#include "wire/skills.h"

#define WAIT_NS (10 * NS_PER_SEC) /* longer than anything here takes */
#define HELLO "{\"ok\":true,\"data\":{\"root\":\"/\"}}"
#define GARBAGE "BoxError: the skill worker sent garbage"
#define ENDED "BoxError: the skill worker (cordon-skills) ended before it answered"
#define LOST "BoxError: the skill worker cannot find its directories"

static struct loop *loop;
static struct skills *skills;
static struct ceiling ceiling;
static int channel; /* the parent's end */
static int sock;    /* the worker's end */
static pid_t pid;
static struct buf told; /* the replies that callers got: data, or "class: text" */
static unsigned answers;

/* --- the loop -------------------------------------------------------------------------------- */

static bool (*wanted)(void);
static uint64_t until_ns;

static void look(void *arg)
{
	if (wanted() || clock_mono_ns() > until_ns)
		loop_stop(loop);
	else
		loop_add_timer(loop, clock_mono_ns() + NS_PER_MS / 2, look, NULL);
}

static bool until(bool (*condition)(void))
{
	wanted = condition;
	until_ns = clock_mono_ns() + WAIT_NS;
	loop_add_timer(loop, clock_mono_ns(), look, NULL);
	T_INT(loop_run(loop), 0);
	return condition();
}

/* --- the worker and the parent --------------------------------------------------------------- */

static bool is_asked(void)
{
	char c;

	return recv(channel, &c, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

static bool has_request(void)
{
	char c;

	return recv(sock, &c, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

/* Returns true if the server has closed its end, perhaps with unread bytes. */
static bool is_dropped(void)
{
	char c[4096];
	ssize_t n;

	while ((n = recv(sock, c, sizeof(c), MSG_DONTWAIT)) > 0)
		;
	return n == 0 || errno == ECONNRESET;
}

static bool is_answered(void)
{
	return answers > 0;
}

static void say_bytes(const char *p, size_t n)
{
	T_INT(send(sock, p, n, MSG_NOSIGNAL), n);
}

static void say(const char *text)
{
	AUTO_BUF b = BUF_INIT(1 << 20);

	skills_message_begin(&b);
	buf_add_str(&b, text);
	skills_message_end(&b);
	say_bytes(b.p, b.n);
}

/* Waits until the server asks for a worker, and gives the server a worker. ASKED is what the server
 * must ask for: the root, and perhaps a source. */
static void give_worker(const char *asked)
{
	char ask[SKILLS_ASK_MAX] = "";
	AUTO_FD pidfd = -1;
	ssize_t n;
	int pair[2];

	T_TRUE(until(is_asked));
	n = recv(channel, ask, sizeof(ask), MSG_DONTWAIT);
	for (ssize_t i = 0; i + 1 < n; i++)
		if (!ask[i])
			ask[i] = ' ';
	T_STR(ask, asked);
	T_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	sock = pair[0];
	pid = fork();
	if (pid == 0) {
		close_range(3, ~0u, 0); /* otherwise this process would keep the sockets open */
		pause();
		_exit(0);
	}
	pidfd = sys_pidfd_open(pid);
	T_INT(fdpass_send(channel, SKILLS_WORKER, 1, (int[]){ pair[1], pidfd }, 2), 0);
	close(pair[1]);
}

/* Ends the worker. Returns true if the server had already killed the worker's process. */
static bool end_worker(void)
{
	int status = 0;

	fd_closep(&sock);
	if (pid <= 0)
		return false;
	/* if the server has sent SIGKILL, this signal comes too late */
	if (waitpid(pid, &status, WNOHANG) != pid) {
		kill(pid, SIGTERM);
		waitpid(pid, &status, 0);
	}
	pid = 0;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* --- the caller ------------------------------------------------------------------------------ */

static void on_reply(void *arg, const struct fault *f, struct buf *data)
{
	answers++;
	buf_clear(&told);
	if (f)
		fault_print(f, &told);
	else
		buf_add(&told, data->p, data->n);
}

static void ask_as(const char *op, const char *data)
{
	const struct reply r = { on_reply, NULL };
	AUTO_JSON doc = NULL;
	struct tenant legacy;
	struct err e;

	tenant_init_legacy(&legacy);
	answers = 0;
	T_INT(json_parse(data, strlen(data), &doc, &e), 0);
	skills_ask(skills, op, &legacy, json_root(doc), (struct skills_file){ .fd = -1 }, &r);
}

static void begin(void)
{
	int pair[2];

	sock = -1;
	ceiling = (struct ceiling){ .max = 64u << 20 };
	buf_init(&told, 64u << 20);
	T_INT(loop_new(&loop), 0);
	T_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	channel = pair[0];
	T_INT(skills_new(loop, pair[1], &ceiling, &skills), 0);
}

/* Ends a test. By now the server must have given back all memory, because each request was
 * answered. */
static void end(void)
{
	T_INT(ceiling.used, 0);
	skills_free(skills);
	end_worker();
	fd_closep(&channel);
	buf_done(&told);
	loop_free(loop);
}

/* Sends a request, and waits until a worker has received it. */
static void begin_request(void)
{
	begin();
	ask_as("list", "{}");
	give_worker("/");
	say(HELLO);
	T_TRUE(until(has_request));
}

/* Checks that the server replaces a worker that it has dropped, and that the next request works. */
static void next_request_works(void)
{
	end_worker();
	ask_as("list", "{}");
	give_worker("/");
	say(HELLO);
	T_TRUE(until(has_request));
	say("{\"ok\":true,\"data\":{\"next\":1}}");
	T_TRUE(until(is_answered));
	T_STR(buf_str(&told), "{\"next\":1}");
}

/* --- tests ----------------------------------------------------------------------------------- */

static void replies(void)
{
	static const struct {
		const char *reply, *want;
	} c[] = {
		{ "{\"ok\":true,\"data\":{\"a\":[1,\"\\u0000\"]}}", "{\"a\":[1,\"\\u0000\"]}" },
		{ "{\"ok\":true,\"data\":{},\"text\":\"x\"}", "{}" },
		{ "{\"ok\":false,\"class\":\"BoxValidationError\",\"text\":\"no\"}",
		  "BoxValidationError: no" },
		{ "{\"ok\":false,\"class\":\"OSError\",\"text\":\"no\"}", "OSError: no" },
		{ "{\"ok\":false,\"text\":\"no\"}", "BoxError: no" },
		{ "{\"ok\":false}", "BoxError: " },
		{ "{\"ok\":false,\"class\":7,\"text\":[]}", "BoxError: " },
		/* a worker's text must not look like the name of an error class */
		{ "{\"ok\":false,\"class\":\"x BoxAdmissionError\",\"text\":\"\"}",
		  "x BoxAdmissionError : " },
		{ "{\"ok\":false,\"class\":\"OSError\",\"text\":\"BoxReadinessError: x\"}",
		  "OSError: BoxReadinessError : x" },
		/* these are failures, too: a reply without an object as data, a reply whose "ok" is
		 * not true, and a reply that is no object */
		{ "{\"ok\":true}", "BoxError: " },
		{ "{\"ok\":true,\"data\":[]}", "BoxError: " },
		{ "{\"ok\":true,\"data\":null,\"text\":\"why\"}", "BoxError: why" },
		{ "{\"ok\":1,\"data\":{}}", "BoxError: " },
		{ "{\"ok\":\"true\",\"data\":{}}", "BoxError: " },
		{ "{}", "BoxError: " },
		{ "[]", "BoxError: " },
		{ "7", "BoxError: " },
		{ "null", "BoxError: " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		begin_request();
		say(c[i].reply);
		T_TRUE(until(is_answered));
		T_STR(buf_str(&told), c[i].want);
		end();
	}
}

static void garbage(void)
{
	static const struct {
		const char *bytes;
		size_t n;
	} c[] = {
		{ "\0\0\0\0", 4 },                    /* a length of 0 */
		{ "\1\0\0\2", 4 },                    /* 32 MiB and one byte */
		{ "\xff\xff\xff\xff", 4 },            /* 4 GiB */
		{ "\2\0\0\0{]", 6 },                  /* no JSON */
		{ "\2\0\0\0\xff\xff", 6 },            /* no UTF-8 */
		{ "\2\0\0\0{}{", 7 },                 /* a byte after the reply */
		{ "\2\0\0\0{}\2\0\0\0{}", 12 },       /* two replies */
		{ "\15\0\0\0{\"a\":1,\"a\":1}", 17 }, /* a key that comes twice */
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		begin_request();
		say_bytes(c[i].bytes, c[i].n);
		T_TRUE(until(is_answered));
		T_STR(buf_str(&told), GARBAGE);
		T_TRUE(until(is_dropped));
		T_TRUE(end_worker());
		next_request_works();
		end();
	}
}

static void a_reply_byte_by_byte(void)
{
	static const char reply[] = "\35\0\0\0{\"ok\":true,\"data\":{\"a\":\"bc\"}}";
	size_t n = sizeof(reply) - 1;

	T_INT(reply[0], n - SKILLS_HEAD_BYTES);
	begin_request();
	for (size_t i = 0; i < n; i++) {
		T_INT(answers, 0);
		say_bytes(reply + i, 1);
		loop_add_timer(loop, clock_mono_ns(), look, NULL);
		wanted = i + 1 < n ? has_request : is_answered;
		until_ns = clock_mono_ns() + (i + 1 < n ? 0 : WAIT_NS);
		T_INT(loop_run(loop), 0);
	}
	T_STR(buf_str(&told), "{\"a\":\"bc\"}");
	end();
}

static void a_worker_that_ends(void)
{
	for (size_t cut = 0; cut < 6; cut++) {
		begin_request();
		if (cut)
			say_bytes("\2\0\0\0{}", cut);
		T_INT(shutdown(sock, SHUT_WR), 0);
		T_TRUE(until(is_answered));
		T_STR(buf_str(&told), ENDED);
		T_TRUE(end_worker());
		next_request_works();
		end();
	}
}

/* A reply that comes before the worker has the whole request cannot be the reply to this
 * request. */
static void a_reply_that_comes_too_early(void)
{
	AUTO_BUF data = BUF_INIT(4u << 20);

	begin();
	buf_add_str(&data, "{\"name\":\"");
	buf_add_fill(&data, 'x', 2u << 20); /* more than a socket holds */
	buf_add_str(&data, "\"}");
	ask_as("get", buf_str(&data));
	give_worker("/");
	say(HELLO);
	T_TRUE(until(has_request));
	say("{\"ok\":true,\"data\":{\"early\":1}}");
	T_TRUE(until(is_answered));
	T_STR(buf_str(&told), GARBAGE);
	T_TRUE(end_worker());
	end();
}

/* The server must drop a worker that sends a reply without a request. This reply must not become
 * the answer to the next request. */
static void a_reply_that_nobody_asked_for(void)
{
	begin_request();
	say("{\"ok\":true,\"data\":{}}");
	T_TRUE(until(is_answered));
	say("{\"ok\":true,\"data\":{\"forged\":1}}");
	T_TRUE(until(is_dropped));
	next_request_works();
	end();
}

static void descriptors_are_refused(void)
{
	begin_request();
	T_INT(fdpass_send(sock, "\2\0\0\0{}", 6, (int[]){ STDIN_FILENO }, 1), 0);
	T_TRUE(until(is_answered));
	T_STR(buf_str(&told), ENDED);
	T_TRUE(end_worker());
	next_request_works();
	end();
}

static void hellos(void)
{
	static const struct {
		const char *hello, *want;
	} c[] = {
		{ "{\"ok\":false,\"text\":\"no root\"}", "BoxError: no root" },
		{ "{\"ok\":false}", "BoxError: the skill worker cannot begin" },
		{ "{\"ok\":false,\"text\":{}}", "BoxError: the skill worker cannot begin" },
		{ "{\"again\":\"root\"}", "BoxError: the skill worker cannot begin" },
		{ "[]", "BoxError: the skill worker cannot begin" },
		{ "nonsense", GARBAGE },
		{ HELLO "x", GARBAGE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		begin();
		ask_as("list", "{}");
		give_worker("/");
		say(c[i].hello);
		T_TRUE(until(is_answered));
		T_STR(buf_str(&told), c[i].want);
		T_TRUE(end_worker());
		next_request_works();
		end();
	}
}

/* A worker that lacks a directory may answer {"again": REASON}: the server then gives the request
 * to another worker. Each REASON is accepted only once for a request, so that workers cannot keep
 * the server busy. */
static void other_directories(void)
{
	static const struct {
		const char *again;
	} never[] = { { "{\"again\":\"source\"}" },
		      { "{\"again\":\"x\"}" },
		      { "{\"again\":\"\"}" } };

	/* none of these answers is accepted: the request "list" has no source directory, and the
	 * other two reasons do not exist */
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		begin_request();
		say(never[i].again);
		T_TRUE(until(is_answered));
		T_STR(buf_str(&told), LOST);
		T_TRUE(end_worker());
		next_request_works();
		end();
	}
	begin_request();
	say("{\"again\":\"root\"}");
	T_TRUE(until(is_asked));
	end_worker();
	give_worker("/");
	say(HELLO);
	T_TRUE(until(has_request));
	say("{\"again\":\"root\"}");
	T_TRUE(until(is_answered));
	T_STR(buf_str(&told), LOST);
	end();
}

static void a_source_is_what_the_peer_named(void)
{
	begin();
	ask_as("scan", "{\"path\":\"/some/where\"}");
	give_worker("/");
	say(HELLO);
	T_TRUE(until(has_request));
	say("{\"again\":\"source\",\"path\":\"/etc\"}");
	end_worker();
	give_worker("/ /some/where");
	say(HELLO);
	T_TRUE(until(has_request));
	say("{\"again\":\"source\"}"); /* asks for the source a second time */
	T_TRUE(until(is_answered));
	T_STR(buf_str(&told), "BoxValidationError: the skill worker cannot find its directories");
	end_worker();
	next_request_works();
	end();
}

int main(void)
{
	T_RUN(replies);
	T_RUN(garbage);
	T_RUN(a_reply_byte_by_byte);
	T_RUN(a_worker_that_ends);
	T_RUN(a_reply_that_comes_too_early);
	T_RUN(a_reply_that_nobody_asked_for);
	T_RUN(descriptors_are_refused);
	T_RUN(hellos);
	T_RUN(other_directories);
	T_RUN(a_source_is_what_the_peer_named);
	return t_end();
}
