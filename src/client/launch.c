#include "client/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "base/program.h"
#include "client/control.h"
#include "client/copy.h"
#include "client/removal.h"
#include "client/stop.h"
#include "client/volumes.h"
#include "host/container.h"
#include "state/execlog.h"
#include "state/record.h"
#include "state/record_config.h"
#include "state/removal.h"
#include "wire/leash.h"
#include "wire/message.h"

#define ANSWER_MAX_BYTES 65536
/* An error message says in which stage a start failed. If the supervisor answers with an error, the
 * text of the answer already has the stage. All other failures have this stage. */
#define STAGE_OTHER "other"
#define EXIT_WAIT_MS 2000
#define SUPERVISOR_VARIABLES_MAX 4

/* A supervisor that is being started, while we make the record. */
struct starting {
	struct spawn spawn;
	const char *argv[3], *env[SUPERVISOR_VARIABLES_MAX + 1];
	char *program;
	int null, root;
	struct spawning *spawning;
};

/* Sends WORD to the supervisor. Returns false if the supervisor has ended. */
static bool send_word(const struct launch *l, enum leash_word word)
{
	return send(l->leash, &(char){ (char)word }, 1, MSG_NOSIGNAL) == 1;
}

void launch_release(struct launch *l)
{
	if (l->leash >= 0)
		IGNORE(!send_word(l, LEASH_RELEASE)); /* the supervisor may have ended already */
}

void launch_end(struct launch *l)
{
	fd_closep(&l->leash);
	/* if the supervisor takes longer, a later command erases what is left */
	if (l->child.pidfd >= 0)
		IGNORE(poll(&(struct pollfd){ .fd = l->child.pidfd, .events = POLLIN }, 1,
			    EXIT_WAIT_MS));
}

void launch_done(struct launch *l)
{
	fd_closep(&l->leash);
	fd_closep(&l->connection);
	fd_closep(&l->child.pidfd);
	strv_done(&l->volumes);
	free(l->held);
}

/* Returns true if the name or a value of the spec caused the error. In this case the message
 * already tells the user what to change, and the caller does not add "failed to start" to it (see
 * failed()). */
static bool is_question(enum err_code code)
{
	return code == ERR_EXISTS || code == ERR_BUSY || code == ERR_NOT_FOUND ||
	       code == ERR_INVALID || code == ERR_UNSUPPORTED;
}

/* Makes E say "failed to start" on one line and the reason on the next line. STAGE is NULL if
 * the reason already names the stage. */
static int failed(const struct launch *l, const char *stage, struct err *e)
{
	AUTO_FREE char *why = xasprintf("%s%s%s", stage ? stage : "", stage ? ": " : "", e->msg);

	snprintf(e->msg, sizeof(e->msg), "failed to start \"%s\"\n%s%s%s", l->name, why,
		 l->stays ? "\nmore: cordon logs --source system " : "", l->stays ? l->name : "");
	return -1;
}

/* Removes the volumes that we made for the sandbox, because the sandbox did not start. */
static void remove_volumes(struct launch *l)
{
	struct err ignored;

	for (size_t i = 0; i < l->volumes.n; i++)
		/* if this fails, only empty volumes are left */
		IGNORE(volumes_remove(l->home, l->volumes.v[i], &ignored));
	strv_done(&l->volumes);
}

/* Makes the environment of a supervisor. The supervisor gets only the variables that it needs
 * from the user's environment. */
static void supervisor_env(const struct home *h, const char *env[SUPERVISOR_VARIABLES_MAX + 1])
{
	static const char *const inherited[] = { "MSB_SHUTDOWN_FLUSH_TIMEOUT_MS",
						 "XDG_RUNTIME_DIR" };
	const char *config = getenv("MSB_CONFIG_PATH");
	unsigned n = 0;

	env[n++] = xasprintf("CORDON_HOME=%s", h->path);
	for (size_t i = 0; i < ARRAY_SIZE(inherited); i++) {
		const char *v = getenv(inherited[i]);

		if (v)
			env[n++] = xasprintf("%s=%s", inherited[i], v);
	}
	if (config && *config) {
		/* make the path absolute, because the supervisor has another working directory */
		AUTO_FREE char *here = *config == '/' ? NULL : getcwd(NULL, 0);

		env[n++] = xasprintf("MSB_CONFIG_PATH=%s%s%s", here ? here : "", here ? "/" : "",
				     config);
	}
	env[n] = NULL;
}

