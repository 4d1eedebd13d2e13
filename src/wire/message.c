#include "wire/message.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/group_view.h"

/* These numbers are part of the protocol: never reuse one; add new tags at the end. */
enum tag {
	TAG_VERSION = 1,
	TAG_OLDEST = 2,
	TAG_FLAGS = 3,
	TAG_ARG = 4,
	TAG_ENV = 5,
	TAG_CWD = 6,
	TAG_USER = 7,
	TAG_TERM = 8,
	TAG_ROWS = 9,
	TAG_COLS = 10,
	TAG_TIMEOUT_MS = 11,
	TAG_RLIMIT = 12,
	TAG_FAILURE = 13,
	TAG_ERRNO = 14,
	TAG_CODE = 15,
	TAG_SIGNAL = 16,
	TAG_TIMED_OUT = 17,
	TAG_OUT_OF_MEMORY = 18,
	TAG_SWEPT = 19,
	TAG_SHELL = 20,
	TAG_RESTRICTED = 21,
	TAG_REPORT_ACTIVITY = 22,
	TAG_INNER_UID_MAP = 23,
	TAG_TASK_FDS = 25,
	TAG_HAS_CGROUP = 26,
	TAG_NOFILE_SOFT = 27,
	TAG_NOFILE_HARD = 28,
	TAG_DATA_LIMIT = 29,
	TAG_NPROC_LIMIT = 30,
	TAG_ID = 31,
	TAG_TEXT = 32,
	TAG_NUMBER = 33,
	TAG_HAS_OOM = 34,
	TAG_SINGLE_ID = 35,
	TAG_ID_SHIFT = 36,
	TAG_HAS_CONNECTION = 37,
	TAG_LENT_SHELL = 38,
	TAG_ALONE = 39,
	TAG_UPTIME_NS = 64,
	TAG_CPU_NS = 65,
	TAG_MEMORY_BYTES = 66,
	TAG_DISK_READ_BYTES = 67,
	TAG_DISK_WRITE_BYTES = 68,
	TAG_PIDS = 69,
	TAG_NET_RX_BYTES = 70,
	TAG_NET_TX_BYTES = 71,
	TAG_SUPERVISOR = 72,
	TAG_PID_1 = 73,
	TAG_SWITCHES = 74,
	TAG_BORN_WITH_CGROUP = 75,
	TAG_OWN_MOUNT = 76,
	TAG_OWN_DEVICE = 77,
	TAG_ENDED = 78,
	TAG_BLOB = 79,
	TAG_OFFSET = 80,
	TAG_KEEP_MS = 81,
	TAG_MEMORY_MIB = 82,
	TAG_CPU_MILLI = 83,
	TAG_PIDS_LIMIT = 84,
	TAG_REFUSED = 85,
	TAG_REFUSED_WHAT = 86,
	TAG_REFUSED_RULE = 87,
	TAG_HAS_REFUSALS = 88,
	TAG_INNER_GID_MAP = 90,
	TAG_OWNER_UID = 91,
	TAG_OWNER_GID = 92,
	TAG_ROTATED = 93,
	TAG_GROUP_VIEWS = 94,
	TAG_GROUP_JOINS = 95,
	/* a STARTED that answers ATTACH also uses the tags 100 to 102, see wire/background.c */
};

/* Adds S to a NULL-terminated array of borrowed strings. */
static int list_add(const char ***list, size_t *n, const char *s)
{
	if (!s)
		return -EPROTO;
	if (*n >= EXEC_STRINGS_MAX)
		return -E2BIG;
	/* the array grows at 0, 1, 3, 7 … strings, because one slot holds the terminator */
	if ((*n & (*n + 1)) == 0) {
		const char **grown = realloc(*list, (2 * *n + 2) * sizeof(*grown));

		if (!grown)
			return -E2BIG;
		*list = grown;
	}
	(*list)[(*n)++] = s;
	(*list)[*n] = NULL;
	return 0;
}

static int get_number(const struct field *f, uint64_t max, uint64_t *ret)
{
	uint64_t v;

	if (!field_u64(f, &v) || v > max)
		return -EPROTO;
	*ret = v;
	return 0;
}

