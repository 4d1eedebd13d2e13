/* Tests what pid 1 keeps of background commands: the last output with its offsets, and the status
 * until pid 1 forgets the command. What pid 1 keeps is bounded. */
#include "guest/background.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "t.h"

static const char *const argv[] = { "sh", "-c", "exit", NULL };
static struct backgrounds table;
static struct err err;

static struct background *add_entry(uint64_t id, bool joined, uint64_t keep_ms, bool hidden)
{
	struct words words;
	struct background_spec s = { .id = id,
				     .hidden = hidden,
				     .joined = joined,
				     .keep_ms = keep_ms,
				     .words = &words,
				     .began_ns = NS_PER_SEC };
	struct background *b = NULL;
	int r;

	err = (struct err){ 0 };
	words_take(&words, argv);
	r = background_new(&table, &s, &b, &err);
	words_done(&words);
	return r < 0 ? NULL : b;
}

static struct background *add(uint64_t id, bool joined, uint64_t keep_ms)
{
	return add_entry(id, joined, keep_ms, false);
}

static void clear(void)
{
	while (table.first)
		background_free(&table, table.first);
}

static char *copy(const char *p, size_t n)
{
	char *q = xcalloc(1, n);

	memcpy(q, p, n);
	return q;
}

/* --- output ---------------------------------------------------------------------------------- */

static void a_ring_keeps_the_last_bytes_and_their_offsets(void)
{
	struct background *b = add(1, true, 0);
	static char got[RING_BYTES];
	uint64_t at = 0;

	for (unsigned i = 0; i < 3 * RING_BYTES / 1000; i++) {
		char line[1000];

		memset(line, (int)('a' + i % 26), sizeof(line));
		ring_add(&b->out, line, sizeof(line), false);
	}
	T_INT(b->out.total, 786000);
	T_INT(ring_first(&b->out), 786000 - RING_BYTES);
	T_INT(ring_copy(&b->out, ring_first(&b->out), got, sizeof(got)), RING_BYTES);
	for (at = 0; at < RING_BYTES; at++)
		if (got[at] != (char)('a' + (at + 786000 - RING_BYTES) / 1000 % 26))
			break;
	T_INT(at, RING_BYTES);
	T_INT(ring_copy(&b->out, b->out.total, got, 1), 0);
	clear();
}

static void one_write_larger_than_the_ring(void)
{
	struct background *b = add(1, true, 0);
	AUTO_BUF much = BUF_INIT(2 * RING_BYTES);
	char got[4];

	ring_add(&b->out, "old", 3, false);
	buf_add_fill(&much, 'x', RING_BYTES + 10);
	buf_add_str(&much, "end");
	ring_add(&b->out, much.p, much.n, false);
	T_INT(b->out.total, RING_BYTES + 16);
	T_INT(ring_copy(&b->out, b->out.total - 4, got, 4), 4);
	T_INT(memcmp(got, "xend", 4), 0);
	clear();
}

static void each_byte_remembers_its_stream(void)
{
	struct background *b = add(1, false, 0);
	const char *p;
	bool mark;
	uint64_t at;

	for (unsigned i = 0; i < RING_BYTES / 8 + 2; i++) { /* a little more output than is kept */
		ring_add(&b->out, "outs", 4, false);
		ring_add(&b->out, "errs", 4, true);
	}
	at = ring_first(&b->out);
	for (unsigned i = 0; i < RING_BYTES / 4; i++, at += 4) {
		T_INT(ring_piece(&b->out, at, &p, &mark), 4);
		if (mark != (i % 2 == 1) || memcmp(p, mark ? "errs" : "outs", 4) != 0)
			T_FAIL("piece %u is of the other stream", i);
	}
	T_INT(at, b->out.total);
	clear();
}

static void a_look_names_the_part_that_it_wants(void)
{
	struct background *b = add(1, true, 0);
	struct look_message m = { .id = 1, .offset = 4, .most = 3 };
	uint64_t at;

	ring_add(&b->out, "0123456789", 10, false);
	T_INT(background_part(b, &m, &at), 3);
	T_INT(at, 4);
	m.most = 1000;
	T_INT(background_part(b, &m, &at), 6);
	m.offset = 11; /* no byte with this offset has been printed yet */
	T_INT(background_part(b, &m, &at), 0);
	T_INT(at, 10);
	m = (struct look_message){ .flags = LOOK_TAIL, .most = 3 };
	T_INT(background_part(b, &m, &at), 3);
	T_INT(at, 7);
	m.most = 11;
	T_INT(background_part(b, &m, &at), 10);
	T_INT(at, 0);
	for (unsigned i = 0; i < RING_BYTES / 10; i++)
		ring_add(&b->out, "0123456789", 10, false);
	/* the bytes from the offset 0 on were dropped, so the answer begins later */
	m = (struct look_message){ .most = 5 };
	T_INT(background_part(b, &m, &at), 5);
	T_INT(at, ring_first(&b->out));
	clear();
}

