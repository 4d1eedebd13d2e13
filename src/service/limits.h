/* The section `box.limits` of a configuration: how many sessions, processes and admission records a
 * server may have at once, how large an uploaded file may be, and how long the server keeps ended
 * processes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "service/fault.h"

struct box_limits {
	int64_t max_sessions;
	int64_t max_managed_processes;
	int64_t max_completed_processes;
	int64_t max_admission_records;
	int64_t max_rpc_file_bytes;
	int64_t completed_process_retention_sec;
};

/* Reads the section V, which is NULL if the configuration has no such section. Missing limits get
 * their defaults. Returns 0, or -1 with a FAULT_VALUE in F. */
MUST_USE int box_limits_decode(const struct json_value *v, struct box_limits *ret, struct fault *f);
/* Lowers max_sessions to the number of sessions that a server can serve if it may open DESCRIPTORS
 * files. Returns true if max_sessions was lowered. */
bool box_limits_fit(struct box_limits *l, uint64_t descriptors);
/* Writes the object that the action `box_status` shows. */
void box_limits_encode(const struct box_limits *l, struct json_writer *w);
