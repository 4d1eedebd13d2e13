/* Tests that pid 1 finds the connections that were refused while a command ran. */
#include "wire/refusals.h"

#include <stdio.h>
#include <string.h>

#include "wire/message.h"

#include "t.h"

static void a_command_finds_only_what_happened_since(void)
{
	struct refusals r = { 0 };
	struct refused got;
	uint32_t before;

	refusals_add(&r, "old:1", "allow@old");
	before = refusals_count(&r);
	refusals_since(&r, before, &got);
	T_INT(got.n, 0);
	T_INT(got.shown, 0);
	refusals_add(&r, "a:1", "allow@a");
	refusals_add(&r, "b:1", "allow@b");
	refusals_add(&r, "a:1", "allow@a");
	refusals_since(&r, before, &got);
	T_INT(got.n, 3);
	T_INT(got.shown, 2);
	T_STR(got.item[0].what, "a:1");
	T_STR(got.item[1].what, "b:1");
	T_STR(got.item[1].rule, "allow@b");
}

static void at_most_three_are_shown_and_all_are_counted(void)
{
	struct refusals r = { .count = UINT32_MAX - 4 };
	struct refused got;
	char what[16];

	for (unsigned i = 0; i < 2 * REFUSALS_KEPT; i++) {
		snprintf(what, sizeof(what), "host%u", i);
		refusals_add(&r, what, "");
	}
	refusals_since(&r, UINT32_MAX - 4, &got);
	T_INT(got.n, 2 * REFUSALS_KEPT);
	T_INT(got.shown, REFUSALS_SHOWN);
	T_STR(got.item[0].what, "host15");
	T_STR(got.item[2].what, "host13");
}

static void long_texts_are_cut_and_long_rules_left_out(void)
{
	struct refusals r = { 0 };
	struct refused got;
	char name[1000];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	refusals_add(&r, name, name);
	refusals_since(&r, 0, &got);
	T_INT(strlen(got.item[0].what), REFUSAL_WHAT_BYTES - 1);
	T_STR(got.item[0].rule, "");
}

/* The process that shares the memory may write anything, also texts without an end. */
static void a_hostile_memory_is_read_within_its_bounds(void)
{
	struct refusals r;
	struct refused got;

	memset(&r, 0xff, sizeof(r));
	refusals_since(&r, 7, &got);
	T_TRUE(got.shown <= REFUSALS_SHOWN);
	for (unsigned i = 0; i < got.shown; i++)
		T_TRUE(strlen(got.item[i].what) < REFUSAL_WHAT_BYTES);
}

static void refusals_travel_with_the_exit(void)
{
	struct exit_message m = { .code = 3, .refused = { .n = 9, .shown = 1 } }, got;
	AUTO_BUF b = BUF_INIT(4096);

	strcpy(m.refused.item[0].what, "10.0.0.5:5432");
	strcpy(m.refused.item[0].rule, "allow@10.0.0.5");
	exit_encode(&b, &m);
	T_INT(exit_decode((struct str){ b.p, b.n }, &got), 0);
	T_INT(got.refused.n, 9);
	T_INT(got.refused.shown, 1);
	T_STR(got.refused.item[0].what, "10.0.0.5:5432");
	T_STR(got.refused.item[0].rule, "allow@10.0.0.5");
}

int main(void)
{
	T_RUN(a_command_finds_only_what_happened_since);
	T_RUN(at_most_three_are_shown_and_all_are_counted);
	T_RUN(long_texts_are_cut_and_long_rules_left_out);
	T_RUN(a_hostile_memory_is_read_within_its_bounds);
	T_RUN(refusals_travel_with_the_exit);
	return t_end();
}
