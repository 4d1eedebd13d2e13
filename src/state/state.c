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
#include "base/log.h"
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

/* The members of state.json, as they are written. */
struct state_json {
	const char *status, *stop_reason, *root;
	bool booted_once;
	int64_t boots, supervisor, started_ns, updated_ns, wire, uid_base;
	const struct json_value *host_ports, *limits;
};
/* All members are optional, because older versions of cordon did not write all of them. */
static const struct json_field state_fields[] = {
	FIELD_STR(struct state_json, status, JSON_OPTIONAL),
	FIELD_STR(struct state_json, stop_reason, JSON_OPTIONAL),
	FIELD_STR(struct state_json, root, JSON_OPTIONAL),
	FIELD_BOOL(struct state_json, booted_once, JSON_OPTIONAL),
	FIELD_INT(struct state_json, boots, JSON_OPTIONAL, 0, INT64_MAX),
	FIELD_INT(struct state_json, supervisor, JSON_OPTIONAL, 0, INT32_MAX),
	FIELD_INT(struct state_json, started_ns, JSON_OPTIONAL, 0, INT64_MAX),
	FIELD_INT(struct state_json, updated_ns, JSON_OPTIONAL, 0, INT64_MAX),
	FIELD_INT(struct state_json, wire, JSON_OPTIONAL, 0, UINT32_MAX),
	FIELD_INT(struct state_json, uid_base, JSON_OPTIONAL, -1, UINT32_MAX),
	FIELD_VALUE(struct state_json, host_ports, JSON_OPTIONAL),
	FIELD_VALUE(struct state_json, limits, JSON_OPTIONAL),
};

struct limits_json {
	const char *memory, *cpus, *pids, *root_disk, *volumes, *ids;
};
static const struct json_field limits_fields[] = {
	FIELD_STR(struct limits_json, memory, JSON_OPTIONAL),
	FIELD_STR(struct limits_json, cpus, JSON_OPTIONAL),
	FIELD_STR(struct limits_json, pids, JSON_OPTIONAL),
	FIELD_STR(struct limits_json, root_disk, JSON_OPTIONAL),
	FIELD_STR(struct limits_json, volumes, JSON_OPTIONAL),
	FIELD_STR(struct limits_json, ids, JSON_OPTIONAL),
};

#define COPY_TEXT(to, from) snprintf(to, sizeof(to), "%s", (from) ? (from) : "")

static int decode_status(const char *name, enum status *ret, struct err *e)
{
	for (unsigned i = 0; name && i < STATUS_COUNT; i++)
		if (strcmp(name, status_names[i]) == 0) {
			*ret = (enum status)i;
			return 0;
		}
	return name ? err_set(e, ERR_INVALID, "status: '%s' is unknown", name) : 0;
}

static int decode_limits(const struct json_value *v, struct enforcement *ret, struct err *e)
{
	struct limits_json in = { 0 };

	if (v &&
	    json_decode(v, "limits", limits_fields, ARRAY_SIZE(limits_fields), false, &in, e) < 0)
		return -1;
	COPY_TEXT(ret->memory, in.memory);
	COPY_TEXT(ret->cpus, in.cpus);
	COPY_TEXT(ret->pids, in.pids);
	COPY_TEXT(ret->root_disk, in.root_disk);
	COPY_TEXT(ret->volumes, in.volumes);
	COPY_TEXT(ret->ids, in.ids);
	return 0;
}

static int decode_ports(const struct json_value *v, struct state *ret, struct err *e)
{
	if (v && (v->type != JSON_ARRAY || v->array.n > STATE_PORTS_MAX))
		return err_set(e, ERR_INVALID, "host_ports: expected an array of at most %u",
			       STATE_PORTS_MAX);
	for (size_t i = 0; v && i < v->array.n; i++) {
		const struct json_value *port = &v->array.item[i];

		if (port->type != JSON_INT || port->integer < 0 || port->integer > UINT16_MAX)
			return err_set(e, ERR_INVALID, "host_ports: expected ports");
		ret->host_port[ret->n_ports++] = (uint16_t)port->integer;
	}
	return 0;
}

static int decode(const struct json_value *v, struct state *ret, struct err *e)
{
	struct state_json in = { .uid_base = -1 };

	if (json_decode(v, "", state_fields, ARRAY_SIZE(state_fields), false, &in, e) < 0 ||
	    decode_status(in.status, &ret->status, e) < 0 ||
	    decode_limits(in.limits, &ret->enforced, e) < 0 ||
	    decode_ports(in.host_ports, ret, e) < 0)
		return -1;
	COPY_TEXT(ret->stop_reason, in.stop_reason);
	COPY_TEXT(ret->root, in.root);
	ret->booted_once = in.booted_once;
	ret->boots = (uint64_t)in.boots;
	ret->supervisor = (pid_t)in.supervisor;
	ret->started_ns = (uint64_t)in.started_ns;
	ret->updated_ns = (uint64_t)in.updated_ns;
	ret->wire = (uint32_t)in.wire;
	ret->uid_base = in.uid_base;
	return 0;
}

/* Fills *RET if the file is damaged, or if a newer cordon wrote it. The file exists, so the sandbox
 * has run; nothing else is known. */
static void know_only_that_it_ran(struct state *ret)
{
	state_init(ret);
	ret->booted_once = true;
	ret->boots = 1;
}

int state_read(int dir, struct state *ret)
{
	AUTO_BUF b = BUF_INIT(FILE_MAX_BYTES);
	AUTO_JSON doc = NULL;
	struct err why;
	int r = io_read_file(dir, STATE_FILE, &b);

	state_init(ret);
	if (r < 0)
		return r;
	r = -EINVAL; /* damaged, as after a power cut */
	if (json_parse(buf_str(&b), b.n, &doc, &why) == 0) {
		r = format_check(json_root(doc), RECORD_FORMAT);
		if (r == 0 && decode(json_root(doc), ret, &why) == 0)
			return 0;
		if (r == 0) {
			r = -EINVAL;
			log_line(LOG_DEBUG, "'" STATE_FILE "' is damaged: %s", why.msg);
		}
	}
	know_only_that_it_ran(ret);
	return r;
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
