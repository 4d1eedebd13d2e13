#include "service/blueprint.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/options.h"
#include "spec/cpus.h"
#include "spec/grammar.h"
#include "spec/list.h"

#define HOST_IMAGE "host"
/* the most bytes of a network policy as JSON; the policy of a real configuration is far shorter */
#define NET_TEXT_MAX_BYTES (1u << 20)
#define HOME_PLACE "/home"

static void add_env(struct spec *s, const char *key, const char *value)
{
	s->env = list_grow(s->env, s->n_env, sizeof(*s->env));
	s->env[s->n_env++] = (struct spec_env){ xstrdup(key), xstrdup(value) };
}

static void add_label(struct spec *s, const char *key, const char *value)
{
	s->label = list_grow(s->label, s->n_labels, sizeof(*s->label));
	s->label[s->n_labels++] = (struct spec_env){ xstrdup(key), xstrdup(value) };
}

static void add_mount(struct spec *s, const char *source, const char *guest, enum box_mode mode)
{
	AUTO_BUF target = BUF_INIT(strlen(guest) + 2);

	if (mode == BOX_MODE_NONE)
		return;
	box_path_normal(guest, &target);
	s->mount = list_grow(s->mount, s->n_mounts, sizeof(*s->mount));
	s->mount[s->n_mounts++] = (struct spec_mount){ .kind = MOUNT_BIND,
						       .source = xstrdup(source),
						       .guest = xstrdup(target.n ? target.p : "/"),
						       .want = WANT_DIR,
						       .readonly = mode == BOX_MODE_RO };
}

/* Adds a script `python` for LangBot's tools, because many systems have only python3. If the image
 * has its own `python`, the script runs this program. */
static void add_python(struct spec *s)
{
	static const char body[] = "#!/bin/sh\n"
				   "for dir in /usr/local/bin /usr/bin /bin; do\n"
				   "\t[ -x $dir/python ] && exec $dir/python \"$@\"\n"
				   "done\n"
				   "exec python3 \"$@\"\n";
	struct spec_script *n;

	s->script = list_grow(s->script, s->n_scripts, sizeof(*s->script));
	n = &s->script[s->n_scripts++];
	*n = (struct spec_script){ xstrdup("python"), xstrdup(body) };
}

static bool mounts_workspace(const struct box_spec *b)
{
	return b->host_path && b->host_path_mode != BOX_MODE_NONE;
}

const char *blueprint_mount(const struct box_spec *b, uint64_t number, bool *ret_extra)
{
	*ret_extra = false;
	if (mounts_workspace(b) && number-- == 1)
		return b->host_path;
	*ret_extra = true;
	for (size_t i = 0; i < b->extra_mounts.n; i++)
		if (b->extra_mounts.item[i].mode != BOX_MODE_NONE && number-- == 1)
			return b->extra_mounts.item[i].host_path;
	return NULL;
}

/* Refuses Windows paths. box_spec_decode() accepts them. */
static int check_paths(const struct box_spec *b, struct fault *f)
{
	if (b->host_path && b->host_path[0] != '/')
		return fault_about(f, FAULT_VALIDATION, "host_path ", str_of(b->host_path),
				   " does not exist");
	for (size_t i = 0; i < b->extra_mounts.n; i++)
		if (b->extra_mounts.item[i].host_path[0] != '/')
			return fault_about(f, FAULT_VALIDATION, "extra mount host_path ",
					   str_of(b->extra_mounts.item[i].host_path),
					   " does not exist");
	return 0;
}

/* Enables the network if the BoxSpec asks for it. If the configuration has a network policy, an
 * enabled network gets this policy. */
static int set_network(struct spec *s, const struct blueprint *p, const struct box_spec *b,
		       struct fault *f)
{
	const struct policy_options o = { .net = { (const char *const *)p->net->item, p->net->n } };
	AUTO_BUF text = BUF_INIT(NET_TEXT_MAX_BYTES);
	struct json_writer w;
	struct policy policy;
	struct err e;
	int r = 0;

	s->net_enabled = b->network == BOX_ONLINE;
	if (!s->net_enabled || p->net->n == 0)
		return 0;
	if (policy_from_options(&o, &policy, &e) < 0)
		return fault_set(f, FAULT_VALUE, "box.cordon.net: %s", e.msg);
	json_writer_init(&w, &text, 0);
	policy_write_json(&policy, &w);
	if (buf_failed(&text) || json_parse(text.p, text.n, &s->net_extra_doc, &e) < 0)
		r = fault_set(f, FAULT_VALUE, "box.cordon.net is too long");
	s->max_connections = policy.max_connections;
	policy_done(&policy);
	return r;
}

