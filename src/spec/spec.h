/*
 * The configuration that a user asks for.
 *
 * A struct spec owns everything it points to. It is filled from defaults, flags and configuration
 * files, validated once, written to the sandbox's record as JSON (the `config` object of
 * `inspect`), and read back by the supervisor. All values in a spec are parsed and checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/identity.h"
#include "base/json.h"

#define SPEC_NAME_MAX_BYTES 128
#define SPEC_HOSTNAME_MAX_BYTES 64
#define SPEC_DEFAULT_CPU_MILLI 1000u /* thousandths of a CPU, see spec/cpus.h */
#define SPEC_DEFAULT_MEMORY_MIB 512u
#define SPEC_DEFAULT_PIDS 1024u
#define SPEC_DEFAULT_ROOT_DISK_MIB 4096u
#define SPEC_DEFAULT_MAX_CONNECTIONS 256u
#define SPEC_DEFAULT_METRICS_INTERVAL_MS 1000u
#define SPEC_CPUS_MAX 255u
#define SPEC_SIZE_MAX_MIB (1ll << 40) /* 1 EiB: as bytes it still fits a signed 64-bit number */
#define SPEC_PIDS_MAX (4u << 20)      /* the kernel's PID_MAX_LIMIT */
#define SPEC_MOUNTS_MAX \
	512u /* a server mounts hundreds of skills; each takes two descriptors during a start */
#define SPEC_OWNER_MAX 65534u           /* the largest id that every map of a sandbox has */
#define SPEC_WRITABLE_MAX 32u           /* writable directories of a read-only root; Box uses six */
#define SPEC_GUEST_PATH_MAX_BYTES 4095u /* the kernel's PATH_MAX without the terminator */
#define SPEC_DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define SPEC_DEFAULT_SHELL "/bin/sh"

/* An ordered list of owned strings, with a NULL at its end for execve(). */
struct strv {
	char **v;
	size_t n;
};
void strv_add(struct strv *l, const char *s);
void strv_done(struct strv *l);
void strv_copy(struct strv *to, const struct strv *from);

enum spec_image_kind { IMAGE_HOST, IMAGE_DIR, IMAGE_DISK, IMAGE_OCI };
enum spec_root_disk_kind { ROOT_DISK_MANAGED, ROOT_DISK_TMPFS, ROOT_DISK_FLAT, ROOT_DISK_PATH };

struct spec_root_disk {
	enum spec_root_disk_kind kind;
	bool explicit;     /* the user asked for the size: fail if it cannot be enforced */
	bool configured;   /* config.json gives the size: enforce it if possible */
	bool asked;        /* the user named a root disk for this sandbox; not in records */
	bool on_disk;      /* the layer is never in memory, even if the sandbox is ephemeral */
	uint64_t size_mib; /* 0 for the kind's default */
	char *path;        /* ROOT_DISK_PATH */
	struct identity identity; /* identity of the path */
	char *format;
	char *fstype;
	char *clone;
};

struct spec_image {
	enum spec_image_kind kind;
	char *reference; /* as the user wrote it; for IMAGE_DIR and IMAGE_DISK it is an absolute path */
	bool cow;        /* IMAGE_DIR: the user wrote ",cow", or the record says copy-on-write */
	struct identity identity; /* identity of that path */
	struct spec_root_disk root_disk;
	char *manifest_digest; /* IMAGE_OCI, once resolved */
};

/* Returns true if the sandbox works in the directory of the user itself. Otherwise the directory is a read-only layer
 * below the sandbox's own layer, as the layers of other images are. A root disk asks for such a layer. */
static inline bool spec_image_in_place(const struct spec_image *i)
{
	return i->kind == IMAGE_DIR && !i->cow && !i->root_disk.asked;
}

