/* Probes of devices, file systems and settings that single features use. */
#include "host/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/kvm.h>
#include <linux/loop.h>
#include <linux/quota.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/compat.h"
#include "base/io.h"
#include "base/str.h"

#define MODULES_MAX_BYTES (1u << 20)
#define KVM_MAJOR 10
#define KVM_MINOR 232
#define KVM_API 12 /* the only version since 2007 */

void probe_setuid_programs(const char *dir, struct fact *f)
{
	int r = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);

	if (r == 0) {
		fact_yes(f, "usable");
		return;
	}
	fact_no(f, 0,
		"the caller has no_new_privs set: newuidmap cannot work for cordon, and su and "
		"sudo cannot work in sandboxes");
	fact_fix(f, "start cordon from a process without no_new_privs (not under "
		    "NoNewPrivileges=yes)");
}

void probe_landlock(const char *dir, struct fact *f)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1u /* asks for the version */);

	if (abi > 0)
		fact_yes(f, "ABI %ld", abi);
	else
		fact_no(f, errno, "landlock_create_ruleset");
}

void probe_tun(const char *dir, struct fact *f)
{
	AUTO_FD fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		fact_yes(f, "opens");
		return;
	}
	fact_no(f, errno, "open '/dev/net/tun'");
	if (f->sys == ENOENT || f->sys == ENODEV)
		fact_fix(f, "modprobe tun");
}

static const char *const vendors[] = { "kvm_intel", "kvm_amd", "kvm_pvm" };

const char *probe_kvm_vendor(const char *modules)
{
	for (struct str rest = str_of(modules); rest.p;) {
		struct str line = str_cut(&rest, '\n');
		struct str name = str_cut(&line, ' ');

		for (unsigned i = 0; i < ARRAY_SIZE(vendors); i++)
			if (str_eq(name, vendors[i]))
				return vendors[i];
	}
	return NULL;
}

/* Returns the name of the KVM module that is loaded or built in, or NULL if none is visible. */
static const char *kvm_vendor(void)
{
	AUTO_BUF text = BUF_INIT(MODULES_MAX_BYTES);
	char path[64];

	if (io_read_file(AT_FDCWD, "/proc/modules", &text) == 0 && probe_kvm_vendor(buf_str(&text)))
		return probe_kvm_vendor(buf_str(&text));
	for (unsigned i = 0; i < ARRAY_SIZE(vendors); i++) {
		snprintf(path, sizeof(path), "/sys/module/%s", vendors[i]);
		if (access(path, F_OK) == 0)
			return vendors[i];
	}
	return NULL;
}

/* This probe shows only that the device answers. It does not show that a virtual machine really
 * runs; an engine that starts virtual machines would have to try that itself. */
void probe_kvm(const char *dir, struct fact *f)
{
	AUTO_FD fd = -1;
	const char *vendor;
	struct stat st;
	int version;

	if (stat("/dev/kvm", &st) < 0) {
		fact_no(f, errno, "'/dev/kvm'");
		return;
	}
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(KVM_MAJOR, KVM_MINOR)) {
		fact_no(f, 0, "'/dev/kvm' is a placeholder, not the device");
		return;
	}
	fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		fact_no(f, errno,
			errno == ENXIO || errno == ENODEV
				? "'/dev/kvm' is a placeholder with no driver behind it"
				: "open '/dev/kvm'");
		if (f->sys == EACCES)
			fact_fix(f, "usermod -aG kvm USER, then log in again");
		return;
	}
	version = ioctl(fd, KVM_GET_API_VERSION, 0);
	vendor = kvm_vendor();
	if (version == KVM_API)
		fact_yes(f, "answers%s%s", vendor ? ", " : "", vendor ? vendor : "");
	else
		fact_no(f, version < 0 ? errno : 0, "'/dev/kvm' does not speak KVM's version %d",
			KVM_API);
}

void probe_loop(const char *dir, struct fact *f)
{
	AUTO_FD control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	AUTO_FD device = -1;
	char path[32];
	int n;

	if (control < 0) {
		fact_no(f, errno, "open '/dev/loop-control'");
		if (f->sys == ENOENT || f->sys == ENODEV)
			fact_fix(f, "modprobe loop");
		return;
	}
	n = ioctl(control, LOOP_CTL_GET_FREE);
	if (n < 0) {
		fact_no(f, errno, "find a free loop device");
		return;
	}
	snprintf(path, sizeof(path), "/dev/loop%d", n);
	device = open(path, O_RDWR | O_CLOEXEC);
	if (device < 0)
		fact_no(f, errno, "open '%s'", path);
	else
		fact_yes(f, "'%s' is free", path);
}

void probe_project_quota(const char *dir, struct fact *f)
{
	struct fs_quota_statv state = { .qs_version = FS_QSTATV_VERSION1 };
	AUTO_FD fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		fact_no(f, errno, "open '%.*s'", FACT_TEXT_BYTES / 2, dir);
	else if (syscall(SYS_quotactl_fd, fd, QCMD(Q_XGETQSTATV, PRJQUOTA), 0, &state) < 0)
		fact_no(f, errno, "ask the file system of '%.*s' for project quotas",
			FACT_TEXT_BYTES / 2, dir);
	else if (!(state.qs_flags & FS_QUOTA_PDQ_ENFD))
		fact_no(f, 0, "project quotas are not enforced on the file system of '%.*s'",
			FACT_TEXT_BYTES / 2, dir);
	else
		fact_yes(f, "enforced");
	if (!f->yes)
		fact_fix(f, "mount that file system with prjquota (xfs, or ext4 with the project "
			    "and quota features)");
}
