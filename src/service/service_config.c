#include "service/service_config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "service/boxconfig.h"
#include "service/clip.h"
#include "service/host_path.h"
#include "service/python.h"
#include "service/session_template.h"
#include "service/tenant.h"
#include "spec/list.h"

#define WORKSPACE_ENTRIES_DEFAULT 100000
#define WORKSPACE_ENTRIES_MAX 1000000

static bool read_enabled(const struct json_value *box)
{
	static const char *const off[] = { "false", "0", "no", "off", "" };
	const struct json_value *v = json_get(box, "enabled");
	bool on = true;

	if (v && v->type == JSON_BOOL)
		return v->boolean;
	if (v && v->type == JSON_INT)
		return v->integer != 0;
	if (v && v->type == JSON_STRING) {
		struct str text = python_trim(v->string);

		for (size_t i = 0; i < ARRAY_SIZE(off); i++)
			on = on && !(text.n == strlen(off[i]) &&
				     strncasecmp(text.p, off[i], text.n) == 0);
	}
	return on;
}

/* Returns the text KEY of SECTION, trimmed. Returns an empty text if there is no such text. */
static struct str get_text(const struct json_value *section, const char *key)
{
	const struct json_value *v = section ? json_get(section, key) : NULL;

	return v && v->type == JSON_STRING ? python_trim(v->string) : STR("");
}

static int read_bounded(const struct json_value *section, const char *name, const char *key,
			int64_t fallback, int64_t min, int64_t max, int64_t *ret, struct fault *f)
{
	const struct json_value *v = section ? json_get(section, key) : NULL;

	*ret = fallback;
	if (!v || v->type == JSON_NULL)
		return 0;
	if (v->type == JSON_BOOL || python_int(v, ret) < 0 || *ret < min || *ret > max)
		return fault_set(f, FAULT_VALIDATION,
				 "%s.%s must be an integer between %lld and %lld", name, key,
				 (long long)min, (long long)max);
	return 0;
}

static void read_roots(struct service_config *c, const struct box_config *box)
{
	if (!box_config_list(box, "local", "allowed_mount_roots", &c->roots)) {
		if (!c->host_root)
			return;
		c->roots.item = xcalloc(1, sizeof(*c->roots.item));
		c->roots.item[c->roots.n++] = xstrdup(c->host_root);
		return;
	}
	for (size_t i = 0; i < c->roots.n; i++) {
		char *real = host_path_real(NULL, str_of(c->roots.item[i]));

		free(c->roots.item[i]);
		c->roots.item[i] = real;
	}
}

/* --- the runtime ------------------------------------------------------------------------------ */

#define LANGBOT_HOST_IN_DOCKER "ws://langbot_box:5410"
#define LANGBOT_HOST_STANDALONE "ws://127.0.0.1:5410"

/* Like LangBot, returns true if the variable DOCKER_ENV is `true`, or if the file /.dockerenv
 * exists. Unlike LangBot, always returns false if DOCKER_ENV is `false`, so that a program in a
 * container can run the runtime as a child. */
static bool is_in_docker(void)
{
	const char *word = getenv("DOCKER_ENV");

	if (word && (strcmp(word, "true") == 0 || strcmp(word, "false") == 0))
		return strcmp(word, "true") == 0;
	return access("/.dockerenv", F_OK) == 0;
}

/* Applies LangBot's own rule. The runtime is reached through a WebSocket in three cases: an
 * endpoint is configured, LangBot runs in Docker, or STANDALONE is true. Otherwise the runtime is a
 * child. */
static void follow_langbot(struct runtime_config *r, bool standalone)
{
	const char *far = is_in_docker() ? LANGBOT_HOST_IN_DOCKER : LANGBOT_HOST_STANDALONE;

	r->kind = RUNTIME_CHILD;
	if (!r->endpoint && (is_in_docker() || standalone))
		r->endpoint = xstrdup(far);
	if (r->endpoint)
		r->kind = RUNTIME_WEBSOCKET;
}

