/*
 * A session is one command: from EXEC to EXIT, on a stream of a connection or detached.
 */
#pragma once

#include "guest/connection.h"
#include "guest/start.h"

struct session {
	struct session *next;
	struct guest *guest;
	struct connection *connection; /* NULL: detached */
	uint32_t stream;
	uint64_t id;
	struct connection *asker; /* waits for STARTED, or NULL */
	unsigned flags;           /* enum exec_flag */
	struct start start;
	struct scope scope;
	loop_id timer;      /* --timeout */
	loop_id kill_timer; /* rings for the next pass of session_kill() */
	bool timed_out, swept, ended;
	bool emptying; /* EXEC_WHOLE: the command has ended, and its scope is being killed */
	bool finished; /* EXIT was sent */
	/* piped: what the command has as 0, 1 and 2. The start needs them until the command began. pid 1 keeps
	 * the last two until EXIT is sent: so the end of the command closes no pipe, and the client wakes
	 * once, for EXIT */
	int held[3];
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
void sessions_release_known(struct connection *c);
/* The connection is gone: what it ran and did not detach dies; with UNREAD, when the client never
 * took what we sent last, also what a command had left running when it ended. */
void sessions_drop(struct connection *c, bool unread);
/* No command that has not begun yet will begin. */
void sessions_cancel(struct guest *g);
/* Kills every process of the payload's; clients are told the reason. */
void sessions_end(struct guest *g, enum end_reason why);

/* --- for the files of a session only --- */

struct session *session_new(struct connection *c, uint32_t stream, unsigned flags);
/* The command runs: counts it. */
void session_began(struct session *s);
void session_send_started(const struct session *s, struct connection *c);
/* Passes on what comes from the master, once the command has begun. */
void session_watch(struct session *s);
/* The command has ended: passes on what MASTER still holds, and then finishes. */
void session_pass_rest(struct session *s);
/* Kills the command and everything that it started. */
void session_kill(struct session *s);
/* Has the session killed after MS. */
void session_kill_after(struct session *s, uint64_t ms);
/* The command is over, and so is what it left behind if that was asked for: passes on the last output and
 * tells the end. */
void session_conclude(struct session *s);
/* The child is reaped and its output passed on. The session stays while passes over its scope go
 * on, and until the client shows that it took the news: a client's death breaks the pipes too, and
 * the command may die of that before the hang-up comes. That was no normal end. */
void session_finish(struct session *s);
/* Frees a session that nobody needs any more. */
void session_release(struct session *s);
void session_free(struct session *s);
