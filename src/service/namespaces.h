/* The namespaces of a process. By comparing them we can prove that a sandbox has its own
 * namespaces. */
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
/* Returns true if both namespaces of this kind are known and differ. */
bool namespaces_differ(const struct namespaces *a, const struct namespaces *b,
		       enum namespace_kind kind);
