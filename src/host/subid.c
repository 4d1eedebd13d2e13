#include "host/subid.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/program.h"

#define PASSWD_LINE_BYTES 4096

static bool owner_is(struct str owner, const char *user, uid_t uid)
{
	uint64_t id;

	if (user && str_eq(owner, user))
		return true;
	return parse_u64_str(owner, 0, UINT32_MAX, &id) == 0 && id == uid;
}

int subid_pick(struct str text, const char *user, uid_t uid, uint32_t want, struct subid_range *ret)
{
	int r = -ENOENT;

	while (text.p) {
		struct str count = str_cut(&text, '\n');
		struct str owner = str_cut(&count, ':'), start = { NULL, 0 };
		uint64_t first, n;

		if (count.p)
			start = str_cut(&count, ':');
		if (!count.p || !owner_is(owner, user, uid) ||
		    parse_u64_str(start, 0, UINT32_MAX - 1, &first) < 0 ||
		    parse_u64_str(count, 1, UINT32_MAX - first, &n) < 0)
			continue;
		if (n < want) {
			r = -ERANGE;
			continue;
		}
		*ret = (struct subid_range){ (uint32_t)first, (uint32_t)n };
		return 0;
	}
	return r;
}

static int range_find(const char *path, const char *user, uid_t uid, uint32_t want,
		      struct subid_range *ret, struct err *e)
{
	AUTO_BUF text = BUF_INIT(SUBID_FILE_MAX_BYTES);
	int r = io_read_file(AT_FDCWD, path, &text);

	if (r < 0 && r != -ENOENT)
		return err_sys(e, -r, "read '%s'", path);
	r = subid_pick(str_of(buf_str(&text)), user, uid, want, ret);
	if (r == 0)
		return 0;
	if (r == -ERANGE)
		err_set(e, ERR_UNSUPPORTED, "'%s' grants uid %u fewer than %u ids in a row", path,
			uid, want);
	else
		err_set(e, ERR_UNSUPPORTED, "'%s' grants nothing to uid %u", path, uid);
	return err_hint(e, "grant 65536 ids there that no other user has: usermod --add-subuids "
			   "FIRST-LAST --add-subgids FIRST-LAST USER");
}

/* Finds the program NAME, which writes the id map of a user namespace for an ordinary user. The
 * program needs a privilege for this, and must get it from its file: by set-user-id root or by a
 * file capability. The file system of the program must not be mounted nosuid. */
static int find_mapper(const char *name, char out[SUBID_PROGRAM_BYTES], struct err *e)
{
	AUTO_FREE char *path = program_of_system(name);
	struct statvfs fs;
	struct stat st;

	if (!path || stat(path, &st) < 0) {
		err_set(e, ERR_UNSUPPORTED, "'%s' is not installed", name);
		return err_hint(e, "install it: apt-get install uidmap");
	}
	if (!(st.st_mode & S_ISUID && st.st_uid == 0) &&
	    getxattr(path, "security.capability", NULL, 0) <= 0) {
		err_set(e, ERR_UNSUPPORTED, "'%s' is neither setuid root nor has capabilities",
			path);
		return err_hint(e, "reinstall it: apt-get install --reinstall uidmap");
	}
	if (statvfs(path, &fs) == 0 && fs.f_flag & ST_NOSUID)
		return err_set(e, ERR_UNSUPPORTED, "'%s' is on a file system mounted nosuid", path);
	snprintf(out, SUBID_PROGRAM_BYTES, "%s", path);
	return 0;
}

int subid_find(uid_t uid, uint32_t want, struct subid *ret, struct err *e)
{
	char line[PASSWD_LINE_BYTES];
	struct passwd pw, *found = NULL;
	const char *user;
	struct subid s;

	/* a user without a passwd entry may still be granted ranges by number */
	user = getpwuid_r(uid, &pw, line, sizeof(line), &found) == 0 && found ? pw.pw_name : NULL;
	if (range_find("/etc/subuid", user, uid, want, &s.uid, e) < 0 ||
	    range_find("/etc/subgid", user, uid, want, &s.gid, e) < 0 ||
	    find_mapper("newuidmap", s.newuidmap, e) < 0 ||
	    find_mapper("newgidmap", s.newgidmap, e) < 0)
		return -1;
	*ret = s;
	return 0;
}
