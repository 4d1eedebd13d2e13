/* Tests the bounds for all layers of an image together. These bounds also limit a single layer. */
#include "base/erase.h"
#include "store/allowance.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "store/tree.h"
#include "store/unpack.h"
#include "t.h"

static void layers_add_up(void)
{
	struct image_layer_info i = { .entries = IMAGE_ENTRIES_MAX / 2 };
	struct allowance a;
	struct err e = { 0 };

	allowance_init(&a);
	T_INT(allowance_take_layer(&a, &i, &e), 0);
	T_INT(allowance_take_layer(&a, &i, &e), 0);
	i.entries = 1;
	T_INT(allowance_take_layer(&a, &i, &e), -1);
	T_INT(e.code, ERR_LIMIT);
	T_STR(e.msg, "image has more than 2097152 entries in all layers together");
	allowance_init(&a);
	i.name_bytes = IMAGE_NAMES_MAX_BYTES + 1;
	T_INT(allowance_take_layer(&a, &i, &e), -1);
	T_STR(e.msg, "image has names of more than 512 MiB in all layers together");
	i.name_bytes = 0;
	i.tar_bytes = IMAGE_PLAIN_MAX_BYTES;
	T_INT(allowance_take_layer(&a, &i, &e), 0);
	i.tar_bytes = 1;
	T_INT(allowance_take_layer(&a, &i, &e), -1);
	T_STR(e.msg, "image has more than 256 GiB in all layers together");
}

static void an_allowance_is_written_and_read(void)
{
	AUTO_BUF text = BUF_INIT(256);
	struct allowance a = { 1, UINT64_MAX, 0 }, b;

	allowance_write(&a, &text);
	T_STR(buf_str(&text), "1,18446744073709551615,0,");
	T_INT(allowance_read(buf_str(&text), &b), 0);
	T_INT(b.entries, 1);
	T_TRUE(b.names == UINT64_MAX && b.plain == 0);
	T_TRUE(allowance_read("", &b) < 0);
	T_TRUE(allowance_read("1,2,", &b) < 0);
	T_TRUE(allowance_read("1,2,3", &b) < 0);
	T_TRUE(allowance_read("1,2,3,4,", &b) < 0);
	T_TRUE(allowance_read("1,x,3,", &b) < 0);
}

/* Returns a tar that holds one file with the path PATH. */
static int make_tar(const char *path)
{
	int fd = memfd_create("tar", MFD_CLOEXEC);
	struct archive *a = archive_write_new();
	struct archive_entry *entry = archive_entry_new();

	archive_write_set_format_pax(a);
	archive_write_open_fd(a, fd);
	archive_entry_set_pathname(entry, path);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_write_header(a, entry);
	archive_entry_free(entry);
	archive_write_free(a);
	T_INT(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int unpack(const char *path, const struct allowance *left, struct image_layer_info *ret,
		  struct err *e)
{
	char place[] = "/tmp/cordon-unit-XXXXXX";
	AUTO_FD tar = make_tar(path);
	AUTO_FD dir = -1;
	int r;

	T_TRUE(mkdtemp(place) != NULL);
	dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = unpack_layer(tar, 0, dir, LAYER_OWNERS_SINGLE, &(struct rotation){ 0 }, left, ret, e);
	T_INT(erase_tree(dir, "root"), 0);
	T_INT(rmdir(place), 0);
	return r;
}

static void directories_without_an_entry_count(void)
{
	struct image_layer_info info = { 0 };
	struct allowance left = { 5, 9, 1 << 20 };
	struct err e = { 0 };

	T_INT(unpack("a/b/c/d/f", &left, &info, &e), 0);
	T_INT(info.entries, 5);
	T_INT(info.name_bytes, 9);
	left.entries = 4;
	T_INT(unpack("a/b/c/d/f", &left, &info, &e), -1);
	T_STR(e.msg, "image has more than 2097152 entries in all layers together");
	left = (struct allowance){ 5, 8, 1 << 20 };
	T_INT(unpack("a/b/c/d/f", &left, &info, &e), -1);
	T_STR(e.msg, "image has names of more than 512 MiB in all layers together");
	left = (struct allowance){ 5, 9, 512 };
	T_INT(unpack("a/b/c/d/f", &left, &info, &e), -1);
	T_INT(e.code, ERR_LIMIT);
}

int main(void)
{
	T_RUN(layers_add_up);
	T_RUN(an_allowance_is_written_and_read);
	T_RUN(directories_without_an_entry_count);
	return t_end();
}
