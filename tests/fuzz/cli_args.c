/*
 * Parses words with the real tables of commands. NUL bytes in the input separate the words. Every
 * handler is replaced by a probe that reads all options. The output is dropped, but printing must
 * not crash.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/commands.h"

#define WORDS_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int probe(const struct args *a)
{
	struct opt_iter it = { .set = a->command->sets };

	for (const struct opt *o; (o = args_next_opt(&it));) {
		assert(!args_has(a, o->name) || !(o->marks & OPT_UNSUPPORTED));
		if (o->kind == OPT_FLAG || !args_has(a, o->name))
			continue;
		assert(args_str(a, o->name) && args_list(a, o->name)->n > 0);
		assert(o->kind == OPT_LIST || args_list(a, o->name)->n == 1);
		if (o->kind == OPT_UINT)
			assert(args_uint(a, o->name, 0) <= o->max);
	}
	assert(a->word.n <= a->command->max_args && (a->rest.n == 0 || a->command->takes_rest));
	return 0;
}

/* Returns a copy of TABLE in which every handler is the probe. The copy is never freed. */
static struct command *harmless(const struct command *table)
{
	struct command *copy;
	size_t n = 0;

	while (table[n].name)
		n++;
	copy = xcalloc(n + 1, sizeof(*copy));
	for (size_t i = 0; i < n; i++) {
		copy[i] = table[i];
		copy[i].run = table[i].run ? probe : NULL;
		copy[i].sub = table[i].sub ? harmless(table[i].sub) : NULL;
	}
	return copy;
}

static void swap(int fd, int *with)
{
	int old = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	dup2(*with, fd);
	close(*with);
	*with = old;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct command root;
	char *argv[WORDS_MAX + 1] = { "cordon" };
	char *text = xcalloc(size + 1, 1);
	int argc = 1, status, out, err;

	if (!root.name) {
		root = cordon_root;
		root.sub = harmless(cordon_root.sub);
	}
	if (size)
		memcpy(text, data, size);
	for (size_t at = 0; at < size && argc < WORDS_MAX; at += strlen(text + at) + 1)
		argv[argc++] = text + at;

	out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	err = open("/dev/null", O_WRONLY | O_CLOEXEC);
	swap(STDOUT_FILENO, &out);
	swap(STDERR_FILENO, &err);
	status = args_main(&root, argc, argv);
	swap(STDOUT_FILENO, &out);
	swap(STDERR_FILENO, &err);
	close(out);
	close(err);
	assert(status >= 0 && status <= 2);
	free(text);
	return 0;
}
