/*
 * `metrics` shows how much memory, CPU time and so on sandboxes use. The supervisors report these
 * figures. Percentages and rates need two samples. So the rows of each sample are kept until the
 * next sample. The first sample is taken at most half a second before the first output.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/say.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "client/control.h"
#include "client/sandbox.h"
#include "spec/cpus.h"
#include "spec/grammar.h"

#define OUTPUT_MAX_BYTES (64u << 20)
#define CELL_MAX_BYTES 256
#define FIRST_WINDOW_MS 500
#define INTERVAL_MIN_MS 100
#define INTERVAL_DEFAULT_MS 1000
#define MIB (1ull << 20)

struct row {
	char *name; /* owned */
	uint64_t boots;
	const char *state;
	uint32_t cpu_milli;
	uint64_t memory_limit;    /* USAGE_UNKNOWN if no limit is enforced */
	struct usage_message use; /* unknown in all members if the state is not "running" */
	uint64_t at_mono, at_real;
	/* computed from two samples; negative if not known */
	double cpu_percent, disk_read, disk_write, net_rx, net_tx;
};

struct rows {
	struct row *item;
	size_t n;
};

static void rows_done(struct rows *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->item[i].name);
	free(r->item);
	*r = (struct rows){ 0 };
}
#define AUTO_ROWS __attribute__((cleanup(rows_done))) struct rows

/* --- sampling -------------------------------------------------------------------------------- */

static void sample(const struct home *h, const struct record *r, struct row *ret)
{
	struct err e;
	bool limited = starts_with(r->state.enforced.memory, "cgroup");

	*ret = (struct row){
		.name = xstrdup(r->spec.name),
		.boots = r->state.boots,
		.state = status_lower(sandbox_is_up(r) ? STATUS_STOPPED : r->status),
		.cpu_milli = record_in_force(r)->cpu_milli,
		.memory_limit = limited ? record_in_force(r)->memory_mib * MIB : USAGE_UNKNOWN,
		.cpu_percent = -1,
		.disk_read = -1,
		.disk_write = -1,
		.net_rx = -1,
		.net_tx = -1,
	};
	memset(&ret->use, 0xff, sizeof(ret->use)); /* USAGE_UNKNOWN everywhere */
	if (sandbox_is_up(r)) {
		if (control_usage(h, r->spec.name, &ret->use, &e) == 0)
			ret->state = "running";
		else if (e.code == ERR_TIMEOUT)
			ret->state = "stalled";
	}
	ret->at_mono = clock_mono_ns();
	ret->at_real = clock_real_ns();
}

/* Returns the growth per second, or 0 if NOW is less than BEFORE. The result is negative if BEFORE
 * or NOW is unknown, or if NS is 0. */
static double rate(uint64_t before, uint64_t now, uint64_t ns)
{
	if (before == USAGE_UNKNOWN || now == USAGE_UNKNOWN || ns == 0)
		return -1;
	return now > before ? (double)(now - before) * NS_PER_SEC / (double)ns : 0;
}

static void compare(struct row *now, const struct rows *before)
{
	for (size_t i = 0; i < before->n; i++) {
		const struct row *b = &before->item[i];
		uint64_t ns = now->at_mono - b->at_mono;

		if (b->boots != now->boots || strcmp(b->name, now->name) != 0)
			continue;
		now->cpu_percent = rate(b->use.cpu_ns, now->use.cpu_ns, ns) * 100 / NS_PER_SEC;
		now->disk_read = rate(b->use.disk_read_bytes, now->use.disk_read_bytes, ns);
		now->disk_write = rate(b->use.disk_write_bytes, now->use.disk_write_bytes, ns);
		now->net_rx = rate(b->use.net_rx_bytes, now->use.net_rx_bytes, ns);
		now->net_tx = rate(b->use.net_tx_bytes, now->use.net_tx_bytes, ns);
	}
}

static int collect_one(const struct home *h, const char *name, struct rows *ret, struct err *e)
{
	AUTO_RECORD r = RECORD_NONE;

	if (record_load(h, name, &r, e) < 0)
		return -1;
	if (!sandbox_is_up(&r) || r.spec.metrics_disabled)
		return err_set(e, ERR_NOT_RUNNING, "no metrics recorded for sandbox \"%s\"", name);
	ret->item = xcalloc(1, sizeof(*ret->item));
	sample(h, &r, &ret->item[ret->n++]);
	return 0;
}

