/*
 * Turns a BoxSpec into the spec of a sandbox. The backends `nsjail` and `cordon` differ in the
 * image and the engine. `nsjail` always uses the image `host` (the programs of this machine) and
 * the engine that cordon chooses. `cordon` uses the image that the BoxSpec names and the engine of
 * the configuration.
 */
#pragma once

#include "service/boxspec.h"
#include "spec/spec.h"
#include "wire/message.h"

struct blueprint {
	const char *backend; /* "nsjail" or "cordon" */
	/* the image that the backend `cordon` uses instead of BOX_DEFAULT_IMAGE */
	const char *image;
	enum spec_engine engine; /* the engine that the backend `cordon` uses */
	/* configured profiles and rules of the network; empty means the public internet */
	const struct model_texts *net;
	const char *instance; /* the server's id, for a label */
	bool log_output;      /* what commands print goes to the sandbox's log */
};

/* Fills *RET. SANDBOX is the sandbox's name. SHOWN is the session's id as peers know it, which
 * becomes a label. Returns 0, or -1 with a fault in *F. */
MUST_USE int blueprint_draw(const struct blueprint *p, const struct box_spec *b,
			    const char *sandbox, const char *shown, struct spec *ret,
			    struct fault *f);
/* Fills *RET with the limits of the sandbox for the BoxSpec *B. These limits hold while no managed
 * process runs. Each managed process raises them: session_allow() in service/session.c. */
void blueprint_limits(const struct box_spec *b, struct limits_message *ret);
/* Returns the host path of the mount NUMBER (1 is the first) of the sandbox for the BoxSpec *B, or
 * NULL if there is no such mount. *RET_EXTRA is true if the mount is one of B->extra_mounts. */
const char *blueprint_mount(const struct box_spec *b, uint64_t number, bool *ret_extra);
