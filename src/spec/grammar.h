/*
 * The grammars of option values: sizes, durations, mounts, ports and so on.
 *
 * A parser that serves several flags gets the name of the flag ("--memory"), so that its messages
 * can name the flag. No parser has side effects, and all parsers are fuzzed.
 */
#pragma once

#include "spec/spec.h"

/* Parses a number of MiB, or a decimal number with a unit: K, M, G or T, optionally followed by `i`
 * and `B`. *RET is the size in MiB, rounded up. 0 is an error. */
MUST_USE int parse_size_mib(const char *flag, const char *s, uint64_t *ret, struct err *e);
/* These two functions parse a number of seconds, a number with the unit s, m, h, d or ms, or a sum
 * such as 1h30m. parse_duration_s() rounds up to whole seconds. */
MUST_USE int parse_duration_s(const char *flag, const char *s, uint64_t *ret, struct err *e);
MUST_USE int parse_duration_ms(const char *flag, const char *s, uint64_t *ret, struct err *e);
/* Parses `host`, a path with or without ",cow", or a reference. Makes relative paths absolute.
 * Replaces the members kind, cow, reference and manifest_digest of *RET and frees their old values,
 * so *RET must be zeroed or hold an earlier result. The other members stay. */
MUST_USE int parse_image(const char *s, struct spec_image *ret, struct err *e);
/* Returns true if parse_image() would take S for a path of this machine. */
bool image_is_local(const char *s);
/* Returns the text that a user writes for the image I. parse_image() turns this text into the same
 * image. The text is allocated. */
char *image_word(const struct spec_image *i);
/* Parses the value of --root-disk. Frees and replaces the contents of *RET, so *RET must be zeroed
 * or hold an earlier result. */
MUST_USE int parse_root_disk(const char *flag, const char *s, struct spec_root_disk *ret,
			     struct err *e);

enum mount_flag {
	MOUNT_FLAG_VOLUME,
	MOUNT_FLAG_DIR,
	MOUNT_FLAG_FILE,
	MOUNT_FLAG_DISK,
	MOUNT_FLAG_NAMED
};
/* Parses SOURCE:GUEST[:OPTIONS], the value of -v, --mount-dir and similar flags, and adds the mount
 * to *S. Refuses a target that *S already has. */
MUST_USE int spec_add_mount(struct spec *s, enum mount_flag flag, const char *value, struct err *e);
MUST_USE int spec_add_tmpfs(struct spec *s, const char *value, struct err *e);
/* Adds *M at the path GUEST, with the checks of spec_add_mount(). *M must have no guest path yet.
 * Always zeroes *M. */
MUST_USE int spec_take_mount(struct spec *s, const char *flag, const char *guest,
			     struct spec_mount *m, struct err *e);
/* Adds a directory that stays writable while the root is read-only. Adds nothing if another
 * writable directory of *S contains this directory. */
MUST_USE int spec_add_writable(struct spec *s, const char *flag, const char *value, struct err *e);
MUST_USE int spec_add_port(struct spec *s, const char *value, struct err *e);
/* Adds a variable. VALUE is K=V or K. If VALUE is K alone, the value comes from the environment of
 * the user who runs cordon. Replaces an earlier K. Error messages mention FLAG, which is
 * "--env". */
MUST_USE int spec_add_env(struct spec_env **list, size_t *n, const char *flag, const char *value,
			  struct err *e);
/* Adds or replaces the variable with the name KEY, which has N_KEY bytes. */
void spec_set_env(struct spec_env **list, size_t *n, const char *key, size_t n_key,
		  const char *value);
MUST_USE int spec_add_label(struct spec *s, const char *value, struct err *e);
MUST_USE int parse_rlimit(const char *value, struct spec_rlimit *ret, struct err *e);
/* If no command can have the limit R, returns the reason as text for the user, else NULL. */
const char *rlimit_refused(const struct spec_rlimit *r);
const char *rlimit_name(int resource); /* returns for example "nofile"; NULL if unknown */
int rlimit_number(const char *name);   /* accepts upper and lower case; -1 if unknown */
/* Parses the name of a signal as images write it: "SIGINT", "INT", "SIGRTMIN+3" or a number.
 * Returns -1 for any other text. */
int signal_number(const char *text);
/* Adds a script. FLAG is --script, --script-raw or --script-path. With --script the shebang is made
 * from s->shell, so the calling code must set s->shell first. */
MUST_USE int spec_add_script(struct spec *s, const char *flag, const char *value, struct err *e);
/* Adds a script. Takes ownership of BODY, even after a failure. */
MUST_USE int spec_set_script(struct spec *s, const char *flag, const char *name, char *body,
			     struct err *e);
/* limit for one script; the directory /.msb, which has all scripts, holds 16 MiB */
#define SCRIPT_MAX_BYTES (1u << 20)
/* Writes "#!SHELL" if SHELL is a path, or "#!/usr/bin/env SHELL" if SHELL is a name. NULL means the
 * default shell. */
void script_shebang(struct buf *b, const char *shell);
/* Adds a patch. FLAG is --copy, --copy-file or --copy-dir, whose value is SRC:DST, or --mkdir or
 * --rm, whose value is PATH. */
MUST_USE int spec_add_patch(struct spec *s, const char *flag, const char *value, struct err *e);
/* Adds a patch from its parts. OP is one of the values of spec_patch.op. SOURCE may be NULL. */
MUST_USE int spec_put_patch(struct spec *s, const char *flag, const char *op, const char *source,
			    const char *path, struct err *e);
MUST_USE int parse_hostname(const char *s, struct err *e);
MUST_USE int parse_shell(const char *s, struct err *e);
/* Checks that S has the form `USER` or `USER:GROUP`, where each part is a name or a number. Pid 1
 * looks the names up later. */
MUST_USE int parse_user(const char *s, struct err *e);

#define DETACH_KEYS_MAX 16
/* Parses a list of keys that are separated by commas. A key is `ctrl-X` or a single character. */
MUST_USE int parse_detach_keys(const char *s, unsigned char ret[DETACH_KEYS_MAX], size_t *ret_n,
			       struct err *e);
/* Returns true if the spec *S has the label SELECTOR. SELECTOR is K=V, or K alone if the value is
 * empty. */
bool spec_matches_label(const struct spec *s, const char *selector);
bool spec_matches_labels(const struct spec *s,
			 const struct strv *selectors); /* returns true if S has all labels */

/* Returns the guest path P without `//`, `.` and `..` components, or NULL if P is not absolute. */
char *path_normalise(const char *p);
/* Returns true if PATH, which is normalised, is DIR or below DIR. */
bool path_below(const char *dir, const char *path);
/* If the path GUEST is a reserved directory or is in one, returns the reserved directory, else
 * NULL. Pid 1 and all programs depend on the reserved directories, so nothing may be mounted in
 * them. */
const char *path_reserved(const char *guest);
/* Returns true if P starts with "/", "./" or "../", or is "." or "..". The option -v and the
 * argument IMAGE take such a text for a path, and any other text for a name. */
bool path_is_host(const char *p);
/* Makes the path P absolute. A relative path begins at the current directory. Removes `//` and `.`
 * components but keeps `..` components. */
MUST_USE int path_absolute(const char *p, char **ret, struct err *e);
/* Returns the format of a disk image by its file name: "raw", "qcow2" or "vmdk". */
const char *disk_format(const char *path);
/* Returns true if S could be the name of a file system, such as "ext4". */
bool fstype_valid(const char *s);
