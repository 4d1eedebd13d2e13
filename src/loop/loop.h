/*
 * An event loop for one thread, with one level-triggered epoll descriptor.
 *
 * The loop calls a callback when a descriptor is ready, a timer fires, a child ends (by pidfd) or a
 * signal comes (by signalfd). Each of these is an entry of the loop. The id of an entry holds a
 * slot and a generation, never a pointer. If an entry is removed, a later event for it in the same
 * turn has an old generation and is dropped. So a callback may remove any entry. Callbacks do
 * bounded work and never block. The loop owns no descriptor: the caller removes the entry, then
 * closes the descriptor.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct loop;

typedef uint64_t loop_id; /* 0 is never valid */

typedef void loop_fd_fn(void *arg, int fd, uint32_t events);
typedef void loop_timer_fn(void *arg);
typedef void loop_signal_fn(void *arg, int sig);

#define LOOP_READ 0x001u     /* EPOLLIN */
#define LOOP_WRITE 0x004u    /* EPOLLOUT */
#define LOOP_HANGUP 0x010u   /* EPOLLHUP, which is always reported */
#define LOOP_EDGE (1u << 31) /* EPOLLET: reported only when something new arrives */

MUST_USE int loop_new(struct loop **ret); /* 0 or -errno */
void loop_free(struct loop *l);

/* loop_add_fd(), loop_add_timer() and loop_add_signal() return an id, or 0 with errno set. */
loop_id loop_add_fd(struct loop *l, int fd, uint32_t events, loop_fd_fn *fn, void *arg);
void loop_change_fd(struct loop *l, loop_id id, uint32_t events);
/* Calls FN once, after the deadline. The deadline is a time of clock_mono_ns(). */
loop_id loop_add_timer(struct loop *l, uint64_t deadline_ns, loop_timer_fn *fn, void *arg);
/* Blocks the signal SIG for the process, and calls FN when the signal comes. A signal has one
 * handler at a time. */
loop_id loop_add_signal(struct loop *l, int sig, loop_signal_fn *fn, void *arg);
/* Removes the entry *ID and sets *ID to 0. *ID may also be 0, or the id of an entry that was
 * removed already. */
void loop_remove(struct loop *l, loop_id *id);

/* Runs until loop_stop(), or until there is nothing to wait for. Returns 0 or -errno. */
MUST_USE int loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* Returns how many slots the loop has looked at so far. A test does the same work once beside few
 * and once beside many idle entries, and compares the counts. Idle descriptors must not raise the
 * count. N idle timers may raise the count of each operation only by about log N. The count leaves
 * out the doubling of the table of slots. Each doubling touches every new slot, so adding an entry
 * costs the same on average, but not every time. */
uint64_t loop_looked_at(const struct loop *l);

/* For tests. The loop calls this function if the handler at the address HANDLER waited for
 * something, for instance for a lock, a disk or another process. */
typedef void loop_blocked_fn(void *arg, const void *handler);
/* From now on the loop compares the thread's voluntary context switches before and after each
 * handler, and calls FN for every handler that blocked. If FN is NULL, the loop stops comparing. */
void loop_watch_blocking(struct loop *l, loop_blocked_fn *fn, void *arg);
