/* Children of this program confine themselves as a supervisor does, and then try calls. */
#include "supervisor/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "base/erase.h"
#include "base/io.h"
#include "base/spawn.h"
#include "t.h"

static char dir[] = "/tmp/supervisor-confine-XXXXXX";

static long error_of(long r)
{
	return r < 0 ? errno : 0;
}

static bool has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

#ifdef __SANITIZE_ADDRESS__
enum { FILTERED = 0 };
#else
enum { FILTERED = 1 };
#endif

/* CALL must fail with the errno WANT, or succeed if WANT is 0. Otherwise the function that uses
 * this macro returns the number of the expectation. */
#define EXPECT(call, want)                          \
	do {                                        \
		n++;                                \
		if (error_of(call) != (long)(want)) \
			return n;                   \
	} while (0)

static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fn());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int path(const char *name, int flags)
{
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return openat(at, name, flags | O_CLOEXEC, 0600);
}

static int keep_nothing(const struct supervisor *s, struct confine_files *f, struct err *e)
{
	return 0;
}

static const struct engine needs_nothing = { .confine = keep_nothing };

/* Confines the supervisor of the sandbox "mine", which has no network and no cgroups. */
static int confined(struct supervisor *s)
{
	struct err e = { 0 };

	*s = (struct supervisor){ .record_dir = path("sandboxes/mine", O_RDONLY | O_DIRECTORY),
				  .engine = &needs_nothing };
	s->home = (struct home){ .fd = path(".", O_PATH | O_DIRECTORY) };
	snprintf(s->home.path, sizeof(s->home.path), "%s", dir);
	s->record.spec.ephemeral = true;
	return supervisor_confine(s, &e);
}

static int files(void)
{
	struct supervisor s;
	int n = 0;

	if (!has_landlock())
		return 0;
	EXPECT(confined(&s), 0);
	/* the supervisor may read and write its own record */
	EXPECT(openat(s.record_dir, "state.json", O_WRONLY | O_CREAT, 0600), 0);
	EXPECT(renameat(s.record_dir, "state.json", s.record_dir, "other.json"), 0);
	EXPECT(mkdirat(s.record_dir, "logs", 0700), 0);
	EXPECT(openat(s.record_dir, "config.json", O_RDONLY), 0);
	/* the supervisor may not open files of the sandbox "other" or of the host */
	EXPECT(openat(s.home.fd, "sandboxes/other/config.json", O_RDONLY), EACCES);
	EXPECT(openat(s.home.fd, "sandboxes/other/config.json", O_WRONLY), EACCES);
	EXPECT(unlinkat(s.home.fd, "sandboxes/other/config.json", 0), EACCES);
	EXPECT(openat(s.home.fd, "sandboxes/other/new", O_WRONLY | O_CREAT, 0600), EACCES);
	EXPECT(openat(s.home.fd, "config.json", O_WRONLY | O_CREAT, 0600), EACCES);
	EXPECT(openat(AT_FDCWD, "/etc/passwd", O_RDONLY), EACCES);
	EXPECT(openat(AT_FDCWD, "/proc/self/status", O_RDONLY), EACCES);
	EXPECT(openat(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY), EACCES);
	EXPECT(openat(AT_FDCWD, "/tmp/supervisor-confine", O_WRONLY | O_CREAT, 0600), EACCES);
	/* what a supervisor does at its end: it removes sockets, and retires and erases the
	 * record */
	EXPECT(unlinkat(s.home.fd, "run/mine.sock", 0), 0);
	EXPECT(renameat(s.home.fd, "sandboxes/mine", s.home.fd, "sandboxes/.gone-mine"), 0);
	n++;
	return erase_tree(s.home.fd, "sandboxes/.gone-mine") == 0 ? 0 : n;
}

