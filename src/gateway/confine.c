#include "gateway/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "gateway/gateway.h"

static int give_up_ids(const struct gateway_config *c, struct err *e)
{
	/* this needs CAP_SETPCAP, which goes with the ids; for an ordinary user no_new_privs makes
	 * the set harmless */
	for (unsigned cap = 0; cap < 64; cap++)
		IGNORE(prctl(PR_CAPBSET_DROP, cap, 0, 0, 0));
	if (!c->has_ids)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(c->gid, c->gid, c->gid) < 0 ||
	    setresuid(c->uid, c->uid, c->uid) < 0)
		return err_sys(e, errno, "become uid %u, gid %u", c->uid, c->gid);
	return 0;
}

static int give_up_capabilities(struct err *e)
{
	/* most callers have none */
	IGNORE(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
	if (confine_capabilities(0, e) < 0)
		return -1;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? err_sys(e, errno, "prctl") : 0;
}

static int set_limit(int resource, rlim_t soft, struct err *e)
{
	struct rlimit r;

	if (getrlimit(resource, &r) < 0)
		return err_sys(e, errno, "getrlimit");
	if (r.rlim_max == RLIM_INFINITY || r.rlim_max > soft)
		r.rlim_max = soft;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(resource, &r) < 0)
		return err_sys(e, errno, "setrlimit");
	return 0;
}

static int set_limits(struct err *e)
{
	/* --max-connections may be raised while we run */
	rlim_t sockets = POLICY_CONNECTIONS_LIMIT + GATEWAY_SPARE_SOCKETS + RESOLVER_ASKS_MAX +
			 CONFIG_PORTS_MAX + 64;

	if (set_limit(RLIMIT_NOFILE, sockets, e) < 0 || set_limit(RLIMIT_CORE, 0, e) < 0 ||
	    set_limit(RLIMIT_FSIZE, 0, e) < 0)
		return -1;
	return 0;
}

/* Leaves no right on any file. On a host without Landlock, the filter below is the only wall. */
static int hide_files(struct err *e)
{
	struct confine_files f;

	return confine_files_begin(&f, e) < 0 || confine_files_end(&f, e) < 0 ? -1 : 0;
}

/* --- system calls ---------------------------------------------------------------------------------- */

/* What serving needs, the most frequent first, because the filter compares in this order. */
static const int allowed[] = {
	SYS_ppoll,        SYS_read,          SYS_writev,          SYS_recvfrom,
	SYS_sendto,       SYS_clock_gettime, SYS_recvmsg,         SYS_sendmsg,
	SYS_write,        SYS_connect,       SYS_close,           SYS_setsockopt,
	SYS_getsockopt,   SYS_fcntl,         SYS_accept,          SYS_accept4,
	SYS_getsockname,  SYS_getpeername,   SYS_shutdown,        SYS_bind,
	SYS_listen,       SYS_poll,          SYS_readv,           SYS_getrandom,
	SYS_mmap,         SYS_munmap,        SYS_mremap,          SYS_brk,
	SYS_madvise,      SYS_futex,         SYS_rt_sigreturn,    SYS_rt_sigprocmask,
	SYS_rt_sigaction, SYS_exit,          SYS_exit_group,      SYS_gettid,
	SYS_getpid,       SYS_tgkill,        SYS_restart_syscall, SYS_gettimeofday,
	SYS_newfstatat,   SYS_fstat,
};
/* Libraries try these in rare cases (a message to stderr, the port of a raw socket). An error is
 * enough for them. */
static const int refused[] = {
	SYS_ioctl, SYS_openat, SYS_access, SYS_readlink, SYS_prctl, SYS_uname
};

#define FIONREAD_REQUEST 0x541bu /* libslirp asks how long a datagram is */

struct program {
	struct sock_filter f[160];
	unsigned short n;
};

static void emit(struct program *p, struct sock_filter f)
{
	if (p->n == ARRAY_SIZE(p->f))
		abort(); /* our own table grew past the array */
	p->f[p->n++] = f;
}

static void emit_load(struct program *p, size_t offset)
{
	emit(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void emit_return(struct program *p, uint32_t answer)
{
	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
}

/* if (A == value) return answer; */
static void emit_case(struct program *p, uint32_t value, uint32_t answer)
{
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
	emit_return(p, answer);
}

/* Allows socket() for the internet families, stream and datagram. A raw socket gets the error that
 * libslirp expects. */
static void emit_socket_check(struct program *p)
{
	const uint32_t no = SECCOMP_RET_ERRNO | EPERM;

	emit_load(p, offsetof(struct seccomp_data, args[0]));
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0));
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0));
	emit_return(p, no);
	emit_load(p, offsetof(struct seccomp_data, args[1]));
	emit(p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K,
					     (uint32_t) ~(SOCK_CLOEXEC | SOCK_NONBLOCK)));
	emit_case(p, SOCK_STREAM, SECCOMP_RET_ALLOW);
	emit_case(p, SOCK_DGRAM, SECCOMP_RET_ALLOW);
	emit_return(p, no);
}

/* The sanitizers' run-time makes calls of its own. A build with sanitizers has no filter; tests of
 * the filter use the ordinary build. */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static int filter_calls(struct err *e)
{
	struct program p = { .n = 0 };
	struct sock_fprog prog;

	emit_load(&p, offsetof(struct seccomp_data, arch));
	emit(&p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
	emit_return(&p, SECCOMP_RET_KILL_PROCESS);
	emit_load(&p, offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < ARRAY_SIZE(allowed); i++)
		emit_case(&p, (uint32_t)allowed[i], SECCOMP_RET_ALLOW);
	/* ioctl(FIONREAD) is allowed; every other ioctl is refused */
	emit(&p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 4));
	emit_load(&p, offsetof(struct seccomp_data, args[1]));
	emit_case(&p, FIONREAD_REQUEST, SECCOMP_RET_ALLOW);
	emit_return(&p, SECCOMP_RET_ERRNO | ENOTTY);
	for (unsigned i = 0; i < ARRAY_SIZE(refused); i++)
		emit_case(&p, (uint32_t)refused[i], SECCOMP_RET_ERRNO | EPERM);
	emit(&p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0));
	emit_return(&p, SECCOMP_RET_KILL_PROCESS);
	emit_socket_check(&p);
	prog = (struct sock_fprog){ .len = p.n, .filter = p.f };
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return err_sys(e, errno, "seccomp");
	return 0;
}

int confine(const struct gateway_config *c, struct err *e)
{
	if (give_up_ids(c, e) < 0 || give_up_capabilities(e) < 0 || set_limits(e) < 0 ||
	    hide_files(e) < 0 || (!SANITIZED && filter_calls(e) < 0))
		return err_wrap(e, "confine the gateway");
	return 0;
}
