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
#define GUEST_HELD_MAX 64 /* commands whose descriptors we hold on to: see struct session */
/* When a launcher is asked what became of an order: long after it starts a command, and not long for a
 * client that waits for the command to close its input; then it was stopped, or is starved. */
#define GUEST_ORDER_MS 10
#define GUEST_ORDER_PATIENCE_MS 2000
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
/* server.c: clients */
MUST_USE int server_open(struct guest *g);
/* session.c */
void sessions_reap(struct guest *g);
/* Kills every process of the payload's; clients are told the reason. */
void sessions_end(struct guest *g, enum end_reason why);

struct connection {
	struct connection *next;
	struct guest *guest;
	int fd;
	loop_id watch;
	struct buf in, out;
	int fds[FRAME_FDS_MAX];
	unsigned n_fds;
	bool greeted;
	bool served; /* a command was started for it */
	bool dead;
};

/* For later: goes with what is sent next. */
void connection_add(struct connection *c, enum frame_type type, unsigned flags, uint32_t stream,
		    const void *p, size_t n);
/* Writes what the socket takes. */
void connection_flush(struct connection *c);
void connection_send(struct connection *c, enum frame_type type, unsigned flags, uint32_t stream,
		     const void *p, size_t n);
/* Its last command is over. Not for who was called with the connection: it is gone then. */
void connection_end(struct connection *c);

struct session {
	struct session *next;
	struct guest *guest;
	struct connection *connection; /* NULL: detached */
	uint32_t stream;
	uint64_t id;
	pid_t pid;           /* 0 while a launcher has not been heard of */
	bool ordered;        /* from the launcher of its scope */
	loop_id order_timer; /* until it is asked what became of that */
	unsigned flags;      /* enum exec_flag */
	struct scope scope;
	loop_id timer;      /* --timeout */
	loop_id kill_timer; /* next pass */
	bool timed_out, swept, ended;
	bool emptying;    /* EXEC_WHOLE: its end is told when nobody is left in its scope */
	bool finished;    /* its end is told */
	int early_signal; /* came before its launcher had started it, or 0 */
	int held[3]; /* piped: what the command has as 0, 1, 2. A launcher needs them until it has
			* started it; the last two are held until it has ended, so that its end closes
			* nothing that wakes the client, who then wakes once, for the news */
	struct exit_message end;
	/* terminal, or the socket of a file agent */
	bool files;
	int master;
	loop_id master_watch;
	uint32_t credit;  /* bytes we may still send */
	struct buf input; /* for the terminal, not yet taken by it */
	struct buf ring;  /* output while nobody is attached */
	bool hung_up;     /* nobody has the terminal open */
	bool input_closed;
	bool within_line; /* the last of its input did not end one */
};

void session_start(struct connection *c, uint32_t stream, struct str body);
void session_attach(struct connection *c, uint32_t stream, struct str body);
/* FILE: a file agent takes the place of a command; its records flow as a terminal's bytes do. */
void session_files(struct connection *c, uint32_t stream, struct str body);
struct session *session_find(struct guest *g, struct connection *c, uint32_t stream);
void session_input(struct session *s, struct str data);
void session_credit(struct session *s, struct str body);
void session_resize(struct session *s, struct str body);
/* FLAGS are the frame's. */
void session_signal(struct session *s, unsigned flags, struct str body);
void session_detach(struct session *s);
/* The client left normally; descriptors are read ends that are not at EOF: stdout then stderr, or
 * one of them as the frame's flags say. */
void session_leave(struct connection *c, const struct frame *f, const int *fds, unsigned n);
/* The client is alive after what it was told so far: ends it knows of are final. */
void sessions_settle(struct connection *c);
/* The connection is gone: what it ran and did not detach dies; with UNREAD, when the client never
 * took what we sent last, also what a command had left running when it ended. */
void sessions_drop(struct connection *c, bool unread);