/* Adds the number in F to an array. */
static int number_add(uint64_t **list, size_t *n, const struct field *f)
{
	if (*n >= EXEC_STRINGS_MAX)
		return -E2BIG;
	/* the array grows at 0, 1, 2, 4 … numbers */
	if ((*n & (*n - 1)) == 0) {
		uint64_t *grown = realloc(*list, (*n ? 2 * *n : 1) * sizeof(*grown));

		if (!grown)
			return -E2BIG;
		*list = grown;
	}
	if (get_number(f, UINT64_MAX, *list + *n) < 0)
		return -EPROTO;
	(*n)++;
	return 0;
}

static int get_u32(const struct field *f, uint32_t *ret)
{
	uint64_t v;

	if (get_number(f, UINT32_MAX, &v) < 0)
		return -EPROTO;
	*ret = (uint32_t)v;
	return 0;
}

static int get_bool(const struct field *f, bool *ret)
{
	uint64_t v;

	if (get_number(f, 1, &v) < 0)
		return -EPROTO;
	*ret = v != 0;
	return 0;
}

static int get_str(const struct field *f, const char **ret)
{
	*ret = field_str(f);
	return *ret ? 0 : -EPROTO;
}

void hello_encode(struct buf *b)
{
	size_t at = frame_begin(b, FRAME_HELLO, 0, 0);

	field_put_u64(b, TAG_VERSION, WIRE_VERSION);
	field_put_u64(b, TAG_OLDEST, WIRE_OLDEST);
	frame_end(b, at);
}

int hello_decode(struct str body, struct hello *ret)
{
	struct field f;
	int r;

	*ret = (struct hello){ 0 };
	while ((r = field_next(&body, &f)) > 0) {
		if (f.tag == TAG_VERSION)
			r = get_u32(&f, &ret->version);
		else if (f.tag == TAG_OLDEST)
			r = get_u32(&f, &ret->oldest);
		if (r < 0)
			return r;
	}
	return r < 0 || ret->version == 0 || ret->oldest > ret->version ? -EPROTO : 0;
}

uint32_t hello_agree(const struct hello *peer)
{
	uint32_t v = peer->version < WIRE_VERSION ? peer->version : WIRE_VERSION;

	return v >= WIRE_OLDEST && v >= peer->oldest ? v : 0;
}

static void put_rlimits(struct buf *b, const struct exec_rlimit *l, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		AUTO_BUF one = BUF_INIT(64);

		field_put_u64(&one, TAG_NUMBER, l[i].resource);
		field_put_u64(&one, TAG_NUMBER, l[i].soft);
		field_put_u64(&one, TAG_NUMBER, l[i].hard);
		field_put(b, TAG_RLIMIT, one.p, one.n);
	}
}

void exec_encode(struct buf *b, const struct exec_message *m)
{
	field_put_u64(b, TAG_FLAGS, m->flags);
	for (size_t i = 0; i < m->n_argv; i++)
		field_put_str(b, TAG_ARG, m->argv[i]);
	for (size_t i = 0; i < m->n_env; i++)
		field_put_str(b, TAG_ENV, m->env[i]);
	if (m->cwd)
		field_put_str(b, TAG_CWD, m->cwd);
	if (m->user)
		field_put_str(b, TAG_USER, m->user);
	if (m->term)
		field_put_str(b, TAG_TERM, m->term);
	if (m->rows || m->cols) {
		field_put_u64(b, TAG_ROWS, m->rows);
		field_put_u64(b, TAG_COLS, m->cols);
	}
	if (m->timeout_ms)
		field_put_u64(b, TAG_TIMEOUT_MS, m->timeout_ms);
	if (m->keep_ms)
		field_put_u64(b, TAG_KEEP_MS, m->keep_ms);
	put_rlimits(b, m->rlimit, m->n_rlimits);
}

static int get_rlimit(const struct field *f, struct exec_rlimit list[EXEC_RLIMITS_MAX], size_t *n)
{
	struct str body = f->value;
	uint64_t v[3];
	struct field part;

	if (*n >= EXEC_RLIMITS_MAX)
		return -E2BIG;
	for (unsigned i = 0; i < 3; i++)
		if (field_next(&body, &part) != 1 || !field_u64(&part, &v[i]))
			return -EPROTO;
	if (v[0] > UINT32_MAX)
		return -EPROTO;
	list[(*n)++] = (struct exec_rlimit){ (uint32_t)v[0], v[1], v[2] };
	return 0;
}

