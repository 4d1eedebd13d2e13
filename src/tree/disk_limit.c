#include "tree/disk_limit.h"

uint64_t disk_limit_left(const struct statvfs *fs)
{
	uint64_t unit = fs->f_frsize ? fs->f_frsize : fs->f_bsize;
	uint64_t least = fs->f_blocks / 100 * DISK_LIMIT_LEFT_PERCENT;

	if (fs->f_files && fs->f_favail < fs->f_files / 100 * DISK_LIMIT_LEFT_PERCENT)
		return 0;
	if (!unit || !fs->f_blocks) /* this file system reports no size */
		return UINT64_MAX;
	if (least > DISK_LIMIT_LEFT_BYTES / unit)
		least = DISK_LIMIT_LEFT_BYTES / unit;
	return fs->f_bavail > least ? (fs->f_bavail - least) * unit : 0;
}

int disk_limit_take(struct disk_limit *d, int fd, uint64_t bytes, unsigned entries, struct err *e)
{
	struct statvfs fs;
	uint64_t stride;

	d->bytes += bytes;
	d->entries += entries;
	if (d->bytes <= DISK_LIMIT_UNASKED_BYTES && d->entries <= DISK_LIMIT_UNASKED_ENTRIES)
		return 0;
	if (d->bytes < d->look_bytes && d->entries < d->look_entries)
		return 0;
	if (fstatvfs(fd, &fs) < 0)
		return 0;
	stride = disk_limit_left(&fs) / 2;
	if (stride == 0) {
		err_set(e, ERR_LIMIT,
			"the copy would fill the disk: less than %llu MiB or %u %% of it is free",
			DISK_LIMIT_LEFT_BYTES >> 20, DISK_LIMIT_LEFT_PERCENT);
		return err_hint(e, "what was copied so far stays; free some space, or copy parts "
				   "of the tree");
	}
	if (stride > DISK_LIMIT_STRIDE_BYTES)
		stride = DISK_LIMIT_STRIDE_BYTES;
	if (stride < DISK_LIMIT_STRIDE_LEAST_BYTES)
		stride = DISK_LIMIT_STRIDE_LEAST_BYTES;
	d->look_bytes = d->bytes + stride;
	d->look_entries = d->entries + DISK_LIMIT_STRIDE_ENTRIES;
	return 0;
}
