#include "state/range.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sha256.h"

#define RANGES_DIR "/var/lib/cordon/ranges"
#define RANGES_DIR_FALLBACK "/run/cordon/ranges" /* a read-only /var: claims last until reboot */
/* ids no distribution hands out: above container managers' ranges, below the sign bit */
#define RANGE_FIRST 0x70000000u
#define RANGE_COUNT 4090u

static int open_table(struct err *e)
{
	static const char *const tables[][2] = {
		{ "/var/lib/cordon", RANGES_DIR },
		{ "/run/cordon", RANGES_DIR_FALLBACK },
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		int fd = open(tables[i][1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0)
			return fd;
		IGNORE(mkdir(tables[i][0], 0755)); /* the open below tells */
		IGNORE(mkdir(tables[i][1], 0700));
		fd = open(tables[i][1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	return err_sys(e, errno, "open the table of uid ranges '" RANGES_DIR "'");
}

static bool points_at(int table, const char *slot, const char *record, bool *ret_stale)
{
	char target[4096];
	ssize_t n = readlinkat(table, slot, target, sizeof(target) - 1);
	struct stat st;

	*ret_stale = false;
	if (n < 0)
		return false;
	target[n] = '\0';
	if (strcmp(target, record) == 0)
		return true;
	*ret_stale = stat(target, &st) < 0 && errno == ENOENT;
	return false;
}

/* Takes over a claim whose record is gone; the lock keeps two from doing it at once. */
static bool take_stale(int table, const char *slot, const char *record)
{
	bool stale, mine;

	if (flock(table, LOCK_EX) < 0)
		return false;
	mine = points_at(table, slot, record, &stale);
	if (stale && unlinkat(table, slot, 0) == 0)
		mine = symlinkat(record, table, slot) == 0;
	IGNORE(flock(table, LOCK_UN));
	return mine;
}

/* One slot: ours already, free, or left by a record that is gone. */
static bool take_slot(int table, uint32_t slot, const char *record)
{
	char name[16];
	bool stale;

	snprintf(name, sizeof(name), "%u", slot);
	if (symlinkat(record, table, name) == 0 || points_at(table, name, record, &stale))
		return true;
	return stale && take_stale(table, name, record);
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

int range_claim(const char *record_path, int64_t had, uint32_t *ret_base, struct err *e)
{
	AUTO_FD table = open_table(e);
	uint32_t first = first_slot(record_path);

	if (table < 0)
		return -1;
	if (had >= RANGE_FIRST) {
		*ret_base = (uint32_t)had;
		if (take_slot(table, (*ret_base - RANGE_FIRST) / RANGE_STRIDE, record_path))
			return 0;
		return err_set(e, ERR_BUSY, "the uid range of this sandbox was given to another");
	}
	for (uint32_t i = 0; i < RANGE_COUNT; i++) {
		uint32_t slot = (first + i) % RANGE_COUNT;

		*ret_base = RANGE_FIRST + slot * RANGE_STRIDE;
		if (take_slot(table, slot, record_path))
			return 0;
	}
	return err_set(e, ERR_LIMIT, "all %u uid ranges of this machine are in use", RANGE_COUNT);
}

void range_release(const char *record_path)
{
	uint32_t first = first_slot(record_path);
	struct err ignored;
	AUTO_FD table = geteuid() == 0 ? open_table(&ignored) : -1;

	/* ours is where a claim would look; one that moved on is stale soon and taken over then */
	for (uint32_t i = 0; table >= 0 && i < RANGE_COUNT; i++) {
		char name[16], target[4096];
		ssize_t n;

		snprintf(name, sizeof(name), "%u", (first + i) % RANGE_COUNT);
		n = readlinkat(table, name, target, sizeof(target) - 1);
		if (n < 0)
			return;
		target[n] = '\0';
		if (strcmp(target, record_path) == 0) {
			IGNORE(unlinkat(table, name, 0));
			return;
		}
	}
}
