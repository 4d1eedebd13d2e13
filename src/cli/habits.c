#include "cli/habits.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

struct habit {
	const char *there, *here;
};

// clang-format off
static const struct habit commands[] = {
	{ "kill", "stop" },         { "halt", "stop" },           { "down", "stop" },
	{ "destroy", "remove" },    { "delete", "remove" },       { "del", "remove" },
	{ "top", "metrics" },       { "stats", "metrics" },       { "usage", "metrics" },
	{ "up", "start" },          { "launch", "run" },          { "new", "create" },
	{ "enter", "shell" },       { "bash", "shell" },          { "sh", "shell" },
	{ "console", "shell" },     { "login", "registry login" }, { "logout", "registry logout" },
	{ "info", "doctor" },       { "check", "doctor" },        { "show", "inspect" },
	{ "edit", "modify" },       { "set", "modify" },          { "configure", "modify" },
	{ "containers", "list" },   { "container", "list" },      { "sandboxes", "list" },
	{ "import", "load" },       { "export", "save" },         { "push", "save" },
	{ "build", "load" },        { "fetch", "pull" },          { "log", "logs" },
	{ "journal", "logs" },      { "wait", "logs --follow" },  { "system", "df" },
	{ "gc", "prune" },          { "clean", "prune" },         { "cleanup", "prune" },
	{ "du", "df" },
	{ "port", "status" },         { "ports", "status" },
};
static const struct habit options[] = {
	{ "publish", "port" },      { "mount", "volume" },        { "bind", "volume" },
	{ "cwd", "workdir" },       { "chdir", "workdir" },       { "env-var", "env" },
	{ "mem", "memory" },        { "cpu", "cpus" },            { "background", "detach" },
	{ "daemon", "detach" },     { "readonly", "read-only" },  { "unshare-net", "no-net" },
	{ "offline", "no-net" },    { "ro-bind", "volume" },      { "setenv", "env" },
	{ "privileged", "security" }, { "cap-drop", "security" }, { "security-opt", "security" },
	{ "stdin", "interactive" }, { "time", "timeout" },        { "json", "format" },
};
// clang-format on

static const char *find(const struct habit *table, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(table[i].there, word) == 0)
			return table[i].here;
	return NULL;
}

const char *habit_command(const char *word)
{
	return find(commands, ARRAY_SIZE(commands), word);
}

const char *habit_option(const char *name)
{
	return find(options, ARRAY_SIZE(options), name);
}
