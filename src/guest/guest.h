/*
 * pid 1 of a sandbox: spawns commands, reaps everything, moves bytes.
 *
 * It lives in the outer user namespace under an id the payload's namespace lacks, non-dumpable,
 * from a program nobody inside can write to. Its peers are clients (over the listener the supervisor made) and the
 * supervisor (over the channel it was born with); it trusts neither more than its decoder does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "guest/deputy.h"
#include "guest/exec.h"
#include "guest/scope.h"
#include "loop/loop.h"
#include "wire/message.h"

#define GUEST_CHANNEL_FD 3
#define GUEST_GROUP_FD 4                        /* see boot_message.born_with_cgroup */
#define GUEST_SUPERVISOR_QUEUE_BYTES (1u << 20) /* log frames waiting; beyond it they are dropped */
#define GUEST_CONNECTION_QUEUE_BYTES (64u << 20) /* credits bound it far lower */
#define GUEST_RING_BYTES (256u << 10)            /* output kept for a detached terminal */
#define GUEST_HELD_MAX 64         /* commands whose descriptors we hold on to: see struct session */
#define GUEST_LEFT_PIPES_MAX 4096 /* pipes of background children we read on */

struct guest {
	struct loop *loop;
	int channel;
	loop_id channel_watch;
	struct buf channel_in, channel_out;
	size_t channel_sent; /* bytes of channel_out already gone: moving the rest each time is quadratic */
	bool channel_dropped; /* log frames were dropped since the last marker */
	int listener;
	uint64_t max_fds, base_fds; /* how many we may have; had before the first client */
	int first_connection;       /* of the command that started us, or -1 */
	loop_id listener_watch;
	struct exec_walls walls;
	struct scopes scopes;
	struct deputy deputy; /* pid 0: there is none */
	struct users users;
	int oom_fd;
	uint64_t oom_seen;
	struct boot_message boot;
	struct buf boot_body, update_body; /* what boot's strings point into */
	struct buf notebook;               /* notebook.h */
	uint64_t notebook_version;
	struct connection *connections;
	unsigned n_connections;
	struct session *sessions;
	struct left_pipe *left_pipes;
	unsigned n_left_pipes;
	uint64_t next_session;
	unsigned n_running;
	loop_id presence_timer;
	bool presence_told; /* the supervisor knows that there is somebody */
	bool quits;         /* with its last command */
	bool stopping;
	bool may_not_write; /* commands: the layer is full */
	bool confined;
};

/* boot.c: takes the BOOT message, builds the inner walls, drops what is no longer needed. */
MUST_USE int guest_boot(struct guest *g, struct err *e);
/* The last of it, due before a command can influence what we read; ends us if it cannot be. */
void guest_confine(struct guest *g);
/* channel.c: frames to and from the supervisor */
MUST_USE int channel_open(struct guest *g);
void channel_send(struct guest *g, enum frame_type type, unsigned flags, uint32_t stream,
		  const void *p, size_t n);
void channel_log(struct guest *g, uint64_t id, unsigned flags, const void *p, size_t n);
/* presence.c: for a supervisor that watches the writable layer */
/* A command began; nothing where nobody watches. */
void presence_began(struct guest *g);
/* A process ended, perhaps the last. */
void presence_may_end(struct guest *g);
/* Answers COUNT. */
void presence_count(struct guest *g);
/* session.c: takes the exit status of every child that ended. */
void sessions_reap(struct guest *g);
