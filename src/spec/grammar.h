/*
 * The grammars of option values: sizes, durations, mounts, ports and so on.
 *
 * Each parser takes the flag as the user writes it ("--memory"), so that every message names flag
 * and value. No parser has side effects; all are fuzzed.
 */
#pragma once

#include "spec/spec.h"

/* Parses N (MiB), or a decimal number with K, M, G or T and an optional i and B. Gives MiB, rounded
 * up; 0 is an error. */
MUST_USE int parse_size_mib(const char *flag, const char *s, uint64_t *ret, struct err *e);
/* Parses N (seconds), Ns, Nm, Nh, Nd, Nms and compounds such as 1h30m. Seconds are rounded up. */
MUST_USE int parse_duration_s(const char *flag, const char *s, uint64_t *ret, struct err *e);
MUST_USE int parse_duration_ms(const char *flag, const char *s, uint64_t *ret, struct err *e);
/* Parses `host`, a path with or without ",cow", or a reference. Makes relative paths absolute. Frees and replaces kind,
 * reference and digest of RET, so RET must be zeroed or hold an earlier result. The root disk of RET stays. */
MUST_USE int parse_image(const char *s, struct spec_image *ret, struct err *e);
/* Returns true if parse_image() would take S for a path of this machine. */
bool image_is_local(const char *s);
/* Returns what a user writes for the image I. parse_image() makes the same image of it. The result is allocated. */
char *image_word(const struct spec_image *i);
/* Frees and replaces the contents of RET, so RET must be zeroed or hold an earlier result. */
MUST_USE int parse_root_disk(const char *flag, const char *s, struct spec_root_disk *ret,
			     struct err *e);

enum mount_flag {
	MOUNT_FLAG_VOLUME,
	MOUNT_FLAG_DIR,
	MOUNT_FLAG_FILE,
	MOUNT_FLAG_DISK,
	MOUNT_FLAG_NAMED
};
/* Parses SOURCE:GUEST[:OPTIONS] of -v, --mount-dir, … and adds it to S. Refuses a repeated target. */
MUST_USE int spec_add_mount(struct spec *s, enum mount_flag flag, const char *value, struct err *e);
MUST_USE int spec_add_tmpfs(struct spec *s, const char *value, struct err *e);
/* Adds *M at the path GUEST, with the checks of spec_add_mount(). *M must have no guest path yet. Always zeroes *M. */
MUST_USE int spec_take_mount(struct spec *s, const char *flag, const char *guest,
			     struct spec_mount *m, struct err *e);
/* Adds a directory that stays writable while the root is read-only, unless a writable directory of S contains it. */
MUST_USE int spec_add_writable(struct spec *s, const char *flag, const char *value, struct err *e);
MUST_USE int spec_add_port(struct spec *s, const char *value, struct err *e);
/* Adds K=V, or K with its value in the caller's environment. Replaces an earlier K. FLAG is "--env". */
MUST_USE int spec_add_env(struct spec_env **list, size_t *n, const char *flag, const char *value,
			  struct err *e);
/* Adds or replaces KEY, of N_KEY bytes. */
void spec_set_env(struct spec_env **list, size_t *n, const char *key, size_t n_key,
		  const char *value);
MUST_USE int spec_add_label(struct spec *s, const char *value, struct err *e);
MUST_USE int parse_rlimit(const char *value, struct spec_rlimit *ret, struct err *e);
const char *rlimit_name(int resource); /* "nofile"; NULL when unknown */
int rlimit_number(const char *name);   /* any case; -1 when unknown */
/* Parses "SIGINT", "INT", "SIGRTMIN+3" or a number, as images name their stop signal. Returns -1 for
 * anything else. */
int signal_number(const char *text);
/* Adds a script. FLAG is --script, --script-raw or --script-path. --script takes its shebang from
 * s->shell, so the caller must set the shell first. */
MUST_USE int spec_add_script(struct spec *s, const char *flag, const char *value, struct err *e);
/* Adds a script. Owns BODY, even after a failure. */
MUST_USE int spec_set_script(struct spec *s, const char *flag, const char *name, char *body,
			     struct err *e);
#define SCRIPT_MAX_BYTES (1u << 20) /* the guest's runtime directory holds 16 MiB in all */
/* Writes "#!SHELL" for a path, "#!/usr/bin/env SHELL" for a name. NULL is the default shell. */
void script_shebang(struct buf *b, const char *shell);
/* Adds a patch. FLAG is --copy, --copy-file, --copy-dir (SRC:DST), --mkdir or --rm (PATH). */
MUST_USE int spec_add_patch(struct spec *s, const char *flag, const char *value, struct err *e);
/* Adds a patch from its parts. OP has the values of spec_patch.op; SOURCE may be NULL. */
MUST_USE int spec_put_patch(struct spec *s, const char *flag, const char *op, const char *source,
			    const char *path, struct err *e);
MUST_USE int parse_hostname(const char *s, struct err *e);
MUST_USE int parse_shell(const char *s, struct err *e);
/* Reads name, uid, name:group or uid:gid. Checks the shape only; pid 1 looks the names up. */
MUST_USE int parse_user(const char *s, struct err *e);

#define DETACH_KEYS_MAX 16
/* Parses a comma list of ctrl-X or single characters. */
MUST_USE int parse_detach_keys(const char *s, unsigned char ret[DETACH_KEYS_MAX], size_t *ret_n,
			       struct err *e);
/* Returns true if S has the label SELECTOR: K=V, or K for an empty value. */
bool spec_matches_label(const struct spec *s, const char *selector);
bool spec_matches_labels(const struct spec *s,
			 const struct strv *selectors); /* true if S has all labels */

/* Returns the absolute guest path P without //, . and .. components; NULL if P is not absolute. */
char *path_normalise(const char *p);
/* Returns true if PATH, which is normalised, is DIR or below DIR. */
bool path_below(const char *dir, const char *path);
/* Returns the reserved directory that holds GUEST, or NULL. Pid 1 and all programs depend on these
 * directories, so nothing may be mounted there. */
const char *path_reserved(const char *guest);
/* Returns true if P starts with "/", "./" or "../", or is "." or "..". -v and IMAGE take such a P for a path, and any
 * other P for a name. */
bool path_is_host(const char *p);
/* Makes P absolute from the current directory. Removes // and . components but keeps .. components. */
MUST_USE int path_absolute(const char *p, char **ret, struct err *e);
/* Returns "raw", "qcow2" or "vmdk", by the name of a disk image. */
const char *disk_format(const char *path);
/* Returns true if S could be the name of a file system, such as "ext4". */
bool fstype_valid(const char *s);
