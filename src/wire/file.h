/*
 * The messages that copy files into and out of a sandbox. Requests go from a client to the file
 * agent. Records carry trees of files.
 *
 * FRAME_FILE opens a stream. On this stream STDIN frames carry the client's bytes to the agent, and
 * OUTPUT frames carry the agent's bytes back, within credits, until EXIT. These bytes are records
 * (u8 type, u32 length, body). A tree is a LINK, or it is a DIR or FILE, followed by its contents
 * and END. A name is a single component, so a stream cannot choose its destination. The side that
 * sends a tree ends with DONE or FAIL. After GET, the client sends nothing back. After PUT, the
 * agent answers with NOTE and MISS records of its own, and then DONE or FAIL. After MKDIR and
 * REMOVE, the agent sends only DONE or FAIL.
 *
 * Hard links: a file with several names is sent once, as a FILE with SHARED after it. Files with
 * SHARED are numbered from 0, in their order in the stream. For each further name, SAME carries the
 * number of the file and the name. Only a client that asked for hard links (FILE_KEEP_SAME) gets
 * SHARED and SAME records.
 */
#pragma once

#include "wire/frame.h"

#define FILE_NAME_MAX_BYTES 255u    /* NAME_MAX */
#define FILE_TARGET_MAX_BYTES 4095u /* target of a link: PATH_MAX without the terminator */
#define FILE_TEXT_MAX_BYTES 1024u   /* text of NOTE, MISS or FAIL */
/* The most SHARED files in one tree. The receiver must remember all of these files. */
#define FILE_SHARED_MAX (256u << 10)
#define FILE_SHARED_PATHS_MAX_BYTES (32u << 20) /* paths of shared files, with terminators */
#define FILE_RECORD_HEADER_BYTES 5u
#define FILE_RECORD_MAX_BYTES FRAME_DATA_MAX_BYTES /* the body of one record */

enum file_op {
	FILE_GET = 1, /* send the file or tree at path */
	FILE_PUT = 2, /* receive a tree and put it at path, or into path if path is a directory */
	/* make the directory and missing parents; succeeds if the directory exists */
	FILE_MKDIR = 3,
	FILE_REMOVE = 4, /* remove the file or tree at path; succeeds if path is missing */
	FILE_OP_COUNT
};

enum file_flag {
	/* The client prepares the sandbox: no command has run yet. The request changes only the
	 * sandbox's own layer and crosses no mount. It overwrites nothing, and makes missing
	 * directories above path. MKDIR and REMOVE imply this flag. */
	FILE_PATCH = 1 << 0,
	FILE_EXACT = 1 << 1,     /* PUT: put the tree at path itself, even if path is a directory */
	FILE_KEEP_SAME = 1 << 2, /* GET: the client understands SHARED and SAME */
	FILE_FOLLOW = 1 << 3,    /* GET: if path is a link, send what the link leads to */
	/* GET: the client only asks whether path is a directory. The answer is an empty DIR or an
	 * empty FILE. Links are followed */
	FILE_TOP = 1 << 4,
};

struct file_message {
	enum file_op op;
	unsigned flags;
	const char *path; /* absolute; after decoding, borrowed from the frame */
	/* PUT: name for the outermost entry, instead of the name in the stream; or NULL */
	const char *name;
};
void file_encode(struct buf *b, const struct file_message *m);
/* Returns 0, or -EPROTO if BODY is no valid message. */
MUST_USE int file_decode(struct str body, struct file_message *ret);

enum file_record_type {
	FILE_DIR = 1,  /* mode, name; the directory's entries follow, then END */
	FILE_FILE = 2, /* mode, name; DATA and HOLE follow, then END */
	FILE_LINK = 3, /* name, target */
	FILE_END = 4,
	FILE_DATA = 5,
	FILE_HOLE = 6, /* size of a hole in the file */
	FILE_NOTE = 7, /* text: an entry was left out on purpose */
	FILE_MISS = 8, /* text: an entry could not be copied; the copy goes on */
	FILE_FAIL = 9, /* code, text: the operation failed */
	FILE_DONE = 10,
	FILE_SHARED = 11, /* right after FILE: the file has other names, too */
	FILE_SAME = 12,   /* number, name: a further name of the file with this number */
};

struct file_record {
	enum file_record_type type;
	unsigned mode;   /* permission bits, 07777 */
	uint64_t size;   /* HOLE */
	unsigned code;   /* FAIL: enum err_code */
	uint32_t number; /* SAME: the number of the file, in the order of SHARED */
	/* NUL-terminated copies. A name is one component. Only the outermost directory may have an
	 * empty name, which means the destination itself. */
	char name[FILE_NAME_MAX_BYTES + 1];
	char target[FILE_TARGET_MAX_BYTES + 1];
	char text[FILE_TEXT_MAX_BYTES + 1];
	struct str data; /* DATA: borrowed from the input */
};

/* Removes the first record from IN, stores it in *RET and returns 1. Returns 0 if the record is not
 * complete yet, or -EPROTO if it is not valid. */
MUST_USE int file_record_next(struct str *in, struct file_record *ret);

/* Returns false for a name that no entry may have: empty, ".", "..", with a slash, or longer than
 * 255 bytes. */
bool file_name_valid(const char *name);

void file_put_dir(struct buf *b, unsigned mode, const char *name);
void file_put_file(struct buf *b, unsigned mode, const char *name);
void file_put_link(struct buf *b, const char *name, const char *target);
void file_put_data(struct buf *b, const void *p, size_t n);
void file_put_hole(struct buf *b, uint64_t n);
void file_put_end(struct buf *b);
/* Writes a NOTE or MISS. Cuts TEXT after FILE_TEXT_MAX_BYTES. */
void file_put_note(struct buf *b, enum file_record_type type, const char *text);
void file_put_fail(struct buf *b, unsigned code, const char *text);
void file_put_done(struct buf *b);
void file_put_shared(struct buf *b);
void file_put_same(struct buf *b, uint32_t number, const char *name);
