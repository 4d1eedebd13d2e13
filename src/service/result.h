/*
 * Writes as JSON what a Box peer learns about sessions, executions and processes. All pointers in
 * these structs are borrowed, for the time of the call. Session ids are the ids that the peer
 * knows.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/str.h"
#include "service/boxspec.h"
#include "service/processspec.h"

struct session_info {
	struct str session_id;
	const char *backend_name, *backend_session_id;
	const struct box_spec *spec;       /* the spec with which the session was created */
	uint64_t created_ns, last_used_ns; /* real time */
};
/* Writes the members of a BoxSessionInfo. The calling code begins and ends the JSON object, and may
 * add members. */
void session_info_members(const struct session_info *s, struct json_writer *w);

struct execution {
	struct str session_id;
	const char *backend_name;
	bool timed_out;
	/* if the command timed out and wrote nothing to stderr, stderr gets a message with this
	 * number */
	int64_t timeout_sec;
	int exit_code;       /* has no meaning if timed_out is set */
	struct str out, err; /* rendered by service/capture */
	uint64_t duration_ms;
};
/* Writes a BoxExecutionResult as an object. */
void execution_encode(const struct execution *x, struct json_writer *w);

struct process_info {
	struct str session_id;
	const struct process_spec *spec;
	bool running, attached;
	uint64_t started_ns, exited_ns; /* real time; exited_ns has no meaning while running */
	int exit_code;                  /* has no meaning while running */
	struct str stderr_preview;
};
/* Writes a BoxManagedProcessInfo as an object. */
void process_info_encode(const struct process_info *p, struct json_writer *w);
