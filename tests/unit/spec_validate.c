#include "spec/spec.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "spec/grammar.h"
#include "t.h"

static struct err e;

static void limits(void)
{
	struct spec s;

	spec_init(&s);
	T_INT(spec_validate(&s, &e), -1);
	T_TRUE(strstr(e.msg, "no image") != NULL);
	T_INT(parse_image("host", &s.image, &e), 0);
	T_INT(spec_validate(&s, &e), 0);
	s.cpu_milli = 4000;
	s.max_cpu_milli = 2000;
	T_INT(spec_validate(&s, &e), -1);
	T_STR(e.msg, "--max-cpus: bad number '2': expected 4 (--cpus) to 255");
	s.cpu_milli = 0;
	T_INT(spec_validate(&s, &e), -1);
	T_STR(e.msg, "--cpus: bad number '0': expected 0.01 to 255");
	s.cpu_milli = 2000;
	s.max_memory_mib = 1;
	T_INT(spec_validate(&s, &e), -1);
	T_STR(e.msg, "--max-memory: bad size '1M': below --memory 512M");
	s.max_memory_mib = 512;
	s.pids_limit = 0;
	T_INT(spec_validate(&s, &e), -1);
	s.pids_limit = 1;
	T_INT(parse_root_disk("--root-disk", "1G", &s.image.root_disk, &e), 0);
	T_INT(spec_validate(&s, &e), 0);
	T_INT(parse_image("/srv", &s.image, &e), 0);
	T_INT(spec_validate(&s, &e), 0);
	T_INT(parse_image("/srv.raw", &s.image, &e), 0);
	T_INT(spec_validate(&s, &e), -1);
	T_TRUE(strstr(e.msg, "--root-disk") != NULL);
	spec_done(&s);
}

static void sources(void)
{
	static const struct {
		enum mount_flag flag;
		const char *value, *says;
	} rows[] = {
		{ MOUNT_FLAG_VOLUME, "/no/such:/a",
		  "--volume: bad mount '/no/such:/a': source '/no/such': No such file" },
		{ MOUNT_FLAG_DIR, "/etc/passwd:/a",
		  "--mount-dir: bad mount '/etc/passwd:/a': source '/etc/passwd' is not a "
		  "directory" },
		{ MOUNT_FLAG_FILE, "/etc:/a",
		  "--mount-file: bad mount '/etc:/a': source '/etc' is not a file" },
		{ MOUNT_FLAG_DISK, "/etc:/a",
		  "--mount-disk: bad mount '/etc:/a': source '/etc' is not a file" },
	};
	struct spec s;
	size_t mount;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		spec_init(&s);
		T_INT(spec_add_mount(&s, MOUNT_FLAG_VOLUME, "/etc:/ok", &e), 0);
		T_INT(spec_hold_sources(&s, &mount, &e), 0);
		T_INT(spec_add_mount(&s, rows[i].flag, rows[i].value, &e), 0);
		T_INT(spec_hold_sources(&s, &mount, &e), -1);
		T_INT(mount, 2);
		if (!strstr(e.msg, rows[i].says))
			T_FAIL("got \"%s\", want \"%s\"", e.msg, rows[i].says);
		spec_done(&s);
	}
	spec_init(&s);
	T_INT(spec_add_patch(&s, "--copy-dir", "/etc:/b", &e), 0);
	T_INT(spec_hold_sources(&s, &mount, &e), 0);
	T_INT(spec_add_patch(&s, "--copy-dir", "/etc/passwd:/b", &e), 0);
	T_INT(spec_hold_sources(&s, &mount, &e), -1);
	spec_done(&s);
	spec_init(&s);
	T_INT(parse_image("/no/such", &s.image, &e), 0);
	T_INT(spec_hold_sources(&s, &mount, &e), -1);
	spec_done(&s);
}

int main(void)
{
	T_RUN(limits);
	T_RUN(sources);
	return t_end();
}
