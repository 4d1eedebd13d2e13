/*
 * A small server that uses client/hands, client/line and client/job. Each line on its standard
 * input is an order:
 *
 *   create NAME [OPTION]…      makes a sandbox of the image `host` with its layer on disk; prints
 *                              "created NAME"
 *   start NAME [OPTION]…       starts a stopped sandbox; prints "started NAME"
 *   delete NAME                prints "gone NAME" when the sandbox is gone
 *   limits NAME [OPTION]…      changes limits of a running sandbox; prints "limited NAME"
 *   size PATH [OPTION]…        prints "size BYTES ENTRIES"
 *   sweep [OPTION]…            prints "swept"
 *   crowd ROUNDS EACH MARK     runs commands in all sandboxes at once (crowd.h); prints "wrong N"
 *
 * The options of `limits` are `memory:MIB`, `cpus:THOUSANDTHS` and `pids:N`. The other [OPTION]s
 * are: `stays`, `soft` (soft limits), `net`, `ro:HOST:GUEST`, `rw:HOST:GUEST`,
 * `volume:NAME:GUEST`, `dir:ROOT`, `refuse:PATH`, `root:PATH`, `make`, `bytes:N`, `entries:N`, and
 * `within:MS` (the deadline). If an order fails, the server prints "failed WORD NAME CODE TEXT". An
 * order does not wait for the orders before it. At the end of its input the server prints how many
 * handlers of its loop blocked, and ends.
 *
 * A test starts this program as the foreman. The foreman runs this program again as the server,
 * with the channel as descriptor 3. If the foreman gets arguments, its hands can only do what
 * sessions of a server need, and refuse to share the directories that the arguments name.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/spawn.h"
#include "base/str.h"
#include "client/foreman.h"
#include "client/hands.h"
#include "client/leash.h"
#include "client/line.h"
#include "crowd.h"
#include "spec/spec.h"

#define CHANNEL_FD 3
#define WORDS_MAX 32
#define USUAL_DEADLINE_MS 60000

extern char **environ;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "server: %s\n", what);
	exit(2);
}

/* --- the server ------------------------------------------------------------------------------ */

struct server {
	struct loop *loop;
	struct hands *hands;
	struct sandbox *sandbox;
	struct buf in;
	unsigned blocked;
	struct line **line;
};

struct sandbox {
	struct sandbox *next;
	struct server *server;
	const char *word; /* the order that the server carries out for this sandbox */
	char *name;
	struct leash *leash;
	struct line *line;
};

static void say(const char *fmt, ...) PRINTF_LIKE(1, 2);
static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static void failed(const struct sandbox *b, const struct err *e)
{
	say("failed %s %s %s %s", b->word, b->name, err_code_name(e->code), e->msg);
}

static void sandbox_free(struct sandbox *b)
{
	struct sandbox **at = &b->server->sandbox;

	while (*at && *at != b)
		at = &(*at)->next;
	if (*at)
		*at = b->next;
	leash_free(b->leash);
	line_free(b->line);
	free(b->name);
	free(b);
}

static void on_gone(void *arg)
{
	struct sandbox *b = arg;

	say("gone %s", b->name);
	sandbox_free(b);
}

static void on_line_gone(void *arg, const struct err *why)
{
	/* do nothing: the leash also reports the end of the sandbox */
}

static void on_sandbox(void *arg, const struct hands_answer *a)
{
	struct sandbox *b = arg;
	struct server *s = b->server;
	struct err e = { 0 };

	if (a->err) {
		failed(b, a->err);
		sandbox_free(b);
		return;
	}
	if (leash_new(s->loop, a->leash, on_gone, b, &b->leash, &e) < 0 ||
	    line_new(s->loop, b->name, a->connection, on_line_gone, b, &b->line, &e) < 0)
		die(e.msg);
	b->next = s->sandbox;
	s->sandbox = b;
	say("%s%s %s", b->word, strcmp(b->word, "create") == 0 ? "d" : "ed", b->name);
}

static void on_swept(void *arg, const struct hands_answer *a)
{
	if (a->err)
		failed(arg, a->err);
	else
		say("swept");
	sandbox_free(arg);
}

static void on_size(void *arg, const struct hands_answer *a)
{
	if (a->err)
		failed(arg, a->err);
	else
		say("size %llu %llu", (unsigned long long)a->bytes, (unsigned long long)a->entries);
	sandbox_free(arg);
}

/* --- commands -------------------------------------------------------------------------------- */

struct asked {
	struct hand_request q;
	struct spec spec;
	uint64_t within_ms;
};

/* Adds a mount to S. VALUE is "HOST:GUEST". */
static void add_mount(struct spec *s, enum spec_mount_kind kind, char *value, bool readonly)
{
	char *guest = strchr(value, ':');
	struct spec_mount *m;

	s->mount = realloc(s->mount, (s->n_mounts + 1) * sizeof(*s->mount));
	m = &s->mount[s->n_mounts++];
	*guest++ = '\0';
	*m = (struct spec_mount){ .kind = kind,
				  .source = xstrdup(value),
				  .guest = xstrdup(guest),
				  .readonly = readonly,
				  .host_perms_mirror = true };
}

