/*
 * Walls for our own programs. After its start, a program puts walls around itself before it reads
 * bytes that an attacker can influence.
 *
 * Each wall takes rights away for good, from this process and from all processes that it starts. If
 * a program cannot set up a wall, it ends. Landlock is the only exception: if the host lacks
 * Landlock, the program runs without this wall, and `cordon doctor` reports this.
 */
#pragma once

#include <linux/filter.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13) /* Linux 5.19 */
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14) /* Linux 6.2 */
#endif

#define CONFINE_CAP(c) (1ull << (c))

/* Drops every capability that is not in KEEP (a set of bits). Programs that we start cannot regain
 * a dropped capability. */
MUST_USE int confine_capabilities(uint64_t keep, struct err *e);

/* Lowers the soft and the hard limit of RESOURCE for this process to MAX. Does not raise a limit
 * that is already lower, because the user may have set it on purpose. */
MUST_USE int confine_limit(int resource, rlim_t max, struct err *e);

/* With this RLIMIT_CORE a crash leaves no core file and starts no program. 0 is not enough: if the
 * host's core pattern begins with `|` (systemd-coredump, apport), the kernel ignores the limit and
 * starts the crash handler as the host's root, with the memory of the crashed process as input. If
 * the limit is exactly 1, the kernel starts no handler. The kernel writes no core file either,
 * because an ELF core file has at least one page. */
#define CONFINE_CORE_BYTES 1

/* Sets the soft and the hard RLIMIT_CORE of this process to CONFINE_CORE_BYTES. If the hard limit
 * is 0, only a process with the capability CAP_SYS_RESOURCE on the host can raise the limit.
 * Without this capability the limit stays 0, and the function succeeds: a crash then writes no core
 * file but may start a crash handler. */
MUST_USE int confine_core(struct err *e);

/* Replaces FD, a directory, by a detached clone of its mount, in which `..` cannot lead above FD.
 * Returns 0 or -errno. Returns -EPERM if an ordinary user runs this program. */
MUST_USE int confine_enclose(int fd);

/* Collects the directory trees that this process may still use, and the rights on each tree. After
 * confine_files_end() the process can open, make or remove nothing outside of these trees.
 * Descriptors that are already open stay usable. */
struct confine_files {
	int ruleset;      /* -1 if this host has no Landlock; all functions then do nothing */
	uint64_t handled; /* the rights that this kernel knows */
};

MUST_USE int confine_files_begin(struct confine_files *f, struct err *e);
/* Gives RIGHTS (LANDLOCK_ACCESS_FS_*) on the file or directory FD and everything beneath it. If
 * FD is a plain file, RIGHTS may have only rights on files. The kernel does not restrict a right
 * that it does not know. */
MUST_USE int confine_files_allow(struct confine_files *f, int fd, uint64_t rights, struct err *e);
/* Does the same as confine_files_allow() for a path. A missing path is no error. */
MUST_USE int confine_files_allow_path(struct confine_files *f, const char *path, uint64_t rights,
				      struct err *e);
MUST_USE int confine_files_end(struct confine_files *f, struct err *e);
/* Frees the ruleset if confine_files_end() was not called. */
void confine_files_done(struct confine_files *f);

/* Installs a filter made by tools/gen-seccomp.py. Call it after confine_capabilities(). Builds
 * with a sanitizer install no filter, because the sanitizer makes system calls that the filter
 * would refuse. */
MUST_USE int confine_calls(const struct sock_filter *filter, unsigned short n, struct err *e);

/* The filter for programs that only read something and write text, compiled from
 * tools/reader.table. */
extern const struct sock_filter reader_filter[];
extern const unsigned short reader_filter_len;
