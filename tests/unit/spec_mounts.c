/* Tests the grammars of paths, mounts, tmpfs, ports, images, writable places, root disks, scripts
 * and patches. */
#include "spec/grammar.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "t.h"

static struct err e;

#define AUTO_SPEC __attribute__((cleanup(spec_done))) struct spec

static void paths(void)
{
	static const struct {
		const char *in, *out;
	} rows[] = { { "/", "/" },        { "//a///b//", "/a/b" }, { "/a/./b/.", "/a/b" },
		     { "/a/../b", "/b" }, { "/../../x", "/x" },    { "/a/b/../..", "/" },
		     { "/...", "/..." },  { "/.a/..b", "/.a/..b" } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO_FREE char *got = path_normalise(rows[i].in);

		T_STR(got, rows[i].out);
	}
	T_TRUE(path_normalise("a") == NULL);
	T_TRUE(path_normalise("") == NULL);
	T_TRUE(path_is_host(".") && path_is_host("..") && path_is_host("./x") && path_is_host("/"));
	T_TRUE(!path_is_host("a/b") && !path_is_host(".x") && !path_is_host("..x"));
}

static void good_mounts(void)
{
	AUTO_SPEC s;
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	AUTO_FREE char *here = xasprintf("%s/x", cwd);

	spec_init(&s);
	T_INT(spec_add_mount(&s, MOUNT_FLAG_VOLUME, "/a:/b", &e), 0);
	T_INT(s.mount[0].kind, MOUNT_BIND);
	T_STR(s.mount[0].source, "/a");
	T_STR(s.mount[0].guest, "/b");
	T_TRUE(!s.mount[0].readonly);
	T_INT(spec_add_mount(&s, MOUNT_FLAG_VOLUME, "/a:b:c:/d//e/:ro,noexec,Z,cached,Z", &e), 0);
	T_STR(s.mount[1].source, "/a:b:c");
	T_STR(s.mount[1].guest, "/d/e");
	T_TRUE(s.mount[1].readonly && s.mount[1].noexec && !s.mount[1].nosuid);
	T_INT(spec_add_mount(&s, MOUNT_FLAG_VOLUME,
			     "./x:/c:uid=5,gid=6,quota=1G,stat-virt=off,host-perms=mirror,"
			     "follow-root-symlinks",
			     &e),
	      0);
	T_STR(s.mount[2].source, here);
	T_TRUE(s.mount[2].has_owner && s.mount[2].uid == 5 && s.mount[2].gid == 6);
	T_INT(s.mount[2].quota_mib, 1024);
	T_INT(s.mount[2].stat_virt, STAT_VIRT_OFF);
	T_TRUE(s.mount[2].host_perms_mirror && s.mount[2].follow_root_symlinks);
	T_INT(spec_add_mount(&s, MOUNT_FLAG_VOLUME, "data:/data:kind=disk,size=2G", &e), 0);
	T_INT(s.mount[3].kind, MOUNT_NAMED);
	T_TRUE(s.mount[3].kind_disk && s.mount[3].size_mib == 2048);
	T_INT(spec_add_mount(&s, MOUNT_FLAG_DISK, "x.qcow2:/disk:fstype=ext4", &e), 0);
	T_INT(s.mount[4].kind, MOUNT_DISK);
	T_STR(s.mount[4].format, "qcow2");
	T_STR(s.mount[4].fstype, "ext4");
	T_INT(spec_add_mount(&s, MOUNT_FLAG_FILE, "x:/file", &e), 0);
	T_INT(s.mount[5].want, WANT_FILE);
	T_INT(spec_add_mount(&s, MOUNT_FLAG_DIR, "/x:/dir,comma:rw", &e), 0);
	T_INT(s.mount[6].want, WANT_DIR);
	T_STR(s.mount[6].guest, "/dir,comma");
	T_INT(spec_add_mount(&s, MOUNT_FLAG_NAMED, "vol:/named:nosuid,nodev", &e), 0);
	T_TRUE(s.mount[7].nosuid && s.mount[7].nodev);
	T_INT(s.n_mounts, 8);
}

