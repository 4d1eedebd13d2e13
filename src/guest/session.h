/*
 * A session is one command, from the frame EXEC to the frame EXIT, or one file agent
 * (guest/agent.h), from the frame FILE to the frame EXIT. It has a stream of a connection, or is
 * detached.
 */
#pragma once

#include "guest/background.h"
#include "guest/connection.h"
#include "guest/start.h"
#include "guest/words.h"

/* how many EOF characters end a terminal's input: the first passes an unfinished line to the
 * program, the second ends the input */
#define TERMINAL_EOFS_MAX 2
/* An attached client may send as much input as its credit, also while the command has not read what
 * others have sent before. These others have sent at most BACKGROUND_INPUT_BYTES. */
#define SESSION_INPUT_MAX_BYTES (BACKGROUND_INPUT_BYTES + FRAME_CREDIT_BYTES)

/* A descriptor whose bytes pid 1 passes on. */
struct outlet {
	struct session *session;
	int fd; /* or -1 */
	loop_id watch;
	bool is_error; /* the command's standard error, on a pipe of its own */
	bool hung_up;  /* no process has the other end open */
};

struct session {
	struct session *next;
	struct guest *guest;
	struct connection *connection; /* NULL if the session is detached, or its client is gone */
	uint32_t stream;
	uint64_t id;
	/* how many connections the gateway had refused before the command began */
	uint32_t refused_before;
	struct connection *asker; /* the connection that waits for the frame STARTED, or NULL */
	unsigned flags;           /* bits of enum exec_flag */
	struct start start;
	struct scope scope;
	loop_id timer;      /* for --timeout */
	loop_id kill_timer; /* runs the next pass of session_kill() */
	bool begun;         /* the command has begun; a client that waited for STARTED has got it */
	bool outlives;      /* the command goes on when its client dies */
	bool timed_out, swept, ended;
	bool emptying; /* EXEC_WHOLE: the command has ended, and its scope is being killed */
	bool finished; /* EXIT was sent */
	/* where EXIT ends in the bytes to the client, as connection_end_of_queue() counts */
	uint64_t exit_end;
	/* The pipes that a piped command has as descriptors 0, 1 and 2, or -1. They must be open
	 * until the command has begun. If the command left no process behind, pid 1 keeps the last
	 * two open until EXIT is sent. So the end of the command closes no pipe, and the client
	 * wakes up only once, for EXIT. */
	int held[3];
	struct exit_message end;
	struct words words;
	uint64_t began_ns;
	/* the entry that keeps output and end for later clients, or NULL */
	struct background *background;
	struct reporter *reporter; /* NULL if the command may not report (session_report.c) */
	/* pid 1 relays the bytes of a terminal, of a file agent, or of a background command's
	 * pipes */
	enum { RELAY_NONE, RELAY_TERMINAL, RELAY_FILES, RELAY_PIPES } relay;
	struct outlet out[2];
	/* only for RELAY_PIPES: the input pipe. A terminal or agent gets its input through
	 * out[0]. */
	int in;
	loop_id in_watch;
	uint32_t credit;  /* bytes of output that pid 1 may still send to the client */
	struct buf input; /* input that the command has not taken yet */
	/* while a client is attached: how many bytes at the beginning of `input` are not from this
	 * client */
	size_t earlier_input;
	bool input_closed;
	bool within_line; /* the last input for a terminal was not the end of a line */
	struct redraw {
		/* a client has attached, and has not yet told the size of its terminal */
		bool wanted;
		loop_id timer;
		unsigned turns;
		/* how much output there was when pid 1 changed the size for a moment, to make the
		 * program draw its screen again */
		uint64_t seen;
		uint32_t rows, cols; /* the size that the client told */
	} redraw;                    /* for session_screen.c */
};

void session_start(struct connection *c, uint32_t stream, struct str body);
void session_attach(struct connection *c, uint32_t stream, struct str body);
/* Handles the frame FILE: starts a file agent instead of a command. pid 1 relays the agent's
 * records as it relays the bytes of a terminal. */
void session_files(struct connection *c, uint32_t stream, struct str body);
struct session *session_find(struct guest *g, struct connection *c, uint32_t stream);
/* Finds the command with this number. Returns NULL if no session has the number, if the command has
 * not begun, if its EXIT was sent, or if the session is a file agent. */
struct session *session_by_number(struct guest *g, uint64_t id);
void session_input(struct session *s, struct str data);
void session_credit(struct session *s, struct str body);
void session_resize(struct session *s, struct str body);
/* Sends SIG to the command. If SCOPE is true, sends SIG to everything that the command started,
 * too. */
void session_signal(struct session *s, uint64_t sig, bool scope);
void session_detach(struct session *s);
/* Handles the frame LEAVE, with which a client leaves after the normal end of a command. FDS are
 * the client's read ends of the command's output pipes, except those at end of file; pid 1 goes on
 * reading them. If there are two descriptors, they are stdout and stderr. If there is one, the
 * flags of the frame say which of the two it is. */
void session_leave(struct connection *c, const struct frame *f, const int *fds, unsigned n);
/* Returns true if an EXIT was sent to the client, and pid 1 must know whether the client has read
 * it. */