enum spec_mount_kind { MOUNT_BIND, MOUNT_NAMED, MOUNT_TMPFS, MOUNT_DISK };
enum spec_want {
	WANT_ANY,
	WANT_DIR,
	WANT_FILE
}; /* which source --mount-dir and --mount-file require */
enum spec_stat_virt { STAT_VIRT_STRICT, STAT_VIRT_RELAXED, STAT_VIRT_OFF };

struct spec_mount {
	enum spec_mount_kind kind;
	char *source;             /* host path made absolute, or volume name; NULL for tmpfs */
	struct identity identity; /* identity of the host path */
	char *guest;              /* absolute, normalised */
	enum spec_want want;
	bool readonly, noexec, nosuid, nodev;
	uint64_t size_mib;  /* of tmpfs and disk volumes; 0 for the default */
	uint64_t quota_mib; /* 0 for no quota */
	bool has_owner;
	uint32_t uid, gid;
	enum spec_stat_virt stat_virt;
	bool stat_virt_set;
	bool host_perms_set, host_perms_mirror;
	bool follow_root_symlinks;
	bool kind_disk,
		kind_dir; /* a named volume with kind=disk or kind=dir; if neither is set, the volume decides */
	char *format, *fstype;
	char *origin; /* beginning of messages: "--volume: bad mount 'A:B'"; NULL in records */
};

struct spec_rlimit {
	int resource;        /* RLIMIT_… */
	uint64_t soft, hard; /* UINT64_MAX if unlimited */
};

struct spec_env {
	char *key, *value;
};

struct spec_port {
	char *bind; /* address to listen on */
	uint16_t host_port, guest_port;
	bool udp;
};

enum spec_engine { ENGINE_AUTO, ENGINE_PROCESS, ENGINE_VM };
enum spec_pull { PULL_IF_MISSING, PULL_ALWAYS, PULL_NEVER };

struct spec_script {
	char *name, *body;
};

struct spec_patch {
	char *op; /* "copy" "copy_file" "copy_dir" "mkdir" "remove" */
	char *source, *path;
	char *name;               /* last component of the source, before links were followed */
	struct identity identity; /* identity of the source; never in a record */
};

/* The user who works in the sandbox, by the ids inside. Files of shared directories belong to this user. A record
 * keeps the ids, because the sandbox's /etc/passwd may change. */
struct spec_owner {
	bool set; /* false means root */
	uint32_t uid, gid;
};

struct spec {
	char *name;
	struct spec_image image;
	enum spec_engine engine; /* the engine that the user asked for */
	bool ephemeral;

	uint32_t cpu_milli, max_cpu_milli; /* thousandths of a CPU */
	uint64_t memory_mib, max_memory_mib;
	uint64_t pids_limit;
	bool cpus_set, memory_set, pids_set; /* the user set this limit: enforce it or fail */
	bool soft_limits; /* do not fail if a limit cannot be enforced; `inspect` shows it */

	bool read_only; /* the root is read-only */
	/* directories of the sandbox's own layer that stay writable, made if they are missing: absolute,
	 * normalised, none below another */
	struct strv writable;
	struct spec_mount *mount;
	size_t n_mounts;
	struct spec_env *env; /* variables of the user */
	size_t n_env;
	struct spec_env *label;
	size_t n_labels;
	struct spec_port *port;
	size_t n_ports;
	struct spec_rlimit *rlimit;
	size_t n_rlimits;
	struct spec_script *script;
	size_t n_scripts;
	struct spec_patch *patch;
	size_t n_patches;

	struct strv image_env;  /* from the image's configuration */
	struct strv entrypoint; /* the user's, or else the image's */
	bool has_entrypoint;
	struct strv cmd;
	char *workdir; /* NULL means / */
	char *shell;   /* NULL means SPEC_DEFAULT_SHELL */
	char *user;    /* NULL means root */
	struct spec_owner owner;
	char *hostname; /* NULL: made from the sandbox's name */
	char *stop_signal;
	enum spec_pull pull;
	char *log_level;
	bool restricted;  /* --security restricted */
	bool own_filters; /* commands may install system call filters of their own */
	bool multi_tenant;
	bool trust_host_cas;
	char *thp, *cpu_placement, *placement_profile;

