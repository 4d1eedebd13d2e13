#include "search/stream.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

#define SIZE_DIGITS_MAX 20u

int stream_next(FILE *in, struct stream_file *ret)
{
	char line[SIZE_DIGITS_MAX + 1 + PATH_MAX_BYTES + 2];
	struct str rest, size;

	if (!fgets(line, sizeof(line), in))
		return 0;
	rest = str_of(line);
	if (rest.n == 0 || rest.p[rest.n - 1] != '\n')
		return -EINVAL;
	rest.n--;
	size = str_cut(&rest, ' ');
	if (!rest.p || rest.n > PATH_MAX_BYTES ||
	    parse_u64_str(size, 0, STREAM_FILE_MAX_BYTES, &ret->size) < 0)
		return -EINVAL;
	memcpy(ret->path, rest.p, rest.n);
	ret->path[rest.n] = '\0';
	return 1;
}
