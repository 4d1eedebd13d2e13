/*
 * The leash: a socket between a supervisor and the command that started it.
 *
 * The supervisor inherits the leash (LEASH_FD). A command that has a request for pid 1 may send it
 * before the start is over. For this, the command makes a pair of sockets and keeps one of them.
 * The supervisor inherits the other one (LEASH_FD_CONNECTION) and passes it to pid 1.
 *
 * On the leash, the command first sends LEASH_RECORD with the descriptors of the record, and later
 * other words. Each word is one byte (enum leash_word). The supervisor answers OK or ERROR when the
 * start is over, and again after LEASH_SETTLED and after each LEASH_LIMITS. There is no answer to
 * LEASH_RELEASE and LEASH_LOG. When the leash closes, the supervisor ends the sandbox if the
 * sandbox is ephemeral, is not up yet, or still waits for LEASH_SETTLED. After LEASH_RELEASE the
 * supervisor ignores the leash.
 *
 * The body of the first OK is lines of warnings. If the limits of the sandbox are soft, a NUL and
 * four lines follow: how memory, CPU time, the number of processes and the size of the layer are
 * enforced, in the words of `cordon inspect`.
 *
 * If cordon is upgraded while a command runs, the older command may start the newer supervisor. So
 * the meaning of a word never changes. The supervisor accepts any byte with the descriptors of the
 * record, because older commands send another byte than LEASH_RECORD.
 */
#pragma once

enum leash_fd {
	LEASH_FD = 3,
	LEASH_FD_CONNECTION = 4, /* connection of the first client to pid 1; may be absent */
};

enum leash_record_fd {
	LEASH_RECORD_DIR,
	LEASH_RECORD_LOCK, /* the command holds this lock */
	LEASH_RECORD_LOG,  /* where messages go; may be absent */
	LEASH_RECORD_FDS
};

/* The order of the four lines behind the NUL in the first OK. */
enum leash_held { LEASH_HELD_MEMORY, LEASH_HELD_CPUS, LEASH_HELD_PIDS, LEASH_HELD_LAYER };

enum leash_word {
	LEASH_RECORD = 'd',  /* the descriptors of the record come with this byte */
	LEASH_SETTLED = 's', /* the command made changes to the new sandbox, and all are made now */
	LEASH_RELEASE = 'r', /* the sandbox lives on when the command ends */
	LEASH_LIMITS = 'l',  /* a LIMITS frame follows: set these limits, and answer OK or ERROR */
	/* a LOG frame follows: its body is the output of a command of the sandbox, and the
	 * supervisor writes this output to the sandbox's log. The stream of the frame is the number
	 * of the command */
	LEASH_LOG = 'o',
};

/* The most output in one LOG frame on the leash. The kernel takes a message of this size whole or
 * not at all. */
#define LEASH_LOG_MAX_BYTES (16u << 10)
