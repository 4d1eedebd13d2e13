#include "service/processspec.h"

#include <stdlib.h>
#include <string.h>

#include "service/boxspec.h"

int process_spec_decode(const struct json_value *v, struct process_spec *ret, struct fault *f)
{
	struct model m = { .v = v, .inside = "", .class = FAULT_VALIDATION, .f = f };
	struct process_spec s = { 0 };

	s.process_id = model_text(&m, "process_id", PROCESS_DEFAULT_ID, false);
	s.command = model_text(&m, "command", NULL, true);
	if (!*s.command)
		model_fail(&m, "command", "must not be empty");
	model_texts(&m, "args", &s.args);
	model_env(&m, "env", &s.env);
	s.cwd = model_text(&m, "cwd", BOX_DEFAULT_PLACE, false);
	if (s.cwd[0] != '/')
		model_fail(&m, "cwd", "must be an absolute path inside the sandbox");
	s.memory_mb = model_int(&m, "memory_mb", 0, 0);
	if (m.bad) {
		process_spec_done(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

void process_spec_done(struct process_spec *s)
{
	if (!s)
		return;
	free(s->process_id);
	free(s->command);
	model_texts_done(&s->args);
	model_env_done(&s->env);
	free(s->cwd);
	*s = (struct process_spec){ 0 };
}

size_t process_spec_held_bytes(const struct process_spec *s)
{
	size_t n = strlen(s->process_id) + strlen(s->command) + strlen(s->cwd) + 3;

	for (size_t i = 0; i < s->args.n; i++)
		n += sizeof(s->args.item[i]) + strlen(s->args.item[i]) + 1;
	for (size_t i = 0; i < s->env.n; i++)
		n += sizeof(s->env.item[i]) + strlen(s->env.item[i].name) +
		     strlen(s->env.item[i].value) + 2;
	return n;
}
