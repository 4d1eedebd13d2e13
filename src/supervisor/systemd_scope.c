/*
 * Two calls to systemd can move a supervisor into the scope of its home:
 *
 *   StartTransientUnit    makes the scope with us in it; fails if the scope exists
 *   AttachProcessesToUnit moves us into a scope that exists; fails while the scope is starting or
 *                         ending
 *
 * A supervisor that waits tries both calls in turn until one of them succeeds or the time is up. So
 * two supervisors that start at once get into one scope, even while the last sandbox in it ends. A
 * supervisor that does not wait tries AttachProcessesToUnit once.
 *
 * If this process is in a unit of the user's systemd that was made with Delegate=yes, it stays
 * there, so that the limits of the unit also limit the sandbox. Only systemd knows which units are
 * delegated.
 */
#include "supervisor/systemd_scope.h"

#include <assert.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "host/hierarchy.h"
#include "state/home.h"
#include "supervisor/bus.h"

static_assert(HIERARCHY_SCOPE_DIGITS == HOME_TAG_DIGITS, "a scope is not one home's");

/* The deadline for systemd if the argument WAITS of systemd_scope_enter() is true. It is long,
 * because at the beginning of a login the user's systemd itself is still starting. */
#define WAIT_NS (10 * NS_PER_SEC)
#define JOIN_NS (2 * NS_PER_SEC) /* the deadline if WAITS is false; systemd answers in a few ms */
#define RETRY_MS 20              /* pause between two tries; after a few, a scope is up or gone */
/* a supervisor that waits gives up after this many tries */
#define TRIES_MAX 50
#define BODY_MAX_BYTES 4096
#define MANAGER "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define MANAGER_INTERFACE MANAGER ".Manager"
#define ERROR_EXISTS MANAGER ".UnitExists"

static const char *const controllers[] = { "cpu", "memory", "pids" };

static void put_property(struct buf *b, const char *name, const char *type)
{
	dbus_put_struct(b);
	dbus_put_string(b, name);
	dbus_put_variant(b, type);
}

static void put_text_property(struct buf *b, const char *name, const char *value)
{
	put_property(b, name, "s");
	dbus_put_string(b, value);
}

static void put_pids(struct buf *b)
{
	size_t at = dbus_begin_array(b, 4);

	dbus_put_u32(b, (uint32_t)getpid());
	dbus_end_array(b, at, 4);
}

/* Writes the arguments of StartTransientUnit: name, mode, properties, and no other units. */
static void put_scope(struct buf *b, const char *name)
{
	size_t at, list;

	dbus_put_string(b, name);
	dbus_put_string(b, "fail");
	at = dbus_begin_array(b, 8);
	put_text_property(b, "Description", "cordon sandboxes");
	put_text_property(b, "Slice", HIERARCHY_SCOPE_SLICE);
	/* without this property, the name stays taken after the scope has failed */
	put_text_property(b, "CollectMode", "inactive-or-failed");
	put_property(b, "DelegateControllers", "as");
	list = dbus_begin_array(b, 4);
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++)
		dbus_put_string(b, controllers[i]);
	dbus_end_array(b, list, 4);
	put_property(b, "PIDs", "au");
	put_pids(b);
	dbus_end_array(b, at, 8);
	at = dbus_begin_array(b, 8);
	dbus_end_array(b, at, 8);
}

static int refused(const struct dbus_message *m, const char *what, struct err *e)
{
	struct dbus_reader r = dbus_read(m);
	struct str text = str_eq(m->signature, "s") ? dbus_get_string(&r) : (struct str){ "", 0 };

	return err_set(e, str_eq(m->error, ERROR_EXISTS) ? ERR_EXISTS : ERR_DENIED,
		       "%s: %.*s: %.*s", what, (int)m->error.n, m->error.n ? m->error.p : "",
		       (int)text.n, text.p);
}

static int call_manager(struct bus *b, const char *member, const char *signature,
			const struct buf *body, struct dbus_message *ret, struct err *e)
{
	const struct dbus_call c = { .destination = MANAGER,
				     .path = MANAGER_PATH,
				     .interface = MANAGER_INTERFACE,
				     .member = member,
				     .signature = signature };

	if (bus_call(b, &c, body, ret, e) < 0)
		return -1;
	return ret->type == DBUS_RETURN ? 0 : refused(ret, member, e);
}

/* Waits until systemd reports that the start of the unit NAME is over. We believe each such signal,
 * because subscribe() asks the bus for signals of systemd only. A hostile bus gains nothing by a
 * forged signal, because it could simply refuse the scope. */
static int wait_for_start(struct bus *b, const char *name, struct err *e)
{
	struct dbus_message m;

	for (;;) {
		struct dbus_reader r;
		struct str unit, result;

		if (bus_next(b, &m, e) < 0)
			return err_wrap(e, "start '%s'", name);
		if (m.type != DBUS_SIGNAL || !str_eq(m.member, "JobRemoved") ||
		    !str_eq(m.signature, "uoss"))
			continue;
		r = dbus_read(&m);
		dbus_get_u32(&r);
		dbus_get_string(&r);
		unit = dbus_get_string(&r);
		result = dbus_get_string(&r);
		if (r.bad || !str_eq(unit, name))
			continue;
		return str_eq(result, "done") ? 0
					      : err_set(e, ERR_DENIED, "start '%s': %.*s", name,
							(int)result.n, result.p);
	}
}

/* Asks the bus for signals about the starts of units, because the bus sends them only on
 * request. */
