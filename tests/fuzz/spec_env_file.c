/* Parses any text as an env_file. No text may crash the parser. The name of every accepted variable
 * must not be empty and must not contain `=`, a blank, a tab or a newline. The value must not
 * contain a newline. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/env_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spec_env *env = NULL;
	struct err e = { 0 };
	size_t n = 0;

	IGNORE(env_file_parse(&env, &n, "--env-file", "f", (struct str){ (const char *)data, size },
			      size % 2 ? ENV_FILE_INHERITS : ENV_FILE_NO_BARE_NAMES, &e));
	for (size_t i = 0; i < n; i++) {
		if (!*env[i].key || strpbrk(env[i].key, "=\n \t") || strchr(env[i].value, '\n'))
			abort();
		free(env[i].key);
		free(env[i].value);
	}
	free(env);
	return 0;
}