static int exec_field(const struct field *f, struct exec_message *m)
{
	uint64_t v;

	switch (f->tag) {
	case TAG_FLAGS:
		if (get_number(f, UINT16_MAX, &v) < 0)
			return -EPROTO;
		m->flags = (unsigned)v;
		return 0;
	case TAG_ARG:
		return list_add(&m->argv, &m->n_argv, field_str(f));
	case TAG_ENV:
		return list_add(&m->env, &m->n_env, field_str(f));
	case TAG_CWD:
		return get_str(f, &m->cwd);
	case TAG_USER:
		return get_str(f, &m->user);
	case TAG_TERM:
		return get_str(f, &m->term);
	case TAG_ROWS:
		return get_u32(f, &m->rows);
	case TAG_COLS:
		return get_u32(f, &m->cols);
	case TAG_TIMEOUT_MS:
		return get_number(f, UINT64_MAX / 2000000, &m->timeout_ms);
	case TAG_KEEP_MS:
		return get_number(f, UINT64_MAX / 2000000, &m->keep_ms);
	case TAG_RLIMIT:
		return get_rlimit(f, m->rlimit, &m->n_rlimits);
	default:
		return 0;
	}
}

int exec_decode(struct str body, struct exec_message *ret)
{
	struct field f;
	int r;

	*ret = (struct exec_message){ 0 };
	while ((r = field_next(&body, &f)) > 0) {
		r = exec_field(&f, ret);
		if (r < 0)
			break;
	}
	if (r == 0 && ret->n_argv == 0)
		r = -EPROTO;
	if (r < 0)
		exec_message_done(ret);
	return r;
}

void exec_message_done(struct exec_message *m)
{
	free(m->argv);
	free(m->env);
	m->argv = m->env = NULL;
	m->n_argv = m->n_env = 0;
}

static const char *const failure_text[] = {
	// clang-format off
	[EXEC_OK]             = "ok",
	[EXEC_NOT_FOUND]      = "not found",
	[EXEC_DENIED]         = "permission denied",
	[EXEC_NOT_EXECUTABLE] = "not executable",
	[EXEC_BAD_CWD]        = "bad cwd",
	[EXEC_BAD_ARGS]       = "bad args",
	[EXEC_RESOURCE]       = "resource limit",
	[EXEC_USER]           = "user setup",
	[EXEC_NO_MEMORY]      = "out of memory",
	[EXEC_PTY]            = "pty setup",
	[EXEC_INTERNAL]       = "internal",
	// clang-format on
};
static_assert(ARRAY_SIZE(failure_text) == EXEC_FAILURE_COUNT, "a failure has no text");

const char *exec_failure_text(enum exec_failure f)
{
	return (unsigned)f < EXEC_FAILURE_COUNT ? failure_text[f] : "internal";
}

void exit_encode(struct buf *b, const struct exit_message *m)
{
	field_put_u64(b, TAG_FAILURE, (uint64_t)m->failure);
	field_put_u64(b, TAG_ERRNO, (uint32_t)m->sys);
	field_put_u64(b, TAG_CODE, m->code);
	field_put_u64(b, TAG_SIGNAL, m->signal);
	field_put_u64(b, TAG_TIMED_OUT, m->timed_out);
	field_put_u64(b, TAG_OUT_OF_MEMORY, m->out_of_memory);
	field_put_u64(b, TAG_SWEPT, m->swept);
	field_put_u64(b, TAG_ALONE, m->alone);
	if (m->ended)
		field_put_u64(b, TAG_ENDED, (uint64_t)m->ended);
	if (!m->refused.n)
		return;
	field_put_u64(b, TAG_REFUSED, m->refused.n);
	for (unsigned i = 0; i < m->refused.shown; i++) {
		field_put_str(b, TAG_REFUSED_WHAT, m->refused.item[i].what);
		field_put_str(b, TAG_REFUSED_RULE, m->refused.item[i].rule);
	}
}

/* The characters that a rule may have. A person may paste a rule into a shell, so no rule may have
 * a character that begins another command. */
#define RULE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@.:_=+/[]-"

/* Reads one field about refused connections. A field TAG_REFUSED_WHAT begins a new item. The rule
 * in the next field belongs to this item. A rule with a character that is not in RULE_CHARACTERS is
 * left out. Returns 0 or -EPROTO. */
