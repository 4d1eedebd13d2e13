/* Tests how records are made, loaded, locked, retired and swept. */
#include "state/record.h"

#include <sys/file.h>
#include <sys/stat.h>

#include "state/record_config.h"
#include "state/record_list.h"
#include "state/record_lock.h"
#include "state/removal.h"
#include "state_home.h"

/* Makes a record as its supervisor leaves it: STATUS is written, and the lock is free. */
static void make(const char *name, enum status status)
{
	struct state state = { .status = status, .booted_once = true, .boots = 1, .uid_base = -1 };
	struct spec s = named(name);
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;
	struct err e = { .msg = "" };

	T_INT(record_create(&home, &s, &dir, &lock, &e), 0);
	T_STR(e.msg, "");
	T_INT(state_write(dir, &state, &e), 0);
	spec_done(&s);
}

static void unmake(const char *name)
{
	struct err e;

	T_INT(record_retire(&home, name), 0);
	T_INT(record_erase(&home, name, &e), 0);
}

static int load(const char *name, enum status *ret, struct err *e)
{
	AUTO_RECORD r = RECORD_NONE;

	*e = (struct err){ .msg = "" };
	if (record_load(&home, name, &r, e) < 0)
		return -1;
	*ret = r.status;
	T_STR(r.spec.name, name);
	return 0;
}

static void load_fails(const char *name, enum err_code code, const char *msg)
{
	enum status status;
	struct err e;

	T_INT(load(name, &status, &e), -1);
	T_INT(e.code, code);
	T_STR(e.msg, msg);
}

static void names_are_checked(void)
{
	enum status status;
	struct err e;

	load_fails("none", ERR_NOT_FOUND, "sandbox not found: none");
	T_INT(load("../none", &status, &e), -1);
}

static void create_claims_the_name(void)
{
	struct spec s = named("a");
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;
	struct record_list all;
	struct err e;

	make("a", STATUS_STOPPED);
	T_INT(record_create(&home, &s, &dir, &lock, &e), -1);
	T_INT(e.code, ERR_EXISTS);
	T_INT(record_list_all(&home, &all, &e), 0);
	T_INT(all.n, 1);
	T_STR(all.name[0], "a");
	record_list_done(&all);
	spec_done(&s);
	unmake("a");
}

static void a_held_lock_means_a_live_sandbox(void)
{
	static const struct {
		enum status written, dead, live;
	} rows[] = {
		{ STATUS_RUNNING, STATUS_CRASHED, STATUS_RUNNING },
		{ STATUS_DRAINING, STATUS_CRASHED, STATUS_DRAINING },
		{ STATUS_STOPPED, STATUS_STOPPED, STATUS_STARTING },
		{ STATUS_STARTING, STATUS_CRASHED, STATUS_STARTING },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO_FD dir = -1;
		AUTO_FD lock = -1;
		enum status status = STATUS_COUNT;
		struct err e;

		make("a", rows[i].written);
		T_INT(load("a", &status, &e), 0);
		T_INT(status, rows[i].dead);
		T_INT(record_open_lock(&home, "a", &dir, &lock, &e), 0);
		T_INT(record_is_live(dir), 0);
		T_INT(record_lock(&home, "a", dir, lock, 0, &e), 0);
		T_INT(record_is_live(dir), 1);
		T_INT(load("a", &status, &e), 0);
		T_INT(status, rows[i].live);
		unmake("a");
	}
}

static void leftovers_of_a_killed_create_are_not_listed(void)
{
	struct spec s = named("a");
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;
	enum status status;
	struct err e;

	T_INT(record_create(&home, &s, &dir, &lock, &e), 0);
	T_TRUE(record_is_starting(dir));
	T_TRUE(record_is_leftover(dir));
	T_INT(load("a", &status, &e), 0);
	T_INT(status, STATUS_STARTING);
	fd_closep(&lock);
	T_TRUE(!record_is_starting(dir));
	load_fails("a", ERR_NOT_FOUND, "sandbox not found: a");
	put(dir, "state.json", "{"); /* the file exists, so the sandbox ran */
	T_TRUE(!record_is_leftover(dir));
	T_INT(load("a", &status, &e), 0);
	T_INT(status, STATUS_CRASHED);
	spec_done(&s);
	unmake("a");
}

