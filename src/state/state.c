#include "state/state.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "state/format.h"

#define STATE_FILE "state.json"
#define FILE_MAX_BYTES (4u << 20)
#define FILE_USUAL_BYTES 4096

static const char *const status_names[] = {
	// clang-format off
	[STATUS_CREATED]  = "Created",
	[STATUS_STARTING] = "Starting",
	[STATUS_RUNNING]  = "Running",
	[STATUS_DRAINING] = "Draining",
	[STATUS_PAUSED]   = "Paused",
	[STATUS_STOPPED]  = "Stopped",
	[STATUS_CRASHED]  = "Crashed",
	// clang-format on
};
static const char *const status_lowers[] = {
	// clang-format off
	[STATUS_CREATED]  = "created",
	[STATUS_STARTING] = "starting",
	[STATUS_RUNNING]  = "running",
	[STATUS_DRAINING] = "draining",
	[STATUS_PAUSED]   = "paused",
	[STATUS_STOPPED]  = "stopped",
	[STATUS_CRASHED]  = "crashed",
	// clang-format on
};
static_assert(ARRAY_SIZE(status_names) == STATUS_COUNT, "a status has no name");
static_assert(ARRAY_SIZE(status_lowers) == STATUS_COUNT, "a status has no word");

const char *status_name(enum status s)
{
	return status_names[s];
}

const char *status_lower(enum status s)
{
	return status_lowers[s];
}

static void state_init(struct state *s)
{
	*s = (struct state){ .status = STATUS_CREATED, .uid_base = -1 };
}

static void copy_text(char *to, size_t n, const struct json_value *v, const char *key)
{
	snprintf(to, n, "%s", json_get_str(v, key, ""));
}

static void read_ports(const struct json_value *v, struct state *ret)
{
	for (size_t i = 0; v && v->type == JSON_ARRAY && i < v->array.n && i < STATE_PORTS_MAX; i++)
		if (v->array.item[i].type == JSON_INT)
			ret->host_port[ret->n_ports++] = (uint16_t)v->array.item[i].integer;
}

int state_read(int dir, struct state *ret)
{
	AUTO_BUF b = BUF_INIT(FILE_MAX_BYTES);
	AUTO_JSON doc = NULL;
	const struct json_value *v, *limits;
	struct err ignored;
	const char *status;
	int r = io_read_file(dir, STATE_FILE, &b);

	state_init(ret);
	if (r < 0)
		return r;
	if (json_parse(buf_str(&b), b.n, &doc, &ignored) < 0) {
		/* torn by a power cut. It was written, so somebody was told of the sandbox */
		ret->booted_once = true;
		ret->boots = 1;
		return -EINVAL;
	}
	v = json_root(doc);
	status = json_get_str(v, "status", "");
	for (unsigned i = 0; i < STATUS_COUNT; i++)
		if (strcmp(status, status_names[i]) == 0)
			ret->status = (enum status)i;
	ret->booted_once = json_get_bool(v, "booted_once", false);
	ret->boots = (uint64_t)json_get_int(v, "boots", 0);
	ret->supervisor = (pid_t)json_get_int(v, "supervisor", 0);
	ret->started_ns = (uint64_t)json_get_int(v, "started_ns", 0);
	ret->updated_ns = (uint64_t)json_get_int(v, "updated_ns", 0);
	ret->wire = (uint32_t)json_get_int(v, "wire", 0);
	ret->uid_base = json_get_int(v, "uid_base", -1);
	copy_text(ret->stop_reason, sizeof(ret->stop_reason), v, "stop_reason");
	read_ports(json_get(v, "host_ports"), ret);
	limits = json_get(v, "limits");
	copy_text(ret->enforced.memory, sizeof(ret->enforced.memory), limits, "memory");
	copy_text(ret->enforced.cpus, sizeof(ret->enforced.cpus), limits, "cpus");
	copy_text(ret->enforced.pids, sizeof(ret->enforced.pids), limits, "pids");
	copy_text(ret->enforced.root_disk, sizeof(ret->enforced.root_disk), limits, "root_disk");
	copy_text(ret->enforced.volumes, sizeof(ret->enforced.volumes), limits, "volumes");
	copy_text(ret->enforced.ids, sizeof(ret->enforced.ids), limits, "ids");
	copy_text(ret->root, sizeof(ret->root), v, "root");
	return 0;
}

int state_write(int dir, const struct state *s, struct err *e)
{
	char room[FILE_USUAL_BYTES];
	AUTO_BUF b = BUF_IN(room, FILE_MAX_BYTES);
	struct json_writer w;
	int r;

	json_writer_init(&w, &b, 0);
	json_begin_object(&w);
	json_key_int(&w, "format", RECORD_FORMAT);
	json_key_str(&w, "status", status_names[s->status]);
	json_key_bool(&w, "booted_once", s->booted_once);
	json_key_int(&w, "boots", (int64_t)s->boots);
	json_key_int(&w, "supervisor", s->supervisor);
	json_key_int(&w, "started_ns", (int64_t)s->started_ns);
	json_key_int(&w, "updated_ns", (int64_t)clock_real_ns());
	json_key_int(&w, "wire", s->wire);
	json_key_int(&w, "uid_base", s->uid_base);
	json_key_str(&w, "stop_reason", s->stop_reason);
	json_key(&w, "host_ports");
	json_begin_array(&w);
	for (size_t i = 0; i < s->n_ports; i++)
		json_int(&w, s->host_port[i]);
	json_end_array(&w);
	json_key_str(&w, "root", s->root);
	json_key(&w, "limits");
	json_begin_object(&w);
	json_key_str(&w, "cpus", s->enforced.cpus);
	json_key_str(&w, "ids", s->enforced.ids);
	json_key_str(&w, "memory", s->enforced.memory);
	json_key_str(&w, "pids", s->enforced.pids);
	json_key_str(&w, "root_disk", s->enforced.root_disk);
	json_key_str(&w, "volumes", s->enforced.volumes);
	json_end_object(&w);
	json_end_object(&w);
	r = io_replace_file(dir, STATE_FILE, b.p, b.n, 0600);
	return r < 0 ? err_sys(e, -r, "write 'state.json'") : 0;
}
