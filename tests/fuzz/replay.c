/* Runs a fuzz target over every file of a corpus directory, so that past findings stay fixed. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX_BYTES (1u << 20)

int main(int argc, char **argv)
{
	static uint8_t data[INPUT_MAX_BYTES];
	DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
	struct dirent *d;
	unsigned n = 0;

	if (!dir) {
		printf("Bail out! no corpus directory\n");
		return 1;
	}
	while ((d = readdir(dir))) {
		int fd = openat(dirfd(dir), d->d_name, O_RDONLY | O_CLOEXEC);
		ssize_t size = fd < 0 ? -1 : read(fd, data, sizeof(data));

		if (fd >= 0)
			close(fd);
		if (size < 0)
			continue; /* the directories . and .. cannot be read */
		/* the copy has exactly the size of the input, so that the sanitizer sees reads past
		 * the end of the input */
		uint8_t *copy = malloc(size ? (size_t)size : 1);
		for (ssize_t i = 0; i < size; i++)
			copy[i] = data[i];
		LLVMFuzzerTestOneInput(copy, (size_t)size);
		free(copy);
		printf("ok %u - %s\n", ++n, d->d_name);
	}
	closedir(dir);
	printf("1..%u\n", n);
	return n == 0;
}
