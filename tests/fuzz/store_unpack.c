#include "base/erase.h"
#include "store/unpack.h"

#include <fcntl.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "store/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unpacks any bytes as a layer into DIR. Only DIR/root may change: rmdir() fails if anything else
 * is in DIR. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[] = "/dev/shm/cordon-fuzz-XXXXXX";
	AUTO_FD blob = memfd_create("blob", MFD_CLOEXEC);
	struct image_layer_info info;
	struct allowance left;
	AUTO_FD dir = -1;
	struct err e;

	setlocale(LC_CTYPE, "C.UTF-8");
	if (blob < 0 || io_write_all(blob, data, size) < 0 || lseek(blob, 0, SEEK_SET) < 0 ||
	    !mkdtemp(path) || (dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		abort();
	allowance_init(&left);
	IGNORE(unpack_layer(blob, size, dir, LAYER_OWNERS_SINGLE, &(struct rotation){ 0 }, &left,
			    &info, &e)); /* most layers are refused, so a failure is no bug */
	if (erase_tree(dir, "root") < 0 || rmdir(path) < 0)
		abort();
	return 0;
}
