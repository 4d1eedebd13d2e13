/*
 * From a BoxSpec to the spec of a sandbox. The two backends differ in the image only: `nsjail` always shows this machine's
 * programs, `cordon` takes any image.
 */
#pragma once

#include "service/boxspec.h"
#include "spec/spec.h"
#include "wire/message.h"

struct blueprint {
	const char *backend; /* "nsjail" or "cordon" */
	const char *image;   /* what the default image means to `cordon` */
	bool log_output;
	const struct model_texts
		*net;         /* configured profiles and rules; none: the public internet */
	const char *instance; /* of the server, for a label */
};

/* SANDBOX is the name, SHOWN the session's id for a label. */
MUST_USE int blueprint_draw(const struct blueprint *p, const struct box_spec *b,
			    const char *sandbox, const char *shown, struct spec *ret,
			    struct fault *f);
/* The limits of such a spec's sandbox, while no process runs. */
void blueprint_limits(const struct box_spec *b, struct limits_message *ret);
/* The path that the mount of this number, counted from 1, of such a spec has; NULL: there is none. *RET_EXTRA: it is one of
 * the extra mounts. */
const char *blueprint_mount(const struct box_spec *b, uint64_t number, bool *ret_extra);
