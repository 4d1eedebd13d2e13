/* The namespaces of a process. We compare the namespaces of a sandbox with those of the server, to
 * prove that the sandbox has its own namespaces. */
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
	char name[NAMESPACE_COUNT][NAMESPACE_BYTES]; /* the name that /proc shows; "" if unknown */
};

/* A line of shell that prints the shell's namespaces, one per line. */
extern const char namespaces_command[];

/* Reads our own namespaces from /proc. */
void namespaces_read(struct namespaces *ret);
/* Reads the lines that namespaces_command printed. */
void namespaces_parse(struct str lines, struct namespaces *ret);
/* Returns true if the namespaces of this kind in A and in B are known and differ. */
bool namespaces_differ(const struct namespaces *a, const struct namespaces *b,
		       enum namespace_kind kind);
