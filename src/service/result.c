#include "service/result.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"

static void key_strn(struct json_writer *w, const char *key, struct str s)
{
	json_key(w, key);
	json_strn(w, s.p, s.n);
}

static void key_time(struct json_writer *w, const char *key, uint64_t real_ns)
{
	char text[CLOCK_RFC3339_BYTES];

	clock_rfc3339_ms(real_ns, text);
	json_key_str(w, key, text);
}

void session_info_members(const struct session_info *s, struct json_writer *w)
{
	const struct box_spec *spec = s->spec;

	key_strn(w, "session_id", s->session_id);
	json_key_str(w, "backend_name", s->backend_name);
	json_key_str(w, "backend_session_id", s->backend_session_id);
	json_key_str(w, "image", spec->image);
	json_key_str(w, "network", box_network_name(spec->network));
	json_key_str(w, "host_path", spec->host_path);
	json_key_str(w, "host_path_mode", box_mode_name(spec->host_path_mode));
	json_key_str(w, "mount_path", spec->mount_path);
	json_key_bool(w, "persistent", spec->persistent);
	json_key(w, "cpus");
	json_double(w, spec->cpus);
	json_key_int(w, "memory_mb", spec->memory_mb);
	json_key_int(w, "pids_limit", spec->pids_limit);
	json_key_bool(w, "read_only_rootfs", spec->read_only_rootfs);
	json_key_int(w, "workspace_quota_mb", spec->workspace_quota_mb);
	key_time(w, "created_at", s->created_ns);
	key_time(w, "last_used_at", s->last_used_ns);
}

void execution_encode(const struct execution *x, struct json_writer *w)
{
	char late[64];

	json_begin_object(w);
	key_strn(w, "session_id", x->session_id);
	json_key_str(w, "backend_name", x->backend_name);
	json_key_str(w, "status", x->timed_out ? "timed_out" : "completed");
	if (x->timed_out)
		json_key_null(w, "exit_code");
	else
		json_key_int(w, "exit_code", x->exit_code);
	key_strn(w, "stdout", x->out);
	snprintf(late, sizeof(late), "Command timed out after %lld seconds.",
		 (long long)x->timeout_sec);
	key_strn(w, "stderr", x->timed_out && x->err.n == 0 ? str_of(late) : x->err);
	json_key(w, "duration_ms");
	json_uint(w, x->duration_ms);
	json_end_object(w);
}

static int by_name(const void *a, const void *b)
{
	const struct model_variable *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Writes only the names of the variables, because their values may be secrets. */
static void encode_env_keys(const struct model_env *env, struct json_writer *w)
{
	AUTO_FREE const struct model_variable **sorted = xcalloc(env->n + 1, sizeof(*sorted));

	for (size_t i = 0; i < env->n; i++)
		sorted[i] = &env->item[i];
	qsort(sorted, env->n, sizeof(*sorted), by_name);
	json_key(w, "env_keys");
	json_begin_array(w);
	for (size_t i = 0; i < env->n; i++)
		json_str(w, sorted[i]->name);
	json_end_array(w);
}

void process_info_encode(const struct process_info *p, struct json_writer *w)
{
	json_begin_object(w);
	key_strn(w, "session_id", p->session_id);
	json_key_str(w, "process_id", p->spec->process_id);
	json_key_str(w, "status", p->running ? "running" : "exited");
	json_key_str(w, "command", p->spec->command);
	json_key(w, "args");
	json_begin_array(w);
	for (size_t i = 0; i < p->spec->args.n; i++)
		json_str(w, p->spec->args.item[i]);
	json_end_array(w);
	json_key_str(w, "cwd", p->spec->cwd);
	encode_env_keys(&p->spec->env, w);
	json_key_bool(w, "attached", p->attached);
	key_time(w, "started_at", p->started_ns);
	if (p->running) {
		json_key_null(w, "exited_at");
		json_key_null(w, "exit_code");
	} else {
		key_time(w, "exited_at", p->exited_ns);
		json_key_int(w, "exit_code", p->exit_code);
	}
	key_strn(w, "stderr_preview", p->stderr_preview);
	json_end_object(w);
}