/* --- bounds ---------------------------------------------------------------------------------- */

static void commands_are_bounded(void)
{
	size_t used;

	for (unsigned i = 0; i < BACKGROUND_MAX; i++)
		T_TRUE(add(i + 1, true, 0) != NULL);
	used = table.pool.used;
	T_TRUE(add(100, true, 0) == NULL);
	T_INT(err.code, ERR_LIMIT);
	T_STR(err.msg, "there are 64 background commands already");
	T_INT(table.pool.used, used);
	T_INT(table.n, BACKGROUND_MAX);
	background_free(&table, background_find(&table, 7));
	T_TRUE(add(100, true, 0) != NULL);
	clear();
	T_INT(table.pool.used, 0);
}

static void hidden_entries_leave_room(void)
{
	for (unsigned i = 0; i < BACKGROUND_MAX - BACKGROUND_RESERVED; i++)
		T_TRUE(add_entry(i + 1, true, 0, true) != NULL);
	T_TRUE(add_entry(100, true, 0, true) == NULL);
	T_INT(err.code, ERR_LIMIT);
	T_STR(err.msg, "there are 32 background commands already");
	T_TRUE(add(100, true, 0) != NULL);
	clear();
}

static void all_commands_share_one_pool(void)
{
	size_t left;
	unsigned n = 0, held = 0;

	/* as if clients had left the largest state (guest/state_blob.h) */
	T_TRUE(pool_take(&table.pool, STATE_MAX_BYTES));
	for (unsigned i = 0; i < BACKGROUND_MAX; i++)
		n += add(i + 1, false, 0) != NULL;
	T_INT(n, BACKGROUND_MAX);
	for (struct background *b = table.first; b; b = b->next)
		held += background_hold(&table, b, BACKGROUND_INPUT_BYTES);
	T_TRUE(held > 30 && held < BACKGROUND_MAX);
	/* a hold of bytes that are held already takes no further bytes of the pool */
	T_TRUE(background_hold(&table, table.first, BACKGROUND_INPUT_BYTES));
	/* a hold that does not fit changes nothing */
	T_TRUE(!background_hold(&table, table.first, 2 * BACKGROUND_INPUT_BYTES));
	T_INT(table.first->input_cost, BACKGROUND_INPUT_BYTES);
	left = POOL_BYTES - table.pool.used;
	T_TRUE(left < BACKGROUND_INPUT_BYTES);
	T_TRUE(!pool_take(&table.pool, left + 1));
	background_free(&table, table.first);
	T_TRUE(add(100, true, 0) != NULL); /* one more command fits again */
	background_free(&table, table.first);
	/* a command is refused if it does not fit into the rest of the pool */
	T_TRUE(pool_take(&table.pool, POOL_BYTES - table.pool.used - RING_BYTES));
	left = table.pool.used;
	T_TRUE(add(101, true, 0) == NULL);
	T_INT(err.code, ERR_LIMIT);
	T_STR(err.msg, POOL_REFUSAL);
	T_INT(table.pool.used, left);
	table.pool.used = STATE_MAX_BYTES;
	for (struct background *b = table.first; b; b = b->next)
		table.pool.used += b->cost + b->input_cost;
	clear();
	T_INT(table.pool.used, STATE_MAX_BYTES);
	pool_give(&table.pool, STATE_MAX_BYTES);
}

static void a_part_of_the_reserved_input_can_be_given_back(void)
{
	struct background *b = add(1, true, 0);
	size_t before = table.pool.used;

	T_TRUE(background_hold(&table, b, 300));
	T_TRUE(background_hold(&table, b, 1000));
	T_TRUE(background_hold(&table, b, 200));
	T_INT(table.pool.used - before, 1000);
	background_let_go(&table, b, 1000);
	T_INT(table.pool.used - before, 1000);
	background_let_go(&table, b, 300);
	T_INT(table.pool.used - before, 300);
	background_let_go(&table, b, 301);
	T_INT(table.pool.used - before, 300);
	clear();
	T_INT(table.pool.used, 0);
}

