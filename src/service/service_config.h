/*
 * The configuration of the Box service: the sections `box`, `system` and `service` of LangBot's
 * configuration file.
 *
 * All settings are optional. Without a configuration, calls get the profile `default` and no
 * directory of this machine.
 */
#pragma once

#include "service/cordon_config.h"
#include "service/model.h"
#include "service/profile.h"

/* SERVICE_CONNECT_SEC to SERVICE_WORKSPACE_ID are defaults that the section `service` can change */
#define SERVICE_CONNECT_SEC 30 /* time limit for connecting to a runtime and preparing it */
#define SERVICE_EXEC_SEC 300   /* time limit for the answer to a command */
/* pause between two pings, and time limit for the answer to a ping */
#define SERVICE_PING_SEC 20
#define SERVICE_RECONNECT_MS 3000 /* the pause before the first attempt to connect again */
#define SERVICE_WORKSPACE_ID "default"
#define SERVICE_INSTANCE_ID "cordon-service"   /* our instance id for a Box server that we start */
#define SERVICE_OUTPUT_LIMIT_MAX_CHARS 1000000 /* the highest limit; no model can use more text */

enum runtime_kind {
	RUNTIME_LOCAL, /* the runtime is in our own process */
	/* a Box server that we start; we speak to it through its standard input and output */
	RUNTIME_CHILD,
	RUNTIME_WEBSOCKET, /* a Box server that already runs */
};

/* Where the runtime is, and how to speak to it. */
struct runtime_config {
	enum runtime_kind kind;
	char *endpoint; /* the URL for RUNTIME_WEBSOCKET */
	/* for RUNTIME_CHILD: the command that starts the server; empty means cordon-box */
	struct model_texts command;
	bool shares_filesystem; /* the runtime sees the directories of this machine */
	char *instance;         /* the id by which the runtime knows us, or NULL */
	char *workspace;        /* the id of our Workspace in the runtime */
	int64_t connect_sec, exec_sec, ping_sec, reconnect_ms;
	/* the section `box`, which is sent to the runtime; borrowed; NULL if there is no such
	 * section */
	const struct json_value *box;
};

struct service_config {
	bool enabled;
	struct runtime_config runtime;
	char *backend; /* box.backend, may be empty */
	struct cordon_config cordon;
	char *skills_root; /* real path, or NULL */
	/* an array of the skills that the runtime has, or NULL. The calling code sets and owns
	 * it. */
	const struct json_value *skills;
	const struct profile *profile;
	char *image;             /* the image for calls that name no image, or NULL */
	char *host_root;         /* real path, or NULL */
	char *default_workspace; /* real path, or NULL */
	/* the user named default_workspace on the command line, so we do not make it */
	bool workspace_given;
	struct model_texts roots;   /* real paths below which calls may mount directories */
	int64_t workspace_quota_mb; /* -1 if no quota is configured */
	char *forced_template;      /* NULL if no template is forced */
	int64_t max_workspace_entries;
	int64_t output_limit_chars;
};

/* Reads a configuration. V is an object or NULL and must live as long as *RET. STANDALONE is true
 * if LangBot's option --standalone-box was given. Fails with a FAULT_VALIDATION. */
MUST_USE int service_config_read(const struct json_value *v, bool standalone,
				 struct service_config *ret, struct fault *f);
void service_config_done(struct service_config *c);
/* The directory PATH becomes the default workspace, and calls may mount it. PATH must be a real
 * path. */
void service_config_set_workspace(struct service_config *c, const char *path);