/* Reads a list of words, or one text in which blanks separate the words. */
static int read_command(const struct json_value *v, struct model_texts *ret, struct fault *f)
{
	struct model m = { .v = v, .inside = "box.runtime.", .class = FAULT_VALIDATION, .f = f };
	const struct json_value *command = v ? json_get(v, "command") : NULL;
	struct str rest = get_text(v, "command");

	if (!command || command->type == JSON_NULL)
		return 0;
	if (command->type != JSON_STRING) {
		model_texts(&m, "command", ret);
		return m.bad ? -1 : 0;
	}
	while (rest.p && rest.n) {
		struct str word = str_cut(&rest, ' ');

		if (!word.n)
			continue;
		ret->item = list_grow(ret->item, ret->n, sizeof(*ret->item));
		ret->item[ret->n++] = xstrndup(word.p, word.n);
	}
	return 0;
}

static int choose_kind(const struct json_value *v, bool standalone, struct runtime_config *r,
		       struct fault *f)
{
	struct str transport = get_text(v, "transport");

	if (str_eq(transport, "langbot")) {
		follow_langbot(r, standalone);
		return 0;
	}
	if (transport.n)
		return fault_set(f, FAULT_VALIDATION, "box.runtime.transport must be 'langbot'");
	if (r->endpoint && r->command.n)
		return fault_set(f, FAULT_VALIDATION,
				 "box.runtime has an endpoint and a command; give one of them");
	r->kind = r->endpoint ? RUNTIME_WEBSOCKET : r->command.n ? RUNTIME_CHILD : RUNTIME_LOCAL;
	return 0;
}

/* Reads the id by which the runtime knows us, from the configuration or from the environment. */
static int read_instance(const struct json_value *service, struct runtime_config *r,
			 struct fault *f)
{
	const char *given = getenv("LANGBOT_BOX_TRUSTED_INSTANCE_UUID");
	struct str id = get_text(service, "instance_id");

	if (!id.n && given)
		id = python_trim(str_of(given));
	if (!id.n)
		return 0;
	if (!tenant_is_instance(id))
		return fault_set(f, FAULT_VALIDATION, "service.instance_id is no instance id");
	r->instance = xstrndup(id.p, id.n);
	return 0;
}

static int read_runtime(const struct json_value *box, const struct json_value *service,
			bool standalone, struct runtime_config *r, struct fault *f)
{
	const struct json_value *v = json_get(box, "runtime");
	struct str endpoint = get_text(v, "endpoint"),
		   workspace = get_text(service, "workspace_id");
	const struct json_value *shares = service ? json_get(service, "shares_filesystem") : NULL;

	r->box = box;
	if (endpoint.n)
		r->endpoint = xstrndup(endpoint.p, endpoint.n);
	r->workspace =
		workspace.n ? xstrndup(workspace.p, workspace.n) : xstrdup(SERVICE_WORKSPACE_ID);
	if (read_command(v, &r->command, f) < 0 || choose_kind(v, standalone, r, f) < 0 ||
	    read_instance(service, r, f) < 0 ||
	    read_bounded(service, "service", "connect_timeout_sec", SERVICE_CONNECT_SEC, 1, 3600,
			 &r->connect_sec, f) < 0 ||
	    read_bounded(service, "service", "exec_timeout_sec", SERVICE_EXEC_SEC, 1, 86400,
			 &r->exec_sec, f) < 0 ||
	    read_bounded(service, "service", "ping_interval_sec", SERVICE_PING_SEC, 1, 3600,
			 &r->ping_sec, f) < 0 ||
	    read_bounded(service, "service", "reconnect_delay_ms", SERVICE_RECONNECT_MS, 10, 60000,
			 &r->reconnect_ms, f) < 0)
		return -1;
	r->shares_filesystem = r->kind != RUNTIME_WEBSOCKET;
	if (shares && shares->type == JSON_BOOL)
		r->shares_filesystem = shares->boolean;
	return 0;
}

/* --- the rest --------------------------------------------------------------------------------- */

static void read_places(struct service_config *c, const struct box_config *box)
{
	struct str root = box_config_text(box, "local", "host_root"),
		   workspace = box_config_text(box, "local", "default_workspace"),
		   skills = box_config_text(box, "local", "skills_root");

	if (root.n)
		c->host_root = host_path_real(NULL, root);
	if (workspace.n)
		c->default_workspace = host_path_real(c->host_root, workspace);
	else if (c->host_root)
		c->default_workspace = host_path_real(c->host_root, STR("default"));
	if (c->host_root || skills.n)
		c->skills_root = host_path_real(c->host_root, skills.n ? skills : STR("skills"));
	read_roots(c, box);
}