static void a_report_is_given_back_with_its_command(void)
{
	struct background *b = add(1, true, 0);

	T_TRUE(pool_take(&table.pool, 5));
	background_report(&table, b, copy("first", 5), 5);
	T_TRUE(pool_take(&table.pool, 6));
	background_report(&table, b, copy("second", 6), 6);
	T_TRUE(str_eq(b->report, "second"));
	clear();
	T_INT(table.pool.used, 0);
}

/* --- the end --------------------------------------------------------------------------------- */

static void a_status_is_kept_for_its_time(void)
{
	const uint64_t end = 100 * NS_PER_SEC, half_hour = 1800 * NS_PER_SEC;
	struct background *first = add(1, true, 0), *second = add(2, true, 500);

	T_TRUE(add(3, true, UINT64_MAX / 2000000) != NULL); /* the longest time is half an hour */
	T_INT(backgrounds_due(&table), 0);
	background_end(first, &(struct exit_message){ .code = 3 }, end);
	T_INT(backgrounds_due(&table), end + half_hour);
	background_end(second, &(struct exit_message){ 0 }, end);
	T_INT(backgrounds_due(&table), end + NS_PER_SEC / 2);
	backgrounds_expire(&table, end + NS_PER_SEC / 2 - 1);
	T_INT(table.n, 3);
	backgrounds_expire(&table, end + NS_PER_SEC / 2);
	T_TRUE(!background_find(&table, 2));
	T_INT(background_find(&table, 1)->end.code, 3);
	background_end(background_find(&table, 3), &(struct exit_message){ 0 }, end);
	backgrounds_expire(&table, end + half_hour - 1);
	T_INT(table.n, 2);
	backgrounds_expire(&table, end + half_hour);
	T_INT(table.n, 0);
	T_INT(table.pool.used, 0);
}

static void a_look_reports_the_command(void)
{
	struct background *b = add(4, true, 0);
	struct command_message m;

	ring_add(&b->out, "hello", 5, false);
	background_tell(b, 3 * NS_PER_SEC, &m);
	T_INT(m.id, 4);
	T_INT(m.flags, COMMAND_BACKGROUND);
	T_INT(m.age_ms, 2000);
	T_INT(m.total, 5);
	T_INT(m.words.n, 11);
	T_STR(m.words.p + 6, "exit");
	background_end(b, &(struct exit_message){ .signal = 9 }, 4 * NS_PER_SEC);
	background_tell(b, 5 * NS_PER_SEC, &m);
	T_INT(m.flags, COMMAND_BACKGROUND | COMMAND_ENDED | COMMAND_NO_INPUT);
	T_INT(m.end.signal, 9);
	T_INT(m.ended_ms, 1000);
	clear();
}

static void long_words_are_cut(void)
{
	AUTO_BUF much = BUF_INIT(8192);
	const char *const list[] = { "echo", NULL, "more", NULL };
	const char *mine[4];
	struct words w;

	memcpy(mine, list, sizeof(mine));
	buf_add_fill(&much, 'x', BACKGROUND_WORDS_MAX_BYTES - 6);
	mine[1] = buf_str(&much);
	mine[2] = NULL;
	words_take(&w, mine);
	T_TRUE(!w.cut);
	T_INT(w.n, BACKGROUND_WORDS_MAX_BYTES);
	words_done(&w);
	mine[2] = "more";
	words_take(&w, mine);
	T_TRUE(w.cut);
	T_INT(w.n, BACKGROUND_WORDS_MAX_BYTES);
	T_INT(w.p[w.n - 1], 0);
	words_done(&w);
	buf_add_fill(&much, 'x', 3000);
	mine[1] = buf_str(&much);
	words_take(&w, mine);
	T_TRUE(w.cut);
	T_INT(strlen(w.p + 5), BACKGROUND_WORDS_MAX_BYTES - 6);
	words_done(&w);
}

int main(void)
{
	T_RUN(a_ring_keeps_the_last_bytes_and_their_offsets);
	T_RUN(one_write_larger_than_the_ring);
	T_RUN(each_byte_remembers_its_stream);
	T_RUN(a_look_names_the_part_that_it_wants);
	T_RUN(commands_are_bounded);
	T_RUN(hidden_entries_leave_room);
	T_RUN(all_commands_share_one_pool);
	T_RUN(a_part_of_the_reserved_input_can_be_given_back);
	T_RUN(a_report_is_given_back_with_its_command);
	T_RUN(a_status_is_kept_for_its_time);
	T_RUN(a_look_reports_the_command);
	T_RUN(long_words_are_cut);
	return t_end();
}
