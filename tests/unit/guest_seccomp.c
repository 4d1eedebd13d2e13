/*
 * Checks the generated filter in two ways: a small BPF interpreter runs it for every system call
 * number and every argument that matters, and children install it in the kernel.
 */
#include "guest/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "t.h"

#define X32_BIT 0x40000000u
#define HIGH_BITS 0xdeadbeef00000000ull
#define NUMBER_MAX 600 /* larger than the number of every system call so far */

#define ALLOW SECCOMP_RET_ALLOW
#define KILL SECCOMP_RET_KILL_PROCESS
#define NO(e) (SECCOMP_RET_ERRNO | (e))
#define IGNORED NO(0)

static const struct sock_filter *judged = seccomp_filter;

/* Runs the filter. Aborts at an instruction that this interpreter does not know. Also aborts where
 * the kernel would refuse the filter: at a bad offset, or if there is no return at the end. */
static uint32_t run(const struct seccomp_data *d, unsigned *ret_steps)
{
	uint32_t a = 0;
	unsigned steps = 0;

	for (unsigned pc = 0; pc < seccomp_filter_len; pc++) {
		const struct sock_filter *f = &judged[pc];
		bool yes;

		steps++;
		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (f->k % 4 != 0 || f->k > sizeof(*d) - 4)
				abort();
			memcpy(&a, (const char *)d + f->k, sizeof(a));
			continue;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= f->k;
			continue;
		case BPF_JMP | BPF_JA:
			pc += f->k;
			continue;
		case BPF_RET | BPF_K:
			if (ret_steps)
				*ret_steps = steps;
			return f->k;
		case BPF_JMP | BPF_JEQ | BPF_K:
			yes = a == f->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			yes = a >= f->k;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			yes = (a & f->k) != 0;
			break;
		default:
			abort();
		}
		pc += yes ? f->jt : f->jf;
	}
	abort();
}

static uint32_t ask(unsigned nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	struct seccomp_data d = { .nr = (int)nr,
				  .arch = AUDIT_ARCH_X86_64,
				  .args = { a0, a1, a2 } };

	return run(&d, NULL);
}

static const struct seccomp_expect *find(unsigned nr)
{
	for (unsigned i = 0; i < seccomp_expect_len; i++)
		if (seccomp_expect[i].nr == nr)
			return &seccomp_expect[i];
	return NULL;
}

static void every_number(void)
{
	unsigned seen = 0;

	for (unsigned nr = 0; nr <= NUMBER_MAX; nr++) {
		const struct seccomp_expect *x = find(nr);
		uint32_t got = ask(nr, 0, 0, 0), want = x ? x->answer : NO(ENOSYS);

		seen += x != NULL;
		if (x && x->answer == 0)
			continue; /* calls with rules have their own tests */
		if (got != want)
			T_FAIL("%u (%s): got %#x, want %#x", nr, x ? x->name : "unknown", got,
			       want);
	}
	T_INT(seen, seccomp_expect_len);
	T_TRUE(seen > 370);
}

/* The expected answers are written here again and not taken from tools/seccomp.table, so that the
 * test notices an error in this table. */