	uint64_t max_duration_s, idle_timeout_s;

	bool net_enabled; /* false for loopback only */
	uint32_t max_connections;
	struct json_doc *net_extra_doc; /* policy, dns, interface, as policy/ wrote them */
	bool log_disabled;
	bool shell_fallback; /* give a bash to an image without bash */
	uint32_t metrics_interval_ms;
	bool metrics_disabled;
};

/* The words for enum values in flags and configuration, indexed by value, with a NULL at the end. */
extern const char *const spec_engine_words[];    /* "auto" "process" "vm" */
extern const char *const spec_pull_words[];      /* "if-missing" "always" "never" */
extern const char *const spec_stat_virt_names[]; /* "strict" "relaxed" "off" */
/* Returns the index of WORD, which is its enum value, or -1. */
int word_index(const char *const *words, const char *word);

void spec_init(struct spec *s);
void spec_done(struct spec *s);
void spec_image_done(struct spec_image *i);
void spec_root_disk_done(struct spec_root_disk *d);
/* Returns the size of the root disk: the given size, or the default of its kind. */
uint64_t spec_root_disk_mib(const struct spec *s);
#define AUTO_ROOT_DISK __attribute__((cleanup(spec_root_disk_done))) struct spec_root_disk
void spec_mount_done(struct spec_mount *m);
/* Returns true if M shows a directory or file of the host, or a named volume that is a directory. */
bool spec_mount_is_shared(const struct spec_mount *m);
/* Returns the index of the innermost mount above mount I, or SIZE_MAX. */
size_t spec_mount_above(const struct spec *s, size_t i);

/* Checks what concerns several flags: an image is named, and no maximum is below its value. */
MUST_USE int spec_validate(const struct spec *s, struct err *e);
/* Checks only the writable directories of a read-only root. */
MUST_USE int spec_check_writable(const struct spec *s, struct err *e);
/* Looks up every host path of the spec once. The paths become canonical, and their identities say
 * which objects they mean from now on. If an identity is already known, the path must lead to that
 * object. Fails if an object is not of the kind asked for. After a failure *RET_MOUNT is the mount
 * that caused it, counted from 1, or 0. */
MUST_USE int spec_hold_sources(struct spec *s, size_t *ret_mount, struct err *e);
/* Look up the path of one mount, and of an image that is a path. */
MUST_USE int spec_hold_mount(struct spec_mount *m, struct err *e);
MUST_USE int spec_hold_image(struct spec_image *i, struct err *e);

/* Writes the `config` object of `inspect`, with sorted keys. */
void spec_write_json(const struct spec *s, struct json_writer *w);
/* Write one element of its lists `mounts` and `network.ports`. */
void mount_write_json(struct json_writer *w, const struct spec_mount *m);
void port_write_json(struct json_writer *w, const struct spec_port *p);
/* Reads what spec_write_json() wrote. Ignores unknown members, so that older programs read newer
 * records. Checks all values again, because a record may be damaged. Initialises S; after a failure
 * S is as spec_init() leaves it. */
MUST_USE int spec_read_json(const struct json_value *v, struct spec *s, struct err *e);

/* Checks that NAME matches ^[A-Za-z0-9][A-Za-z0-9._-]*$ and has 1–128 bytes. WHAT begins the message. */
MUST_USE int spec_check_name(const char *what, const char *name, struct err *e);
/* Returns "msb-" and 8 random hex digits. */
char *spec_random_name(void);
/* Writes the name, or for a name longer than 64 bytes its first 55 bytes, "-" and 8 hex digits of its
 * SHA-256. */
void spec_default_hostname(const char *name, char out[SPEC_HOSTNAME_MAX_BYTES + 1]);
