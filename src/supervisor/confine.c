/*
 * A confined supervisor keeps these rights, which it needs for its sandbox:
 *
 *   capabilities  DAC_OVERRIDE, FOWNER  to delete files of the sandbox's ids: the record of an
 *                                       ephemeral sandbox, and control groups that pid 1 made
 *                 KILL                  to kill pid 1, whose user namespace belongs to an id of
 *                                       the sandbox's range of ids; the filter allows signals only
 *                                       through a pidfd
 *                 with a network:
 *                 SETUID, SETGID        to start the gateway, which changes to an id of this range
 *                 NET_BIND_SERVICE      to let the gateway publish a port below 1024
 *   files         its record; its sockets; the engine's files. If the record is deleted when the
 *                 sandbox ends: the right to make and remove directories beside the record, to
 *                 retire it. With a network: the gateway, the loader, the libraries, /dev/urandom,
 *                 and the files that name the host's resolvers
 *   calls         tools/supervisor.table
 *
 * The supervisor of an ordinary user never has a capability, but it may make a few more calls: the
 * part `lift` of the table. Its files are the same. A start needs the set-user-id program
 * newuidmap, which must have run before this confinement sets no_new_privs.
 */
#include "supervisor/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "supervisor/network.h"

#define READ_FILE LANDLOCK_ACCESS_FS_READ_FILE
#define READ_DIR LANDLOCK_ACCESS_FS_READ_DIR
#define WRITE_FILE LANDLOCK_ACCESS_FS_WRITE_FILE
#define REMOVE_FILE LANDLOCK_ACCESS_FS_REMOVE_FILE
#define REMOVE_DIR LANDLOCK_ACCESS_FS_REMOVE_DIR
#define MAKE_DIR LANDLOCK_ACCESS_FS_MAKE_DIR
#define MAKE_REG LANDLOCK_ACCESS_FS_MAKE_REG
#define EXECUTE LANDLOCK_ACCESS_FS_EXECUTE

static uint64_t capabilities(const struct supervisor *s)
{
	uint64_t keep =
		CONFINE_CAP(CAP_DAC_OVERRIDE) | CONFINE_CAP(CAP_FOWNER) | CONFINE_CAP(CAP_KILL);

	if (s->network)
		keep |= CONFINE_CAP(CAP_SETUID) | CONFINE_CAP(CAP_SETGID);
	if (s->network && s->record.spec.n_ports > 0)
		keep |= CONFINE_CAP(CAP_NET_BIND_SERVICE);
	return keep;
}

/* Allows the directory NAME of the home. */
static int allow_home(struct confine_files *f, const struct supervisor *s, const char *name,
		      uint64_t rights, struct err *e)
{
	AUTO_FD fd = openat(s->home.fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, errno, "open '%s/%s'", s->home.path, name);
	return confine_files_allow(f, fd, rights, e);
}

static int allow_record(struct confine_files *f, const struct supervisor *s, struct err *e)
{
	if (confine_files_allow(f, s->record_dir,
				READ_FILE | READ_DIR | WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |
					MAKE_REG | MAKE_DIR | REMOVE_FILE | REMOVE_DIR,
				e) < 0 ||
	    allow_home(f, s, "run", REMOVE_FILE, e) < 0)
		return -1;
	return !supervisor_may_vanish(s) ? 0
					 : allow_home(f, s, "sandboxes", MAKE_DIR | REMOVE_DIR, e);
}

/* Allows the gateway to read /etc/resolv.conf, the list of the host's resolvers. Programs of the
 * host often replace this list by a new file. If /etc/resolv.conf is a link to a file outside of
 * /etc, the gateway may read all files in the directory of that file, so it can read the new list
 * too. If /etc/resolv.conf is a file in /etc, the gateway sees only the file that existed when the
 * sandbox started. */
static int allow_resolvers(struct confine_files *f, struct network *net, struct err *e)
{
	int fd = openat(AT_FDCWD, "/etc/resolv.conf", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char link[32], path[4096];
	char *slash;
	ssize_t n;

	/* the host has no list: the gateway then answers queries with a failure */
	if (fd < 0)
		return 0;
	network_set_resolv_conf(net, fd);
	if (confine_files_allow(f, fd, READ_FILE, e) < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0 || strncmp(path, "/etc/", 5) == 0)
		return 0;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash || slash == path)
		return 0;
	*slash = '\0';
	return confine_files_allow_path(f, path, READ_FILE, e);
}

static int allow_gateway(struct confine_files *f, struct supervisor *s, struct err *e)
{
	static const struct {
		const char *path;
		uint64_t rights;
	} places[] = {
		// clang-format off
		{ "/lib",               READ_FILE | EXECUTE },
		{ "/lib64",             READ_FILE | EXECUTE },
		{ "/usr/lib",           READ_FILE | EXECUTE },
		{ "/usr/lib64",         READ_FILE | EXECUTE },
		{ "/usr/local/lib",     READ_FILE | EXECUTE },
		{ "/etc/ld.so.cache",   READ_FILE },
		{ "/dev/urandom",       READ_FILE }, /* glib reads this file when it starts */
		/* if a resolver is given by name, getaddrinfo() reads these files */
		{ "/etc/hosts",         READ_FILE },
		{ "/etc/nsswitch.conf", READ_FILE },
		{ "/etc/host.conf",     READ_FILE },
		{ "/etc/gai.conf",      READ_FILE },
		// clang-format on
	};
	const size_t named = 4;
	size_t n = ARRAY_SIZE(places) - (network_has_resolver(s->network) ? 0 : named);

	if (confine_files_allow_path(f, network_program(s->network), READ_FILE | EXECUTE, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (confine_files_allow_path(f, places[i].path, places[i].rights, e) < 0)
			return -1;
	return allow_resolvers(f, s->network, e);
}

static int confine_files(struct supervisor *s, struct err *e)
{
	struct confine_files f;
	int r = confine_files_begin(&f, e);

	if (r == 0)
		r = allow_record(&f, s, e);
	if (r == 0)
		r = s->engine->confine(s, &f, e);
	if (r == 0 && s->network)
		r = allow_gateway(&f, s, e);
	if (r == 0)
		r = confine_files_end(&f, e);
	confine_files_done(&f);
	return r;
}

static int confine_own_calls(const struct supervisor *s, struct err *e)
{
	bool root = geteuid() == 0;

	if (s->network)
		return root ? confine_calls(roots_door_filter, roots_door_filter_len, e)
			    : confine_calls(door_filter, door_filter_len, e);
	return root ? confine_calls(roots_closed_filter, roots_closed_filter_len, e)
		    : confine_calls(closed_filter, closed_filter_len, e);
}

int supervisor_confine(struct supervisor *s, struct err *e)
{
	if (confine_capabilities(capabilities(s), e) < 0 || confine_files(s, e) < 0 ||
	    confine_own_calls(s, e) < 0)
		return err_wrap(e, "confine the supervisor");
	return 0;
}