static void known_by_name(void)
{
	static const unsigned dangerous[] = {
		SYS_mount,
		SYS_umount2,
		SYS_pivot_root,
		SYS_unshare,
		SYS_setns,
		SYS_open_tree,
		SYS_move_mount,
		SYS_fsopen,
		SYS_fsconfig,
		SYS_fsmount,
		SYS_fspick,
		SYS_mount_setattr,
		SYS_io_uring_setup,
		SYS_io_uring_enter,
		SYS_io_uring_register,
		SYS_bpf,
		SYS_perf_event_open,
		SYS_userfaultfd,
		SYS_keyctl,
		SYS_add_key,
		SYS_request_key,
		SYS_init_module,
		SYS_finit_module,
		SYS_delete_module,
		SYS_kexec_load,
		SYS_kexec_file_load,
		SYS_open_by_handle_at,
		SYS_name_to_handle_at,
		SYS_swapon,
		SYS_swapoff,
		SYS_acct,
		SYS_quotactl,
		SYS_fanotify_init,
		SYS_reboot,
		SYS_clock_settime,
		SYS_settimeofday,
		SYS_iopl,
		SYS_ioperm,
		SYS_sethostname,
		SYS_syslog,
		SYS_pidfd_getfd,
	};
	static const unsigned needed[] = {
		/* first the calls that guest/exec makes under the filter, then calls of ordinary
		 * programs */
		SYS_prctl,      SYS_setgroups,  SYS_setresgid,       SYS_setresuid,
		SYS_setgid,     SYS_setuid,     SYS_capset,          SYS_chdir,
		SYS_execve,     SYS_execveat,   SYS_close_range,     SYS_dup3,
		SYS_setrlimit,  SYS_prlimit64,  SYS_rt_sigprocmask,  SYS_rt_sigaction,
		SYS_exit_group, SYS_read,       SYS_write,           SYS_mmap,
		SYS_futex,      SYS_openat,     SYS_newfstatat,      SYS_statx,
		SYS_vfork,      SYS_wait4,      SYS_restart_syscall, SYS_rt_sigreturn,
		SYS_chroot,     SYS_ptrace,     SYS_seccomp,         SYS_rseq,
		SYS_getrandom,  SYS_membarrier,
	};

	for (unsigned i = 0; i < sizeof(dangerous) / sizeof(dangerous[0]); i++)
		if (ask(dangerous[i], 0, 0, 0) != NO(EPERM))
			T_FAIL("%u is not refused", dangerous[i]);
	for (unsigned i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (ask(needed[i], ~0ull, ~0ull, ~0ull) != ALLOW)
			T_FAIL("%u is not allowed", needed[i]);
	T_INT(ask(SYS_clone3, 0, 0, 0), NO(ENOSYS));
}

static uint32_t want_socket(unsigned family, unsigned type, unsigned protocol)
{
	bool everyday = protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP ||
			protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6;

	if (family == AF_UNIX)
		return ALLOW;
	if (family == AF_INET && (type & 0xf) == SOCK_PACKET)
		return NO(EAFNOSUPPORT);
	if (family == AF_INET || family == AF_INET6)
		return everyday ? ALLOW : NO(EPROTONOSUPPORT);
	if (family == AF_NETLINK)
		return protocol == NETLINK_ROUTE ? ALLOW : NO(EPROTONOSUPPORT);
	return NO(EAFNOSUPPORT);
}

static void socket_case(unsigned family, unsigned type, unsigned protocol)
{
	static const unsigned calls[] = { SYS_socket, SYS_socketpair };
	static const uint64_t highs[] = { 0, HIGH_BITS };
	uint32_t want = want_socket(family, type, protocol);

	for (unsigned c = 0; c < 2; c++)
		for (unsigned h = 0; h < 2; h++) {
			uint32_t got = ask(calls[c], highs[h] | family, highs[h] | type,
					   highs[h] | protocol);

			if (got != want)
				T_FAIL("call %u, family %u, type %#x, protocol %u, high %d: got "
				       "%#x, want %#x",
				       calls[c], family, type, protocol, h, got, want);
		}
}

static void sockets(void)
{
	static const unsigned types[] = { SOCK_STREAM,
					  SOCK_DGRAM,
					  SOCK_RAW,
					  SOCK_PACKET,
					  SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
					  SOCK_PACKET | SOCK_CLOEXEC };

	for (unsigned family = 0; family <= 60; family++)
		for (unsigned t = 0; t < sizeof(types) / sizeof(types[0]); t++)
			for (unsigned protocol = 0; protocol <= 270; protocol++)
				socket_case(family, types[t], protocol);
	socket_case(UINT32_MAX, SOCK_STREAM, 0);
	socket_case(AF_INET, SOCK_STREAM, UINT32_MAX);
	socket_case(AF_NETLINK, SOCK_RAW, 1u << 31);
	/* fixed calls and answers, which find an error in want_socket() */
	T_INT(ask(SYS_socket, 38, 5, 0), NO(EAFNOSUPPORT)); /* AF_ALG */
	T_INT(ask(SYS_socket, HIGH_BITS | 38, 5, 0), NO(EAFNOSUPPORT));
	T_INT(ask(SYS_socket, 40, 1, 0), NO(EAFNOSUPPORT));     /* AF_VSOCK */
	T_INT(ask(SYS_socket, 33, 2, 2), NO(EAFNOSUPPORT));     /* AF_RXRPC */
	T_INT(ask(SYS_socket, 17, 3, 0), NO(EAFNOSUPPORT));     /* AF_PACKET */
	T_INT(ask(SYS_socket, 16, 3, 6), NO(EPROTONOSUPPORT));  /* NETLINK_XFRM */
	T_INT(ask(SYS_socket, 2, 1, 262), NO(EPROTONOSUPPORT)); /* MPTCP */
	T_INT(ask(SYS_socket, 10, 1, 6), ALLOW);
}

static void clone_flags(void)
{
	static const uint64_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
					   CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
					   CLONE_NEWNET;
	static const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
				       CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
				       CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

	for (unsigned bit = 0; bit < 32; bit++) {
		uint64_t flag = 1ull << bit;
		uint32_t want = flag & namespaces ? NO(EPERM) : ALLOW;

		T_INT(ask(SYS_clone, flag, 0, 0), want);
		T_INT(ask(SYS_clone, HIGH_BITS | flag | SIGCHLD, 0, 0), want);
	}
	T_INT(ask(SYS_clone, thread, 0, 0), ALLOW);
	T_INT(ask(SYS_clone, CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD, 0, 0), ALLOW);
	T_INT(ask(SYS_clone, thread | CLONE_NEWUSER, 0, 0), NO(EPERM));
	/* a flag in the upper 32 bits of the argument is no flag: the kernel drops these bits */
	T_INT(ask(SYS_clone, (uint64_t)CLONE_NEWUSER << 32 | SIGCHLD, 0, 0), ALLOW);
}

static void terminals_and_personalities(void)
{
	static const unsigned refused[] = { TIOCSTI, TIOCLINUX, TIOCSETD };
	static const unsigned fine[] = { TCGETS,   TIOCGWINSZ, TIOCSWINSZ, TIOCSCTTY, TIOCGPTN,
					 FIONREAD, FIOCLEX,    0,          UINT32_MAX };

	for (unsigned i = 0; i < 3; i++) {
		T_INT(ask(SYS_ioctl, 0, refused[i], 0), NO(EPERM));
		T_INT(ask(SYS_ioctl, 0, HIGH_BITS | refused[i], 0), NO(EPERM));
	}
	for (unsigned i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		T_INT(ask(SYS_ioctl, 0, fine[i], 0), ALLOW);
	T_INT(ask(SYS_personality, 0, 0, 0), ALLOW);
	T_INT(ask(SYS_personality, 0xffffffff, 0, 0), ALLOW);
	T_INT(ask(SYS_personality, HIGH_BITS | 0xffffffff, 0, 0), ALLOW);
	T_INT(ask(SYS_personality, ADDR_NO_RANDOMIZE, 0, 0), NO(EPERM));
	T_INT(ask(SYS_personality, HIGH_BITS | READ_IMPLIES_EXEC, 0, 0), NO(EPERM));
	T_INT(ask(SYS_personality, PER_LINUX32, 0, 0), NO(EPERM));
}

/* SWITCH_WATCHED turns on the clauses `if watched` of tools/seccomp.table. The test looks at the
 * clause for fallocate. It also looks at two calls without such a clause, which must get the same
 * answer as without the switch. */
static void switches(void)
{
	enum { PUNCH = 2, KEEP_SIZE = 1 };

	T_INT(ask(SYS_fallocate, 3, 0, 0), ALLOW);
	judged = seccomp_choose(SWITCH_WATCHED);
	T_INT(ask(SYS_fallocate, 3, 0, 0), NO(EOPNOTSUPP));
	T_INT(ask(SYS_fallocate, 3, KEEP_SIZE, 0), NO(EOPNOTSUPP));
	T_INT(ask(SYS_fallocate, 3, PUNCH | KEEP_SIZE, 0), ALLOW);
	T_INT(ask(SYS_ftruncate, 3, 0, 0), ALLOW);
	T_INT(ask(SYS_unshare, 0, 0, 0), NO(EPERM));
	judged = seccomp_choose(0);
	T_TRUE(judged == seccomp_filter);
	T_INT(ask(SYS_fallocate, 3, 0, 0), ALLOW);
}

static void kernel_programs(void)
{
	static const unsigned options[] = { SO_ATTACH_FILTER, SO_ATTACH_BPF,
					    SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF };

	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		T_INT(ask(SYS_setsockopt, 3, SOL_SOCKET, options[i]), NO(EPERM));
		T_INT(ask(SYS_setsockopt, 3, HIGH_BITS | SOL_SOCKET, HIGH_BITS | options[i]),
		      NO(EPERM));
		T_INT(ask(SYS_setsockopt, 3, IPPROTO_TCP, options[i]), ALLOW);
	}
	T_INT(ask(SYS_setsockopt, 3, SOL_SOCKET, SO_REUSEPORT), ALLOW);
	T_INT(ask(SYS_seccomp, HIGH_BITS | SECCOMP_SET_MODE_FILTER, 0, 0), NO(EINVAL));
	T_INT(ask(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, 0), ALLOW);
	T_INT(ask(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, 0), ALLOW);
	T_INT(ask(SYS_prctl, HIGH_BITS | PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0), NO(EINVAL));
	T_INT(ask(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0), ALLOW);
	T_INT(ask(SYS_prctl, PR_GET_SECCOMP, 2, 0), ALLOW);
	T_INT(ask(SYS_prctl, PR_CAPBSET_DROP, 2, 0), ALLOW);
	judged = seccomp_choose(SWITCH_FILTERS);
	T_INT(ask(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 0), ALLOW);
	T_INT(ask(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0), ALLOW);
	T_INT(ask(SYS_setsockopt, 3, SOL_SOCKET, SO_ATTACH_FILTER), NO(EPERM));
	judged = seccomp_choose(0);
}

static uint32_t ask_prlimit(uint64_t resource, uint64_t new_limit, uint64_t old_limit)
{
	struct seccomp_data d = { .nr = SYS_prlimit64,
				  .arch = AUDIT_ARCH_X86_64,
				  .args = { 0, resource, new_limit, old_limit } };

	return run(&d, NULL);
}

/* The filter must let a command read the limit of core dumps, but not change it. A command can
 * change all other limits. */
static void core_limit(void)
{
	/* pointers that are not NULL; one half of the first two is 0 */
	static const uint64_t pointers[] = { 1ull << 32, 0x1000, 0x7fff00001000 };

	for (unsigned resource = 0; resource < RLIM_NLIMITS; resource++) {
		bool core = resource == RLIMIT_CORE;

		T_INT(ask(SYS_setrlimit, resource, 0x1000, 0), core ? IGNORED : ALLOW);
		T_INT(ask(SYS_setrlimit, HIGH_BITS | resource, 0x1000, 0), core ? IGNORED : ALLOW);
		T_INT(ask_prlimit(resource, 0, 0x1000), ALLOW);
		T_INT(ask_prlimit(HIGH_BITS | resource, 0, 0x1000), ALLOW);
		for (unsigned i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
			uint64_t p = pointers[i];

			T_INT(ask_prlimit(resource, p, 0), core ? IGNORED : ALLOW);
			T_INT(ask_prlimit(HIGH_BITS | resource, p, 0), core ? IGNORED : ALLOW);
			T_INT(ask_prlimit(resource, 0x1000, p), core ? NO(EPERM) : ALLOW);
		}
	}
}

static void huge_pages(void)
{
	enum { FLAGS = MAP_PRIVATE | MAP_ANONYMOUS };
	struct seccomp_data d = { .nr = SYS_mmap, .arch = AUDIT_ARCH_X86_64 };

	d.args[3] = FLAGS | MAP_HUGETLB;
	T_INT(run(&d, NULL), ALLOW);
	judged = seccomp_choose(SWITCH_HUGEPAGES);
	T_INT(run(&d, NULL), NO(ENOMEM));
	d.args[3] = FLAGS;
	T_INT(run(&d, NULL), ALLOW);
	T_INT(ask(SYS_memfd_create, 0, MFD_HUGETLB | MFD_CLOEXEC, 0), NO(ENOMEM));
	T_INT(ask(SYS_memfd_create, 0, MFD_CLOEXEC, 0), ALLOW);
	T_INT(ask(SYS_shmget, 0, 0, HIGH_BITS | SHM_HUGETLB | 0600), NO(ENOMEM));
	T_INT(ask(SYS_shmget, 0, 0, IPC_CREAT | 0600), ALLOW);
	judged = seccomp_choose(0);
}

static void other_instruction_sets(void)
{
	static const unsigned archs[] = { AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, 0, UINT32_MAX };

	for (unsigned nr = 0; nr <= NUMBER_MAX; nr++) {
		T_INT(ask(X32_BIT | nr, 0, 0, 0), NO(ENOSYS));
		for (unsigned i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
			struct seccomp_data d = { .nr = (int)nr, .arch = archs[i] };

			T_INT(run(&d, NULL), KILL);
		}
	}
	T_INT(ask(UINT32_MAX, 0, 0, 0), NO(ENOSYS));
}

/* When a filter is attached, the kernel runs the filter once for each system call number. So each
 * step of the filter makes every exec slower. */
static void shape(void)
{
	unsigned worst = 0;

	for (unsigned nr = 0; nr <= NUMBER_MAX; nr++) {
		struct seccomp_data d = { .nr = (int)nr, .arch = AUDIT_ARCH_X86_64 };
		const struct seccomp_expect *x = find(nr);
		unsigned steps = 0;

		run(&d, &steps);
		if ((!x || x->answer != 0) && steps > worst)
			worst = steps;
	}
	printf("# %u instructions, at most %u steps where arguments do not matter\n",
	       seccomp_filter_len, worst);
	T_TRUE(seccomp_filter_len <= 232);
	T_TRUE(worst <= 12);
}

/* --- the filter in the kernel ---------------------------------------------------------------- */

static int attach(void)
{
	struct sock_fprog prog = { seccomp_filter_len, (struct sock_filter *)judged };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0 ? -errno : 0;
}

static int sys_error(long r)
{
	return r < 0 ? errno : 0;
}

/* Runs FN under the filter in a child. Returns the result of FN, 1000 + the signal that killed the
 * child, 2000 if the filter was not attached, or -1 if fork() or waitpid() failed. */
static int under_filter(int (*fn)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || attach() < 0)
			_exit(255);
		_exit(fn());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status))
		return 1000 + WTERMSIG(status);
	return WEXITSTATUS(status) == 255 ? 2000 : WEXITSTATUS(status);
}

