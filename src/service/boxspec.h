/*
 * A BoxSpec is a peer's request for a session and for a command in it. This file has the defaults
 * and the rules of the fields of a BoxSpec.
 *
 * A spec owns its texts. A session keeps the spec with which it was created. A later spec for the
 * same session must have the same values in every field that box_spec_compare() compares.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "service/fault.h"
#include "service/model.h"

#define BOX_DEFAULT_IMAGE "rockchin/langbot-sandbox:latest"
#define BOX_DEFAULT_PLACE "/workspace"
#define BOX_COMMAND_MAX_BYTES (1u << 20)
/* LangBot sends one mount per skill, and a store has at most 1000 skills */
#define BOX_MOUNTS_MAX 1024u
#define BOX_SKILL_NAME_MAX 64u /* in characters */

enum box_network { BOX_OFFLINE, BOX_ONLINE };
enum box_mode { BOX_MODE_NONE, BOX_MODE_RO, BOX_MODE_RW };

struct box_mount {
	char *host_path, *mount_path;
	enum box_mode mode;
};

struct box_mounts {
	size_t n;
	struct box_mount *item;
};

struct box_spec {
	char *session_id;
	char *cmd; /* empty if only a session is created */
	char *workdir;
	int64_t timeout_sec;
	enum box_network network;
	struct model_env env;
	char *image;
	char *host_path; /* NULL if the session has no directory of the host */
	enum box_mode host_path_mode;
	char *mount_path;
	struct box_mounts extra_mounts;
	char *skill_name; /* NULL if the spec names no skill */
	bool persistent;
	double cpus;
	int64_t memory_mb, pids_limit;
	bool read_only_rootfs;
	int64_t workspace_quota_mb; /* 0 means no quota */
};

/* Appends the absolute path PATH to OUT, without empty and "." components. A ".." is left out
 * together with the component before it. "/" becomes "". */
void box_path_normal(const char *path, struct buf *out);
/* Returns true if PATH is DIR or lies below DIR. Compares only the texts of the paths. */
bool box_path_inside(const char *path, const char *dir);

const char *box_network_name(enum box_network n);
const char *box_mode_name(enum box_mode m);

/* Returns 0, or -1 with a FAULT_VALIDATION in F. Unknown members are ignored. */
MUST_USE int box_spec_decode(const struct json_value *v, struct box_spec *ret, struct fault *f);
void box_spec_done(struct box_spec *s);
void box_spec_copy(const struct box_spec *from, struct box_spec *to);
void box_spec_encode(const struct box_spec *s, struct json_writer *w);
/* Returns how many bytes of memory the texts of the spec take. */
size_t box_spec_held_bytes(const struct box_spec *s);

/* Checks that the spec has a command that is not too long. Returns 0, or -1 with a FAULT_VALIDATION
 * in F. */
MUST_USE int box_spec_check_command(const struct box_spec *s, struct fault *f);
/* Checks that no two mounts have the same target. Mounts with the mode `none` are ignored. Returns
 * 0, or -1 with a FAULT_VALIDATION in F. */
MUST_USE int box_spec_check_targets(const struct box_spec *s, struct fault *f);
/* Compares two specs of the session SHOWN_ID: the session was created with *HAS, and *WANTS is a
 * new spec. Returns 0 if the two specs agree. Otherwise returns -1, and the FAULT_SESSION_CONFLICT
 * in *F names the first field in which they differ. */
MUST_USE int box_spec_compare(const struct box_spec *has, const struct box_spec *wants,
			      struct str shown_id, struct fault *f);
/* Sets the same fault as box_spec_compare(). The calling code uses this function if FIELD is a
 * property of the session that is not part of a spec. Returns -1. */
int box_spec_conflict(struct str shown_id, const char *field, const char *has, struct fault *f);
/* Returns true if A and B have the same set of extra mounts. Mounts with the mode `none` are
 * ignored. */
bool box_spec_same_mounts(const struct box_spec *a, const struct box_spec *b);