/* Opens the file for the supervisor's own messages. The file is in the same directory as the log of
 * the commands' output. */
static int open_runtime_log(int dir)
{
	AUTO_FD logs = -1;

	if (mkdirat(dir, "logs", 0700) < 0 && errno != EEXIST)
		return -1;
	logs = openat(dir, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (logs < 0)
		return -1;
	execlog_rotate(logs, RUNTIME_LOG_FILE);
	return openat(logs, RUNTIME_LOG_FILE,
		      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static void starting_done(struct starting *s)
{
	for (unsigned i = 0; s->env[i]; i++)
		free((char *)s->env[i]);
	free(s->program);
	for (size_t i = 3; i < s->spawn.n_fds; i++)
		fd_closep(&s->spawn.fd[i].from); /* the supervisor has its own descriptors */
	fd_closep(&s->null);
	fd_closep(&s->root);
}

static int make_channels(struct launch *l, bool connect, struct starting *s, struct err *e)
{
	int leash[2] = { -1, -1 }, connection[2] = { -1, -1 };

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, leash) < 0)
		return err_sys(e, errno, "make a channel to the supervisor");
	l->leash = leash[0];
	s->spawn.fd[s->spawn.n_fds++] = (struct spawn_fd){ leash[1], LEASH_FD };
	if (!connect)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, connection) < 0)
		return err_sys(e, errno, "make a channel to the supervisor");
	l->connection = connection[0];
	s->spawn.fd[s->spawn.n_fds++] = (struct spawn_fd){ connection[1], LEASH_FD_CONNECTION };
	return 0;
}

/* Starts the supervisor of L, which then waits for the record that hand_over() sends. */
static int begin_start(struct launch *l, bool connect, struct starting *s, struct err *e)
{
	int r;

	*s = (struct starting){ .argv = { "cordon-supervisor", l->name },
				.null = open("/dev/null", O_RDWR | O_CLOEXEC),
				.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) };
	supervisor_env(l->home, s->env);
	if (s->null < 0 || s->root < 0)
		return err_sys(e, errno, "open '/dev/null'");
	if (program_ours("cordon-supervisor", &s->program, e) < 0)
		return -1;
	s->spawn = (struct spawn){
		.path = s->program,
		.argv = s->argv,
		.envp = s->env,
		.fd = { { s->null, 0 }, { s->null, 1 }, { s->null, 2 } },
		.n_fds = 3,
		.new_session = true,
		.cwd_fd = s->root,
	};
	r = make_channels(l, connect, s, e);
	if (r == 0)
		r = spawn_begin(&s->spawn, &s->spawning, e);
	/* the seccomp filter of a container refuses clone3 with ENOSYS, because a filter cannot see
	 * the flags of clone3 */
	if (r < 0 && e->sys == ENOSYS)
		return err_hint(e, container_advice(CONTAINER_NAMESPACES));
	return r;
}

/* Returns true if the supervisor may print messages, because it has a log level or is built with
 * a sanitizer. */
static bool has_messages(const struct spec *s)
{
	return s->log_level || getenv("ASAN_OPTIONS");
}

/* Sends the supervisor the directory of the record, the lock and, if KEEP_LOG is true, the file for
 * the supervisor's messages. */
static int hand_over(const struct launch *l, int dir, int lock, bool keep_log, struct err *e)
{
	AUTO_FD log = keep_log ? open_runtime_log(dir) : -1;
	const int fds[LEASH_RECORD_FDS] = { dir, lock, log };
	int r = fdpass_send(l->leash, &(char){ LEASH_RECORD }, 1, fds,
			    LEASH_RECORD_FDS - (log < 0));

	return r < 0 ? err_sys(e, -r, "hand the record to the supervisor") : 0;
}

