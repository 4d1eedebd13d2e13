/*
 * The configuration that a user wants a sandbox to have.
 *
 * A struct spec owns everything to which it points. A spec is filled from defaults, configuration
 * files and flags, and is validated once. Then the spec is written to the sandbox's record as JSON
 * (the object `config` of `inspect`), and the supervisor reads the spec from the record. All values
 * in a spec are parsed and checked.
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
/* 1 EiB; the number of bytes fits into a signed 64-bit number */
#define SPEC_SIZE_MAX_MIB (1ll << 40)
#define SPEC_PIDS_MAX (4u << 20) /* the kernel's PID_MAX_LIMIT */
/* The limit is large, because a server mounts hundreds of skills. The limit is not larger, because
 * each mount needs two descriptors during a start. */
#define SPEC_MOUNTS_MAX 512u
/* the largest id that exists in every sandbox, however its ids are mapped */
#define SPEC_OWNER_MAX 65534u
/* limit for the writable directories of a read-only root; the Box server uses six */
#define SPEC_WRITABLE_MAX 32u
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
	/* the user asked for this size, so a start fails if the size cannot be enforced */
	bool explicit;
	bool configured;   /* the size comes from config.json; it is enforced only if possible */
	bool asked;        /* the user named a root disk for this sandbox; not in records */
	bool on_disk;      /* the layer is never in memory, even if the sandbox is ephemeral */
	uint64_t size_mib; /* 0 means the default size of this kind */
	char *path;        /* only for ROOT_DISK_PATH */
	struct identity identity; /* identity of `path` */
	char *format;
	char *fstype;
	char *clone;
};

struct spec_image {
	enum spec_image_kind kind;
	char *reference; /* as the user wrote it; for IMAGE_DIR and IMAGE_DISK, an absolute path */
	/* for IMAGE_DIR: the user wrote ",cow", or the record says copy-on-write */
	bool cow;
	struct identity identity; /* identity of the path in `reference` */
	struct spec_root_disk root_disk;
	char *manifest_digest; /* for IMAGE_OCI, once the reference is resolved */
};

/* Returns true if the image is a directory of the user and the sandbox changes this directory
 * itself. With ",cow" or a root disk, the directory is a read-only layer below the sandbox's own
 * layer, like the layers of other images. */
static inline bool spec_image_in_place(const struct spec_image *i)
{
	return i->kind == IMAGE_DIR && !i->cow && !i->root_disk.asked;
}

enum spec_mount_kind { MOUNT_BIND, MOUNT_NAMED, MOUNT_TMPFS, MOUNT_DISK };
/* What the source of a mount must be. --mount-dir wants a directory, --mount-file wants a file. */
enum spec_want { WANT_ANY, WANT_DIR, WANT_FILE };
enum spec_stat_virt { STAT_VIRT_STRICT, STAT_VIRT_RELAXED, STAT_VIRT_OFF };

struct spec_mount {
	enum spec_mount_kind kind;
	/* an absolute host path, or the name of a volume; NULL for a tmpfs */
	char *source;
	struct identity identity; /* identity of the host path */
	char *guest;              /* absolute, normalised */
	enum spec_want want;
	bool readonly, noexec, nosuid, nodev;
	uint64_t size_mib;  /* for a tmpfs and for disk volumes; 0 means the default */
	uint64_t quota_mib; /* 0 means no quota */
	bool has_owner;
	uint32_t uid, gid;
	enum spec_stat_virt stat_virt;
	bool stat_virt_set;
	bool host_perms_set, host_perms_mirror;
	bool follow_root_symlinks;
	/* the user wrote kind=disk or kind=dir for a named volume; if both are false, the volume
	 * may be of any kind */
	bool kind_disk, kind_dir;
	char *format, *fstype;
	/* the first words of messages about the mount: "--volume: bad mount 'A:B'"; NULL in
	 * records */
	char *origin;
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
	/* the last component of the source as the user wrote it, before links were followed */
	char *name;
	struct identity identity; /* identity of the source; never in a record */
};

