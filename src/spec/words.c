#include "spec/words.h"

#include <string.h>

#include "spec/spec.h"

const char *const spec_engine_words[] = { "auto", "process", "vm", NULL };
const char *const spec_pull_words[] = { "if-missing", "always", "never", NULL };

const char *const spec_pull_names[] = { "IfMissing", "Always", "Never", NULL };
const char *const spec_root_disk_names[] = { "managed", "tmpfs", "flat", "disk-image", NULL };
const char *const spec_want_names[] = { "any", "dir", "file", NULL };
const char *const spec_stat_virt_names[] = { "strict", "relaxed", "off", NULL };
const char *const spec_mount_names[] = { "Bind", "Named", "Tmpfs", "DiskImage", NULL };

int word_index(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}
