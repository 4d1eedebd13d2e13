#include "guest/inquiry.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/session.h"

#define UNTIL (LOOK_UNTIL_OUTPUT | LOOK_UNTIL_END | LOOK_UNTIL_ROOM)
#define ANSWER_BYTES (BACKGROUND_OUTPUT_BYTES + BACKGROUND_WORDS_MAX_BYTES + 4096)

/* A LOOK that waits. */
struct look {
	struct look *next;
	struct connection *connection;
	uint32_t stream;
	struct look_message message;
};

/* --- answers --------------------------------------------------------------------------------- */

static void refuse(struct connection *c, uint32_t stream, enum err_code code, const char *text)
{
	struct err e;

	err_set(&e, code, "%s", text);
	connection_send_error(c, stream, &e);
}

static void refuse_number(struct connection *c, uint32_t stream, uint64_t id)
{
	struct err e;

	err_set(&e, ERR_NOT_FOUND, "session not found: %llu", (unsigned long long)id);
	connection_send_error(c, stream, &e);
}

static void tell_session(const struct session *s, struct command_message *m)
{
	pid_t pid = start_pid(&s->start);
	bool shown = s->background && !s->background->hidden;

	if (!shown)
		*m = (struct command_message){
			.id = s->id,
			.flags = (s->relay == RELAY_TERMINAL ? COMMAND_TERMINAL : 0u) |
				 (s->words.cut ? COMMAND_CUT : 0u) | COMMAND_NO_INPUT,
			.age_ms = (clock_mono_ns() - s->began_ns) / NS_PER_MS,
			.words = { s->words.p, s->words.n },
		};
	m->pid = pid > 0 ? (uint64_t)pid : 0;
	if (s->connection)
		m->flags |= COMMAND_ATTACHED;
	if (!shown)
		return;
	m->room = s->connection ? 0 : session_room(s);
	if (s->input_closed)
		m->flags |= COMMAND_NO_INPUT;
}

/* Fills M with what pid 1 knows of the command with number ID. Returns false if pid 1
 * does not know this command, or if the command has not begun. */
static bool tell(struct guest *g, uint64_t id, struct command_message *m)
{
	const struct session *s = session_by_number(g, id);
	const struct background *b = background_find(&g->backgrounds, id);

	*m = (struct command_message){ 0 };
	if (b && !b->ended && !s)
		return false; /* the command has not begun, and perhaps never will */
	if (b)
		background_tell(b, clock_mono_ns(), m);
	if (s && !(b && b->ended))
		tell_session(s, m);
	return b || s;
}

static void answer(struct connection *c, uint32_t stream, const struct command_message *m)
{
	AUTO_BUF b = BUF_INIT(ANSWER_BYTES);

	command_encode(&b, m);
	connection_add(c, FRAME_COMMAND, 0, stream, b.p, b.n);
}

/* --- LIST ------------------------------------------------------------------------------------ */

void inquiry_list(struct connection *c, uint32_t stream)
{
	struct guest *g = c->guest;
	struct command_message m;

	for (const struct background *b = g->backgrounds.first; b; b = b->next)
		if (tell(g, b->id, &m))
			answer(c, stream, &m);
	for (const struct session *s = g->sessions; s; s = s->next)
		if (!s->background && session_by_number(g, s->id) == s && tell(g, s->id, &m))
			answer(c, stream, &m);
	connection_send(c, FRAME_PONG, 0, stream, NULL, 0);
}

/* --- LOOK ------------------------------------------------------------------------------------ */

/* Returns true if pid 1 must answer the LOOK now: the command has ended, its state NOW is the one
 * that the LOOK waits for, or the LOOK does not wait. */
static bool is_so(const struct command_message *now, const struct look_message *m)
{
	if (now->flags & COMMAND_ENDED || !(m->flags & UNTIL))
		return true;
	/* If the command is not in the background, pid 1 keeps neither its output nor its input,
	 * and knows only its end. So a LOOK for the end waits, and any other LOOK is answered
	 * now. */
	if (!(now->flags & COMMAND_BACKGROUND))
		return !(m->flags & LOOK_UNTIL_END);
	return (m->flags & LOOK_UNTIL_OUTPUT && now->total > m->offset) ||
	       (m->flags & LOOK_UNTIL_ROOM && (now->room || now->flags & COMMAND_NO_INPUT));
}

/* Answers a LOOK. If the LOOK has the flag LOOK_TAKE and the command has ended, pid 1 then
 * forgets the command, unless another client is just getting the exit status (b->taker). */
static void show(struct connection *c, uint32_t stream, const struct look_message *m,
		 struct command_message *now)
{
	struct guest *g = c->guest;
	struct background *b = background_find(&g->backgrounds, m->id);
	AUTO_FREE char *data = NULL;
	size_t n = b ? background_part(b, m, &now->offset) : 0;

	if (n > 0)
		data = malloc(n);
	if (data)
		now->data = (struct str){ data, ring_copy(&b->out, now->offset, data, n) };
	answer(c, stream, now);
	connection_flush(c);
	if (b && b->ended && m->flags & LOOK_TAKE && !b->taker) {
		background_free(&g->backgrounds, b);
		server_has_room(g);
	}
}

