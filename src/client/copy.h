/*
 * Copies files into a sandbox, out of it, and between two sandboxes. Paths are given as the user
 * wrote them.
 *
 * A sandbox may send anything. tree/build.h says what the host accepts. Notes are messages for
 * people about single entries, and may hold hostile characters.
 */
#pragma once

#include "client/exec.h"
#include "spec/spec.h"
#include "wire/file.h"

struct copy_notes {
	void (*note)(void *arg, bool missed, const char *text);
	void *arg;
};

enum copy_flag { COPY_FOLLOW = 1 << 0 /* if the source is a link, copy what it leads to */ };

/* Each function with a parameter N returns 0 even if some entries could not be copied. For each
 * such entry it passes a note to N. */
struct tree_sink; /* tree/walk.h */
/* Writes the records (wire/file.h) of a tree, without the record DONE. */
typedef int copy_producer(void *arg, const struct tree_sink *to, struct err *e);
/* Sends the request M, followed by what PRODUCE writes. */
MUST_USE int copy_send(struct client *c, const struct file_message *m, copy_producer *produce,
		       void *arg, const struct copy_notes *n, struct err *e);
MUST_USE int copy_in(struct client *c, const char *from, const char *to, unsigned flags,
		     const struct copy_notes *n, struct err *e);
MUST_USE int copy_out(struct client *c, const char *from, const char *to, unsigned flags,
		      const struct copy_notes *n, struct err *e);
MUST_USE int copy_across(struct client *a, const char *from, struct client *b, const char *to,
			 unsigned flags, const struct copy_notes *n, struct err *e);
/* Makes one change in the files of the sandbox. An option of `create` asks for such a change. */
MUST_USE int copy_patch(struct client *c, const struct spec_patch *p, const struct copy_notes *n,
			struct err *e);
