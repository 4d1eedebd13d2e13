#include "guest/environ.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

static void push(struct environ_list *l, char *s)
{
	if ((l->n & (l->n + 1)) == 0) {
		char **grown = realloc(l->v, (2 * l->n + 2) * sizeof(*grown));

		if (!grown)
			out_of_memory();
		l->v = grown;
	}
	l->v[l->n++] = s;
	l->v[l->n] = NULL;
}

void environ_done(struct environ_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct environ_list){ 0 };
}

static char **find(const struct environ_list *l, const char *key, size_t n)
{
	for (size_t i = 0; i < l->n; i++)
		if (strncmp(l->v[i], key, n) == 0 && l->v[i][n] == '=')
			return &l->v[i];
	return NULL;
}

/* Adds the variable KV ("KEY=VALUE"), or replaces the variable with the same key. */
static void set(struct environ_list *l, const char *kv)
{
	const char *eq = strchr(kv, '=');
	char **old = eq ? find(l, kv, (size_t)(eq - kv)) : NULL;

	if (!eq || eq == kv)
		return; /* KV is no variable; our own clients never send such a text */
	if (old) {
		free(*old);
		*old = xstrdup(kv);
	} else {
		push(l, xstrdup(kv));
	}
}

static void set_path(struct environ_list *l, bool lent_shell)
{
	char **path = find(l, "PATH", 4);
	char *now = path ? *path + 5 : DEFAULT_PATH;
	char *full;

	if (strncmp(now, SCRIPTS_DIR ":", sizeof(SCRIPTS_DIR)) == 0)
		return;
	full = xasprintf("PATH=" SCRIPTS_DIR ":%s%s", now, lent_shell ? ":" FALLBACK_BIN_DIR : "");
	set(l, full);
	free(full);
}

static void set_missing(struct environ_list *l, const char *key, const char *value)
{
	if (!find(l, key, strlen(key)))
		push(l, xasprintf("%s=%s", key, value));
}

void environ_compose(struct environ_list *l, const struct boot_message *boot,
		     const struct exec_message *m, const struct user *u)
{
	*l = (struct environ_list){ 0 };
	for (size_t i = 0; i < boot->n_env; i++)
		set(l, boot->env[i]);
	for (size_t i = 0; i < m->n_env; i++)
		set(l, m->env[i]);
	set_path(l, boot->lent_shell);
	set_missing(l, "HOME", u->home);
	if (m->flags & EXEC_TTY)
		set_missing(l, "TERM",
			    m->term && *m->term && strcmp(m->term, "dumb") != 0 ? m->term
										: "xterm");
}

void environ_candidates(struct environ_list *l, const struct environ_list *env, const char *program)
{
	char **path = find(env, "PATH", 4);
	struct str rest = str_of(path ? *path + 5 : DEFAULT_PATH);

	*l = (struct environ_list){ 0 };
	if (*program == '\0' || strchr(program, '/')) {
		push(l, xstrdup(program));
		return;
	}
	while (rest.p) {
		struct str dir = str_cut(&rest, ':');

		/* skip an empty entry of PATH: it would mean the working directory, which may
		 * belong to anyone */
		if (dir.n)
			push(l, xasprintf("%.*s/%s", (int)dir.n, dir.p, program));
	}
}
