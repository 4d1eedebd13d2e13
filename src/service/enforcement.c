#include "service/enforcement.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "wire/leash.h"

#define BY_GROUP "cgroup"

static void take_line(struct str *lines, char out[ENFORCEMENT_BYTES])
{
	struct str line = lines->p ? str_cut(lines, '\n') : STR("");

	snprintf(out, ENFORCEMENT_BYTES, "%.*s", (int)line.n, line.n ? line.p : "");
}

static bool by_group(const char *word)
{
	return starts_with(word, BY_GROUP);
}

void enforcement_take(struct enforcement_words *e, const char *lines)
{
	struct enforcement_words now = { .known = true };
	struct str rest = str_of(lines);
	char *const words[] = { [LEASH_HELD_MEMORY] = now.memory,
				[LEASH_HELD_CPUS] = now.cpus,
				[LEASH_HELD_PIDS] = now.pids,
				[LEASH_HELD_LAYER] = now.layer };

	if (!*lines)
		return;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		take_line(&rest, words[i]);
	if (!e->known && (!by_group(now.memory) || !by_group(now.cpus)))
		log_line(LOG_WARN,
			 "limits of sessions that are not enforced on this machine:%s%s "
			 "('cordon doctor' says why)",
			 by_group(now.memory) ? "" : " memory_mb",
			 by_group(now.cpus) ? "" : " cpus");
	*e = now;
}

bool enforcement_by_groups(const struct enforcement_words *e)
{
	return by_group(e->memory) && by_group(e->cpus) && by_group(e->pids);
}

bool enforcement_of_layer(const struct enforcement_words *e)
{
	return strcmp(e->layer, "project quota") == 0 || strcmp(e->layer, "loop image") == 0;
}

void enforcement_write_missing(const struct enforcement_words *e, struct json_writer *w)
{
	json_begin_array(w);
	if (e->known && !by_group(e->cpus))
		json_str(w, "cpus");
	if (e->known && !by_group(e->memory))
		json_str(w, "memory_mb");
	/* the size of a host directory cannot be limited, so the server stores this quota but does
	 * not enforce it */
	json_str(w, "workspace_quota_mb");
	json_end_array(w);
}
