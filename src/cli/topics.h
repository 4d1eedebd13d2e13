/* The texts of `cordon help TOPIC`. A topic is something that several commands have in common. */
#pragma once

#include "base/buf.h"

struct topic {
	const char *name; /* must not be the name of a command */
	const char *summary;
	const char *text; /* printed as it is */
};
extern const struct topic topics[]; /* ended by a NULL name */

/* Returns the topic NAME, or NULL. */
const struct topic *topic_find(const char *name);
/* Writes one line for each topic. */
void topics_list(struct buf *out);
