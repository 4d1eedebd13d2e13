/* Which namespaces a process is in, so that a sandbox can be shown to be in others. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

enum namespace_kind {
	NAMESPACE_MNT,
	NAMESPACE_NET,
	NAMESPACE_PID,
	NAMESPACE_USER,
	NAMESPACE_COUNT
};

#define NAMESPACE_BYTES 32 /* "user:[4026531837]" */

struct namespaces {
	char name[NAMESPACE_COUNT][NAMESPACE_BYTES]; /* as /proc shows it; "": unknown */
};

/* A line of shell that prints the namespaces of the shell, one per line. */
extern const char namespaces_command[];

/* Reads our own from /proc. */
void namespaces_read(struct namespaces *ret);
/* Takes the lines that the command printed. */
void namespaces_parse(struct str lines, struct namespaces *ret);
/* True if both are known, and one process is in another namespace than the other. */
bool namespaces_differ(const struct namespaces *a, const struct namespaces *b,
		       enum namespace_kind kind);