static int refused_field(const struct field *f, struct refused *r)
{
	const char *text = field_str(f);
	struct refusal *last = r->shown ? &r->item[r->shown - 1] : NULL;

	if (f->tag == TAG_REFUSED)
		return get_u32(f, &r->n);
	if (!text ||
	    strlen(text) >= (f->tag == TAG_REFUSED_WHAT ? REFUSAL_WHAT_BYTES : REFUSAL_RULE_BYTES))
		return -EPROTO;
	if (f->tag == TAG_REFUSED_WHAT) {
		if (r->shown == REFUSALS_SHOWN)
			return -EPROTO;
		memcpy(r->item[r->shown++].what, text, strlen(text) + 1);
	} else if (last && !text[strspn(text, RULE_CHARACTERS)]) {
		memcpy(last->rule, text, strlen(text) + 1);
	}
	return 0;
}

int exit_decode(struct str body, struct exit_message *ret)
{
	struct field f;
	uint64_t v = 0;
	int r;

	*ret = (struct exit_message){ 0 };
	while ((r = field_next(&body, &f)) > 0) {
		r = 0;
		switch (f.tag) {
		case TAG_FAILURE:
			r = get_number(&f, EXEC_FAILURE_COUNT - 1, &v);
			ret->failure = (enum exec_failure)v;
			break;
		case TAG_ERRNO:
			r = get_number(&f, 4095, &v);
			ret->sys = (int32_t)v;
			break;
		case TAG_CODE:
			r = get_number(&f, 255, &v);
			ret->code = (uint32_t)v;
			break;
		case TAG_SIGNAL:
			r = get_number(&f, 127, &v);
			ret->signal = (uint32_t)v;
			break;
		case TAG_TIMED_OUT:
			r = get_bool(&f, &ret->timed_out);
			break;
		case TAG_OUT_OF_MEMORY:
			r = get_bool(&f, &ret->out_of_memory);
			break;
		case TAG_SWEPT:
			r = get_bool(&f, &ret->swept);
			break;
		case TAG_ALONE:
			r = get_bool(&f, &ret->alone);
			break;
		case TAG_ENDED:
			r = get_number(&f, END_REASON_COUNT - 1, &v);
			ret->ended = (enum end_reason)v;
			break;
		case TAG_REFUSED:
		case TAG_REFUSED_WHAT:
		case TAG_REFUSED_RULE:
			r = refused_field(&f, &ret->refused);
			break;
		}
		if (r < 0)
			return r;
	}
	return r;
}

void boot_encode(struct buf *b, const struct boot_message *m)
{
	for (size_t i = 0; i < m->n_env; i++)
		field_put_str(b, TAG_ENV, m->env[i]);
	if (m->workdir)
		field_put_str(b, TAG_CWD, m->workdir);
	if (m->user)
		field_put_str(b, TAG_USER, m->user);
	if (m->shell)
		field_put_str(b, TAG_SHELL, m->shell);
	field_put_u64(b, TAG_RESTRICTED, m->restricted);
	field_put_u64(b, TAG_REPORT_ACTIVITY, m->report_activity);
	field_put_u64(b, TAG_LENT_SHELL, m->lent_shell);
	if (m->inner_uid_map)
		field_put_str(b, TAG_INNER_UID_MAP, m->inner_uid_map);
	if (m->inner_gid_map)
		field_put_str(b, TAG_INNER_GID_MAP, m->inner_gid_map);
	field_put_u64(b, TAG_OWNER_UID, m->owner_uid);
	field_put_u64(b, TAG_OWNER_GID, m->owner_gid);
	field_put_u64(b, TAG_ROTATED, m->rotated);
	field_put_u64(b, TAG_SINGLE_ID, m->single_id);
	field_put_u64(b, TAG_ID_SHIFT, m->id_shift);
	field_put_u64(b, TAG_HAS_CONNECTION, m->has_connection);
	field_put_u64(b, TAG_TASK_FDS, m->n_task_fds);
	field_put_u64(b, TAG_HAS_CGROUP, m->has_cgroup);
	field_put_u64(b, TAG_BORN_WITH_CGROUP, m->born_with_cgroup);
	field_put_u64(b, TAG_HAS_OOM, m->has_oom);
	field_put_u64(b, TAG_HAS_REFUSALS, m->has_refusals);
	field_put_u64(b, TAG_GROUP_VIEWS, m->group_views);
	field_put_u64(b, TAG_GROUP_JOINS, m->n_group_joins);
	field_put_u64(b, TAG_NOFILE_SOFT, m->nofile_soft);
	field_put_u64(b, TAG_NOFILE_HARD, m->nofile_hard);
	put_rlimits(b, m->rlimit, m->n_rlimits);
	field_put_u64(b, TAG_DATA_LIMIT, m->data_limit);
	field_put_u64(b, TAG_NPROC_LIMIT, m->nproc_limit);
	field_put_u64(b, TAG_SWITCHES, m->switches);
	for (size_t i = 0; i < m->n_own_mounts; i++)
		field_put_str(b, TAG_OWN_MOUNT, m->own_mount[i]);
	for (size_t i = 0; i < m->n_own_devices; i++)
		field_put_u64(b, TAG_OWN_DEVICE, m->own_device[i]);
}