/* Completes the start that begin_start() began. R is 0 or -1, the result so far. If R is -1,
 * hand_over() sent no record, so the supervisor ends by itself, and we wait for its end. Returns 0
 * or -1. */
static int end_start(struct launch *l, struct starting *s, int r, struct err *e)
{
	struct err ignored;
	int status;

	if (r < 0)
		fd_closep(&l->leash);
	if (s->spawning && spawn_end(s->spawning, &l->child, r < 0 ? &ignored : e) < 0)
		r = -1;
	else if (s->spawning && r < 0)
		/* the status is not needed, because R already says how the start ended */
		IGNORE(child_wait(&l->child, &status));
	if (r == 0) {
		log_line(LOG_INFO, "started supervisor %d of sandbox '%s'", (int)l->child.pid,
			 l->name);
		log_line(LOG_DEBUG, "program '%s', state directory '%s'", s->program,
			 l->home->path);
	}
	starting_done(s);
	return r;
}

/* Claims the name of a new sandbox by record_create(). If a `create` that was killed left a
 * record under this name, erases that record first. */
static int claim(const struct home *h, const struct spec *s, int *ret_dir, int *ret_lock,
		 struct err *e)
{
	AUTO_RECORD there = RECORD_NONE;
	struct err none;
	int r = record_create(h, s, ret_dir, ret_lock, e);

	if (r == 0 || e->code != ERR_EXISTS || record_load(h, s->name, &there, &none) == 0 ||
	    none.code != ERR_NOT_FOUND)
		return r;
	leftover_sweep(h, s->name); /* the result does not matter: another command may have erased
				     * the record */
	return record_create(h, s, ret_dir, ret_lock, e);
}

static int make_record(struct launch *l, const struct spec *s, int *ret_dir, int *ret_lock,
		       struct err *e)
{
	/* a lock that keeps the volumes from being removed until the record names them */
	AUTO_FD volumes = -1;

	if (volumes_prepare(l->home, s, &volumes, &l->volumes, e) < 0)
		return -1;
	return claim(l->home, s, ret_dir, ret_lock, e);
}

int launch_create(const struct home *h, const struct spec *s, bool connect, struct launch *ret,
		  struct err *e)
{
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;
	struct starting start;
	struct err ignored;
	int r;

	*ret = (struct launch)LAUNCH_NONE;
	ret->home = h;
	ret->name = s->name;
	r = begin_start(ret, connect, &start, e);
	if (r == 0)
		r = make_record(ret, s, &dir, &lock, e);
	if (r == 0)
		r = hand_over(ret, dir, lock, !s->ephemeral && has_messages(s), e);
	r = end_start(ret, &start, r, e);
	if (r == 0)
		return 0;
	if (dir >= 0) {
		/* if we cannot retire or erase the record, a later command erases it */
		IGNORE(record_retire(h, s->name));
		IGNORE(record_erase(h, s->name, &ignored)); /* the user gets the first error */
	}
	remove_volumes(ret);
	return is_question(e->code) ? -1 : failed(ret, STAGE_OTHER, e);
}

int launch_start(const struct home *h, const char *name, struct launch *ret, struct err *e)
{
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;
	struct starting start;
	int r;

	*ret = (struct launch)LAUNCH_NONE;
	ret->home = h;
	ret->name = name;
	ret->stays = true;
	if (control_lock(h, name, true, &dir, &lock, e) < 0)
		return -1;
	if (record_write_active(dir, NULL, e) < 0)
		return -1;
	r = begin_start(ret, false, &start, e);
	if (r == 0)
		r = hand_over(ret, dir, lock, true, e);
	return end_start(ret, &start, r, e) < 0 ? failed(ret, STAGE_OTHER, e) : 0;
}

/* If L has a tick, calls it until the leash can be read, so that a person sees progress. Otherwise
 * returns at once: the caller's read() waits. */
static void wait_readable(const struct launch *l)
{
	struct pollfd p = { .fd = l->leash, .events = POLLIN };

	while (l->tick && poll(&p, 1, LAUNCH_TICK_MS) == 0)
		l->tick(l->tick_arg);
}

