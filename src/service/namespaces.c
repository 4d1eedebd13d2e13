#include "service/namespaces.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In the order of enum namespace_kind. */
static const char *const paths[] = { "/proc/self/ns/mnt", "/proc/self/ns/net", "/proc/self/ns/pid",
				     "/proc/self/ns/user" };

const char namespaces_command[] =
	"readlink /proc/self/ns/mnt /proc/self/ns/net /proc/self/ns/pid /proc/self/ns/user";

void namespaces_read(struct namespaces *ret)
{
	*ret = (struct namespaces){ 0 };
	for (unsigned i = 0; i < NAMESPACE_COUNT; i++) {
		ssize_t n = readlink(paths[i], ret->name[i], NAMESPACE_BYTES - 1);

		ret->name[i][n > 0 ? n : 0] = '\0';
	}
}

void namespaces_parse(struct str lines, struct namespaces *ret)
{
	*ret = (struct namespaces){ 0 };
	for (unsigned i = 0; i < NAMESPACE_COUNT && lines.p; i++) {
		struct str line = str_cut(&lines, '\n');

		if (line.n < NAMESPACE_BYTES)
			memcpy(ret->name[i], line.p, line.n);
	}
}

bool namespaces_differ(const struct namespaces *a, const struct namespaces *b,
		       enum namespace_kind kind)
{
	return *a->name[kind] && *b->name[kind] && strcmp(a->name[kind], b->name[kind]) != 0;
}