static int boot_field(const struct field *f, struct boot_message *m)
{
	switch (f->tag) {
	case TAG_ENV:
		return list_add(&m->env, &m->n_env, field_str(f));
	case TAG_CWD:
		return get_str(f, &m->workdir);
	case TAG_USER:
		return get_str(f, &m->user);
	case TAG_SHELL:
		return get_str(f, &m->shell);
	case TAG_RESTRICTED:
		return get_bool(f, &m->restricted);
	case TAG_LENT_SHELL:
		return get_bool(f, &m->lent_shell);
	case TAG_REPORT_ACTIVITY:
		return get_bool(f, &m->report_activity);
	case TAG_INNER_UID_MAP:
		return get_str(f, &m->inner_uid_map);
	case TAG_INNER_GID_MAP:
		return get_str(f, &m->inner_gid_map);
	case TAG_OWNER_UID:
		return get_u32(f, &m->owner_uid);
	case TAG_OWNER_GID:
		return get_u32(f, &m->owner_gid);
	case TAG_ROTATED:
		return get_bool(f, &m->rotated);
	case TAG_ID_SHIFT:
		return get_u32(f, &m->id_shift);
	case TAG_HAS_CONNECTION:
		return get_bool(f, &m->has_connection);
	case TAG_TASK_FDS:
		return get_u32(f, &m->n_task_fds);
	case TAG_HAS_CGROUP:
		return get_bool(f, &m->has_cgroup);
	case TAG_BORN_WITH_CGROUP:
		return get_bool(f, &m->born_with_cgroup);
	case TAG_HAS_OOM:
		return get_bool(f, &m->has_oom);
	case TAG_HAS_REFUSALS:
		return get_bool(f, &m->has_refusals);
	case TAG_GROUP_VIEWS:
		return get_u32(f, &m->group_views) < 0 || m->group_views >> GROUP_VIEW_COUNT
			       ? -EPROTO
			       : 0;
	case TAG_GROUP_JOINS:
		return get_u32(f, &m->n_group_joins) < 0 || m->n_group_joins > GROUP_VIEW_COUNT
			       ? -EPROTO
			       : 0;
	case TAG_SINGLE_ID:
		return get_bool(f, &m->single_id);
	case TAG_NOFILE_SOFT:
		return get_number(f, UINT64_MAX, &m->nofile_soft);
	case TAG_NOFILE_HARD:
		return get_number(f, UINT64_MAX, &m->nofile_hard);
	case TAG_RLIMIT:
		return get_rlimit(f, m->rlimit, &m->n_rlimits);
	case TAG_DATA_LIMIT:
		return get_number(f, UINT64_MAX, &m->data_limit);
	case TAG_NPROC_LIMIT:
		return get_number(f, UINT64_MAX, &m->nproc_limit);
	case TAG_SWITCHES:
		return get_u32(f, &m->switches);
	case TAG_OWN_MOUNT:
		return list_add(&m->own_mount, &m->n_own_mounts, field_str(f));
	case TAG_OWN_DEVICE:
		return number_add(&m->own_device, &m->n_own_devices, f);
	default:
		return 0;
	}
}

int boot_decode(struct str body, struct boot_message *ret)
{
	struct field f;
	int r;

	*ret = (struct boot_message){ 0 };
	while ((r = field_next(&body, &f)) > 0) {
		r = boot_field(&f, ret);
		if (r < 0)
			break;
	}
	if (r < 0)
		boot_message_done(ret);
	return r;
}