static int collect_all(const struct home *h, bool stopped_too, struct rows *ret, struct err *e)
{
	AUTO_SANDBOX_LIST all = { 0 };

	if (sandbox_list_load(h, &all, e) < 0)
		return -1;
	ret->item = xcalloc(all.n + 1, sizeof(*ret->item));
	for (size_t i = 0; i < all.n; i++)
		if ((stopped_too || sandbox_is_up(&all.item[i])) &&
		    !all.item[i].spec.metrics_disabled)
			sample(h, &all.item[i], &ret->item[ret->n++]);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

static int by_cpu(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->cpu_percent != y->cpu_percent)
		return x->cpu_percent < y->cpu_percent ? 1 : -1;
	return by_name(a, b);
}

static int by_memory(const void *a, const void *b)
{
	/* an unknown value is the largest number; adding 1 makes it 0, so that its row comes
	 * last */
	uint64_t x = ((const struct row *)a)->use.memory_bytes + 1;
	uint64_t y = ((const struct row *)b)->use.memory_bytes + 1;

	return x != y ? (x < y ? 1 : -1) : by_name(a, b);
}

/* Replaces *ROWS, the rows of the last sample, by new rows. */
static int collect(const struct args *a, const struct home *h, struct rows *rows, struct err *e)
{
	const char *sort = args_str(a, "sort");
	AUTO_ROWS before = *rows;

	*rows = (struct rows){ 0 };
	if (a->word.n) {
		if (collect_one(h, a->word.v[0], rows, e) < 0)
			return -1;
	} else if (collect_all(h, args_has(a, "all"), rows, e) < 0) {
		return -1;
	}
	for (size_t i = 0; i < rows->n; i++) {
		compare(&rows->item[i], &before);
		/* msb has one word for all sandboxes that do not run; cordon uses the words of
		 * `list` */
		if (args_as_msb(a) && rows->item[i].use.uptime_ns == USAGE_UNKNOWN &&
		    strcmp(rows->item[i].state, "stalled") != 0)
			rows->item[i].state = "exited";
	}
	qsort(rows->item, rows->n, sizeof(*rows->item),
	      sort && strcmp(sort, "cpu") == 0   ? by_cpu
	      : sort && strcmp(sort, "mem") == 0 ? by_memory
						 : by_name);
	return 0;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void key_number(struct json_writer *w, const char *key, uint64_t v)
{
	json_key(w, key);
	if (v == USAGE_UNKNOWN)
		json_null(w);
	else
		json_uint(w, v);
}

static void key_real(struct json_writer *w, const char *key, double v)
{
	json_key(w, key);
	if (v < 0)
		json_null(w);
	else
		json_double(w, v);
}

static void write_row(struct json_writer *w, const struct row *r)
{
	uint64_t used = r->use.memory_bytes, limit = r->memory_limit;
	uint64_t up = r->use.uptime_ns;
	char when[CLOCK_RFC3339_BYTES];

	clock_rfc3339_ns(r->at_real, when);
	json_begin_object(w);
	key_real(w, "cpu_percent", r->cpu_percent);
	cpus_write_json(w, "cpus", r->cpu_milli);
	key_number(w, "disk_read_bytes", r->use.disk_read_bytes);
	key_number(w, "disk_write_bytes", r->use.disk_write_bytes);
	key_number(w, "memory_available_bytes",
		   used == USAGE_UNKNOWN || limit == USAGE_UNKNOWN ? USAGE_UNKNOWN
		   : used < limit                                  ? limit - used
								   : 0);
	key_number(w, "memory_bytes", used);
	/* a sandbox has no memory of its own, so all memory that it uses is memory of the host */
	key_number(w, "memory_host_resident_bytes", used);
	key_number(w, "memory_limit_bytes", limit);
	json_key_str(w, "name", r->name);
	key_number(w, "net_rx_bytes", r->use.net_rx_bytes);
	key_number(w, "net_tx_bytes", r->use.net_tx_bytes);
	json_key_str(w, "state", r->state);
	json_key_str(w, "timestamp", when);
	/* null, because metrics would have to walk the layer's directory to know these sizes */
	json_key_null(w, "upper_free_bytes");
	json_key_null(w, "upper_host_allocated_bytes");
	json_key_null(w, "upper_used_bytes");
	key_real(w, "uptime_secs", up == USAGE_UNKNOWN ? -1 : (double)up / NS_PER_SEC);
	key_number(w, "vcpu_time_ns", r->use.cpu_ns);
	json_end_object(w);
}

static int print_json(const struct rows *rows, bool one)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &b, 2);
	if (!one)
		json_begin_array(&w);
	for (size_t i = 0; i < rows->n; i++)
		write_row(&w, &rows->item[i]);
	if (!one)
		json_end_array(&w);
	buf_add_char(&b, '\n');
	return say_output(&b);
}

