/* A BoxManagedProcessSpec describes a process that a peer wants to run in a session. This file has
 * the defaults and the rules of the fields of such a spec. A spec owns its texts. */
#pragma once

#include <stdint.h>

#include "base/json.h"
#include "service/fault.h"
#include "service/model.h"

#define PROCESS_DEFAULT_ID "default"

struct process_spec {
	char *process_id;
	char *command;
	struct model_texts args;
	struct model_env env;
	char *cwd;
	int64_t memory_mb; /* 0 means the session's limit */
};

/* Reads a spec and ignores unknown members. Returns 0, or -1 with a FAULT_VALIDATION in F. */
MUST_USE int process_spec_decode(const struct json_value *v, struct process_spec *ret,
				 struct fault *f);
void process_spec_done(struct process_spec *s);
/* Returns how many bytes of memory the texts of the spec take. */
size_t process_spec_held_bytes(const struct process_spec *s);