void boot_message_done(struct boot_message *m)
{
	free(m->env);
	m->env = NULL;
	m->n_env = 0;
	free(m->own_mount);
	m->own_mount = NULL;
	m->n_own_mounts = 0;
	free(m->own_device);
	m->own_device = NULL;
	m->n_own_devices = 0;
}

void started_encode(struct buf *b, uint64_t id)
{
	field_put_u64(b, TAG_ID, id);
}

/* Describes a field that holds a number. `offset` is the place of this number in the struct of the
 * message. If the body has no field with this tag, numbers_decode() does not change the number in
 * the struct. */
struct number_field {
	uint8_t tag;
	size_t offset;
};

static void numbers_encode(struct buf *b, const struct number_field *field, size_t n,
			   const void *message, uint64_t absent)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v;

		memcpy(&v, (const char *)message + field[i].offset, sizeof(v));
		if (v != absent)
			field_put_u64(b, field[i].tag, v);
	}
}

static int numbers_decode(struct str body, const struct number_field *field, size_t n,
			  void *message)
{
	struct field f;
	uint64_t v;
	int r;

	while ((r = field_next(&body, &f)) > 0)
		for (size_t i = 0; i < n; i++)
			if (f.tag == field[i].tag) {
				if (!field_u64(&f, &v))
					return -EPROTO;
				memcpy((char *)message + field[i].offset, &v, sizeof(v));
			}
	return r;
}

static const struct number_field usage_fields[] = {
	// clang-format off
	{ TAG_UPTIME_NS,        offsetof(struct usage_message, uptime_ns) },
	{ TAG_CPU_NS,           offsetof(struct usage_message, cpu_ns) },
	{ TAG_MEMORY_BYTES,     offsetof(struct usage_message, memory_bytes) },
	{ TAG_DISK_READ_BYTES,  offsetof(struct usage_message, disk_read_bytes) },
	{ TAG_DISK_WRITE_BYTES, offsetof(struct usage_message, disk_write_bytes) },
	{ TAG_PIDS,             offsetof(struct usage_message, pids) },
	{ TAG_NET_RX_BYTES,     offsetof(struct usage_message, net_rx_bytes) },
	{ TAG_NET_TX_BYTES,     offsetof(struct usage_message, net_tx_bytes) },
	{ TAG_SUPERVISOR,       offsetof(struct usage_message, supervisor) },
	{ TAG_PID_1,            offsetof(struct usage_message, pid_1) },
	// clang-format on
};

void usage_encode(struct buf *b, const struct usage_message *m)
{
	numbers_encode(b, usage_fields, ARRAY_SIZE(usage_fields), m, USAGE_UNKNOWN);
}

int usage_decode(struct str body, struct usage_message *ret)
{
	memset(ret, 0xff, sizeof(*ret)); /* sets all numbers to USAGE_UNKNOWN */
	return numbers_decode(body, usage_fields, ARRAY_SIZE(usage_fields), ret);
}

static const struct number_field limits_fields[] = {
	{ TAG_MEMORY_MIB, offsetof(struct limits_message, memory_mib) },
	{ TAG_CPU_MILLI, offsetof(struct limits_message, cpu_milli) },
	{ TAG_PIDS_LIMIT, offsetof(struct limits_message, pids) },
};

void limits_encode(struct buf *b, const struct limits_message *m)
{
	numbers_encode(b, limits_fields, ARRAY_SIZE(limits_fields), m, 0);
}

int limits_decode(struct str body, struct limits_message *ret)
{
	*ret = (struct limits_message){ 0 };
	return numbers_decode(body, limits_fields, ARRAY_SIZE(limits_fields), ret);
}

void number_encode(struct buf *b, uint64_t v)
{
	field_put_u64(b, TAG_NUMBER, v);
}

static int one_number(struct str body, uint8_t tag, uint64_t *ret)
{
	bool found = false;
	struct field f;
	int r;

	while ((r = field_next(&body, &f)) > 0) {
		if (f.tag != tag)
			continue;
		if (!field_u64(&f, ret))
			return -EPROTO;
		found = true;
	}
	return r < 0 || !found ? -EPROTO : 0;
}

int started_decode(struct str body, uint64_t *ret_id)
{
	return one_number(body, TAG_ID, ret_id);
}

