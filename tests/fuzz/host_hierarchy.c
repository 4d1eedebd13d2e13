/* The input is /proc/self/cgroup, a NUL, and mountinfo. */
#include <stdlib.h>

#include "host/hierarchy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str mounts = { (const char *)data, size };
	struct str self = str_cut(&mounts, '\0');
	struct hierarchy_layout l;

	hierarchy_locate(self, mounts, &l);
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		if ((l.controller[c].version == 0) != (l.controller[c].dir[0] == '\0'))
			abort();
	return 0;
}