static int calls_without_network(void)
{
	struct supervisor s;
	int n = 0;

	EXPECT(confined(&s), 0);
	EXPECT(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ENOSYS);
	EXPECT(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), ENOSYS);
	EXPECT(execve("/bin/true", (char *[]){ "true", NULL }, NULL), ENOSYS);
	EXPECT(syscall(SYS_fork), ENOSYS);
	EXPECT(syscall(SYS_clone, 0, 0, 0, 0, 0), ENOSYS);
	EXPECT(syscall(SYS_clone3, NULL, 0), ENOSYS);
	EXPECT(syscall(SYS_kill, getpid(), 0), ENOSYS);
	EXPECT(unshare(CLONE_NEWUSER), ENOSYS);
	EXPECT(ptrace(PTRACE_TRACEME, 0, 0, 0), ENOSYS);
	EXPECT(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL), ENOSYS);
	EXPECT(syscall(SYS_setresuid, 0, 0, 0), ENOSYS);
	EXPECT(syscall(SYS_bpf, 0, NULL, 0), ENOSYS);
	EXPECT(syscall(SYS_io_uring_setup, 0, NULL), ENOSYS);
	EXPECT(syscall(SYS_chown, "/", 0, 0), ENOSYS);
	/* Landlock does not limit chmod, so the filter must. An ordinary user's supervisor may only
	 * set the mode 0700, which it needs to delete directories. Root's supervisor needs no
	 * chmod. */
	EXPECT(fchmodat(s.record_dir, "..", 0755, 0), geteuid() == 0 ? ENOSYS : EPERM);
	EXPECT(fchmodat(s.record_dir, ".", 0700, 0), geteuid() == 0 ? ENOSYS : 0);
	EXPECT(fchmod(s.record_dir, 0755), geteuid() == 0 ? ENOSYS : EPERM);
	EXPECT(fchmod(s.record_dir, 0700), geteuid() == 0 ? ENOSYS : 0);
	EXPECT(syscall(SYS_ioctl, 0, 0, 0), ENOSYS);
	return 0;
}

/* With a network, the calls that the start of a gateway needs are allowed too, and no others. */
static int calls_with_network(void)
{
	const char *const argv[] = { "true", NULL };
	struct spawn program = { .path = "/bin/true", .argv = argv, .cwd_fd = -1 };
	struct rlimit limit, now, none = { 0, 0 };
	struct child child;
	struct err e;
	int status = -1, n = 0;

	EXPECT(confine_capabilities(0, &e), 0);
	EXPECT(confine_calls(door_filter, door_filter_len, &e), 0);
	n++;
	if (spawn(&program, &child, &e) < 0 || child_wait(&child, &status) < 0 || status != 0)
		return n;
	EXPECT(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), 0);
	EXPECT(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), EAFNOSUPPORT);
	EXPECT(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 9), EAFNOSUPPORT);
	EXPECT(syscall(SYS_clone, CLONE_NEWUSER, 0, 0, 0, 0), EPERM);
	EXPECT(syscall(SYS_clone3, NULL, 0), ENOSYS);
	EXPECT(prlimit(0, RLIMIT_CORE, NULL, &limit), 0);
	EXPECT(prlimit(1, RLIMIT_CORE, NULL, &limit), EPERM);
	EXPECT(prlimit(0, RLIMIT_CORE, &none, NULL), 0); /* succeeds, but changes nothing */
	EXPECT(prlimit(0, RLIMIT_CORE, NULL, &now), 0);
	EXPECT(memcmp(&limit, &now, sizeof(now)) == 0 ? 0 : -1, 0);
	EXPECT(prlimit(1, RLIMIT_CORE, &none, NULL), EPERM);
	EXPECT(unshare(CLONE_NEWNET), ENOSYS);
	EXPECT(ptrace(PTRACE_TRACEME, 0, 0, 0), ENOSYS);
	EXPECT(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL), ENOSYS);
	return 0;
}

static void files_are_the_sandboxs_own(void)
{
	T_INT(in_child(files), 0);
}

static void without_network_no_process_and_no_socket(void)
{
	T_INT(FILTERED ? in_child(calls_without_network) : 0, 0);
}

static void with_network_a_gateway_can_start(void)
{
	T_INT(FILTERED ? in_child(calls_with_network) : 0, 0);
}

int main(void)
{
	static const char *const dirs[] = { "sandboxes", "sandboxes/mine", "sandboxes/other",
					    "run" };
	static const char *const empty[] = { "sandboxes/mine/config.json",
					     "sandboxes/other/config.json", "run/mine.sock" };
	AUTO_FD tmp = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int at;

	if (!mkdtemp(dir))
		return 1;
	at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (mkdirat(at, dirs[i], 0700) < 0)
			return 1;
	for (size_t i = 0; i < ARRAY_SIZE(empty); i++)
		if (path(empty[i], O_WRONLY | O_CREAT) < 0)
			return 1;
	T_RUN(without_network_no_process_and_no_socket);
	T_RUN(with_network_a_gateway_can_start);
	T_RUN(files_are_the_sandboxs_own);
	IGNORE(erase_tree(tmp, dir + strlen("/tmp/"))); /* a leftover in /tmp is no failure */
	return t_end();
}
