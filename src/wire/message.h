/*
 * The bodies of control frames as structs.
 *
 * Decoded strings are borrowed from the frame. Decoders limit the length of every list. Decoders
 * return -EPROTO for strings with NUL inside and numbers out of range. Decoders do not check what a
 * field means: their callers do.
 */
#pragma once

#include "wire/frame.h"
#include "wire/refusals.h"

struct hello {
	uint32_t version, oldest;
};
void hello_encode(struct buf *b);
MUST_USE int hello_decode(struct str body, struct hello *ret);
/* Returns the version that both sides speak, or 0. */
uint32_t hello_agree(const struct hello *peer);

/* the most arguments and variables; a command reaches the kernel's limit on bytes first */
#define EXEC_STRINGS_MAX 1000000u
#define EXEC_RLIMITS_MAX 32u

enum exec_flag {
	EXEC_TTY = 1 << 0,      /* pid 1 opens a terminal, and the stream is framed */
	EXEC_DETACHED = 1 << 1, /* no client stays, and the output goes to the log */
	/* stdout and stderr are one pipe, so two descriptors come with EXEC, not three */
	EXEC_JOINED = 1 << 2,
	EXEC_MAIN = 1 << 3, /* the sandbox ends when this command ends; set by `run` */
	/* no other request follows on this connection: pid 1 closes it after EXIT, if no process of
	 * the command is left. So pid 1 need not wake up once more when the client closes the
	 * connection. An older pid 1 does not know this flag and waits until the client closes the
	 * connection. */
	EXEC_LAST = 1 << 4,
	/* the sandbox was started for this command: when the client dies, pid 1 acts as on QUIT */
	EXEC_QUITS = 1 << 5,
	/* the client only waits for the end, so pid 1 may send STARTED of a short command together
	 * with EXIT */
	EXEC_PATIENT = 1 << 6,
	/* pid 1 kills the processes that the command left behind before it sends EXIT (protocol
	 * 2) */
	EXEC_WHOLE = 1 << 7,
	/* pid 1 keeps the command's input, output and status for later clients (protocol 2). No
	 * client stays with the command, and no descriptors come with EXEC. STARTED has the
	 * command's number. See wire/background.h */
	EXEC_BACKGROUND = 1 << 8,
	/* the command's own process may send a report before it ends (protocol 2); see
	 * FRAME_REPORT */
	EXEC_REPORTS = 1 << 9,
	/* the command gets no input: its stdin is /dev/null and not a pipe. Programs such as
	 * ripgrep read stdin instead of the current directory if stdin is a pipe. An older pid 1
	 * does not know this flag and gives the command a pipe: the client's pipe, which is at its
	 * end, or for a background command a pipe that stays open */
	EXEC_NO_INPUT = 1 << 10,
};

struct exec_rlimit {
	uint32_t resource;
	uint64_t soft, hard;
};

struct exec_message {
	unsigned flags;
	const char **argv; /* NULL-terminated; owned by the struct, strings borrowed */
	size_t n_argv;
	const char **env; /* "K=V"; added to the sandbox's variables */
	size_t n_env;
	const char *cwd;  /* NULL for the sandbox's directory */
	const char *user; /* NULL for the sandbox's user */
	const char *term; /* EXEC_TTY: the client's variable TERM */
	uint32_t rows, cols;
	uint64_t timeout_ms; /* 0 for no timeout */
	/* EXEC_BACKGROUND: how long pid 1 keeps the command after its end; 0 for the default */
	uint64_t keep_ms;
	struct exec_rlimit rlimit[EXEC_RLIMITS_MAX];
	size_t n_rlimits;
};

void exec_encode(struct buf *b, const struct exec_message *m);
MUST_USE int exec_decode(struct str body, struct exec_message *ret); /* -EPROTO, -E2BIG */
void exec_message_done(struct exec_message *m);

/* Why a command did not start. Each reason has a text, which users and programs that call cordon
 * see. */
enum exec_failure {
	EXEC_OK,
	EXEC_NOT_FOUND,
	EXEC_DENIED,
	EXEC_NOT_EXECUTABLE,
	EXEC_BAD_CWD,
	EXEC_BAD_ARGS,
	EXEC_RESOURCE,
	EXEC_USER,
	EXEC_NO_MEMORY,
	EXEC_PTY,
	EXEC_INTERNAL,
	EXEC_FAILURE_COUNT
};
const char *exec_failure_text(enum exec_failure f);

