#include "base/stack.h"

#include <stdio.h>
#include <string.h>

#include "t.h"

#define DEEP_BYTES (64u << 10)

/* Returns how many KiB of the stack are in memory. */
static unsigned resident(void)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned kib = 0;
	bool found = false;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		found |= strstr(line, "[stack]") != NULL;
		if (found && sscanf(line, "Anonymous: %u", &kib) == 1)
			break;
	}
	if (f)
		fclose(f);
	return kib;
}

/* Writes to DEEP_BYTES of the real stack, also under a sanitizer. */
static __attribute__((noinline, no_sanitize_address)) void go_deep(void)
{
	volatile char room[DEEP_BYTES];

	for (size_t i = 0; i < sizeof(room); i += 1024)
		room[i] = 1;
}

static void stack_pages_of_deeper_calls_are_freed(void)
{
	char mine[64] = "stays";
	unsigned before, after;

	go_deep();
	before = resident();
	stack_trim();
	after = resident();
	T_TRUE(before >= after + DEEP_BYTES / 1024 - 16);
	T_STR(mine, "stays");
	go_deep();
	T_TRUE(resident() > after);
}

int main(void)
{
	T_RUN(stack_pages_of_deeper_calls_are_freed);
	return t_end();
}