/* Splits the body of an OK frame into the warnings and l->held. */
static void take_warnings(struct launch *l, struct str body, struct buf *warnings)
{
	struct str text = str_cut(&body, '\0');

	buf_add(warnings, text.p, text.n);
	if (!body.p)
		return;
	free(l->held);
	l->held = xstrndup(body.p, body.n);
}

static int wait_for_answer(struct launch *l, struct buf *warnings, struct err *e)
{
	AUTO_BUF in = BUF_INIT(ANSWER_MAX_BYTES);
	const char *text;
	struct frame f = { 0 }; /* stays empty if the answer is no valid frame */
	unsigned code;
	int r;

	for (;;) {
		struct str rest = { in.p, in.n };
		char chunk[4096];
		ssize_t n;

		r = frame_next(&rest, &f);
		if (r != 0)
			break;
		wait_readable(l);
		n = read(l->leash, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err_set(e, ERR_SYSTEM, "the supervisor ended while starting");
			return failed(l, STAGE_OTHER, e);
		}
		buf_add(&in, chunk, (size_t)n);
		if (buf_failed(&in))
			return err_set(e, ERR_PROTOCOL, "the supervisor's answer is too long");
	}
	l->answered = true;
	if (r > 0 && f.type == FRAME_OK) {
		take_warnings(l, f.body, warnings);
		return 0;
	}
	/* Wait until the supervisor has ended and its lock is free. Until then the sandbox would
	 * look as if it were starting. */
	IGNORE(poll(&(struct pollfd){ .fd = l->child.pidfd, .events = POLLIN }, 1, EXIT_WAIT_MS));
	if (r < 0 || f.type != FRAME_ERROR || error_decode(f.body, &code, &text) < 0)
		return err_set(e, ERR_PROTOCOL, "the supervisor's answer is not understood");
	err_set(e, (enum err_code)code, "%s", text);
	return code == ERR_EXISTS ? -1 : failed(l, NULL, e);
}

int launch_wait(struct launch *l, struct buf *warnings, struct err *e)
{
	uint64_t begin = clock_mono_ns();
	int r = wait_for_answer(l, warnings, e);

	log_line(LOG_DEBUG, "supervisor of sandbox '%s' answered after %llu us", l->name,
		 (unsigned long long)(clock_mono_ns() - begin) / 1000);
	if (r < 0) {
		remove_volumes(l);
		/* the supervisor is confined, so it may not have been able to erase everything */
		leftovers_sweep(l->home);
	}
	return r;
}

static void ignore_note(void *arg, bool missed, const char *text)
{
	*(bool *)arg |= missed;
}

static int apply_patches(const struct home *h, const struct spec *s, struct err *e)
{
	bool missed = false;
	const struct copy_notes notes = { .note = ignore_note, .arg = &missed };
	struct client c;
	int r = client_open(&c, h, s->name, e);

	for (size_t i = 0; r == 0 && i < s->n_patches; i++) {
		r = copy_patch(&c, &s->patch[i], &notes, e);
		if (r == 0 && missed)
			r = err_set(e, ERR_SYSTEM, "part of '%s' could not be copied",
				    s->patch[i].source);
	}
	client_done(&c);
	return r;
}

int launch_settle(struct launch *l, const struct spec *s, struct err *e)
{
	AUTO_BUF none = BUF_INIT(64);
	struct err ignored;
	int r;

	if (s->n_patches == 0)
		return 0;
	r = apply_patches(l->home, s, e);
	if (r == 0 && !send_word(l, LEASH_SETTLED))
		r = err_sys(e, errno, "tell the supervisor");
	if (r == 0)
		r = wait_for_answer(l, &none, e);
	if (r == 0)
		return 0;
	/* if sandbox_stop() fails, the sandbox still ends when the caller closes the leash */
	IGNORE(sandbox_stop(l->home, s->name, 0, &ignored));
	remove_volumes(l);
	return is_question(e->code) ? -1 : failed(l, STAGE_OTHER, e);
}