static void newer_formats_are_refused(void)
{
	AUTO_FD dir = -1;
	struct err e;

	make("a", STATUS_STOPPED);
	T_INT(record_open(&home, "a", &dir, &e), 0);
	put(dir, "state.json", "{\"format\":2}");
	T_TRUE(!record_is_leftover(dir));
	load_fails("a", ERR_UNSUPPORTED, "sandbox 'a' was last run by a newer cordon");
	put(dir, "state.json", "{\"format\":1,\"booted_once\":true}");
	put(dir, "config.json", "{\"format\":2}");
	load_fails("a", ERR_UNSUPPORTED, "sandbox 'a': this sandbox was made by a newer cordon");
	unmake("a");
}

/* Every cordon, also a newer one, writes the format as an integer. So a file whose format is no
 * integer is damaged. */
static void formats_that_are_no_integer_are_refused(void)
{
	static const char *const texts[] = { "{\"format\":\"1\"}", "{\"format\":1.5}",
					     "{\"format\":null}" };
	AUTO_FD dir = -1;
	struct err e;

	make("a", STATUS_STOPPED);
	T_INT(record_open(&home, "a", &dir, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		put(dir, "config.json", texts[i]);
		load_fails("a", ERR_INVALID,
			   "sandbox 'a': 'config.json': the format is not an integer");
	}
	unmake("a");
}

static void damaged_configurations_are_refused(void)
{
	static const char *const texts[] = { "", "{", "[]", "{\"format\":1}", "{\"config\":[]}" };
	AUTO_FD dir = -1;
	enum status status;
	struct err e;

	make("a", STATUS_STOPPED);
	T_INT(record_open(&home, "a", &dir, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		put(dir, "config.json", texts[i]);
		if (load("a", &status, &e) != -1 || strncmp(e.msg, "sandbox 'a': ", 13) != 0)
			T_FAIL("'%s' was read, or the message is '%s'", texts[i], e.msg);
	}
	unmake("a");
}

static void configuration_in_force(void)
{
	AUTO_RECORD r = RECORD_NONE;
	struct spec next = named("a");
	AUTO_FD lock = -1;
	struct err e = { .msg = "" };

	make("a", STATUS_RUNNING);
	T_INT(record_open(&home, "a", &r.dir, &e), 0);
	T_INT(record_read_active(r.dir, &r, &e), 0);
	T_TRUE(!r.has_active);
	T_INT(record_lock_config(r.dir, &lock, &e), 0);
	next.ephemeral = true;
	T_INT(record_write_active(r.dir, &next, &e), 0);
	T_INT(record_write_config(r.dir, &next, 5, &e), 0);
	T_INT(record_read_active(r.dir, &r, &e), 0);
	T_INT(record_read_config(r.dir, &r, &e), 0);
	T_TRUE(r.has_active);
	T_TRUE(record_in_force(&r) == &r.active);
	T_TRUE(r.active.ephemeral && r.spec.ephemeral);
	T_INT(r.created_ns, 5);
	T_INT(record_write_active(r.dir, NULL, &e), 0);
	T_INT(record_write_active(r.dir, NULL, &e), 0); /* the file is gone already */
	T_STR(e.msg, "");
	spec_done(&next);
	unmake("a");
}

static void one_holder_at_a_time(void)
{
	AUTO_FD dir = -1;
	AUTO_FD first = -1;
	AUTO_FD other = -1;
	AUTO_FD second = -1;
	struct err e;

	make("a", STATUS_STOPPED);
	T_INT(record_open_lock(&home, "a", &dir, &first, &e), 0);
	T_INT(record_open_lock(&home, "a", &other, &second, &e), 0);
	T_INT(record_lock(&home, "a", dir, first, 0, &e), 0);
	T_INT(record_lock(&home, "a", other, second, 0, &e), -1);
	T_INT(e.code, ERR_BUSY);
	T_INT(record_lock(&home, "a", other, second, 20, &e), -1);
	T_INT(e.code, ERR_BUSY);
	T_STR(e.msg, "sandbox 'a' is in use by another command");
	record_start_begins(first);
	T_TRUE(record_is_starting(other));
	record_start_ends(first);
	T_TRUE(!record_is_starting(other));
	record_await_start(&home, "a");
	/* if a process waits for the lock while the record is removed, it gets an error */
	T_INT(record_retire(&home, "a"), 0);
	fd_closep(&first);
	T_INT(record_lock(&home, "a", other, second, 0, &e), -1);
	T_INT(e.code, ERR_NOT_FOUND);
	T_INT(record_erase(&home, "a", &e), 0);
}

static void a_retired_record_is_not_listed(void)
{
	AUTO_FD old = -1;
	struct record_list all;
	struct err e;

	make("a", STATUS_STOPPED);
	T_INT(record_open(&home, "a", &old, &e), 0);
	T_TRUE(!record_is_retired(&home, "a", old));
	T_INT(record_retire(&home, "a"), 0);
	T_TRUE(record_is_retired(&home, "a", old));
	T_INT(record_retire(&home, "a"), 0); /* no record has this name */
	load_fails("a", ERR_NOT_FOUND, "sandbox not found: a");
	T_INT(record_list_all(&home, &all, &e), 0);
	T_INT(all.n, 0);
	record_list_done(&all);
	make("a", STATUS_STOPPED); /* a new record, because the name is free again */
	T_TRUE(record_is_retired(&home, "a", old));
	T_INT(record_retire(&home, "a"), 0); /* the files of the first retired record still exist */
	T_INT(record_erase(&home, "a", &e), 0);
	T_TRUE(record_sweep(&home, NULL));
}

static unsigned reaped;
static void count(const struct home *h, const char *entry)
{
	T_TRUE(starts_with(entry, ".gone-"));
	reaped++;
}

static size_t entries(void)
{
	AUTO_FREE char *path = xasprintf("%s/sandboxes", home_path);
	struct stat st;

	/* the link count: 2 + the number of subdirectories */
	return stat(path, &st) == 0 ? st.st_nlink : 0;
}

static void a_sweep_erases_unlocked_leftovers(void)
{
	size_t before = entries();
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;
	struct err e;

	make("a", STATUS_STOPPED);
	make("kept", STATUS_STOPPED);
	T_INT(mkdirat(home.fd, "sandboxes/.new-0123", 0700), 0);
	T_INT(record_open_lock(&home, "a", &dir, &lock, &e), 0);
	T_INT(record_lock(&home, "a", dir, lock, 0, &e), 0);
	T_INT(record_retire(&home, "a"), 0);
	T_TRUE(record_sweep(&home, count));
	T_INT(reaped, 0); /* the record is locked */
	T_TRUE(!in_home("sandboxes/.new-0123"));
	T_INT(faccessat(dir, "config.json", F_OK, 0), 0);
	fd_closep(&lock);
	T_TRUE(record_sweep(&home, count));
	T_INT(reaped, 1);
	T_INT(faccessat(dir, "config.json", F_OK, 0), -1);
	T_TRUE(in_home("sandboxes/kept/config.json"));
	unmake("kept");
	T_INT(entries(), before);
}

/* A command that makes a record holds a shared lock on the directory `sandboxes`. */
static void a_sweep_spares_records_in_the_making(void)
{
	AUTO_FD all = home_open_part(&home, "sandboxes");

	T_INT(mkdirat(home.fd, "sandboxes/.new-4567", 0700), 0);
	T_INT(flock(all, LOCK_SH), 0);
	T_TRUE(record_sweep(&home, NULL));
	T_TRUE(in_home("sandboxes/.new-4567"));
	fd_closep(&all);
	T_TRUE(record_sweep(&home, NULL));
	T_TRUE(!in_home("sandboxes/.new-4567"));
}

/* A new sandbox has taken the name of a retired record. Files with this name belong to the new
 * sandbox and must stay. */
static void a_sweep_spares_a_new_sandbox_of_the_same_name(void)
{
	make("a", STATUS_STOPPED);
	T_INT(record_retire(&home, "a"), 0);
	make("a", STATUS_STOPPED);
	reaped = 0;
	T_TRUE(record_sweep(&home, count));
	T_INT(reaped, 0);
	T_TRUE(in_home("sandboxes/a/config.json"));
	unmake("a");
}

int main(void)
{
	T_RUN(begin_home);
	T_RUN(names_are_checked);
	T_RUN(create_claims_the_name);
	T_RUN(a_held_lock_means_a_live_sandbox);
	T_RUN(leftovers_of_a_killed_create_are_not_listed);
	T_RUN(newer_formats_are_refused);
	T_RUN(formats_that_are_no_integer_are_refused);
	T_RUN(damaged_configurations_are_refused);
	T_RUN(configuration_in_force);
	T_RUN(one_holder_at_a_time);
	T_RUN(a_retired_record_is_not_listed);
	T_RUN(a_sweep_erases_unlocked_leftovers);
	T_RUN(a_sweep_spares_records_in_the_making);
	T_RUN(a_sweep_spares_a_new_sandbox_of_the_same_name);
	T_RUN(end_home);
	return t_end();
}