static int print_lines(const struct rows *rows)
{
	AUTO_BUF b = BUF_INIT(OUTPUT_MAX_BYTES);

	for (size_t i = 0; i < rows->n; i++) {
		struct json_writer w;

		json_writer_init(&w, &b, 0);
		write_row(&w, &rows->item[i]);
		buf_add_char(&b, '\n');
	}
	return say_output(&b);
}

/* --- the table ------------------------------------------------------------------------------- */

static void add_bytes(struct buf *b, double v)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	unsigned u = 0;

	if (v < 0) {
		buf_add_char(b, '-');
		return;
	}
	for (; v >= 1024 && u + 1 < ARRAY_SIZE(units); u++)
		v /= 1024;
	buf_addf(b, u ? "%.1f %s" : "%.0f %s", v, units[u]);
}

static double known(uint64_t v)
{
	return v == USAGE_UNKNOWN ? -1 : (double)v;
}

static void add_pair(struct table *t, double a, double b)
{
	AUTO_BUF cell = BUF_INIT(CELL_MAX_BYTES);

	add_bytes(&cell, a);
	buf_add_str(&cell, " / ");
	add_bytes(&cell, b);
	table_add(t, a < 0 && b < 0 ? "-" : buf_str(&cell));
}

static void add_uptime(struct table *t, uint64_t ns)
{
	AUTO_BUF cell = BUF_INIT(CELL_MAX_BYTES);
	unsigned long long s = ns / NS_PER_SEC;

	if (ns == USAGE_UNKNOWN)
		buf_add_char(&cell, '-');
	else if (s < 60)
		buf_addf(&cell, "%llus", s);
	else if (s < 3600)
		buf_addf(&cell, "%llum %llus", s / 60, s % 60);
	else if (s < 86400)
		buf_addf(&cell, "%lluh %llum", s / 3600, s / 60 % 60);
	else
		buf_addf(&cell, "%llud %lluh", s / 86400, s / 3600 % 24);
	table_add(t, buf_str(&cell));
}

static int print_table(const struct rows *rows)
{
	AUTO_BUF cell = BUF_INIT(CELL_MAX_BYTES);
	char cpus[CPUS_TEXT_BYTES];
	struct table t;

	TABLE_BEGIN(&t, "NAME", "STATE", "CPU", "MEM", "DISK R/W /s", "NET RX/TX /s", "UPTIME");
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *r = &rows->item[i];
		bool running = strcmp(r->state, "running") == 0;

		table_add(&t, r->name);
		table_add(&t, r->state);
		buf_clear(&cell);
		buf_addf(&cell, "%.2f / %sc", r->cpu_percent / 100, cpus_text(r->cpu_milli, cpus));
		table_add(&t, r->cpu_percent < 0 ? NULL : buf_str(&cell));
		add_pair(&t, known(r->use.memory_bytes), running ? known(r->memory_limit) : -1);
		add_pair(&t, r->disk_read, r->disk_write);
		add_pair(&t, r->net_rx, r->net_tx);
		add_uptime(&t, r->use.uptime_ns);
	}
	return table_print(&t);
}

static int print_snapshot(const struct args *a, const struct rows *rows)
{
	if (args_has(a, "format"))
		return print_json(rows, a->word.n > 0);
	if (rows->n)
		return print_table(rows);
	say_note(args_has(a, "all") ? "No sandboxes found." : "No running sandboxes.");
	return 0;
}