/* If CALL does not fail with the errno WANT (0: it must succeed), the function that uses this macro
 * returns the number of the failed expectation. */
#define EXPECT(call, want)                     \
	do {                                   \
		n++;                           \
		if (sys_error(call) != (want)) \
			return n;              \
	} while (0)

static int refusals(void)
{
	int n = 0;

	EXPECT(socket(38, SOCK_SEQPACKET, 0), EAFNOSUPPORT);
	EXPECT(syscall(SYS_socket, HIGH_BITS | 38, SOCK_SEQPACKET, 0), EAFNOSUPPORT);
	EXPECT(socket(AF_NETLINK, SOCK_RAW, NETLINK_XFRM), EPROTONOSUPPORT);
	EXPECT(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), 0);
	EXPECT(socket(AF_UNIX, SOCK_STREAM, 0), 0);
	EXPECT(socket(AF_INET, SOCK_STREAM, 0), 0);
	EXPECT(unshare(CLONE_NEWUSER), EPERM);
	EXPECT(syscall(SYS_clone, (unsigned long)CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), EPERM);
	EXPECT(syscall(SYS_clone3, NULL, 0), ENOSYS);
	EXPECT(syscall(SYS_bpf, 0, NULL, 0), EPERM);
	EXPECT(syscall(SYS_io_uring_setup, 1, NULL), EPERM);
	EXPECT(syscall(NUMBER_MAX), ENOSYS);
	EXPECT(syscall(X32_BIT | SYS_getpid), ENOSYS);
	EXPECT(ioctl(0, TIOCSTI, "x"), EPERM);
	EXPECT(personality(0xffffffff), 0);
	EXPECT(personality(ADDR_NO_RANDOMIZE), EPERM);
	return 0;
}

