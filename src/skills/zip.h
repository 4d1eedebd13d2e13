/*
 * Reads zip archives from untrusted peers.
 *
 * The directory at the end of the archive is read and checked as a whole before any byte is
 * inflated: names, kinds, sizes and ratios. An entry is inflated piece by piece. The input is only
 * the bytes that the directory assigns to the entry, and the output never exceeds the entry's
 * declared size. The archive is in memory and belongs to the calling code. Entries point to that
 * memory.
 *
 * Entries may be stored or deflated, sizes may have 64 bits, and other bytes may stand before the
 * archive. Archives on several disks, encryption and other compression methods are refused.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "skills/why.h"

#define ZIP_MAX_BYTES (20u << 20)
#define ZIP_ENTRIES_MAX 512u
#define ZIP_ENTRY_MAX_BYTES (16u << 20) /* the size after inflation */
#define ZIP_TOTAL_MAX_BYTES (64u << 20)
#define ZIP_RATIO_MAX 100u
#define ZIP_PATH_MAX_BYTES 4095u /* the kernel's limit for a path */
#define ZIP_NAME_MAX_BYTES 255u  /* the kernel's limit for one component */

struct zip_entry {
	char *name; /* the name in the archive, converted to UTF-8, for messages */
	char *path; /* normalised: relative, with `/` between components, without `..` */
	bool is_dir;
	mode_t mode; /* 0755 or 0644 */
	uint32_t crc;
	uint64_t size;
	unsigned method;
	uint64_t header_at; /* offset of the entry's own header */
	struct str packed;  /* the bytes to inflate */
};

struct zip {
	struct str bytes; /* borrowed */
	struct zip_entry *entry;
	size_t n;
};

#define AUTO_ZIP __attribute__((cleanup(zip_done))) struct zip

/* Reads and checks the directory of BYTES. */
MUST_USE int zip_open(struct str bytes, struct zip *ret, struct why *y);
void zip_done(struct zip *z);

/* Inflates an entry and passes each piece to the function TAKE, which returns 0 or -errno. If TAKE
 * is NULL, the entry is only checked. Fails if TAKE fails, or if the size or the checksum is not
 * the declared one. */
MUST_USE int zip_inflate(const struct zip_entry *entry,
			 int (*take)(void *arg, const void *p, size_t n), void *arg, struct why *y);