static void bad_mounts(void)
{
	static const struct {
		enum mount_flag flag;
		const char *value, *says;
	} rows[] = {
		{ MOUNT_FLAG_VOLUME, "", "expected SOURCE:GUEST" },
		{ MOUNT_FLAG_VOLUME, "nocolon",
		  "--volume: bad mount 'nocolon': expected SOURCE:GUEST" },
		{ MOUNT_FLAG_VOLUME, "/a:rel", "'rel' must be absolute" },
		{ MOUNT_FLAG_VOLUME, "/a:", "guest path is empty" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:bad", "unknown option 'bad'" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:", "option is empty" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:ro,,rw", "option is empty" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:ro,ro", "'ro' is given twice" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:ro,rw", "exclude each other" },
		{ MOUNT_FLAG_VOLUME, "/a:/b,ro", "'/a:/b:ro'" },
		{ MOUNT_FLAG_VOLUME, ":/b", "source is empty" },
		{ MOUNT_FLAG_VOLUME, "/a:/", "must not be '/'" },
		{ MOUNT_FLAG_VOLUME, "/a:/b/..", "must not be '/'" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:exec", "leave 'noexec' out" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:suid", "leave 'nosuid' out" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:dev", "leave 'nodev' out" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:uid=1", "go together" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:gid=1", "go together" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:uid=4294967295,gid=0", "uid= needs a number" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:uid=-1,gid=0", "uid= needs a number" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:size=1G", "does not go with this kind" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:kind=dir", "does not go with this kind" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:format=raw", "does not go with this kind" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:quota=x", "bad size 'x'" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:stat-virt=no", "unknown value 'no'" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:RO", "unknown option 'RO'" },
		{ MOUNT_FLAG_VOLUME, "/a:/b:/c", "unknown option '/c'" },
		{ MOUNT_FLAG_VOLUME, "a/b:/c", "not a volume name" },
		{ MOUNT_FLAG_VOLUME, "-x:/c", "bad name '-x'" },
		{ MOUNT_FLAG_VOLUME, "\xff:/c", "must start with a letter or digit" },
		{ MOUNT_FLAG_NAMED, "/a:/b", "not a volume name" },
		{ MOUNT_FLAG_NAMED, "v:/b:kind=disk", "go together" },
		{ MOUNT_FLAG_NAMED, "v:/b:size=1G", "go together" },
		{ MOUNT_FLAG_NAMED, "v:/b:kind=disk,size=1G,quota=1G", "do not go with kind=disk" },
		{ MOUNT_FLAG_NAMED, "v:/b:kind=file", "unknown value 'file'" },
		{ MOUNT_FLAG_DISK, "/a:/b:quota=1G", "does not go with this kind" },
		{ MOUNT_FLAG_DISK, "/a:/b:format=iso", "unknown value 'iso'" },
		{ MOUNT_FLAG_DISK, "/a:/b:fstype=EXT 4", "not a file system name" },
	};
	AUTO_SPEC s;

	spec_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (spec_add_mount(&s, rows[i].flag, rows[i].value, &e) == 0)
			T_FAIL("mount '%s' was accepted", rows[i].value);
		else if (e.code != ERR_INVALID || !strstr(e.msg, rows[i].says))
			T_FAIL("mount '%s': got \"%s\", want \"%s\"", rows[i].value, e.msg,
			       rows[i].says);
	}
	T_INT(s.n_mounts, 0);
}

static void targets_are_unique_and_few(void)
{
	AUTO_SPEC s;

	spec_init(&s);
	T_INT(spec_add_tmpfs(&s, "/a:1M", &e), 0);
	T_INT(spec_add_tmpfs(&s, "//a/.:2M", &e), -1);
	T_TRUE(strstr(e.msg, "mounted twice") != NULL);
	T_INT(spec_add_mount(&s, MOUNT_FLAG_VOLUME, "/x:/a", &e), -1);
	for (unsigned i = 1; i < SPEC_MOUNTS_MAX; i++) {
		AUTO_FREE char *v = xasprintf("/m%u", i);

		T_INT(spec_add_tmpfs(&s, v, &e), 0);
	}
	T_INT(spec_add_tmpfs(&s, "/more", &e), -1);
	T_INT(e.code, ERR_LIMIT);
}

static void tmpfs(void)
{
	static const char *const bad[] = {
		"",           "a",      "/",        "/a:",           "/a:x",           "/a:1M:bad",
		"/a,ro",      "/a:0",   "/a:ro:1M", "/a:1M:size=2M", "/a:uid=1,gid=1", "/a:1M:",
		"/a:1M:ro:x", "/a:\xff"
	};
	AUTO_SPEC s;

	spec_init(&s);
	T_INT(spec_add_tmpfs(&s, "/a", &e), 0);
	T_INT(s.mount[0].kind, MOUNT_TMPFS);
	T_INT(s.mount[0].size_mib, 0);
	T_INT(spec_add_tmpfs(&s, "/b:64M", &e), 0);
	T_INT(s.mount[1].size_mib, 64);
	T_INT(spec_add_tmpfs(&s, "/c:ro", &e), 0);
	T_TRUE(s.mount[2].readonly);
	T_INT(spec_add_tmpfs(&s, "/d:size=1G,noexec", &e), 0);
	T_TRUE(s.mount[3].size_mib == 1024 && s.mount[3].noexec);
	T_INT(spec_add_tmpfs(&s, "/e:1G:nodev,nosuid", &e), 0);
	T_TRUE(s.mount[4].size_mib == 1024 && s.mount[4].nodev && s.mount[4].nosuid);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (spec_add_tmpfs(&s, bad[i], &e) == 0 || e.code != ERR_INVALID)
			T_FAIL("tmpfs '%s' was accepted", bad[i]);
}

static void ports(void)
{
	static const char *const bad[] = {
		"",           "80",         "a:b",           "70000:80",
		"80:70000",   "80:0",       ":80",           "80:",
		"80:80/sctp", "80:80/",     "1.2.3:80:80",   "localhost:80:80",
		"::1:80:80",  "[::1]80:80", "[::g]:80:80",   "[::1]:80",
		"-1:80",      "1:2:3:4",    "80:80/tcp/udp", "8080:80",
		"[::1:80:80", "\xff:80"
	};
	AUTO_SPEC s;

	spec_init(&s);
	T_INT(spec_add_port(&s, "8080:80", &e), 0);
	T_STR(s.port[0].bind, "127.0.0.1");
	T_INT(s.port[0].host_port, 8080);
	T_INT(s.port[0].guest_port, 80);
	T_TRUE(!s.port[0].udp);
	T_INT(spec_add_port(&s, "0.0.0.0:53:53/udp", &e), 0);
	T_STR(s.port[1].bind, "0.0.0.0");
	T_TRUE(s.port[1].udp);
	T_INT(spec_add_port(&s, "[::1]:0:65535/tcp", &e), 0);
	T_STR(s.port[2].bind, "::1");
	T_INT(s.port[2].host_port, 0);
	T_INT(spec_add_port(&s, "[::1]:0:65535/tcp", &e), 0);
	T_INT(spec_add_port(&s, "8080:80/udp", &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (spec_add_port(&s, bad[i], &e) == 0 || e.code != ERR_INVALID)
			T_FAIL("port '%s' was accepted", bad[i]);
	T_INT(s.n_ports, 5);
	T_INT(spec_add_port(&s, "70000:80", &e), -1);
	T_STR(e.msg,
	      "--port: bad port '70000:80': host port '70000' is not a number from 0 to 65535");
}

static void images(void)
{
	static const char *const good[] = {
		"alpine",
		"alpine:3.19",
		"a/b/c:x_Y.z-1",
		"localhost/x",
		"localhost:5000/x:y",
		"reg.example/a__b/c--d.e",
		"[::1]:5000/x",
		"REG.example/x",
		"1/2",
		"HOST/x",
		"x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"r.example:1/"
		"x:t@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"docker.io/library/host",
	};
	static const char *const bad[] = {
		"",
		"Alpine",
		"a//b",
		"a/",
		"/",
		":tag",
		"a:",
		"a:b:c",
		"a@",
		"a@sha256:12",
		"a b",
		"-a",
		"a-",
		"a._b",
		"a___b",
		"a:.x",
		"reg.example:0/x",
		"reg.example:99999/x",
		"reg..example/x",
		"[::1/x",
		"[]/x",
		"[::1]5000/x",
		"\xff",
		"a\n",
		"a/B",
		"-x.y/a",
		"a:\xc3\xa9",
		"@",
		"~/x",
	};
	struct spec_image i = { 0 };
	char longer[600];

	for (size_t k = 0; k < ARRAY_SIZE(good); k++) {
		if (parse_image(good[k], &i, &e) < 0)
			T_FAIL("image '%s': %s", good[k], e.msg);
		else if (i.kind != IMAGE_OCI || strcmp(i.reference, good[k]) != 0)
			T_FAIL("image '%s' became '%s'", good[k], i.reference);
	}
	for (size_t k = 0; k < ARRAY_SIZE(bad); k++)
		if (parse_image(bad[k], &i, &e) == 0 || e.code != ERR_INVALID)
			T_FAIL("image '%s' was accepted", bad[k]);
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	T_INT(parse_image(longer, &i, &e), -1);
	longer[256] = '\0';
	T_INT(parse_image(longer, &i, &e), -1);
	longer[255] = '\0';
	T_INT(parse_image(longer, &i, &e), 0);
	T_INT(parse_image("host", &i, &e), 0);
	T_INT(i.kind, IMAGE_HOST);
	T_INT(parse_image("/srv//root/", &i, &e), 0);
	T_INT(i.kind, IMAGE_DIR);
	T_STR(i.reference, "/srv/root");
	T_INT(parse_image("./disk.qcow2", &i, &e), 0);
	T_INT(i.kind, IMAGE_DISK);
	T_TRUE(i.reference[0] == '/');
	T_INT(parse_image("//.", &i, &e), -1);
	spec_image_done(&i);
}

/* Each row: a word that the user writes for an image, the path that it means, whether the directory
 * is used copy-on-write, and the word that messages show for it. */
static void directory_words(void)
{
	static const struct {
		const char *word, *path;
		bool cow;
		const char *shown;
	} good[] = {
		{ "/srv/root", "/srv/root", false, "/srv/root" },
		{ "/srv/root,cow", "/srv/root", true, "/srv/root,cow" },
		{ "/srv/root/,cow", "/srv/root", true, "/srv/root,cow" },
		{ "/srv/root,cow/", "/srv/root,cow", false, "/srv/root,cow/" },
		{ "/srv/root,cow/,cow", "/srv/root,cow", true, "/srv/root,cow,cow" },
		{ "/srv/root,cow,cow", "/srv/root,cow", true, "/srv/root,cow,cow" },
		{ "/srv/root,cow/x", "/srv/root,cow/x", false, "/srv/root,cow/x" },
		{ "/srv/root,COW", "/srv/root,COW", false, "/srv/root,COW" },
		{ "/srv/root,", "/srv/root,", false, "/srv/root," },
		{ "/a,b,cow", "/a,b", true, "/a,b,cow" },
		{ "/a.raw/,cow", "/a.raw", true, "/a.raw/,cow" },
		{ "/a.raw/", "/a.raw", false, "/a.raw/" },
	};
	static const char *const bad[] = { ",cow",  "host,cow",  "a,cow",        "a/b:c,cow",
					   "/,cow", "//,cow",    "/a.qcow2,cow", "cow,cow",
					   "~,cow", "/x.raw,cow" };
	struct spec_image i = { 0 };

	for (size_t k = 0; k < ARRAY_SIZE(good); k++) {
		AUTO_FREE char *shown = NULL;

		T_INT(parse_image(good[k].word, &i, &e), 0);
		T_INT(i.kind, IMAGE_DIR);
		T_STR(i.reference, good[k].path);
		T_INT(i.cow, good[k].cow);
		T_INT(spec_image_in_place(&i), !good[k].cow);
		T_TRUE(image_is_local(good[k].word));
		shown = image_word(&i);
		T_STR(shown, good[k].shown);
	}
	for (size_t k = 0; k < ARRAY_SIZE(bad); k++)
		if (parse_image(bad[k], &i, &e) == 0 || e.code != ERR_INVALID)
			T_FAIL("image '%s' was accepted", bad[k]);
	T_INT(parse_image("/a,cow", &i, &e), 0);
	/* parse_image() also resets `cow`, which the last call has set */
	T_INT(parse_image("img", &i, &e), 0);
	T_INT(i.cow, false);
	T_TRUE(image_is_local(".,cow") && image_is_local("..,cow") && image_is_local("./a,cow"));
	T_TRUE(!image_is_local("a,cow") && !image_is_local(",cow") && !image_is_local("host"));
	spec_image_done(&i);
}

/* If the image is a directory, `--root-disk` makes it copy-on-write. With ",cow" behind the
 * directory, every kind of root disk is allowed. Without ",cow" only a size, "disk" or "disk:SIZE"
 * is allowed. A disk image takes no root disk. */
static void directory_disks(void)
{
	static const struct {
		const char *image, *disk;
		bool good;
	} rows[] = {
		{ "/r", "1G", true },     { "/r", "disk", true },    { "/r", "disk:1G", true },
		{ "/r", "tmpfs", false }, { "/r", "/d.raw", false }, { "/r,cow", "tmpfs:8M", true },
		{ "/r,cow", "/d", true }, { "/d.raw", "1G", false }, { "/d.raw", "disk", false },
		{ "img", "tmpfs", true }, { "host", "1G", true },
	};

	for (size_t k = 0; k < ARRAY_SIZE(rows); k++) {
		AUTO_SPEC s;

		spec_init(&s);
		T_INT(parse_image(rows[k].image, &s.image, &e), 0);
		T_INT(parse_root_disk("--root-disk", rows[k].disk, &s.image.root_disk, &e), 0);
		if ((spec_validate(&s, &e) == 0) != rows[k].good)
			T_FAIL("%s with %s: %s", rows[k].image, rows[k].disk, e.msg);
		T_TRUE(!spec_image_in_place(&s.image));
	}
}

static void writable_places(void)
{
	static const char *const bad[] = { "",       "tmp",     "/",         "/..",
					   "/proc",  "/proc/x", "/sys",      "/dev",
					   "/dev/x", "/.msb/a", "/a/../proc" };
	static const char *const good[] = { "/a/b",     "/a/b/", "/a//b/c", "/x/./y",
					    "/dev/shm", "/ab",   "/a/../q" };
	struct spec s;

	spec_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (spec_add_writable(&s, "--writable", bad[i], &e) == 0 || e.code != ERR_INVALID)
			T_FAIL("writable place '%s' was accepted", bad[i]);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		T_INT(spec_add_writable(&s, "--writable", good[i], &e), 0);
	T_INT(s.writable.n, 4);
	T_STR(s.writable.v[0], "/a/b");
	T_STR(s.writable.v[1], "/x/y");
	T_STR(s.writable.v[3], "/q");
	/* /a replaces the first directory, /a/b, because /a contains /a/b */
	T_INT(spec_add_writable(&s, "--writable", "/a", &e), 0);
	T_INT(s.writable.n, 4);
	T_STR(s.writable.v[0], "/x/y");
	T_STR(s.writable.v[3], "/a");
	T_TRUE(s.writable.v[4] == NULL);
	s.read_only = true;
	T_INT(spec_check_writable(&s, &e), 0);
	T_INT(spec_add_tmpfs(&s, "/a/below", &e), 0);
	T_INT(spec_check_writable(&s, &e), 0);
	T_INT(spec_add_tmpfs(&s, "/x", &e), 0);
	T_INT(spec_check_writable(&s, &e), -1);
	T_TRUE(strstr(e.msg, "'/x' is a mount") != NULL);
	for (unsigned i = 0; s.writable.n < SPEC_WRITABLE_MAX; i++) {
		char path[16];

		snprintf(path, sizeof(path), "/n%u", i);
		T_INT(spec_add_writable(&s, "--writable", path, &e), 0);
	}
	T_INT(spec_add_writable(&s, "--writable", "/one/more", &e), -1);
	T_INT(e.code, ERR_LIMIT);
	spec_done(&s);
}

static void root_disks(void)
{
	static const char *const bad[] = { "",
					   "0",
					   "x",
					   "4G:ro",
					   "4G,fstype=ext4",
					   "tmpfs:",
					   "tmpfs:x",
					   "flat:",
					   "flat,",
					   "flat:1G,clone=no",
					   "flat:1G,format=raw",
					   "flat,clone=auto,clone=auto",
					   "/d:format=vmdk",
					   "/d:size=1G",
					   "/d:fstype=",
					   "flatter",
					   "tmpfs,ro",
					   "\xff",
					   "/d:format=raw," };
	struct spec_root_disk d = { 0 };

	T_INT(parse_root_disk("--root-disk", "8G", &d, &e), 0);
	T_INT(d.kind, ROOT_DISK_MANAGED);
	T_INT(d.size_mib, 8192);
	T_TRUE(d.explicit);
	T_INT(parse_root_disk("--root-disk", "disk", &d, &e), 0);
	T_TRUE(d.on_disk && !d.explicit && d.kind == ROOT_DISK_MANAGED && d.size_mib == 0);
	T_INT(parse_root_disk("--root-disk", "disk:2G", &d, &e), 0);
	T_TRUE(d.on_disk && d.explicit && d.kind == ROOT_DISK_MANAGED && d.size_mib == 2048);
	T_INT(parse_root_disk("--root-disk", "tmpfs", &d, &e), 0);
	T_TRUE(!d.on_disk && d.explicit);
	T_INT(d.kind, ROOT_DISK_TMPFS);
	T_INT(d.size_mib, 0);
	T_INT(parse_root_disk("--root-disk", "tmpfs:1G", &d, &e), 0);
	T_INT(d.size_mib, 1024);
	T_INT(parse_root_disk("--root-disk", "flat:2G,fstype=xfs,clone=reflink", &d, &e), 0);
	T_INT(d.kind, ROOT_DISK_FLAT);
	T_INT(d.size_mib, 2048);
	T_STR(d.fstype, "xfs");
	T_STR(d.clone, "reflink");
	T_INT(parse_root_disk("--root-disk", "flat,clone=copy", &d, &e), 0);
	T_INT(d.size_mib, 0);
	T_TRUE(d.fstype == NULL);
	T_INT(parse_root_disk("--root-disk", "/d:x.img:format=qcow2,fstype=ext4", &d, &e), 0);
	T_INT(d.kind, ROOT_DISK_PATH);
	T_STR(d.path, "/d:x.img");
	T_STR(d.format, "qcow2");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse_root_disk("--root-disk", bad[i], &d, &e) == 0 || e.code != ERR_INVALID)
			T_FAIL("root disk '%s' was accepted", bad[i]);
	T_STR(d.path, "/d:x.img");
	spec_root_disk_done(&d);
}

static void scripts(void)
{
	char path[] = "/tmp/spec_mounts.XXXXXX";
	int fd = mkstemp(path);
	AUTO_SPEC s;
	AUTO_FREE char *by_path = xasprintf("file:%s", path);

	spec_init(&s);
	T_INT(write(fd, "#!/x\nno newline", 15), 15);
	T_INT(spec_add_script(&s, "--script", "a=echo \\\"hi\\\"\\n\\tx\\q\\\\", &e), 0);
	T_STR(s.script[0].body, "#!/bin/sh\necho \"hi\"\n\tx\\q\\\n");
	s.shell = xstrdup("bash");
	T_INT(spec_add_script(&s, "--script", "b=x\\n", &e), 0);
	T_STR(s.script[1].body, "#!/usr/bin/env bash\nx\n");
	T_INT(spec_add_script(&s, "--script-raw", "c=x\\n=y", &e), 0);
	T_STR(s.script[2].body, "x\\n=y");
	T_INT(spec_add_script(&s, "--script-path", by_path, &e), 0);
	T_STR(s.script[3].body, "#!/x\nno newline");
	T_INT(spec_add_script(&s, "--script-raw", "a=again", &e), -1);
	T_TRUE(strstr(e.msg, "twice") != NULL);
	T_INT(spec_add_script(&s, "--script-raw", "x/y=z", &e), -1);
	T_INT(spec_add_script(&s, "--script-raw", "=z", &e), -1);
	T_INT(spec_add_script(&s, "--script-raw", "z", &e), -1);
	T_INT(spec_add_script(&s, "--script-path", "n:/no/such/file", &e), -1);
	T_INT(e.code, ERR_NOT_FOUND);
	T_INT(write(fd, "", 1), 1);
	by_path[0] = 'F';
	T_INT(spec_add_script(&s, "--script-path", by_path, &e), -1);
	T_TRUE(strstr(e.msg, "NUL") != NULL);
	T_INT(s.n_scripts, 4);
	unlink(path);
	close(fd);
}

static void patches(void)
{
	AUTO_SPEC s;

	spec_init(&s);
	T_INT(spec_add_patch(&s, "--copy", "/a:b:/c//d", &e), 0);
	T_STR(s.patch[0].op, "copy");
	T_STR(s.patch[0].source, "/a:b");
	T_STR(s.patch[0].path, "/c/d");
	T_INT(spec_add_patch(&s, "--mkdir", "/x", &e), 0);
	T_STR(s.patch[1].op, "mkdir");
	T_TRUE(s.patch[1].source == NULL);
	T_INT(spec_add_patch(&s, "--rm", "/x/y", &e), 0);
	T_STR(s.patch[2].op, "remove");
	T_INT(spec_add_patch(&s, "--copy-file", "/a", &e), -1);
	T_INT(spec_add_patch(&s, "--copy-dir", ":/a", &e), -1);
	T_INT(spec_add_patch(&s, "--copy-dir", "/a:/", &e), -1);
	T_INT(spec_add_patch(&s, "--mkdir", "x", &e), -1);
	T_INT(spec_add_patch(&s, "--mkdir", "", &e), -1);
	T_INT(spec_add_patch(&s, "--rm", "/", &e), -1);
	T_STR(e.msg, "--rm: bad path '/': the path in the sandbox must be absolute and not '/'");
	T_INT(s.n_patches, 3);
}

int main(void)
{
	T_RUN(paths);
	T_RUN(good_mounts);
	T_RUN(bad_mounts);
	T_RUN(targets_are_unique_and_few);
	T_RUN(tmpfs);
	T_RUN(ports);
	T_RUN(images);
	T_RUN(directory_words);
	T_RUN(directory_disks);
	T_RUN(writable_places);
	T_RUN(root_disks);
	T_RUN(scripts);
	T_RUN(patches);
	return t_end();
}