/* Why the supervisor ended all commands of a sandbox. */
enum end_reason {
	END_NONE,
	END_LAYER, /* the writable layer is too large */
	END_FILES, /* the writable layer has too many files */
	END_SPACE, /* the file system below the layer is nearly full, and the sandbox writes */
	/* the file system below the layer has nearly no inodes left, and the sandbox makes files */
	END_INODES,
	/* For the reasons below, the sandbox is being stopped. pid 1 need not kill its commands,
	 * because SHUTDOWN follows. */
	END_DURATION, /* the sandbox has run as long as it may */
	END_IDLE,     /* the sandbox had nothing to do for as long as it may */
	END_REASON_COUNT
};

struct exit_message {
	enum exec_failure failure;
	int32_t sys;     /* errno of the failure */
	uint32_t code;   /* exit status, if the command exited */
	uint32_t signal; /* the signal that ended the command, or 0 */
	bool timed_out;
	bool out_of_memory; /* the kernel killed a process because of the memory limit */
	/* pid 1 ended everything in the sandbox in order to end this command */
	bool swept;
	enum end_reason ended; /* why all commands of the sandbox were ended */
	bool alone;            /* the command left no process, so its pipes hold all its output */
	struct refused refused;
};
void exit_encode(struct buf *b, const struct exit_message *m);
MUST_USE int exit_decode(struct str body, struct exit_message *ret);

/* The switches of a sandbox's system call filter. Each switch selects clauses of
 * tools/seccomp.table. */
enum boot_switch {
	SWITCH_SHARED = 1 << 0,    /* commands can have files of the host open for writing */
	SWITCH_FILTERS = 1 << 1,   /* commands may install system call filters of their own */
	SWITCH_WATCHED = 1 << 2,   /* only the supervisor bounds the size of the writable layer */
	SWITCH_HUGEPAGES = 1 << 3, /* the machine has huge pages that a program could take */
	/* a host directory is writable inside, so the sandbox needs a deputy (guest/deputy.h) */
	SWITCH_WRITABLE = 1 << 4,
};

/* The configuration that the supervisor sends to pid 1 before the first command. */
struct boot_message {
	const char **env; /* NULL-terminated "K=V" */
	size_t n_env;
	const char *workdir, *user, *shell;
	bool restricted;
	bool report_activity;
	bool lent_shell; /* /.msb/bin, with the fallback shell, comes last on PATH */
	const char *inner_uid_map, *inner_gid_map; /* the payload's id maps, as text */
	bool single_id; /* the payload has one id only, so groups cannot be set */
	/* The id that stands for the inner id N in the outer namespace is N + id_shift. If the ids
	 * are rotated, rotate N first. */
	uint32_t id_shift;
	/* files of shared directories belong to this user inside; root if both ids are 0 */
	uint32_t owner_uid, owner_gid;
	bool rotated; /* the payload's ids are rotated for this user (base/rotation.h) */
	/* The next members, up to n_group_joins, say which descriptors come with this message.
	 * take_fds() in guest/boot.c shows their order. */
	bool has_connection; /* a client's connection */
	uint32_t n_task_fds; /* how many cgroup v1 `tasks` files, which commands join */
	bool has_cgroup;     /* a delegated cgroup v2 directory */
	/* If true, pid 1 had the directory of the commands' group as GUEST_GROUP_FD from its start,
	 * and the descriptor that comes with this message is cgroup.procs of the parent group. */
	bool born_with_cgroup;
	bool has_oom;      /* a file that counts memory kills */
	bool has_refusals; /* the memory of wire/refusals.h */
	/* one bit for each enum group_view; a mount comes for each bit */
	uint32_t group_views;
	/* how many cgroup v1 `tasks` files, which pid 1 itself joins; they come last */
	uint32_t n_group_joins;
	uint64_t nofile_soft, nofile_hard; /* RLIMIT_NOFILE for commands */
	/* limits for every command, unless EXEC has others; one more element is room for a limit
	 * that pid 1 adds */
	struct exec_rlimit rlimit[EXEC_RLIMITS_MAX + 1];
	size_t n_rlimits;
	uint64_t data_limit;  /* RLIMIT_DATA for commands, or 0 */
	uint64_t nproc_limit; /* RLIMIT_NPROC for commands, or 0 */
	uint32_t switches;    /* enum boot_switch */
	/* With SWITCH_SHARED: mount points whose files belong to the sandbox, not to the host. If
	 * such a mount is a disk, its device is in own_device (major << 32 | minor). "/" comes
	 * first unless the root is the host's. */
	const char **own_mount;
	size_t n_own_mounts;
	uint64_t *own_device;
	size_t n_own_devices;
};
void boot_encode(struct buf *b, const struct boot_message *m);
MUST_USE int boot_decode(struct str body, struct boot_message *ret);
void boot_message_done(struct boot_message *m);