static void use_directory(struct spec_image *i, const char *path)
{
	free(i->reference);
	i->reference = xstrdup(path);
	i->kind = IMAGE_DIR;
}

static void take_option(struct asked *a, char *word)
{
	char *value = strchr(word, ':');

	if (value)
		*value++ = '\0';
	if (strcmp(word, "stays") == 0)
		a->spec.ephemeral = false;
	else if (strcmp(word, "soft") == 0)
		a->spec.soft_limits = true;
	else if (strcmp(word, "net") == 0)
		a->spec.net_enabled = true;
	else if (strcmp(word, "make") == 0)
		a->q.makeable = UINT32_MAX;
	else if (!value)
		die("unknown option");
	else if (strcmp(word, "ro") == 0 || strcmp(word, "rw") == 0)
		add_mount(&a->spec, MOUNT_BIND, value, word[1] == 'o');
	else if (strcmp(word, "volume") == 0)
		add_mount(&a->spec, MOUNT_NAMED, value, false);
	else if (strcmp(word, "dir") == 0)
		use_directory(&a->spec.image, value);
	else if (strcmp(word, "refuse") == 0)
		a->q.refused[a->q.n_refused++] = value;
	else if (strcmp(word, "root") == 0)
		a->q.root[a->q.n_roots++] = value;
	else if (parse_u64(value, 0, UINT64_MAX / 2 / NS_PER_MS,
			   strcmp(word, "bytes") == 0     ? &a->q.max_bytes
			   : strcmp(word, "entries") == 0 ? &a->q.max_entries
							  : &a->within_ms) < 0)
		die("bad number");
}

static const struct {
	const char *word;
	enum hand_task task;
	hands_answer_fn *fn;
} tasks[] = { { "create", HAND_CREATE, on_sandbox },
	      { "start", HAND_START, on_sandbox },
	      { "sweep", HAND_SWEEP, on_swept },
	      { "size", HAND_SIZE, on_size } };

static void ask(struct server *s, unsigned task, char **word, unsigned n)
{
	bool named = tasks[task].task != HAND_SWEEP;
	struct asked a = { .q = { .task = tasks[task].task }, .within_ms = USUAL_DEADLINE_MS };
	struct sandbox *b = xcalloc(1, sizeof(*b));
	AUTO_BUF spec = BUF_INIT(1 << 20);
	struct hands_request *ignored;
	struct err e = { 0 };

	*b = (struct sandbox){ .server = s, .word = tasks[task].word };
	b->name = xstrdup(named && n > 1 ? word[1] : "-");
	spec_init(&a.spec);
	a.spec.name = xstrdup(b->name);
	a.spec.image.kind = IMAGE_HOST;
	a.spec.image.reference = xstrdup("host");
	a.spec.ephemeral = true;
	a.spec.image.root_disk.on_disk = true;
	a.spec.net_enabled = false;
	for (unsigned i = named ? 2 : 1; i < n; i++)
		take_option(&a, word[i]);
	if (a.q.task == HAND_CREATE) {
		hands_write_spec(&a.spec, &spec);
		a.q.spec = (struct str){ spec.p, spec.n };
	}
	a.q.name = a.q.path = b->name;
	if (a.q.task != HAND_SIZE)
		a.q.path = NULL;
	if (hands_ask(s->hands, &a.q, clock_mono_ns() + a.within_ms * NS_PER_MS, tasks[task].fn, b,
		      &ignored, &e) < 0) {
		failed(b, &e);
		sandbox_free(b);
	}
	spec_done(&a.spec);
}

static struct sandbox *find(const struct server *s, const char *name)
{
	for (struct sandbox *b = s->sandbox; b; b = b->next)
		if (strcmp(b->name, name) == 0)
			return b;
	die("no such sandbox");
}

static void on_limits(void *arg, const struct err *why)
{
	struct sandbox *b = arg;

	b->word = "limits";
	if (why)
		failed(b, why);
	else
		say("limited %s", b->name);
}

static void set_limits(struct server *s, char **word, unsigned n)
{
	struct sandbox *b = find(s, word[1]);
	struct limits_message m = { 0 };
	struct err e = { 0 };

	for (unsigned i = 2; i < n; i++) {
		char *value = strchr(word[i], ':');

		if (!value || parse_u64(value + 1, 0, UINT64_MAX,
					word[i][0] == 'm'   ? &m.memory_mib
					: word[i][0] == 'c' ? &m.cpu_milli
							    : &m.pids) < 0)
			die("bad number");
	}
	if (leash_set_limits(b->leash, &m, on_limits, b, &e) < 0)
		on_limits(b, &e);
}

static void on_crowd(void *arg, unsigned wrong)
{
	struct server *s = arg;

	free(s->line);
	s->line = NULL;
	say("wrong %u", wrong);
}