/* --- going on -------------------------------------------------------------------------------- */

#define CLEAR "\033[H\033[2J"
#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[?25h"

static void to_terminal(const char *s)
{
	AUTO_BUF b = BUF_INIT(64);

	buf_add_str(&b, s);
	IGNORE(say_output(&b)); /* if this fails, the screen only looks worse */
}

/* Sleeps for MS milliseconds. Returns 0 when the time is over, the number of the signal that ended
 * the sleep early, or -1 if the reader of our output is gone or poll() fails. */
static int nap(int signals, uint64_t ms)
{
	uint64_t end = clock_mono_ns() + ms * NS_PER_MS;

	for (;;) {
		struct pollfd p[] = { { .fd = signals, .events = POLLIN },
				      { .fd = STDOUT_FILENO, .events = 0 } };
		struct signalfd_siginfo info;

		if (clock_mono_ns() >= end)
			return 0;
		if (poll(p, ARRAY_SIZE(p), clock_poll_ms(end)) < 0 && errno != EINTR)
			return -1;
		if (p[0].revents && read(signals, &info, sizeof(info)) == sizeof(info))
			return (int)info.ssi_signo;
		if (p[1].revents & (POLLERR | POLLHUP | POLLNVAL))
			return -1;
	}
}

static int go_on(const struct args *a, const struct home *h, struct rows *rows, uint64_t interval)
{
	bool watch = args_has(a, "watch");
	AUTO_FD signals = console_hold_signals();
	struct err e = { 0 };
	int ended, status = 0;

	if (signals < 0)
		return say_errorf(ERR_SYSTEM, "wait for signals: %s", strerror(errno));
	if (watch)
		to_terminal(HIDE_CURSOR);
	ended = nap(signals, interval < FIRST_WINDOW_MS ? interval : FIRST_WINDOW_MS);
	while (ended == 0 && status == 0 && collect(a, h, rows, &e) == 0) {
		if (watch)
			to_terminal(CLEAR);
		status = watch ? print_snapshot(a, rows) : print_lines(rows);
		ended = nap(signals, interval);
	}
	if (watch)
		to_terminal(SHOW_CURSOR);
	/* if the sandbox whose metrics we print has ended, the command ends without an error */
	if (e.code && e.code != ERR_NOT_RUNNING && e.code != ERR_NOT_FOUND)
		return say_error(&e);
	return ended == SIGTERM ? 128 + SIGTERM : status;
}

static int parse_interval(const struct args *a, uint64_t *ret_ms, struct err *e)
{
	const char *s = args_str(a, "interval");

	*ret_ms = INTERVAL_DEFAULT_MS;
	if (!s)
		return 0;
	if (parse_duration_ms("--interval", s, ret_ms, e) < 0)
		return -1;
	if (*ret_ms == 0)
		return err_set(e, ERR_INVALID, "--interval: invalid duration '%s': must not be 0",
			       s);
	if (*ret_ms < INTERVAL_MIN_MS)
		*ret_ms = INTERVAL_MIN_MS;
	return 0;
}

int cmd_metrics(const struct args *a)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_ROWS rows = { 0 };
	struct err e = { 0 };
	uint64_t interval;

	if (parse_interval(a, &interval, &e) < 0)
		return say_error(&e);
	if (args_has(a, "watch") && isatty(STDOUT_FILENO) != 1)
		return say_errorf(ERR_INVALID,
				  "--watch needs a terminal on stdout; --follow does not");
	if (home_open(&home, &e) < 0 || collect(a, &home, &rows, &e) < 0)
		return say_error(&e);
	if (args_has(a, "watch") || args_has(a, "follow"))
		return go_on(a, &home, &rows, interval);
	if (rows.n) { /* without rows there is nothing to compare */
		/* a signal may shorten the pause; the rates stay right, because they are computed
		 * with the measured time */
		IGNORE(poll(NULL, 0, FIRST_WINDOW_MS));
		if (collect(a, &home, &rows, &e) < 0)
			return say_error(&e);
	}
	return print_snapshot(a, &rows);
}
