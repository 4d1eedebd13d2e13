/*
 * Zip archives from strangers: the directory at the end of an archive, and the contents of its entries.
 *
 * The directory is read and judged as a whole before a byte is inflated: names, kinds, sizes and ratios. Contents
 * are inflated piece by piece, from exactly the bytes that the directory gives to an entry, and never beyond the
 * size that it declares. The archive is in memory and belongs to the caller; entries point into it.
 *
 * Understood are stored and deflated entries, in archives with and without 64-bit sizes, with anything in front.
 * Several disks, encryption and other methods are not.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "skills/why.h"

#define ZIP_MAX_BYTES (20u << 20)
#define ZIP_ENTRIES_MAX 512u
#define ZIP_ENTRY_MAX_BYTES (16u << 20) /* inflated */
#define ZIP_TOTAL_MAX_BYTES (64u << 20)
#define ZIP_RATIO_MAX 100u
#define ZIP_PATH_MAX_BYTES 4095u /* what the kernel takes for a path */
#define ZIP_NAME_MAX_BYTES 255u  /* and for one component */

struct zip_entry {
	char *name; /* as the archive has it, in UTF-8, for messages */
	char *path; /* with `/`, normalised: relative, without `..` */
	bool is_dir;
	mode_t mode; /* 0755 or 0644 */
	uint32_t crc;
	uint64_t size;
	unsigned method;
	uint64_t header_at; /* where its own header lies */
	struct str packed;  /* the bytes to inflate */
};

struct zip {
	struct str bytes; /* borrowed */
	struct zip_entry *entry;
	size_t n;
};

#define AUTO_ZIP __attribute__((cleanup(zip_done))) struct zip

/* Reads and judges the directory of BYTES. */
MUST_USE int zip_open(struct str bytes, struct zip *ret, struct why *y);
void zip_done(struct zip *z);

/* Inflates an entry and passes the pieces to TAKE, which returns 0 or -errno; NULL: they are only checked. Fails
 * if there is more or less than declared, if the checksum differs, or with what TAKE returned. */
MUST_USE int zip_inflate(const struct zip_entry *entry,
			 int (*take)(void *arg, const void *p, size_t n), void *arg, struct why *y);