/* Tries to change the limit of core dumps, which in_the_kernel() has set to 1. */
static int unchanged_core_limit(void)
{
	struct rlimit now, none = { 0, 0 };
	int n = 0;

	EXPECT(setrlimit(RLIMIT_CORE, &none), 0);
	EXPECT(syscall(SYS_setrlimit, RLIMIT_CORE, &none), 0);
	EXPECT(prlimit(getpid(), RLIMIT_CORE, &none, NULL), 0);
	EXPECT(prlimit(0, RLIMIT_CORE, &none, &now), EPERM);
	EXPECT(getrlimit(RLIMIT_CORE, &now), 0);
	return now.rlim_cur == 1 && now.rlim_max == 1 ? 0 : n + 1;
}

static int ordinary_work(void)
{
	char *argv[] = { "sh", "-c", "test \"$(echo a | cat)\" = a && exit 7", NULL };

	execv("/bin/sh", argv);
	return 1;
}

static int i386_getpid(void)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
	return 3;
}

static void in_the_kernel(void)
{
	const struct rlimit one = { 1, 1 };

	T_INT(setrlimit(RLIMIT_CORE, &one), 0);
	T_INT(under_filter(refusals), 0);
	T_INT(under_filter(unchanged_core_limit), 0);
	T_INT(under_filter(ordinary_work), 7);
	T_INT(under_filter(i386_getpid), 1000 + SIGSYS);
}

