/*
 * System calls without errno, for code that runs between clone and exec.
 *
 * Such code may share its parent's memory (CLONE_VM), so it must not use errno, malloc, stdio or
 * locks. Every function of this header returns the result of the kernel, or -errno.
 */
#pragma once

#include <linux/sched.h>
#include <stddef.h>
#include <sys/syscall.h>

static inline long raw6(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define RAW_ARG(x) ((long)(x))
#define RAW0(n) raw6(n, 0, 0, 0, 0, 0, 0)
#define RAW1(n, a) raw6(n, RAW_ARG(a), 0, 0, 0, 0, 0)
#define RAW2(n, a, b) raw6(n, RAW_ARG(a), RAW_ARG(b), 0, 0, 0, 0)
#define RAW3(n, a, b, c) raw6(n, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), 0, 0, 0)
#define RAW4(n, a, b, c, d) raw6(n, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), 0, 0)
#define RAW5(n, a, b, c, d, e) \
	raw6(n, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), RAW_ARG(e), 0)
#define RAW6(n, a, b, c, d, e, f) \
	raw6(n, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), RAW_ARG(e), RAW_ARG(f))

/*
 * Calls clone3(). The child has a stack of its own and starts in fn(arg), which must not return.
 * The caller has set ARGS->stack and ARGS->stack_size, aligned to 16 bytes. The parent gets the pid
 * or -errno.
 */
static inline long raw_clone_on_stack(const struct clone_args *args, void (*fn)(void *), void *arg)
{
	register long fn_reg __asm__("r8") = (long)fn;
	register long arg_reg __asm__("r9") = (long)arg;
	long ret;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t" /* marks the end of the stack for debuggers */
			 "mov %%r9, %%rdi\n\t"
			 "call *%%r8\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(SYS_clone3), "D"(args), "S"(sizeof(*args)), "r"(fn_reg), "r"(arg_reg)
			 : "rcx", "r11", "memory");
	return ret;
}

/* Does the same as raw_clone_on_stack() with clone(2), for code that runs under a system call
 * filter: a filter can see the flags of clone, but not the flags of clone3. If FLAGS has
 * CLONE_PIDFD or CLONE_PARENT_SETTID, the kernel writes *RET_ID. */
static inline long raw_old_clone_on_stack(unsigned long flags, void *stack_top, int *ret_id,
					  void (*fn)(void *), void *arg)
{
	register long child_tid __asm__("r10") = 0;
	/* r8 is the TLS argument of clone(), which the kernel ignores without CLONE_SETTLS. So r8
	 * can carry FN to the child. */
	register long fn_reg __asm__("r8") = (long)fn;
	register long arg_reg __asm__("r9") = (long)arg;
	long ret;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r9, %%rdi\n\t"
			 "call *%%r8\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(SYS_clone), "D"(flags), "S"(stack_top), "d"(ret_id), "r"(child_tid),
			   "r"(fn_reg), "r"(arg_reg)
			 : "rcx", "r11", "memory");
	return ret;
}

__attribute__((noreturn)) static inline void raw_exit(int status)
{
	for (;;)
		RAW1(SYS_exit_group, status);
}