static int subscribe(struct bus *b, struct err *e)
{
	static const struct dbus_call c = { .destination = "org.freedesktop.DBus",
					    .path = "/org/freedesktop/DBus",
					    .interface = "org.freedesktop.DBus",
					    .member = "AddMatch",
					    .signature = "s" };
	AUTO_BUF body = BUF_INIT(BODY_MAX_BYTES);
	struct dbus_message m;

	dbus_put_string(&body, "type='signal',sender='" MANAGER "',path='" MANAGER_PATH
			       "',interface='" MANAGER_INTERFACE "',member='JobRemoved'");
	if (bus_call(b, &c, &body, &m, e) < 0)
		return -1;
	return m.type == DBUS_RETURN ? 0 : refused(&m, c.member, e);
}

static int start(struct bus *b, const char *name, struct err *e)
{
	AUTO_BUF body = BUF_INIT(BODY_MAX_BYTES);
	struct dbus_message m;

	put_scope(&body, name);
	if (call_manager(b, "StartTransientUnit", "ssa(sv)a(sa(sv))", &body, &m, e) < 0)
		return -1;
	return wait_for_start(b, name, e);
}

static int attach(struct bus *b, const char *name, struct err *e)
{
	AUTO_BUF body = BUF_INIT(BODY_MAX_BYTES);
	struct dbus_message m;

	dbus_put_string(&body, name);
	dbus_put_string(&body, "/" HIERARCHY_CALLERS);
	put_pids(&body);
	return call_manager(b, "AttachProcessesToUnit", "ssau", &body, &m, e);
}

/* Tries to start the scope and to join it, in turn, until one of the two succeeds. Gives up at the
 * deadline, after TRIES_MAX tries, or after an error that another try cannot mend. */
static int start_or_attach(struct bus *b, const char *name, struct err *e)
{
	if (subscribe(b, e) < 0)
		return -1;
	for (unsigned i = 0; i < TRIES_MAX; i++) {
		if (start(b, name, e) == 0)
			return 0;
		if (e->code != ERR_EXISTS)
			return -1;
		if (attach(b, name, e) == 0)
			return 0;
		if (e->code != ERR_DENIED)
			return -1;
		IGNORE(poll(NULL, 0, RETRY_MS)); /* the scope is starting or ending */
	}
	return -1;
}

static bool ends_with(struct str s, const char *end)
{
	size_t n = strlen(end);

	return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

/* Finds the unit that this process is in. PATH becomes the path of the unit's D-Bus object, or ""
 * if this process is in no unit. *RET_INTERFACE is the interface of that object. */
static int find_unit(struct bus *b, struct buf *path, const char **ret_interface, struct err *e)
{
	AUTO_BUF body = BUF_INIT(BODY_MAX_BYTES);
	struct dbus_message m;
	struct dbus_reader r;
	struct str found;

	dbus_put_u32(&body, (uint32_t)getpid());
	if (call_manager(b, "GetUnitByPID", "u", &body, &m, e) < 0)
		return e->code == ERR_DENIED ? 0 : -1;
	r = dbus_read(&m);
	found = str_eq(m.signature, "o") ? dbus_get_string(&r) : (struct str){ "", 0 };
	buf_add(path, found.p, found.n);
	*ret_interface = ends_with(found, "_2escope") ? MANAGER ".Scope" : MANAGER ".Service";
	return 0;
}

/* Finds out whether our unit is delegated. If systemd refuses to answer, the result is false. If
 * the bus does not answer, that is an error, because the next call could move us out of a delegated
 * unit. */
static int find_delegation(struct bus *b, bool *ret, struct err *e)
{
	AUTO_BUF path = BUF_INIT(BODY_MAX_BYTES), body = BUF_INIT(BODY_MAX_BYTES);
	struct dbus_call c = { .destination = MANAGER,
			       .interface = "org.freedesktop.DBus.Properties",
			       .member = "Get",
			       .signature = "ss" };
	const char *interface = NULL;
	struct dbus_message m;
	struct dbus_reader r;

	*ret = false;
	if (find_unit(b, &path, &interface, e) < 0)
		return -1;
	if (path.n == 0)
		return 0;
	c.path = buf_str(&path);
	dbus_put_string(&body, interface);
	dbus_put_string(&body, "Delegate");
	if (bus_call(b, &c, &body, &m, e) < 0)
		return -1;
	r = dbus_read(&m);
	*ret = m.type == DBUS_RETURN && str_eq(m.signature, "v") &&
	       str_eq(dbus_get_variant(&r), "b") && dbus_get_u32(&r) == 1;
	return 0;
}

static int ask(const char *name, bool waits, bool in_unit, struct err *e)
{
	AUTO_BUS b = BUS_NONE;
	bool stays = false;

	if (bus_open(&b, clock_mono_ns() + (waits ? WAIT_NS : JOIN_NS), e) < 0 ||
	    (in_unit && find_delegation(&b, &stays, e) < 0))
		return -1;
	if (stays)
		return 0;
	return waits ? start_or_attach(&b, name, e) : attach(&b, name, e);
}

/* Returns true if the scope exists: its control group is at the usual place. Needs no call over the
 * bus. */
static bool exists(const char *id)
{
	AUTO_FD fd = hierarchy_open_scope(id);

	return fd >= 0;
}

void systemd_scope_enter(const char *id, bool waits)
{
	char name[HIERARCHY_SCOPE_BYTES];
	enum hierarchy_owner owner;
	struct err e = { 0 };

	if (geteuid() == 0 || !hierarchy_is_unified() || (!waits && !exists(id)))
		return;
	owner = hierarchy_owner();
	if (owner == HIERARCHY_GIVEN)
		return;
	hierarchy_scope_name(id, name);
	if (ask(name, waits, owner == HIERARCHY_UNIT, &e) < 0)
		log_line(LOG_INFO, "no control group of the user's systemd: %s", e.msg);
}
