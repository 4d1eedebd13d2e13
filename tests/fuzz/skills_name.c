/* Checks any text as the name of a skill and as a path. An accepted name must be safe as the name
 * of a directory. An accepted path must stay below its package. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "skills/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Checks that NAME is one component, and neither hidden nor special. */
static void check_component(const char *name)
{
	check(*name && *name != '.' && !strchr(name, '/'));
	check(name_is_word(str_of(name)));
}

static void check_path(const char *path)
{
	AUTO_FREE char *again = path_normalise(str_of(path));
	AUTO_FREE char *framed = xasprintf("/%s/", path);

	check(strcmp(path, again) == 0);
	check(!strstr(framed, "/../") && path[0] != '/');
	check(strcmp(path, ".") == 0 || (!strstr(framed, "/./") && !strstr(framed, "//")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	AUTO_WHY y = WHY_INIT;
	AUTO_FREE char *name = NULL, *path = NULL, *stem = name_stem(text);

	check_component(stem);
	if (name_check(text, &name, &y) == 0) {
		check_component(name);
		check(strlen(name) <= 4u * SKILL_NAME_MAX_CHARS);
	}
	if (path_check(text, &path, &y) == 0)
		check_path(path);
	return 0;
}
