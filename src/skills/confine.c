#include "skills/confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/confine.h"
#include "skills/import.h"
#include "skills/zip.h"

/* Landlock does not restrict changes of owner and mode. So a worker that runs as root calls
 * chroot(), after which it cannot name files outside of its new root. For an ordinary user's worker
 * chroot() fails with EPERM, but such a worker cannot change files of other users anyway. */
static int leave_host_root(const struct places *p, struct err *e)
{
	const int dirs[] = { p->root, p->source };

	for (unsigned i = 0; i < 2; i++) {
		int r = dirs[i] < 0 ? 0 : confine_enclose(dirs[i]);

		if (r < 0 && r != -EPERM)
			return err_sys(e, -r, "enclose the skills root");
	}
	if (fchdir(p->root) < 0 || (chroot(".") < 0 && errno != EPERM))
		return err_sys(e, errno, "change the root directory");
	return 0;
}

static int limit_files(const struct places *p, struct err *e)
{
	const uint64_t read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	uint64_t write = read | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |
			 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
			 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
			 /* for the sweep, which moves directories out of a package to erase them */
			 LANDLOCK_ACCESS_FS_REFER;
	struct confine_files f;

	if (p->source >= 0)
		write |= LANDLOCK_ACCESS_FS_MAKE_SYM;
	if (confine_files_begin(&f, e) < 0)
		return -1;
	if (confine_files_allow(&f, p->root, write, e) < 0 ||
	    (p->source >= 0 && confine_files_allow(&f, p->source, read, e) < 0) ||
	    confine_files_end(&f, e) < 0) {
		confine_files_done(&f);
		return -1;
	}
	return 0;
}

static int limit_resources(const struct places *p, struct err *e)
{
	bool imports = p->source >= 0;

	if (confine_core(e) < 0 ||
	    confine_limit(RLIMIT_NOFILE, imports ? SKILLS_IMPORT_FILES_MAX : SKILLS_OPEN_FILES_MAX,
			  e) < 0 ||
	    confine_limit(RLIMIT_FSIZE, imports ? IMPORT_MAX_BYTES : ZIP_ENTRY_MAX_BYTES, e) < 0)
		return -1;
/* no limit with the sanitizer, whose shadow memory is larger than any limit */
#ifndef __SANITIZE_ADDRESS__
	if (confine_limit(RLIMIT_DATA, SKILLS_MEMORY_MAX_BYTES, e) < 0)
		return -1;
#endif
	return 0;
}

int skills_confine(const struct places *p, struct err *e)
{
	const uint64_t keep =
		CONFINE_CAP(CAP_CHOWN) | CONFINE_CAP(CAP_DAC_OVERRIDE) | CONFINE_CAP(CAP_FOWNER);
	bool root = geteuid() == 0;

	umask(0); /* new files get exactly the mode that we pass */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, errno, "hide from tracers");
	/* confine_capabilities() also sets no_new_privs, which Landlock needs. The filter comes
	 * last, because it forbids the other steps. */
	if (limit_resources(p, e) < 0 || leave_host_root(p, e) < 0 ||
	    confine_capabilities(keep, e) < 0 || limit_files(p, e) < 0)
		return -1;
	return root ? confine_calls(skills_root_filter, skills_root_filter_len, e)
		    : confine_calls(skills_filter, skills_filter_len, e);
}
