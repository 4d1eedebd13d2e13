/*
 * The grammars of option values: sizes, durations, mounts, ports and so on.
 *
 * Each parser takes the flag as the user knows it ("--memory"), so that every message names flag
 * and value. All are pure and fuzzed.
 */
#pragma once

#include "spec/spec.h"

/* SIZE to MiB, > 0: N (MiB), or a decimal with K M G T, optional i and B; rounded up. */
MUST_USE int parse_size_mib(const char *flag, const char *s, uint64_t *ret, struct err *e);
/* DURATION to whole seconds: N, Ns, Nm, Nh, Nd, Nms (rounded up), compounds such as 1h30m. */
MUST_USE int parse_duration_s(const char *flag, const char *s, uint64_t *ret, struct err *e);
MUST_USE int parse_duration_ms(const char *flag, const char *s, uint64_t *ret, struct err *e);
/* `host`, a path, or a reference. CWD-relative paths become absolute. Replaces kind, reference and
 * digest of RET, which must be zeroed or filled before; its root disk stays. */
MUST_USE int parse_image(const char *s, struct spec_image *ret, struct err *e);
/* Replaces RET, which must be zeroed or filled before. */
MUST_USE int parse_root_disk(const char *flag, const char *s, struct spec_root_disk *ret,
			     struct err *e);

enum mount_flag {
	MOUNT_FLAG_VOLUME,
	MOUNT_FLAG_DIR,
	MOUNT_FLAG_FILE,
	MOUNT_FLAG_DISK,
	MOUNT_FLAG_NAMED
};
/* SOURCE:GUEST[:OPTIONS] by -v, --mount-dir, …; appends to s->mount and refuses a repeated target.
 */
MUST_USE int spec_add_mount(struct spec *s, enum mount_flag flag, const char *value, struct err *e);
MUST_USE int spec_add_tmpfs(struct spec *s, const char *value, struct err *e);
/* Adds *M, which is complete except for its guest path, as spec_add_mount would. Always zeroes
 * *M. */
MUST_USE int spec_take_mount(struct spec *s, const char *flag, const char *guest,
			     struct spec_mount *m, struct err *e);
/* Adds a place that stays writable while the root is read-only. A place below another one is covered by it. */
MUST_USE int spec_add_writable(struct spec *s, const char *flag, const char *value, struct err *e);
MUST_USE int spec_add_port(struct spec *s, const char *value, struct err *e);
/* K=V, or K copied from the caller's environment. FLAG is "--env". Later keys replace earlier. */
MUST_USE int spec_add_env(struct spec_env **list, size_t *n, const char *flag, const char *value,
			  struct err *e);
/* Does the same with the parts already split; cannot fail. KEY is N_KEY bytes. */
void spec_set_env(struct spec_env **list, size_t *n, const char *key, size_t n_key,
		  const char *value);
MUST_USE int spec_add_label(struct spec *s, const char *value, struct err *e);
MUST_USE int parse_rlimit(const char *value, struct spec_rlimit *ret, struct err *e);
const char *rlimit_name(int resource); /* "nofile"; NULL when unknown */
int rlimit_number(const char *name);   /* any case; -1 when unknown */
/* "SIGINT", "INT", "SIGRTMIN+3" or a number, as images name their stop signal; -1 otherwise. */
int signal_number(const char *text);
/* FLAG is --script, --script-raw or --script-path. --script takes its shebang from s->shell, so
 * --shell must be in the spec before. */
MUST_USE int spec_add_script(struct spec *s, const char *flag, const char *value, struct err *e);
/* The spec takes over BODY; on failure it is freed. */
MUST_USE int spec_set_script(struct spec *s, const char *flag, const char *name, char *body,
			     struct err *e);
#define SCRIPT_MAX_BYTES (1u << 20) /* the guest's runtime directory holds 16 MiB in all */
/* "#!SHELL" for a path, "#!/usr/bin/env SHELL" for a name; NULL is the default shell. */
void script_shebang(struct buf *b, const char *shell);
/* FLAG is --copy, --copy-file, --copy-dir (SRC:DST), --mkdir or --rm (PATH). */
MUST_USE int spec_add_patch(struct spec *s, const char *flag, const char *value, struct err *e);
/* Does the same with the parts already split: OP as in struct spec_patch, SOURCE may be NULL. */
MUST_USE int spec_put_patch(struct spec *s, const char *flag, const char *op, const char *source,
			    const char *path, struct err *e);
MUST_USE int parse_hostname(const char *s, struct err *e);
MUST_USE int parse_shell(const char *s, struct err *e);
/* Reads name, uid, name:group or uid:gid. Checks the shape only; pid 1 looks the names up. */
MUST_USE int parse_user(const char *s, struct err *e);

#define DETACH_KEYS_MAX 16
/* Comma list of ctrl-X or single characters. */
MUST_USE int parse_detach_keys(const char *s, unsigned char ret[DETACH_KEYS_MAX], size_t *ret_n,
			       struct err *e);
/* True if the spec has the label of the selector: K=V means that value, K means an empty value. */
bool spec_matches_label(const struct spec *s, const char *selector);
bool spec_matches_labels(const struct spec *s,
			 const struct strv *selectors); /* True if it has all of them. */

/* Absolute guest path without //, . or .. components; NULL when it is not absolute. */
char *path_normalise(const char *p);
/* True when PATH, which is normalised, is DIR or lies below it. */
bool path_below(const char *dir, const char *path);
/* Returns the directory that holds GUEST if pid 1 and all programs depend on it: another mount
 * there would break the sandbox in odd ways. NULL for all other paths. */
const char *path_reserved(const char *guest);
/* True for a path that starts with / ./ ../ or is . or .. : so -v and IMAGE tell a path from a
 * name. */
bool path_is_host(const char *p);
/* P below the current directory unless absolute, without // and . but with .. kept. */
MUST_USE int path_absolute(const char *p, char **ret, struct err *e);
/* Returns "raw", "qcow2" or "vmdk", by the name of a disk image. */
const char *disk_format(const char *path);
/* True when S could be the name of a file system: "ext4". */
bool fstype_valid(const char *s);
