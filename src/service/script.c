/* Makes the script that a login shell runs for a command or a managed process. */
#include "service/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "spec/list.h"

#define ARGUMENT_MAX_BYTES (128u << 10) /* the kernel's MAX_ARG_STRLEN, with the terminator */
#define SCRIPT_MAX_BYTES (2u << 20)     /* enough for a command of 1 MiB and the lines around it */
#define SCRIPTS_PATH "/.msb/scripts"

/* If the peer has set PATH, adds a line that sets it again, with SCRIPTS_PATH in front: the login
 * shell has read the image's profile, which may have replaced PATH. */
static void add_path(struct buf *b, const struct model_env *env)
{
	for (size_t i = 0; i < env->n; i++)
		if (strcmp(env->item[i].name, "PATH") == 0) {
			buf_add_str(b, "export PATH=" SCRIPTS_PATH ":");
			buf_add_shell_word(b, env->item[i].value);
			buf_add_char(b, '\n');
		}
}

/* Adds a line that enters DIR. The line forks a process (mkdir) only if DIR is missing. */
static void add_enter(struct buf *b, const char *dir)
{
	buf_add_str(b, "cd ");
	buf_add_shell_word(b, dir);
	buf_add_str(b, " 2>/dev/null || { mkdir -p ");
	buf_add_shell_word(b, dir);
	buf_add_str(b, " && cd ");
	buf_add_shell_word(b, dir);
	buf_add_str(b, "; } || exit\n");
}

static char *keep(struct script *s, char *text)
{
	s->owned = list_grow(s->owned, s->n_owned, sizeof(*s->owned));
	return s->owned[s->n_owned++] = text;
}

static void fill_env(struct script *s, const struct model_env *env, struct exec_message *m)
{
	s->env = xcalloc(env->n + 1, sizeof(*s->env));
	for (size_t i = 0; i < env->n; i++)
		s->env[i] = keep(s, xasprintf("%s=%s", env->item[i].name, env->item[i].value));
	m->env = s->env;
	m->n_env = env->n;
}

/* Passes the script as one argument. If the script is too long for one argument, passes it in
 * several pieces. In this case the shell joins the pieces, and removes them from its arguments
 * before the script begins. */
static void fill_argv(struct script *s, struct exec_message *m)
{
	size_t n_pieces = (s->text.n + ARGUMENT_MAX_BYTES - 2) / (ARGUMENT_MAX_BYTES - 1);
	const char *at = buf_str(&s->text);
	AUTO_BUF join = BUF_INIT(4096);

	s->argv = xcalloc(n_pieces + 6, sizeof(*s->argv));
	s->argv[0] = "sh";
	s->argv[1] = "-lc";
	if (n_pieces <= 1) {
		s->argv[2] = at;
		m->n_argv = 3;
	} else {
		buf_add_str(&join, "eval \"set --\n");
		for (size_t i = 1; i <= n_pieces; i++)
			buf_addf(&join, "${%zu}", i);
		buf_add_char(&join, '"');
		s->argv[2] = keep(s, buf_take(&join));
		s->argv[3] = "sh";
		for (size_t i = 0; i < n_pieces; i++, at += ARGUMENT_MAX_BYTES - 1)
			s->argv[4 + i] = keep(s, strndup(at, ARGUMENT_MAX_BYTES - 1));
		m->n_argv = 4 + n_pieces;
	}
	m->argv = s->argv;
}

static void begin(struct script *s, struct exec_message *m)
{
	*s = (struct script){ 0 };
	buf_init(&s->text, SCRIPT_MAX_BYTES);
	*m = (struct exec_message){ .flags = EXEC_WHOLE, .cwd = "/" };
}

void script_for_command(struct script *s, const struct box_spec *b, struct exec_message *m)
{
	begin(s, m);
	add_path(&s->text, &b->env);
	add_enter(&s->text, b->workdir);
	buf_add_str(&s->text, b->cmd);
	fill_argv(s, m);
	fill_env(s, &b->env, m);
	m->timeout_ms = (uint64_t)b->timeout_sec * 1000;
}

void script_for_process(struct script *s, const struct process_spec *p, struct exec_message *m)
{
	begin(s, m);
	add_path(&s->text, &p->env);
	add_enter(&s->text, p->cwd);
	buf_add_str(&s->text, "exec ");
	buf_add_shell_word(&s->text, p->command);
	for (size_t i = 0; i < p->args.n; i++) {
		buf_add_char(&s->text, ' ');
		buf_add_shell_word(&s->text, p->args.item[i]);
	}
	fill_argv(s, m);
	fill_env(s, &p->env, m);
}

void script_done(struct script *s)
{
	for (size_t i = 0; i < s->n_owned; i++)
		free(s->owned[i]);
	free(s->owned);
	free(s->argv);
	free(s->env);
	buf_done(&s->text);
}
