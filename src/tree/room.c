#include "tree/room.h"

uint64_t room_left(const struct statvfs *fs)
{
	uint64_t unit = fs->f_frsize ? fs->f_frsize : fs->f_bsize;
	uint64_t least = fs->f_blocks / 100 * ROOM_LEFT_PERCENT;

	if (fs->f_files && fs->f_favail < fs->f_files / 100 * ROOM_LEFT_PERCENT)
		return 0;
	if (!unit || !fs->f_blocks) /* this file system reports no size */
		return UINT64_MAX;
	if (least > ROOM_LEFT_BYTES / unit)
		least = ROOM_LEFT_BYTES / unit;
	return fs->f_bavail > least ? (fs->f_bavail - least) * unit : 0;
}

int room_take(struct room *r, int fd, uint64_t bytes, unsigned entries, struct err *e)
{
	struct statvfs fs;
	uint64_t stride;

	r->bytes += bytes;
	r->entries += entries;
	if (r->bytes <= ROOM_UNASKED_BYTES && r->entries <= ROOM_UNASKED_ENTRIES)
		return 0;
	if (r->bytes < r->look_bytes && r->entries < r->look_entries)
		return 0;
	if (fstatvfs(fd, &fs) < 0)
		return 0;
	stride = room_left(&fs) / 2;
	if (stride == 0) {
		err_set(e, ERR_LIMIT,
			"the copy would fill the disk: less than %llu MiB or %u %% of it is free",
			ROOM_LEFT_BYTES >> 20, ROOM_LEFT_PERCENT);
		return err_hint(e, "what was copied so far stays; free some space, or copy parts "
				   "of the tree");
	}
	if (stride > ROOM_STRIDE_BYTES)
		stride = ROOM_STRIDE_BYTES;
	if (stride < ROOM_STRIDE_LEAST_BYTES)
		stride = ROOM_STRIDE_LEAST_BYTES;
	r->look_bytes = r->bytes + stride;
	r->look_entries = r->entries + ROOM_STRIDE_ENTRIES;
	return 0;
}
