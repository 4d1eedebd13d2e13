#include "state/range.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sha256.h"

/* ids no distribution hands out: above container managers' ranges, below the sign bit */
#define RANGE_FIRST 0x70000000u
#define RANGE_COUNT 4090u
#define RELEASE_LOOK 64u /* slots past its own at which a claim of a crowded table is looked for */
#define SLOT_BYTES 4096  /* the longest path, and a block of the file: a sparse table stays small */

static const char *const tables[][2] = {
	{ "/var/lib/cordon", "/var/lib/cordon/uid-ranges" },
	{ "/run/cordon", "/run/cordon/uid-ranges" }, /* a read-only /var: until reboot */
};

/* Opens the table and takes its lock, which goes with the descriptor. */
static int open_table(struct err *e)
{
	int saved = ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		AUTO_FD fd = -1;

		IGNORE(access(tables[i][0], F_OK) < 0 && mkdir(tables[i][0], 0755) < 0);
		fd = open(tables[i][1], O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd >= 0 && flock(fd, LOCK_EX) == 0)
			return fd_take(&fd);
		saved = errno;
	}
	return err_sys(e, saved, "open the table of uid ranges '%s'", tables[0][1]);
}

/* Claims start where the name hashes to, so that they rarely meet. */
static uint32_t first_slot(const char *record_path)
{
	unsigned char hash[SHA256_BYTES];
	struct sha256 h;

	sha256_init(&h);
	sha256_add(&h, record_path, strlen(record_path));
	sha256_end(&h, hash);
	return (uint32_t)hash[0] | (uint32_t)hash[1] << 8 | (uint32_t)hash[2] << 16;
}

static off_t slot_offset(uint32_t slot)
{
	return (off_t)slot * SLOT_BYTES;
}

/* What a slot holds: "" when it is free. */
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

/* One slot: ours already, free, or left by a record that is gone. 1, 0 when it is another's, or
 * -errno. */
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

int range_claim(const char *record_path, int64_t had, uint32_t *ret_base, struct err *e)
{
	AUTO_FD table = open_table(e);
	uint32_t first = first_slot(record_path);
	int r = 0;

	if (table < 0)
		return -1;
	if (had >= RANGE_FIRST) {
		*ret_base = (uint32_t)had;
		r = take_slot(table, (*ret_base - RANGE_FIRST) / RANGE_STRIDE, record_path);
		if (r == 0)
			return err_set(e, ERR_BUSY,
				       "the uid range of this sandbox was given to another");
	}
	for (uint32_t i = 0; r == 0 && i < RANGE_COUNT; i++) {
		uint32_t slot = (first + i) % RANGE_COUNT;

		*ret_base = RANGE_FIRST + slot * RANGE_STRIDE;
		r = take_slot(table, slot, record_path);
	}
	if (r > 0)
		return 0;
	if (r < 0) /* not another slot then: a release looks no further than the first free one */
		return err_sys(e, -r, "claim a range of uids");
	return err_set(e, ERR_LIMIT, "all %u uid ranges of this machine are in use", RANGE_COUNT);
}

void range_release(const char *record_path)
{
	uint32_t first = first_slot(record_path);
	struct err ignored;
	AUTO_FD table = geteuid() == 0 ? open_table(&ignored) : -1;

	/* the next one of this name has taken the claim over with it */
	if (table >= 0 && access(record_path, F_OK) == 0)
		return;
	/* ours is where a claim would look, or a little further: whoever was in the way may have gone
	 * since. One that is further still is stale from now on, and taken over */
	for (uint32_t i = 0; table >= 0 && i < RELEASE_LOOK; i++) {
		uint32_t slot = (first + i) % RANGE_COUNT;
		char path[SLOT_BYTES];

		read_slot(table, slot, path);
		if (strcmp(path, record_path) == 0) {
			IGNORE(write_slot(table, slot, "")); /* else it is stale, and taken over */
			return;
		}
	}
}

int range_keep(struct confine_files *f, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (confine_files_allow_path(
			    f, tables[i][1],
			    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE, e) < 0)
			return -1;
	return 0;
}