bool sessions_must_be_heard(const struct connection *c);
/* Call this with the number of bytes that the client has read for certain. If the client has read
 * the EXIT of a command, it was alive when the command ended. So the command ended normally, and
 * its session is released. */
void sessions_release_known(struct connection *c, uint64_t heard);
/* Call it when the connection is gone. Concerns the client's commands that do not outlive their
 * client: kills those that still run, and the processes left by those whose EXIT the client has not
 * read. HEARD is the number of bytes that the client has read for certain. */
void sessions_drop(struct connection *c, uint64_t heard);
/* Cancels every command that has not begun yet. */
void sessions_cancel(struct guest *g);
/* Kills every process of the payload. The frame EXIT tells clients the reason WHY. */
void sessions_end(struct guest *g, enum end_reason why);

/* --- only for the files session*.c --- */

struct session *session_new(struct connection *c, uint32_t stream, unsigned flags);
/* Counts the command as running. */
void session_began(struct session *s);
void session_send_started(const struct session *s, struct connection *c);

/* session_output.c */
/* Passes on the bytes from MASTER. MASTER is a terminal or, if FILES is true, the socket of a
 * file agent. The session takes over MASTER. */
void session_relay(struct session *s, int master, bool files);
/* Passes on the bytes from the pipes of a background command. The session takes over the pipes.
 * IN is -1 if the command has no input; ERROR may be -1. */
void session_relay_pipes(struct session *s, int in, int out, int error);
/* Tells the loop which events on the session's descriptors are needed now. Output is not watched
 * before the command has begun. */
void session_watch(struct session *s);
/* Call this when the command has ended. Passes on the output that is still in the session's
 * descriptors, then calls session_finish(). */
void session_pass_rest(struct session *s);
/* Closes the descriptors of the session. If other processes may still write to a pipe, pid 1 reads
 * on from it for the log. */
void session_end_relay(struct session *s);
/* Separates the client from the command. The command goes on. */
void session_part(struct session *s);
/* Makes a background entry for a command with a terminal, if the command has none. The entry is
 * hidden if the command shall not outlive its client. Later calls can make the entry visible. If
 * there is no room for the entry, the output goes only to the log, and the exit status is not
 * kept. */
void session_keep(struct session *s);

/* session_screen.c */
/* Queues the frame STARTED for a client that attaches. The frame also says how many bytes of kept
 * output the caller will send after it (struct attached_message). B is NULL if the command has no
 * background entry. */
void session_add_attached(struct connection *c, uint32_t stream, uint64_t id,
			  const struct background *b, const struct attach_message *m);
/* Call it when a client has attached. As soon as this client tells the size of its terminal, pid 1
 * asks the program to draw its screen again. */
void session_redraw(struct session *s);

/* session_report.c */
/* Allows the command to report. Call it before the command starts. */
MUST_USE int session_may_report(struct session *s, struct err *e);
/* Accepts the connections that wait at the listening socket for reports. Call this before a command
 * is reaped, because a report is accepted only while the process of its command is not reaped. */
void reporters_collect(struct guest *g);
/* Call this when the command has ended. Reads the rest of the command's report. */
void session_read_report(struct session *s);
/* If the report is complete, sends it to the client and keeps it in the background entry. */
void session_send_report(struct session *s);
void session_end_reporter(struct session *s);

/* session_input.c */
/* Writes as much of the held input as the command takes. Does nothing before the command began. */
void session_feed(struct session *s);
/* Call this when no process reads the command's input pipe any more. Drops the held input. */
void session_input_gone(struct session *s);
/* Takes up to N bytes of input for a command without an attached client. Returns how many bytes it
 * took, or -1 (ERR_LIMIT). */
ssize_t session_hold(struct session *s, const char *p, size_t n, struct err *e);
void session_input_end(struct session *s);
/* Returns how many bytes session_hold() would take; 0 if the input is closed. */
size_t session_room(const struct session *s);
/* Call it before a client attaches, to reserve memory for the input that the client may send.
 * Returns 0, or -1 (ERR_LIMIT) if the pool has too few bytes left, or if more than
 * BACKGROUND_INPUT_BYTES of earlier input are still unread. */
MUST_USE int session_expect_input(struct session *s, struct err *e);
/* Frees the memory for input if none is held. If a client is attached, keeps the memory that is
 * reserved for its credit. */
void session_spare_input(struct session *s);

/* Kills the command and everything that it started. */
void session_kill(struct session *s);
/* Sets a timer that kills the command after MS milliseconds. The command then counts as timed
 * out. */
void session_kill_after(struct session *s, uint64_t ms);
/* Called when the command has ended or, with the flag EXEC_WHOLE, only when everything that the
 * command started has ended, too. Passes on the last output and sends EXIT. */
void session_conclude(struct session *s);
/* Called when the command is reaped and its output was passed on. Sends EXIT. pid 1 keeps the
 * session until it knows that the client has read EXIT. The reason: when a client dies, the
 * command's pipes break, and this may end the command before pid 1 sees that the client is gone.
 * When pid 1 then sees that the client is gone, it needs the session to kill the processes that the
 * command left behind. If a kill of the scope has begun, pid 1 keeps the session until the kill is
 * done. */
void session_finish(struct session *s);
/* Frees a session that is not needed any more. */
void session_release(struct session *s);
void session_free(struct session *s);