/* STARTED has the session's number. */
void started_encode(struct buf *b, uint64_t id);
MUST_USE int started_decode(struct str body, uint64_t *ret_id);

/* STATE_PUT and STATE carry bytes that a client leaves with pid 1 for the next client. Pid 1 does
 * not interpret these bytes. The version of the bytes is 0 before the first PUT and grows with
 * every PUT. */
#define STATE_MAX_BYTES (4u << 20)
struct state_message {
	/* PUT: the version that the blob replaces; STATE: the version of the blob */
	uint64_t version;
	struct str blob; /* borrowed from the frame */
};
void state_encode(struct buf *b, const struct state_message *m);
MUST_USE int state_decode(struct str body, struct state_message *ret);

/* ERROR has an error code of ours (enum err_code) and a text. */
void error_encode(struct buf *b, unsigned code, const char *text);
MUST_USE int error_decode(struct str body, unsigned *ret_code, const char **ret_text);

/* USAGE_ANSWER has what the sandbox uses: memory and processes now, times and other counts since
 * the boot. An unknown number is USAGE_UNKNOWN and is not sent. */
struct usage_message {
	uint64_t uptime_ns;
	uint64_t cpu_ns;
	uint64_t memory_bytes;
	uint64_t disk_read_bytes, disk_write_bytes;
	uint64_t pids;
	uint64_t net_rx_bytes, net_tx_bytes; /* of the sandbox's interface */
	uint64_t supervisor, pid_1;          /* pids in the supervisor's pid namespace */
};
#define USAGE_UNKNOWN UINT64_MAX
void usage_encode(struct buf *b, const struct usage_message *m);
MUST_USE int usage_decode(struct str body, struct usage_message *ret);

/* LIMITS has new limits; a limit that is 0 stays as it is. */
struct limits_message {
	uint64_t memory_mib, cpu_milli, pids; /* CPUs in thousandths */
};
void limits_encode(struct buf *b, const struct limits_message *m);
MUST_USE int limits_decode(struct str body, struct limits_message *ret);

/* RESIZE has the size of a terminal. */
void size_encode(struct buf *b, uint32_t rows, uint32_t cols);
MUST_USE int size_decode(struct str body, uint32_t *ret_rows, uint32_t *ret_cols);

/* An UPDATE from a client to a supervisor names the parts of the record's configuration that the
 * supervisor must apply now. An UPDATE from a supervisor to pid 1 carries the environment and the
 * directory of later commands, as BOOT does. */
enum update_what {
	UPDATE_CPUS = 1 << 0,
	UPDATE_MEMORY = 1 << 1,
	UPDATE_COMMANDS = 1 << 2,
	UPDATE_NETWORK = 1 << 3, /* apply the policy; the ports and the interface do not change */
	UPDATE_PIDS = 1 << 4,
	UPDATE_ALL = (1 << 5) - 1
};

/* SIGNAL is for the command of the frame's stream, or for the command whose number is `id`. A
 * client of protocol 1 sends no `id`. */
struct signal_message {
	uint64_t signal;
	uint64_t id; /* 0 for the command of the stream */
};
void signal_encode(struct buf *b, const struct signal_message *m);
MUST_USE int signal_decode(struct str body, struct signal_message *ret);

/* ATTACH names a command by its number. The number 0 means the latest terminal session that has no
 * client. */
struct attach_message {
	uint64_t id;
	bool has_offset;
	/* The first byte of output that the client wants. Without HAS_OFFSET the client gets the
	 * output that no client has got yet. */
	uint64_t offset;
};
void attach_encode(struct buf *b, const struct attach_message *m);
MUST_USE int attach_decode(struct str body, struct attach_message *ret);

/* REPORT carries bytes that pid 1 does not interpret. */
#define REPORT_MAX_BYTES (4u << 20) /* the same as STATE_MAX_BYTES */

/* CREDIT, STOP, SHUTDOWN, END, FULL, COUNTED, the UPDATE of a client and the PONG that answers QUIT
 * have one number each. */
void number_encode(struct buf *b, uint64_t v);
MUST_USE int number_decode(struct str body, uint64_t *ret);