/* The user who works in the sandbox, with the ids that this user has inside. In the sandbox, the
 * files of shared directories belong to this user. A record keeps the ids, because the sandbox's
 * /etc/passwd may change. */
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
	/* the user set this limit, so a start fails if the limit cannot be enforced */
	bool cpus_set, memory_set, pids_set;
	/* if a limit cannot be enforced, the start does not fail; `inspect` shows that the limit
	 * does not hold */
	bool soft_limits;

	bool read_only; /* the root is read-only */
	/* Directories that stay writable if the root is read-only. These directories are in the
	 * sandbox's own layer and are made if they are missing. The paths are absolute and
	 * normalised, and no directory is below another one. */
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
	struct strv entrypoint; /* the entrypoint that the user gave, or else the image's */
	bool has_entrypoint;
	struct strv cmd;
	char *workdir; /* NULL means / */
	char *shell;   /* NULL means SPEC_DEFAULT_SHELL */
	char *user;    /* NULL means root */
	struct spec_owner owner;
	char *hostname; /* NULL means a hostname that is made from the sandbox's name */
	char *stop_signal;
	enum spec_pull pull;
	char *log_level;
	bool restricted;  /* --security restricted */
	bool own_filters; /* commands may install their own system call filters */
	bool multi_tenant;
	bool trust_host_cas;
	char *thp, *cpu_placement, *placement_profile;

	uint64_t max_duration_s, idle_timeout_s;

	bool net_enabled; /* false means that only loopback works */
	uint32_t max_connections;
	/* the other members of `network`, such as `policy`, `dns` and `interface`, as policy/ wrote
	 * them */
	struct json_doc *net_extra_doc;
	bool log_disabled;
	bool shell_fallback; /* if the image has no bash, the sandbox gets a bash */
	uint32_t metrics_interval_ms;
	bool metrics_disabled;
};

/* The words that flags and configuration use for enum values. Each array is indexed by value and
 * ends with NULL. */
extern const char *const spec_engine_words[];    /* "auto" "process" "vm" */
extern const char *const spec_pull_words[];      /* "if-missing" "always" "never" */
extern const char *const spec_stat_virt_names[]; /* "strict" "relaxed" "off" */
/* Returns the index of WORD in WORDS, or -1. The index is the enum value. */
int word_index(const char *const *words, const char *word);

void spec_init(struct spec *s);
void spec_done(struct spec *s);
void spec_image_done(struct spec_image *i);
void spec_root_disk_done(struct spec_root_disk *d);
/* Returns the size of the root disk: the given size, or the default of its kind. */
uint64_t spec_root_disk_mib(const struct spec *s);
#define AUTO_ROOT_DISK __attribute__((cleanup(spec_root_disk_done))) struct spec_root_disk
void spec_mount_done(struct spec_mount *m);
/* Returns true if the mount *M shows a directory or a file of the host, or a named volume that is a
 * directory. */
bool spec_mount_is_shared(const struct spec_mount *m);
/* Returns the index of the mount that holds the mount point of mount number I. If several mounts
 * are above this mount point, returns the innermost. If no mount is above it, returns SIZE_MAX. */
size_t spec_mount_above(const struct spec *s, size_t i);

/* Checks the image, its root disk, the resources and the writable directories, as far as no single
 * flag can check them. For example, max_cpu_milli must not be below cpu_milli. */
MUST_USE int spec_validate(const struct spec *s, struct err *e);
/* Checks only the writable directories of a read-only root. */
MUST_USE int spec_check_writable(const struct spec *s, struct err *e);
/* Looks up every host path of the spec once. The paths become canonical. The identity of a path
 * says which file or directory the path means from now on. If the identity of a path is already
 * known, the path must lead to that file or directory. Fails if a file or directory is not of the
 * required kind. After a failure *RET_MOUNT is the number of the mount that caused the failure (1
 * is the first), or 0 if no mount caused it. */
MUST_USE int spec_hold_sources(struct spec *s, size_t *ret_mount, struct err *e);
/* These functions do the same as spec_hold_sources() for the path of one mount, and for an image
 * that is a path. */
MUST_USE int spec_hold_mount(struct spec_mount *m, struct err *e);
MUST_USE int spec_hold_image(struct spec_image *i, struct err *e);

/* Writes the `config` object of `inspect`, with sorted keys. */
void spec_write_json(const struct spec *s, struct json_writer *w);
/* These functions write one element of the list `mounts` and of the list `network.ports`. */
void mount_write_json(struct json_writer *w, const struct spec_mount *m);
void port_write_json(struct json_writer *w, const struct spec_port *p);
/* Reads what spec_write_json() wrote. Ignores unknown members, so that an older cordon can read
 * newer records. Checks all values again, because a record may be damaged. Initialises *S. After a
 * failure *S is as after spec_init(). */
MUST_USE int spec_read_json(const struct json_value *v, struct spec *s, struct err *e);

/* Checks that NAME matches ^[A-Za-z0-9][A-Za-z0-9._-]*$ and has 1–128 bytes. WHAT begins the
 * message. */
MUST_USE int spec_check_name(const char *what, const char *name, struct err *e);
/* Returns "msb-" and 8 random hex digits. */
char *spec_random_name(void);
/* Writes the hostname for the sandbox NAME to OUT. If NAME has at most 64 bytes, the hostname is
 * NAME. Otherwise the hostname is the first 55 bytes of NAME, "-" and 8 hex digits of NAME's
 * SHA-256. */
void spec_default_hostname(const char *name, char out[SPEC_HOSTNAME_MAX_BYTES + 1]);
