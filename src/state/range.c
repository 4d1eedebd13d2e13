#include "state/range.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sha256.h"

/* No distribution uses these ids: they are above the ranges of container managers and below the
 * sign bit. */
#define RANGE_FIRST 0x70000000u
#define RELEASE_LOOK 64u /* how many slots range_release() looks at to find the claim */
#define SLOT_BYTES 4096  /* a slot holds the longest path, and is one block of the sparse table */

/* The table of range.h is in /var/lib. A second, small table in /run is used if the first cannot be
 * written. The two tables give different slots to new claims, so they never give the same range. */
static const struct table {
	const char *dir, *file;
	uint32_t first, count; /* both tables together have 4090 ranges */
} tables[] = {
	{ "/var/lib/cordon", "/var/lib/cordon/uid-ranges", 0, 4000 },
	/* this table is used if /var is read-only; the table's contents are lost at reboot */
	{ "/run/cordon", "/run/cordon/uid-ranges", 4000, 90 },
};

/* Opens the table *T and locks it. Returns a descriptor, which holds the lock, or -errno. */
static int open_table(const struct table *t, int flags)
{
	AUTO_FD fd = open(t->file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	int r;

	if (fd < 0)
		return -errno;
	do
		r = flock(fd, LOCK_EX);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : fd_take(&fd);
}

/* Returns a hash of the path. The search for a slot starts at a place that depends on this hash, so
 * two claims rarely want the same slot. */
static uint32_t place_of(const char *record_path)
{
	unsigned char hash[SHA256_BYTES];
	struct sha256 h;

	sha256_init(&h);
	sha256_add(&h, record_path, strlen(record_path));
	sha256_end(&h, hash);
	return (uint32_t)hash[0] | (uint32_t)hash[1] << 8 | (uint32_t)hash[2] << 16;
}

static uint32_t nth_slot(const struct table *t, uint32_t place, uint32_t n)
{
	return t->first + (place + n) % t->count;
}

static off_t slot_offset(uint32_t slot)
{
	return (off_t)slot * SLOT_BYTES;
}

/* Reads the path in a slot into PATH. The path is "" if the slot is free. */
static void read_slot(int table, uint32_t slot, char path[SLOT_BYTES])
{
	ssize_t n = pread(table, path, SLOT_BYTES - 1, slot_offset(slot));

	path[n > 0 ? n : 0] = '\0';
}

static int write_slot(int table, uint32_t slot, const char *path)
{
	size_t n = strlen(path) + 1;
	ssize_t k;

	if (n > SLOT_BYTES)
		return -ENAMETOOLONG;
	do
		k = pwrite(table, path, n, slot_offset(slot));
	while (k < 0 && errno == EINTR);
	return k < 0 ? -errno : k == (ssize_t)n ? 0 : -ENOSPC;
}

/* Takes the slot SLOT for RECORD if the slot is free, already belongs to RECORD, or belongs to a
 * record that is gone. Returns 1 on success, 0 if the slot belongs to another record, or -errno. */
static int take_slot(int table, uint32_t slot, const char *record)
{
	int r;
	char path[SLOT_BYTES];
	struct stat st;

	read_slot(table, slot, path);
	if (strcmp(path, record) == 0)
		return 1;
	if (path[0] != '\0' && !(stat(path, &st) < 0 && errno == ENOENT))
		return 0;
	r = write_slot(table, slot, record);
	return r < 0 ? r : 1;
}

static int claim_in(const struct table *t, int fd, const char *record_path, int64_t had,
		    uint32_t *ret_base, struct err *e)
{
	uint32_t place = place_of(record_path);
	int r = 0;

	if (had >= RANGE_FIRST) {
		*ret_base = (uint32_t)had;
		r = take_slot(fd, (*ret_base - RANGE_FIRST) / RANGE_STRIDE, record_path);
		if (r == 0)
			return err_set(e, ERR_BUSY,
				       "the uid range of this sandbox was given to another");
	}
	for (uint32_t i = 0; r == 0 && i < t->count; i++) {
		uint32_t slot = nth_slot(t, place, i);

		*ret_base = RANGE_FIRST + slot * RANGE_STRIDE;
		r = take_slot(fd, slot, record_path);
	}
	if (r > 0)
		return 0;
	if (r < 0)
		return err_sys(e, -r, "claim a range of uids");
	return err_set(e, ERR_LIMIT, "all %u uid ranges of this machine are in use", t->count);
}

/* Returns true if the range that begins at BASE has its slot in the table *T. */
static bool holds(const struct table *t, int64_t base)
{
	int64_t slot = (base - RANGE_FIRST) / RANGE_STRIDE;

	return slot >= t->first && slot < (int64_t)t->first + t->count;
}

int range_claim(const char *record_path, int64_t had, uint32_t *ret_base, struct err *e)
{
	int r = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		AUTO_FD fd = -1;

		/* if the other table has the slot of this range, a claim here would not keep other
		 * sandboxes from the range */
		if (had >= RANGE_FIRST && !holds(&tables[i], had))
			continue;
		IGNORE(access(tables[i].dir, F_OK) < 0 && mkdir(tables[i].dir, 0755) < 0);
		fd = r = open_table(&tables[i], O_CREAT);
		if (fd >= 0)
			return claim_in(&tables[i], fd, record_path, had, ret_base, e);
	}
	return err_sys(e, -r, "open the table of uid ranges '%s'", tables[0].file);
}

/* Releases the claim of the record at RECORD_PATH in the table *T. Looks only at the first
 * RELEASE_LOOK slots that range_claim() would try, and does not stop at a free slot. Returns false
 * if the claim is in none of these slots. In that case the claim stays in the table, but a later
 * claim may take over the slot, because the record of the old claim is gone. */
static bool release_in(const struct table *t, int fd, const char *record_path)
{
	uint32_t place = place_of(record_path);

	for (uint32_t i = 0; i < RELEASE_LOOK; i++) {
		uint32_t slot = nth_slot(t, place, i);
		char path[SLOT_BYTES];

		read_slot(fd, slot, path);
		if (strcmp(path, record_path) != 0)
			continue;
		/* if this fails, a later claim takes the slot over */
		IGNORE(write_slot(fd, slot, ""));
		return true;
	}
	return false;
}

void range_release(const char *record_path)
{
	bool done = geteuid() != 0;

	for (size_t i = 0; !done && i < ARRAY_SIZE(tables); i++) {
		AUTO_FD fd = open_table(&tables[i], 0);

		/* The record that we release has left this path. If the path exists again, it is
		 * the record of a new sandbox with the same name, and the claim is now the claim of
		 * that sandbox. */
		done = fd >= 0 &&
		       (access(record_path, F_OK) == 0 || release_in(&tables[i], fd, record_path));
	}
}

int range_keep(struct confine_files *f, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (confine_files_allow_path(
			    f, tables[i].file,
			    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE, e) < 0)
			return -1;
	return 0;
}
