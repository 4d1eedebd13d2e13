/*
 * The configuration of the Box service: the sections `box`, `system` and `service` of LangBot's configuration file.
 *
 * Everything is optional. Without a configuration, calls get the profile `default` and no directory of this machine.
 */
#pragma once

#include "service/model.h"
#include "service/profile.h"

#define SERVICE_OUTPUT_LIMIT_MAX_CHARS 1000000 /* a model cannot use a longer text */

struct service_config {
	bool enabled;
	const struct profile *profile;
	char *image;                /* the image for calls that name no image, or NULL */
	char *host_root;            /* real path, or NULL */
	char *default_workspace;    /* real path, or NULL */
	struct model_texts roots;   /* real paths below which calls may mount directories */
	int64_t workspace_quota_mb; /* -1 if not configured */
	char *forced_template;      /* or NULL */
	int64_t max_workspace_entries;
	int64_t output_limit_chars;
};

/* Reads a configuration; V is an object or NULL. Fails with a FAULT_VALIDATION. */
MUST_USE int service_config_read(const struct json_value *v, struct service_config *ret,
				 struct fault *f);
void service_config_done(struct service_config *c);
/* Allows calls to mount PATH, a real path, and mounts it at the workspace by default. */
void service_config_set_workspace(struct service_config *c, const char *path);
