/*
 * Files across the wall: what a client asks of a sandbox's file agent, and trees as streams.
 *
 * FRAME_FILE opens a stream on which the client's STDIN frames carry bytes to the agent and OUTPUT
 * frames carry its bytes back, within credits, until EXIT. Those bytes are records (u8 type, u32
 * length, body): a tree is DIR or FILE or LINK, what is in it, END. Names are single components, so
 * a stream cannot say where it wants to be put. The side that sends a tree ends with DONE or FAIL;
 * the side that takes one answers with notes of its own and then DONE or FAIL.
 *
 * Hard links: a FILE followed by SHARED gets a number, counted from 0, and SAME names that file
 * again. Only a client that asked for them (FILE_KEEP_SAME) is sent these two records.
 */
#pragma once

#include "wire/frame.h"

#define FILE_NAME_MAX_BYTES 255u    /* NAME_MAX */
#define FILE_TARGET_MAX_BYTES 4095u /* a link's, PATH_MAX without the terminator */
#define FILE_TEXT_MAX_BYTES 1024u   /* of a note */
/* Of one tree, so that the side that takes it can remember them all. */
#define FILE_SHARED_MAX (256u << 10)
#define FILE_SHARED_PATHS_MAX_BYTES (32u << 20) /* with a terminator each */
#define FILE_RECORD_HEADER_BYTES 5u
#define FILE_RECORD_MAX_BYTES FRAME_DATA_MAX_BYTES /* body of one record */

enum file_op {
	FILE_GET = 1,    /* send what path names */
	FILE_PUT = 2,    /* take a tree and put it at path, or into it when it is a directory */
	FILE_MKDIR = 3,  /* with everything on the way; nothing to do when it is there */
	FILE_REMOVE = 4, /* whatever it is; nothing to do when it is not there */
	FILE_OP_COUNT
};

enum file_flag {
	/* Changes before the first command: only in the sandbox's own layer, across no mount, what
	 * exists is refused, missing directories on the way are made. MKDIR and REMOVE imply it. */
	FILE_PATCH = 1 << 0,
	FILE_EXACT = 1 << 1,     /* PUT: at path itself, even if it is a directory */
	FILE_KEEP_SAME = 1 << 2, /* GET: the client understands SHARED and SAME */
};

struct file_message {
	enum file_op op;
	unsigned flags;
	const char *path; /* absolute; decoded: borrowed from the frame */
	const char *name; /* PUT: of the outermost entry, instead of the stream's; or NULL */
};
void file_encode(struct buf *b, const struct file_message *m);
MUST_USE int file_decode(struct str body, struct file_message *ret); /* -EPROTO */

enum file_record_type {
	FILE_DIR = 1,  /* mode, name; its entries follow, then END */
	FILE_FILE = 2, /* mode, name; DATA and HOLE follow, then END */
	FILE_LINK = 3, /* name, target */
	FILE_END = 4,
	FILE_DATA = 5,
	FILE_HOLE = 6, /* so many bytes that were never written */
	FILE_NOTE = 7, /* text: something was left out on purpose */
	FILE_MISS = 8, /* text: something could not be copied; the rest goes on */
	FILE_FAIL = 9, /* code, text: the whole ended */
	FILE_DONE = 10,
	FILE_SHARED = 11, /* right after FILE: its name is not the only one */
	FILE_SAME = 12,   /* number, name: a further name of that file */
};

struct file_record {
	enum file_record_type type;
	unsigned mode;   /* permission bits, 07777 */
	uint64_t size;   /* HOLE */
	unsigned code;   /* FAIL: enum err_code */
	uint32_t number; /* SAME: of the file, in the order of SHARED */
	/* NUL-terminated copies. A name is one component, or empty for "the destination itself",
	 * which only the outermost directory may have. */
	char name[FILE_NAME_MAX_BYTES + 1];
	char target[FILE_TARGET_MAX_BYTES + 1];
	char text[FILE_TEXT_MAX_BYTES + 1];
	struct str data; /* DATA: borrowed from the input */
};

/* Takes one record off the front of IN: 1 and *RET, 0 when more bytes are needed, -EPROTO. */
MUST_USE int file_record_next(struct str *in, struct file_record *ret);

/* False for names no directory entry may have: empty, ".", "..", with a slash or longer than 255. */
bool file_name_valid(const char *name);

void file_put_dir(struct buf *b, unsigned mode, const char *name);
void file_put_file(struct buf *b, unsigned mode, const char *name);
void file_put_link(struct buf *b, const char *name, const char *target);
void file_put_data(struct buf *b, const void *p, size_t n);
void file_put_hole(struct buf *b, uint64_t n);
void file_put_end(struct buf *b);
/* NOTE or MISS; a longer text is cut. */
void file_put_note(struct buf *b, enum file_record_type type, const char *text);
void file_put_fail(struct buf *b, unsigned code, const char *text);
void file_put_done(struct buf *b);
void file_put_shared(struct buf *b);
void file_put_same(struct buf *b, uint32_t number, const char *name);
