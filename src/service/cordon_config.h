/*
 * The section `box.cordon` of a configuration. Its settings exist only for our backends, not for
 * LangBot's own backends. The Box server reads this section, and the runtime in our own process
 * (service/local.h) reads it too.
 */
#pragma once

#include "service/boxconfig.h"
#include "spec/spec.h"

struct cordon_config {
	char *image; /* the image that the backend `cordon` uses instead of BOX_DEFAULT_IMAGE */
	enum spec_engine engine; /* the engine that the backend `cordon` uses */
	/* profiles and rules of the network; if empty, commands can reach the public internet */
	struct model_texts net;
	bool log_output; /* what commands print goes to the logs of their sandboxes */
};

/* Reads the section. Returns 0, or -1 with a FAULT_VALUE in F and *RET unchanged. */
MUST_USE int cordon_config_read(const struct box_config *c, struct cordon_config *ret,
				struct fault *f);
void cordon_config_done(struct cordon_config *c);