static void start_crowd(struct server *s, char **word, unsigned n)
{
	static char mark[32];
	uint64_t rounds, each;
	unsigned n_lines = 0;

	if (n != 4 || parse_u64(word[1], 0, 1000000, &rounds) < 0 ||
	    parse_u64(word[2], 1, LINE_STREAMS_MAX, &each) < 0)
		die("crowd ROUNDS EACH MARK");
	for (struct sandbox *b = s->sandbox; b; b = b->next)
		n_lines++;
	s->line = xcalloc(n_lines + 1, sizeof(*s->line));
	n_lines = 0;
	for (struct sandbox *b = s->sandbox; b; b = b->next)
		s->line[n_lines++] = b->line;
	snprintf(mark, sizeof(mark), "%s", word[3]);
	crowd_start(&(struct crowd_plan){ .loop = s->loop,
					  .line = s->line,
					  .n_lines = n_lines,
					  .each = (unsigned)each,
					  .rounds = (unsigned)rounds,
					  .mark = mark,
					  .end = on_crowd,
					  .arg = s });
}

static void command(struct server *s, char *text)
{
	char *word[WORDS_MAX], *rest = text;
	unsigned n = 0;

	while (n < WORDS_MAX && (word[n] = strsep(&rest, " ")))
		n++;
	if (n > 1 && strcmp(word[0], "delete") == 0)
		return leash_end(find(s, word[1])->leash);
	if (n > 1 && strcmp(word[0], "limits") == 0)
		return set_limits(s, word, n);
	if (strcmp(word[0], "crowd") == 0)
		return start_crowd(s, word, n);
	for (unsigned i = 0; i < ARRAY_SIZE(tasks); i++)
		if (strcmp(word[0], tasks[i].word) == 0)
			return ask(s, i, word, n);
	die("unknown command");
}

static void on_input(void *arg, int fd, uint32_t events)
{
	struct server *s = arg;
	char chunk[4096], *end;
	ssize_t n = read(fd, chunk, sizeof(chunk));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		return loop_stop(s->loop);
	buf_add(&s->in, chunk, (size_t)n);
	while ((end = memchr(s->in.p, '\n', s->in.n))) {
		size_t used = (size_t)(end - s->in.p) + 1;

		*end = '\0';
		command(s, s->in.p);
		buf_drop(&s->in, used);
	}
}

static void on_blocked(void *arg, const void *handler)
{
	struct server *s = arg;

	if (s->blocked++ < 5)
		fprintf(stderr, "server: the handler at %p gave up the CPU\n", handler);
}

static void on_foreman_gone(void *arg)
{
	die("the foreman ended");
}

static int serve(void)
{
	struct server s = { .in = BUF_INIT(1 << 20) };
	struct err e = { 0 };

	fcntl(CHANNEL_FD, F_SETFD, FD_CLOEXEC);
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	signal(SIGPIPE, SIG_IGN);
	if (loop_new(&s.loop) < 0 ||
	    hands_new(s.loop, CHANNEL_FD, on_foreman_gone, &s, &s.hands, &e) < 0 ||
	    !loop_add_fd(s.loop, STDIN_FILENO, LOOP_READ, on_input, &s))
		die(e.msg);
	loop_watch_blocking(s.loop, on_blocked, &s);
	if (loop_run(s.loop) < 0)
		die("the loop failed");
	hands_free(s.hands);
	while (s.sandbox)
		sandbox_free(s.sandbox);
	loop_free(s.loop);
	buf_done(&s.in);
	say("blocked %u", s.blocked);
	return s.blocked > 0;
}

/* --- the foreman ----------------------------------------------------------------------------- */

static void on_server_gone(void *arg)
{
	loop_stop(arg);
}

static uint64_t raise_open_files(void)
{
	struct rlimit l;
	uint64_t before;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		die("getrlimit");
	before = l.rlim_cur;
	l.rlim_cur = l.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &l) < 0)
		die("setrlimit");
	return before;
}

int main(int argc, char **argv)
{
	const char *const words[] = { "server", "--serve", NULL };
	struct spawn s = { .path = "/proc/self/exe",
			   .argv = words,
			   .envp = (const char *const *)environ,
			   .cwd_fd = -1 };
	struct foreman *foreman;
	struct loop *loop;
	struct err e = { 0 };
	struct child child;
	struct hand_bounds bounds;
	uint64_t before;
	int pair[2], status = 0;

	if (argc == 2 && strcmp(argv[1], "--serve") == 0)
		return serve();
	bounds = (struct hand_bounds){ .sessions_only = argc > 1,
				       .refused = (const char *const *)argv + 1,
				       .n_refused = (size_t)argc - 1 };
	before = raise_open_files();
	if (loop_new(&loop) < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		die("cannot start");
	s.fd[s.n_fds++] = (struct spawn_fd){ pair[1], CHANNEL_FD };
	if (spawn(&s, &child, &e) < 0)
		die(e.msg);
	close(pair[1]);
	if (foreman_new(loop, pair[0], foreman_usual_hands(), before, &bounds, on_server_gone, loop,
			&foreman, &e) < 0)
		die(e.msg);
	if (loop_run(loop) < 0 || child_wait(&child, &status) < 0)
		die("the loop failed");
	foreman_free(foreman);
	loop_free(loop);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
