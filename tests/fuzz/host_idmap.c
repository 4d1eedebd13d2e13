#include <stdlib.h>

#include "host/idmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct idmap m;
	struct idmap_line run;

	if (idmap_parse((struct str){ (const char *)data, size }, &m) < 0)
		return 0;
	if (idmap_longest_run(&m, 1, &run) == 0 &&
	    (run.inside < 1 || run.count == 0 || run.inside + run.count < run.inside))
		abort();
	return 0;
}
