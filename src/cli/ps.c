/* `ps` lists the commands of one sandbox. Without a name, or if this program was called as msb,
 * `ps` means `status`. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/say.h"
#include "base/table.h"
#include "cli/commands.h"
#include "client/call.h"
#include "client/commands.h"
#include "client/sandbox.h"

#define OUTPUT_MAX_BYTES (4u << 20) /* enough for a thousand commands */
/* enough for BACKGROUND_WORDS_MAX_BYTES of a command line, with escapes */
#define CELL_MAX_BYTES 8192u
#define COMMAND_WIDTH 40

/* One command. The row owns `words`, to which m.words points; m.data is empty. */
struct row {
	struct command_message m;
	char *words;
};

struct rows {
	struct row *row;
	size_t n;
	uint64_t now_ns;
};

static void add(void *arg, const struct command_message *m)
{
	struct rows *l = arg;
	struct row *r;

	l->row = xreallocarray(l->row, l->n + 1, sizeof(*l->row));
	r = &l->row[l->n++];
	*r = (struct row){ .m = *m, .words = xmalloc(m->words.n + 1) };
	if (m->words.n)
		memcpy(r->words, m->words.p, m->words.n);
	r->m.words.p = r->words;
	r->m.data = (struct str){ 0 };
}

static void rows_done(struct rows *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->row[i].words);
	free(l->row);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = ((const struct row *)a)->m.id, y = ((const struct row *)b)->m.id;

	return x < y ? -1 : x > y;
}

/* Returns the word of the command line at the offset *AT and moves *AT to the next word. Returns
 * NULL at the end. */
static const char *next_word(const struct row *r, size_t *at)
{
	const char *word = r->words + *at;
	size_t left = r->m.words.n - *at;

	if (left == 0 || !memchr(word, '\0', left))
		return NULL;
	*at += strlen(word) + 1;
	return word;
}

static uint64_t since(const struct rows *l, uint64_t age_ms)
{
	return age_ms * NS_PER_MS < l->now_ns ? l->now_ns - age_ms * NS_PER_MS : 0;
}

static void write_time(struct json_writer *w, const char *key, uint64_t ns)
{
	char when[CLOCK_RFC3339_BYTES];

	clock_rfc3339_ns(ns, when);
	json_key_str(w, key, when);
}

static void write_row(struct json_writer *w, const struct rows *l, const struct row *r)
{
	bool ended = r->m.flags & COMMAND_ENDED;
	const char *word;
	size_t at = 0;

	json_begin_object(w);
	json_key_bool(w, "attached", r->m.flags & COMMAND_ATTACHED);
	json_key_bool(w, "background", r->m.flags & COMMAND_BACKGROUND);
	json_key(w, "command");
	json_begin_array(w);
	while ((word = next_word(r, &at)))
		json_str(w, word);
	json_end_array(w);
	json_key_bool(w, "command_cut", r->m.flags & COMMAND_CUT);
	if (ended)
		write_time(w, "ended_at", since(l, r->m.ended_ms));
	else
		json_key_null(w, "ended_at");
	if (ended)
		json_key_int(w, "exit_code", exec_exit_status(&r->m.end));
	else
		json_key_null(w, "exit_code");
	json_key_int(w, "id", (int64_t)r->m.id);
	if (r->m.pid)
		json_key_int(w, "pid", (int64_t)r->m.pid);
	else
		json_key_null(w, "pid");
	write_time(w, "started_at", since(l, r->m.age_ms));
	json_key_str(w, "state", ended ? "exited" : "running");
	json_key_bool(w, "tty", r->m.flags & COMMAND_TERMINAL);
	json_end_object(w);
}

static int print_json(const struct rows *l)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &b, 2);
	json_begin_array(&w);
	for (size_t i = 0; i < l->n; i++)
		write_row(&w, l, &l->row[i]);
	json_end_array(&w);
	buf_add_char(&b, '\n');
	return say_output(&b);
}

static int print_numbers(const struct rows *l)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);

	for (size_t i = 0; i < l->n; i++)
		buf_addf(&b, "%llu\n", (unsigned long long)l->row[i].m.id);
	return say_output(&b);
}

static void add_row(struct table *t, const struct rows *l, const struct row *r)
{
	AUTO_BUF id = BUF_INIT(32), line = BUF_INIT(CELL_MAX_BYTES), cut = BUF_INIT(CELL_MAX_BYTES);
	AUTO_BUF state = BUF_INIT(32);
	char began[CLOCK_LOCAL_BYTES];
	const char *word;
	size_t at = 0;

	buf_addf(&id, "%llu", (unsigned long long)r->m.id);
	while ((word = next_word(r, &at)))
		buf_addf(&line, "%s%s", line.n ? " " : "", word);
	buf_add_cut(&cut, buf_str(&line), COMMAND_WIDTH);
	clock_local(since(l, r->m.age_ms), began);
	if (r->m.flags & COMMAND_ENDED)
		buf_addf(&state, "exited (%d)", exec_exit_status(&r->m.end));
	else
		buf_add_str(&state, "running");
	TABLE_ROW(t, buf_str(&id), buf_str(&cut), began, buf_str(&state),
		  r->m.flags & COMMAND_TERMINAL ? "yes" : "no",
		  r->m.flags & COMMAND_ATTACHED ? "yes" : "no");
}

static int print_table(const struct rows *l)
{
	struct table t;

	TABLE_BEGIN(&t, "ID", "COMMAND", "SINCE", "STATE", "TTY", "ATTACHED");
	for (size_t i = 0; i < l->n; i++)
		add_row(&t, l, &l->row[i]);
	return table_print(&t);
}

static int print(const struct args *a, const struct rows *l)
{
	if (args_has(a, "format"))
		return print_json(l);
	if (args_has(a, "quiet"))
		return print_numbers(l);
	if (l->n)
		return print_table(l);
	say_note("No commands in sandbox '%s'.", a->word.v[0]);
	return 0;
}

/* Asks pid 1 for the commands. If the sandbox does not run, the list is empty. */
static int load(const struct home *h, const char *name, struct rows *l, struct err *e)
{
	AUTO_RECORD record = RECORD_NONE;
	struct client c;
	int r = client_open(&c, h, name, e);

	if (r < 0 && e->code == ERR_NOT_RUNNING)
		return record_load(h, name, &record, e);
	if (r == 0)
		r = commands_list(&c, add, l, e);
	client_done(&c);
	l->now_ns = clock_real_ns();
	if (l->n)
		qsort(l->row, l->n, sizeof(*l->row), by_number);
	return r;
}

int cmd_ps(const struct args *a)
{
	AUTO_HOME home = { .fd = -1 };
	struct rows l = { 0 };
	struct err e = { 0 };
	int status;

	if (a->word.n == 0 || args_as_msb(a))
		return cmd_status(a);
	if (home_open(&home, &e) < 0 || load(&home, a->word.v[0], &l, &e) < 0)
		status = say_error(&e);
	else
		status = print(a, &l);
	rows_done(&l);
	return status;
}
