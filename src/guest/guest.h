/*
 * pid 1 of a sandbox. It starts commands, reaps every process, and passes input and output on.
 *
 * pid 1 is in the outer user namespace. The user id of pid 1 does not exist in the payload's
 * namespace. pid 1 is non-dumpable, and no process of the payload can write to the program file of
 * pid 1. pid 1 talks to clients over the listener that the supervisor made, and to the supervisor
 * over GUEST_CHANNEL_FD. It decodes and checks everything that clients and the supervisor send.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "guest/background.h"
#include "guest/deputy.h"
#include "guest/exec.h"
#include "guest/scope.h"
#include "loop/loop.h"
#include "wire/guest_fd.h"
#include "wire/message.h"

#define GUEST_SUPERVISOR_QUEUE_BYTES (1u << 20) /* pid 1 drops log frames beyond this */
/* the most bytes that may wait for one client; credit keeps the queue far smaller in practice */
#define GUEST_CONNECTION_QUEUE_BYTES (64u << 20)
#define GUEST_HELD_MAX 64 /* the most commands whose descriptors pid 1 keeps (session.h) */
/* the most pipes that pid 1 reads for the log because no client reads them (pipes.c) */
#define GUEST_LEFT_PIPES_MAX 4096

struct guest {
	struct loop *loop;
	int channel;
	loop_id channel_watch;
	struct buf channel_in, channel_out;
	/* how many bytes of channel_out were sent. pid 1 removes these bytes only seldom, because
	 * each time it must move the rest of the buffer */
	size_t channel_sent;
	bool channel_dropped; /* log frames were dropped, and the log does not say so yet */
	int listener;
	/* the limit of open descriptors, and how many were open before the first client came */
	uint64_t max_fds, base_fds;
	int first_connection; /* connection of the client that started the sandbox, or -1 */
	loop_id listener_watch;
	struct exec_walls walls;
	struct scopes scopes;
	struct deputy deputy; /* the pid is 0 if the sandbox has no deputy */
	struct users users;
	struct refusals *refusals; /* where refused connections are noted, or NULL */
	int null; /* /dev/null as the input of commands, or -1 until the first command needs it */
	int oom_fd;
	uint64_t oom_seen;
	struct boot_message boot;
	struct buf boot_body, update_body; /* the strings of `boot` point into these */
	struct buf state;                  /* see state_blob.h */
	uint64_t state_version;
	struct backgrounds backgrounds;
	loop_id expiry_timer; /* drops background entries whose time is over */
	struct look *looks;   /* see inquiry.h */
	unsigned n_looks;
	struct reporters {
		int listener; /* -1 until the first command that may report */
		loop_id watch;
		unsigned n; /* commands that may report */
	} reporters;        /* see session_report.c */
	struct connection *connections;
	unsigned n_connections;
	struct session *sessions;
	/* memory of a session that ended. The next session takes it, so that a command costs no
	 * mmap() and munmap() */
	struct session *spare;
	struct left_pipe *left_pipes;
	unsigned n_left_pipes;
	uint64_t next_session;
	unsigned n_running;
	loop_id presence_timer;
	bool presence_told; /* we told the supervisor that a process may write */
	bool quits;         /* the sandbox ends with its last command */
	bool stopping;
	bool may_not_write; /* the layer is full: new commands cannot write to files */
	bool confined;
};

/* boot.c: reads the BOOT message, makes the payload's namespace and gives up capabilities. */
MUST_USE int guest_boot(struct guest *g, struct err *e);
/* Installs pid 1's own filter, if it is not installed yet. Call this before a command can influence
 * what pid 1 reads. If the filter cannot be installed, pid 1 ends. */
void guest_confine(struct guest *g);
/* channel.c: frames to and from the supervisor */
MUST_USE int channel_open(struct guest *g);
void channel_send(struct guest *g, enum frame_type type, unsigned flags, uint32_t stream,
		  const void *p, size_t n);
void channel_log(struct guest *g, uint64_t id, unsigned flags, const void *p, size_t n);
/* presence.c: tells a supervisor that watches the writable layer whether a process can write. Call
 * presence_began() when a command began. It does nothing in a sandbox that is not watched. */
void presence_began(struct guest *g);
/* Call this when a process has ended: the process may have been the last one that can write. */
void presence_may_end(struct guest *g);
/* Answers the frame COUNT, which asks how much commands have written. */
void presence_count(struct guest *g);
/* session.c: reaps every child that has ended. */
void sessions_reap(struct guest *g);
