/* The blocks of a tar archive, for reading and for writing. */
#pragma once

#include <stdint.h>

#define TAR_BLOCK_BYTES 512u

/* The block in front of every entry (POSIX ustar). Numbers are octal text. The member `sum` is a
 * checksum of the block. */
struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
	char type;
	char target[100], magic[6], version[2], user[32], group[32], major[8], minor[8],
		prefix[155];
	char rest[12];
};
_Static_assert(sizeof(struct tar_header) == TAR_BLOCK_BYTES, "a header is one block");

enum tar_type {
	TAR_FILE = '0',
	TAR_HARD_LINK = '1',
	TAR_LINK = '2',
	TAR_DIR = '5',
	TAR_CONTIGUOUS = '7', /* a regular file, too */
	TAR_EXTENDED = 'x',   /* records about the next entry */
	TAR_GLOBAL = 'g',     /* records about all entries that follow */
	TAR_LONG_NAME = 'L',  /* GNU: the name of the next entry */
	TAR_LONG_TARGET = 'K',
};

/* Returns the sum of the header, with blanks in place of the stored sum. */
static inline uint32_t tar_sum(const struct tar_header *h)
{
	const unsigned char *p = (const unsigned char *)h;
	uint32_t sum = 0;

	for (unsigned i = 0; i < TAR_BLOCK_BYTES; i++)
		sum += i >= 148 && i < 156 ? ' ' : p[i];
	return sum;
}
