/*
 * A test program is a main() that calls T_RUN for each case and returns t_end(). The output is TAP.
 * If T_INT or T_STR fails, it prints both values; T_TRUE prints the expression. The case goes on
 * after a failed check, so that one run shows all failures.
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static unsigned t_cases, t_bad_cases;
static bool t_bad;

#define T_RUN(fn)                                                                \
	do {                                                                     \
		t_bad = false;                                                   \
		fn();                                                            \
		t_bad_cases += t_bad;                                            \
		printf("%s %u - %s\n", t_bad ? "not ok" : "ok", ++t_cases, #fn); \
		fflush(stdout);                                                  \
	} while (0)

static inline int t_end(void)
{
	printf("1..%u\n", t_cases);
	return t_bad_cases != 0;
}

#define T_FAIL(...)                                      \
	do {                                             \
		t_bad = true;                            \
		printf("# %s:%d: ", __FILE__, __LINE__); \
		printf(__VA_ARGS__);                     \
		printf("\n");                            \
	} while (0)

#define T_TRUE(x)                                \
	do {                                     \
		if (!(x))                        \
			T_FAIL("false: %s", #x); \
	} while (0)

#define T_INT(got, want)                                                              \
	do {                                                                          \
		intmax_t g_ = (intmax_t)(got), w_ = (intmax_t)(want);                 \
		if (g_ != w_)                                                         \
			T_FAIL("%s: got %" PRIdMAX ", want %" PRIdMAX, #got, g_, w_); \
	} while (0)

#define T_STR(got, want)                                                                \
	do {                                                                            \
		const char *g_ = (got), *w_ = (want);                                   \
		if (!g_ || !w_ || strcmp(g_, w_) != 0)                                  \
			T_FAIL("%s: got \"%s\", want \"%s\"", #got, g_ ? g_ : "(null)", \
			       w_ ? w_ : "(null)");                                     \
	} while (0)