static void drop_look(struct guest *g, struct look **at)
{
	struct look *l = *at;

	*at = l->next;
	g->n_looks--;
	free(l);
}

/* Finds the LOOK that waits on this stream of C. Returns the place in the list that points to the
 * LOOK. If there is no such LOOK, returns the place of the NULL at the end of the list. */
static struct look **find_look(struct connection *c, uint32_t stream)
{
	struct look **at = &c->guest->looks;

	while (*at && ((*at)->connection != c || (*at)->stream != stream))
		at = &(*at)->next;
	return at;
}

void inquiry_look(struct connection *c, uint32_t stream, struct str body)
{
	struct guest *g = c->guest;
	struct look **at = find_look(c, stream), *l;
	struct command_message now;
	struct look_message m;

	if (*at)
		drop_look(g, at);
	if (look_decode(body, &m) < 0) {
		refuse(c, stream, ERR_PROTOCOL, "bad question about a command");
	} else if (!tell(g, m.id, &now)) {
		refuse_number(c, stream, m.id);
	} else if (is_so(&now, &m)) {
		show(c, stream, &m, &now);
	} else if (g->n_looks >= LOOKS_MAX) {
		refuse(c, stream, ERR_LIMIT, "too many clients wait for background commands");
	} else {
		l = xcalloc(1, sizeof(*l));
		*l = (struct look){
			.next = g->looks, .connection = c, .stream = stream, .message = m
		};
		g->looks = l;
		g->n_looks++;
	}
}

/* Answers the LOOK *AT. Does not answer if what the LOOK waits for has not come yet, or if too many
 * bytes are queued for the client. Returns true if the LOOK was removed from the list. */
static bool try_look(struct guest *g, struct look **at)
{
	struct look l = **at;
	struct command_message now;
	bool there = tell(g, l.message.id, &now);

	if ((there && !is_so(&now, &l.message)) || connection_hold(l.connection))
		return false;
	drop_look(g, at);
	if (there)
		show(l.connection, l.stream, &l.message, &now);
	else /* another client has taken the exit status, or pid 1 did not keep it */
		refuse_number(l.connection, l.stream, l.message.id);
	return true;
}

void looks_answer(struct guest *g, uint64_t id)
{
	for (struct look **at = &g->looks; *at;)
		if ((*at)->message.id != id || !try_look(g, at))
			at = &(*at)->next;
}

void looks_resume(struct connection *c)
{
	for (struct look **at = &c->guest->looks; *at;)
		if ((*at)->connection != c || !try_look(c->guest, at))
			at = &(*at)->next;
}

void looks_drop(struct connection *c)
{
	for (struct look **at = &c->guest->looks; *at;) {
		if ((*at)->connection == c)
			drop_look(c->guest, at);
		else
			at = &(*at)->next;
	}
}

/* --- FEED and SIGNAL ------------------------------------------------------------------------- */

/* Gives input to a command. Returns how many bytes were taken, or -1. */
static ssize_t feed(struct session *s, const struct feed_message *m, struct err *e)
{
	ssize_t n;

	if (s->connection)
		return err_set(e, ERR_BUSY, "session %llu is attached elsewhere",
			       (unsigned long long)s->id);
	if (s->input_closed)
		return 0;
	n = session_hold(s, m->data.p, m->data.n, e);
	if (n >= 0 && (size_t)n == m->data.n && m->end)
		session_input_end(s);
	return n;
}

void inquiry_feed(struct connection *c, uint32_t stream, struct str body)
{
	struct guest *g = c->guest;
	struct command_message now;
	struct feed_message m;
	struct session *s;
	ssize_t n = 0;
	struct err e;

	if (feed_decode(body, &m) < 0) {
		refuse(c, stream, ERR_PROTOCOL, "bad input for a command");
		return;
	}
	s = session_by_number(g, m.id);
	if (!background_find(&g->backgrounds, m.id) || !tell(g, m.id, &now)) {
		refuse_number(c, stream, m.id);
		return;
	}
	if (s && !s->ended && (n = feed(s, &m, &e)) < 0) {
		connection_send_error(c, stream, &e);
		return;
	}
	IGNORE(tell(g, m.id, &now)); /* ask again, because the input has changed the state */
	now.taken = (uint64_t)n;
	answer(c, stream, &now);
	connection_flush(c);
}

void inquiry_signal(struct connection *c, uint32_t stream, const struct signal_message *m,
		    unsigned flags)
{
	struct session *s = session_by_number(c->guest, m->id);
	struct command_message now;

	if (!tell(c->guest, m->id, &now)) {
		refuse_number(c, stream, m->id);
		return;
	}
	/* pid 1 answers before it sends the signal, because the signal may end the command */
	answer(c, stream, &now);
	connection_flush(c);
	if (!s)
		return;
	if (flags & FRAME_FLAG_WHOLE)
		s->flags |= EXEC_WHOLE;
	session_signal(s, m->signal, flags & FRAME_FLAG_SCOPE);
}