/* The backend `nsjail` always uses the image `host`. For the backend `cordon`, the configuration
 * says which image replaces the default image. */
static int set_image(struct spec *s, const struct blueprint *p, const struct box_spec *b,
		     struct fault *f)
{
	bool plain = strcmp(b->image, BOX_DEFAULT_IMAGE) == 0;
	const char *word = strcmp(p->backend, "nsjail") == 0 ? HOST_IMAGE
			   : plain                           ? p->image
							     : b->image;
	struct err e;

	/* refuse a path before it is parsed: parse_image() would call getcwd(), and the server's
	 * seccomp filter forbids this call */
	if (image_is_local(word))
		return fault_about(f, FAULT_VALIDATION, "image ", str_of(word),
				   " is no image of a registry");
	if (parse_image(word, &s->image, &e) < 0)
		return fault_set(f, FAULT_VALIDATION, "%s", e.msg);
	s->image.root_disk.on_disk = true;
	return 0;
}

/* If the root is read-only, lists the directories to which commands may still write. These
 * directories are in the sandbox's own layer on disk, not in memory. */
static void add_places(struct spec *s, const struct box_spec *b)
{
	static const char *const places[] = { "/tmp", HOME_PLACE, "/var/tmp", "/run" };

	s->read_only = b->read_only_rootfs;
	if (!s->read_only)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		strv_add(&s->writable, places[i]);
	if (!mounts_workspace(b))
		strv_add(&s->writable, b->mount_path);
}

void blueprint_limits(const struct box_spec *b, struct limits_message *ret)
{
	double milli = b->cpus * CPUS_ONE;

	ret->cpu_milli = milli < CPUS_MIN_MILLI                     ? CPUS_MIN_MILLI
			 : milli > SPEC_CPUS_MAX * (double)CPUS_ONE ? SPEC_CPUS_MAX * CPUS_ONE
								    : (uint64_t)(milli + 0.5);
	ret->memory_mib = (uint64_t)b->memory_mb;
	ret->pids = b->pids_limit < SPEC_PIDS_MAX ? (uint64_t)b->pids_limit : SPEC_PIDS_MAX;
}

/* Limits of a BoxSpec are soft: a limit that this machine cannot enforce is no error, and
 * box_status shows it. */
static void set_limits(struct spec *s, const struct box_spec *b)
{
	struct limits_message m;

	blueprint_limits(b, &m);
	s->soft_limits = s->cpus_set = s->memory_set = s->pids_set = true;
	s->cpu_milli = s->max_cpu_milli = (uint32_t)m.cpu_milli;
	s->memory_mib = s->max_memory_mib = m.memory_mib;
	s->pids_limit = m.pids;
}

int blueprint_draw(const struct blueprint *p, const struct box_spec *b, const char *sandbox,
		   const char *shown, struct spec *s, struct fault *f)
{
	spec_init(s);
	s->name = xstrdup(sandbox);
	s->ephemeral = true;
	s->hostname = xstrdup("box");
	s->engine = strcmp(p->backend, "nsjail") == 0 ? ENGINE_AUTO : p->engine;
	s->log_disabled = !p->log_output;
	s->metrics_disabled = true;
	set_limits(s, b);
	add_env(s, "PYTHONUNBUFFERED", "1");
	add_env(s, "HOME", HOME_PLACE);
	add_env(s, "PATH", SPEC_DEFAULT_PATH);
	add_label(s, "langbot.box", "true");
	add_label(s, "langbot.session_id", shown);
	add_label(s, "langbot.box.instance_id", p->instance);
	add_python(s);
	add_places(s, b);
	if (mounts_workspace(b))
		add_mount(s, b->host_path, b->mount_path, b->host_path_mode);
	for (size_t i = 0; i < b->extra_mounts.n; i++)
		add_mount(s, b->extra_mounts.item[i].host_path, b->extra_mounts.item[i].mount_path,
			  b->extra_mounts.item[i].mode);
	if (box_spec_check_targets(b, f) < 0)
		return -1;
	return check_paths(b, f) < 0 || set_image(s, p, b, f) < 0 ? -1 : set_network(s, p, b, f);
}