/* Prints how many microseconds it takes to attach the filter: the median and the smallest time of
 * children that each attach it once. */
static void attach_cost(void)
{
	enum { RUNS = 15 };
	uint64_t us[RUNS];

	for (unsigned i = 0; i < RUNS; i++) {
		int fds[2];
		uint64_t ns = 0;
		pid_t pid;

		if (pipe2(fds, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
			T_FAIL("pipe or fork: %s", strerror(errno));
			return;
		}
		if (pid == 0) {
			uint64_t start;

			if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
				_exit(1);
			start = clock_mono_ns();
			if (attach() < 0)
				_exit(1);
			ns = clock_mono_ns() - start;
			_exit(write(fds[1], &ns, sizeof(ns)) != sizeof(ns));
		}
		close(fds[1]);
		T_INT(read(fds[0], &ns, sizeof(ns)), sizeof(ns));
		close(fds[0]);
		waitpid(pid, NULL, 0);
		us[i] = ns / 1000;
		for (unsigned j = i; j > 0 && us[j] < us[j - 1]; j--) {
			uint64_t swap = us[j];

			us[j] = us[j - 1];
			us[j - 1] = swap;
		}
	}
	printf("# attaching takes %" PRIu64 " us (median), %" PRIu64 " at best\n", us[RUNS / 2],
	       us[0]);
}

int main(void)
{
	T_RUN(every_number);
	T_RUN(known_by_name);
	T_RUN(sockets);
	T_RUN(clone_flags);
	T_RUN(terminals_and_personalities);
	T_RUN(switches);
	T_RUN(kernel_programs);
	T_RUN(core_limit);
	T_RUN(huge_pages);
	T_RUN(other_instruction_sets);
	T_RUN(shape);
	T_RUN(in_the_kernel);
	T_RUN(attach_cost);
	return t_end();
}