int number_decode(struct str body, uint64_t *ret)
{
	return one_number(body, TAG_NUMBER, ret);
}

void signal_encode(struct buf *b, const struct signal_message *m)
{
	field_put_u64(b, TAG_NUMBER, m->signal);
	if (m->id)
		field_put_u64(b, TAG_ID, m->id);
}

/* Reads the numbers of two tags, each of which may be missing. Returns HAS_FIRST and HAS_SECOND
 * bits, or -EPROTO. */
enum { HAS_FIRST = 1, HAS_SECOND = 2 };
static int two_numbers(struct str body, uint8_t first, uint64_t *ret_first, uint8_t second,
		       uint64_t *ret_second)
{
	struct field f;
	int r, has = 0;

	while ((r = field_next(&body, &f)) > 0) {
		if (f.tag != first && f.tag != second)
			continue;
		if (!field_u64(&f, f.tag == first ? ret_first : ret_second))
			return -EPROTO;
		has |= f.tag == first ? HAS_FIRST : HAS_SECOND;
	}
	return r < 0 ? r : has;
}

int signal_decode(struct str body, struct signal_message *ret)
{
	int has;

	*ret = (struct signal_message){ 0 };
	has = two_numbers(body, TAG_NUMBER, &ret->signal, TAG_ID, &ret->id);
	return has < 0 || !(has & HAS_FIRST) ? -EPROTO : 0;
}

void attach_encode(struct buf *b, const struct attach_message *m)
{
	field_put_u64(b, TAG_NUMBER, m->id);
	if (m->has_offset)
		field_put_u64(b, TAG_OFFSET, m->offset);
}

int attach_decode(struct str body, struct attach_message *ret)
{
	int has;

	*ret = (struct attach_message){ 0 };
	has = two_numbers(body, TAG_NUMBER, &ret->id, TAG_OFFSET, &ret->offset);
	ret->has_offset = has > 0 && has & HAS_SECOND;
	return has < 0 || !(has & HAS_FIRST) ? -EPROTO : 0;
}

void state_encode(struct buf *b, const struct state_message *m)
{
	field_put_u64(b, TAG_VERSION, m->version);
	if (m->blob.n)
		field_put(b, TAG_BLOB, m->blob.p, m->blob.n);
}

int state_decode(struct str body, struct state_message *ret)
{
	bool found = false;
	struct field f;
	int r;

	*ret = (struct state_message){ 0 };
	while ((r = field_next(&body, &f)) > 0) {
		if (f.tag == TAG_VERSION) {
			if (!field_u64(&f, &ret->version))
				return -EPROTO;
			found = true;
		} else if (f.tag == TAG_BLOB) {
			ret->blob = f.value;
		}
	}
	return r < 0 || !found ? -EPROTO : 0;
}

void error_encode(struct buf *b, unsigned code, const char *text)
{
	field_put_u64(b, TAG_CODE, code);
	field_put_str(b, TAG_TEXT, text);
}

int error_decode(struct str body, unsigned *ret_code, const char **ret_text)
{
	struct field f;
	uint64_t code = 0;
	int r;

	*ret_text = NULL;
	while ((r = field_next(&body, &f)) > 0) {
		r = 0;
		if (f.tag == TAG_CODE)
			r = get_number(&f, ERR_CODE_COUNT - 1, &code);
		else if (f.tag == TAG_TEXT)
			r = get_str(&f, ret_text);
		if (r < 0)
			return r;
	}
	*ret_code = (unsigned)code;
	return r < 0 || !*ret_text ? -EPROTO : 0;
}

void size_encode(struct buf *b, uint32_t rows, uint32_t cols)
{
	field_put_u64(b, TAG_ROWS, rows);
	field_put_u64(b, TAG_COLS, cols);
}

int size_decode(struct str body, uint32_t *ret_rows, uint32_t *ret_cols)
{
	struct field f;
	uint64_t v = 0;
	int r;

	*ret_rows = *ret_cols = 0;
	while ((r = field_next(&body, &f)) > 0) {
		if (f.tag != TAG_ROWS && f.tag != TAG_COLS)
			continue;
		if (get_number(&f, UINT16_MAX, &v) < 0)
			return -EPROTO;
		*(f.tag == TAG_ROWS ? ret_rows : ret_cols) = (uint32_t)v;
	}
	return r;
}