static int read_box(struct service_config *c, const struct json_value *v, struct fault *f)
{
	const struct json_value *local = json_get(v, "local"), *limits = json_get(v, "limits");
	struct str profile = get_text(local, "profile"), image = get_text(local, "image");
	struct str backend = get_text(v, "backend");
	struct box_config box;
	int r;

	c->backend = xstrndup(backend.p, backend.n);
	c->enabled = read_enabled(v);
	if (image.n)
		c->image = xstrndup(image.p, image.n);
	if (profile_find(profile.n ? profile : STR(PROFILE_DEFAULT), &c->profile, f) < 0 ||
	    read_bounded(local, "box.local", "workspace_quota_mb", -1, 0, MODEL_INT_MAX,
			 &c->workspace_quota_mb, f) < 0 ||
	    read_bounded(limits, "box.limits", "max_workspace_entries", WORKSPACE_ENTRIES_DEFAULT,
			 INT64_MIN, INT64_MAX, &c->max_workspace_entries, f) < 0)
		return -1;
	if (c->max_workspace_entries < 1)
		c->max_workspace_entries = 1;
	if (c->max_workspace_entries > WORKSPACE_ENTRIES_MAX)
		c->max_workspace_entries = WORKSPACE_ENTRIES_MAX;
	box_config_init(&box);
	r = box_config_merge(&box, v, f);
	if (r == 0)
		r = cordon_config_read(&box, &c->cordon, f);
	if (r == 0)
		read_places(c, &box);
	box_config_done(&box);
	return r;
}

int service_config_read(const struct json_value *v, bool standalone, struct service_config *ret,
			struct fault *f)
{
	static const struct json_value none = { .type = JSON_OBJECT };
	const struct json_value *box = v ? json_get(v, "box") : NULL;
	const struct json_value *system = v ? json_get(v, "system") : NULL;
	const struct json_value *service = v ? json_get(v, "service") : NULL;
	struct str forced = get_text(system ? json_get(system, "limitation") : NULL,
				     "force_box_session_id_template");

	*ret = (struct service_config){ .enabled = true, .workspace_quota_mb = -1 };
	if ((v && v->type != JSON_OBJECT) ||
	    (box && box->type != JSON_NULL && box->type != JSON_OBJECT))
		return fault_set(f, FAULT_VALIDATION, "%s must be an object",
				 v->type != JSON_OBJECT ? "the configuration" : "box");
	if (!box || box->type != JSON_OBJECT)
		box = &none;
	if (read_box(ret, box, f) < 0 ||
	    read_runtime(box, service, standalone, &ret->runtime, f) < 0 ||
	    read_bounded(service, "service", "output_limit_chars", CLIP_DEFAULT_CHARS, 0,
			 SERVICE_OUTPUT_LIMIT_MAX_CHARS, &ret->output_limit_chars, f) < 0 ||
	    session_template_check(forced, f) < 0) {
		service_config_done(ret);
		return -1;
	}
	if (forced.n)
		ret->forced_template = xstrndup(forced.p, forced.n);
	return 0;
}

void service_config_set_workspace(struct service_config *c, const char *path)
{
	free(c->default_workspace);
	c->default_workspace = xstrdup(path);
	c->workspace_given = true;
	c->roots.item = list_grow(c->roots.item, c->roots.n, sizeof(*c->roots.item));
	c->roots.item[c->roots.n++] = xstrdup(path);
}

void service_config_done(struct service_config *c)
{
	free(c->image);
	free(c->host_root);
	free(c->default_workspace);
	free(c->forced_template);
	free(c->backend);
	cordon_config_done(&c->cordon);
	free(c->skills_root);
	free(c->runtime.endpoint);
	free(c->runtime.instance);
	free(c->runtime.workspace);
	model_texts_done(&c->runtime.command);
	model_texts_done(&c->roots);
	*c = (struct service_config){ 0 };
}
