#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "spec/grammar.h"

/* SIGRTMIN of glibc, because most programs in a sandbox use glibc. We do not use our own SIGRTMIN:
 * we may be linked with musl, whose SIGRTMIN is 35. */
#define RTMIN_OF_GUESTS 34
#define SIGNAL_MAX 64

static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "HUP", SIGHUP },   { "INT", SIGINT },   { "QUIT", SIGQUIT },   { "ABRT", SIGABRT },
	{ "KILL", SIGKILL }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },   { "ALRM", SIGALRM },
	{ "TERM", SIGTERM }, { "CONT", SIGCONT }, { "WINCH", SIGWINCH }, { "PWR", SIGPWR },
};

int signal_number(const char *text)
{
	const char *name = starts_with(text, "SIG") ? text + 3 : text;
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (strcmp(signals[i].name, name) == 0)
			return signals[i].number;
	if (strcmp(name, "RTMIN") == 0)
		return RTMIN_OF_GUESTS;
	if (starts_with(name, "RTMIN+") &&
	    parse_u64(name + strlen("RTMIN+"), 0, SIGNAL_MAX - RTMIN_OF_GUESTS, &v) == 0)
		return RTMIN_OF_GUESTS + (int)v;
	return parse_u64(text, 1, SIGNAL_MAX, &v) == 0 ? (int)v : -1;
}
