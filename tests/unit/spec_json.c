/* Tests that the config object is written and read back, that its keys are sorted, and that damaged
 * records are refused. */
#include "spec/spec.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "spec/grammar.h"
#include "t.h"

static struct err e;

#define AUTO_SPEC __attribute__((cleanup(spec_done))) struct spec
#define OK(call) T_INT(call, 0)

static char *text_of(const struct spec *s, unsigned indent)
{
	struct buf b = BUF_INIT(1u << 20);
	struct json_writer w;

	json_writer_init(&w, &b, indent);
	spec_write_json(s, &w);
	return buf_take(&b);
}

static int read_text(const char *text, struct spec *s)
{
	AUTO_JSON d = NULL;

	spec_init(s);
	if (json_parse(text, strlen(text), &d, &e) < 0)
		return -2;
	return spec_read_json(json_root(d), s, &e);
}

static void fill(struct spec *s)
{
	static const char extra[] =
		"{\"policy\":{\"default_egress\":\"deny\",\"rules\":[]},\"strict\":true,"
		"\"dns\":{\"nameservers\":[\"9.9.9.9\"]}}";
	struct spec_rlimit r;

	spec_init(s);
	s->name = xstrdup("box");
	OK(parse_image("img:1", &s->image, &e));
	OK(parse_root_disk("--root-disk", "flat:2G,fstype=ext4,clone=copy", &s->image.root_disk,
			   &e));
	s->image.root_disk.configured = s->image.root_disk.on_disk = true;
	s->image.manifest_digest = xstrdup("sha256:00");
	s->engine = ENGINE_PROCESS;
	s->ephemeral = s->restricted = s->own_filters = s->multi_tenant = s->log_disabled = true;
	s->cpu_milli = 1250;
	s->max_cpu_milli = 4000;
	s->memory_mib = 1024;
	s->max_memory_mib = 2048;
	s->pids_limit = 77;
	s->cpus_set = s->memory_set = s->pids_set = s->soft_limits = true;
	OK(spec_add_mount(s, MOUNT_FLAG_VOLUME,
			  "/a:/b:ro,noexec,nosuid,nodev,uid=1,gid=2,quota=5G,stat-virt=relaxed,"
			  "host-perms=mirror,follow-root-symlinks",
			  &e));
	OK(spec_add_mount(s, MOUNT_FLAG_DIR, "/\xff\xfe:/c\xff", &e));
	OK(spec_add_mount(s, MOUNT_FLAG_NAMED, "vol:/d:kind=disk,size=1G", &e));
	OK(spec_add_mount(s, MOUNT_FLAG_DISK, "/x.vmdk:/e:fstype=xfs", &e));
	OK(spec_add_tmpfs(s, "/t:64M:noexec", &e));
	OK(spec_add_env(&s->env, &s->n_env, "--env", "A=1", &e));
	OK(spec_add_env(&s->env, &s->n_env, "--env", "RAW=\xff\x01", &e));
	OK(spec_add_label(s, "z=1", &e));
	OK(spec_add_label(s, "a", &e));
	OK(spec_add_port(s, "[::1]:8080:80/udp", &e));
	OK(parse_rlimit("nofile=5:unlimited", &r, &e));
	s->rlimit = xcalloc(1, sizeof(r));
	s->rlimit[s->n_rlimits++] = r;
	OK(spec_add_script(s, "--script-raw", "z=\xff", &e));
	OK(spec_add_script(s, "--script-raw", "a=text\n", &e));
	OK(spec_add_patch(s, "--copy", "/a:/b", &e));
	OK(spec_add_patch(s, "--rm", "/c", &e));
	strv_add(&s->image_env, "PATH=/bin");
	strv_add(&s->entrypoint, "/init");
	strv_add(&s->entrypoint, "\xfe");
	s->has_entrypoint = true;
	strv_add(&s->cmd, "sh");
	s->workdir = xstrdup("/root");
	s->shell = xstrdup("bash");
	s->user = xstrdup("me:1");
	s->hostname = xstrdup("h");
	s->stop_signal = xstrdup("SIGQUIT");
	s->read_only = true;
	OK(spec_add_writable(s, "-", "/w\xff", &e));
	OK(spec_add_writable(s, "-", "/tmp", &e));
	s->pull = PULL_NEVER;
	s->log_level = xstrdup("debug");
	s->thp = xstrdup("never");
	s->cpu_placement = xstrdup("auto");
	s->placement_profile = xstrdup("p");
	s->max_duration_s = 300;
	s->idle_timeout_s = 30;
	s->net_enabled = false;
	s->max_connections = 9;
	OK(json_parse(extra, sizeof(extra) - 1, &s->net_extra_doc, &e));
	s->metrics_interval_ms = 50;
	s->metrics_disabled = true;
}

static void there_and_back(void)
{
	AUTO_SPEC s, back;
	AUTO_FREE char *one = NULL;
	AUTO_FREE char *two = NULL;

	fill(&s);
	one = text_of(&s, 0);
	if (read_text(one, &back) < 0)
		T_FAIL("%s", e.msg);
	two = text_of(&back, 0);
	T_STR(two, one);
	T_INT(back.n_mounts, 5);
	T_STR(back.mount[1].source, "/\xff\xfe");
	T_STR(back.mount[1].guest, "/c\xff");
	T_INT(back.mount[1].want, WANT_DIR);
	T_STR(back.mount[3].format, "vmdk");
	T_INT(back.mount[0].quota_mib, 5120);
	T_TRUE(back.mount[0].stat_virt_set && back.mount[0].has_owner && back.mount[0].gid == 2);
	T_STR(back.env[1].value, "\xff\x01");
	T_STR(back.entrypoint.v[1], "\xfe");
	T_STR(back.script[1].body, "\xff");
	T_INT(back.rlimit[0].resource, RLIMIT_NOFILE);
	T_TRUE(back.rlimit[0].hard == UINT64_MAX);
	T_TRUE(back.image.root_disk.explicit && back.image.root_disk.kind == ROOT_DISK_FLAT);
	T_TRUE(back.image.root_disk.configured && back.image.root_disk.on_disk);
	T_TRUE(back.restricted && back.own_filters && back.multi_tenant && back.log_disabled &&
	       back.cpus_set && back.soft_limits);
	T_INT(back.cpu_milli, 1250);
	T_TRUE(json_get_bool(json_root(back.net_extra_doc), "strict", false));
	T_INT(back.pids_limit, 77);
	T_TRUE(back.read_only && back.writable.n == 2);
	T_STR(back.writable.v[0], "/w\xff");
}

/* Looks at every object in V. Reports a failure for each two neighbouring keys of an object that
 * are in the wrong order. */
static void check_sorted(const struct json_value *v)
{
	if (v->type == JSON_ARRAY)
		for (size_t i = 0; i < v->array.n; i++)
			check_sorted(&v->array.item[i]);
	if (v->type != JSON_OBJECT)
		return;
	for (size_t i = 0; i < v->object.n; i++) {
		const struct json_member *m = &v->object.member[i];

		if (i > 0 && strcmp(m[-1].key.p, m->key.p) >= 0)
			T_FAIL("key \"%s\" comes before \"%s\"", m[-1].key.p, m->key.p);
		check_sorted(&m->value);
	}
}

static void keys_are_sorted(void)
{
	AUTO_SPEC s;
	AUTO_FREE char *text = NULL;
	AUTO_JSON d = NULL;

	fill(&s);
	/* the keys inside a policy are not sorted, so each object of this policy has only one
	 * key */
	json_free(s.net_extra_doc);
	OK(json_parse("{\"policy\":{\"rules\":[]}}", 23, &s.net_extra_doc, &e));
	text = text_of(&s, 2);
	OK(json_parse(text, strlen(text), &d, &e));
	check_sorted(json_root(d));
}

static void defaults_read_as_msb_shows_them(void)
{
	static const char want[] =
		"{\"deployment_profile\":\"single_tenant\",\"engine\":\"auto\",\"env\":[],"
		"\"explicit\":{\"cpus\":false,\"memory\":false,\"pids_limit\":false,"
		"\"root_disk\":false,\"root_disk_default\":false},"
		"\"image\":{\"Oci\":{\"reference\":\"img:1\",\"root_disk\":{\"kind\":\"managed\","
		"\"size_mib\":4096}}},\"image_env\":[],\"init\":null,\"labels\":{},"
		"\"lifecycle\":{\"ephemeral\":false,\"idle_timeout_secs\":null,"
		"\"max_duration_secs\":null},\"manifest_digest\":null,\"mounts\":[],\"name\":"
		"\"box\","
		"\"network\":{\"enabled\":true,\"max_connections\":256,\"ports\":[],"
		"\"strict\":false,\"trust_host_cas\":false},\"patches\":[],"
		"\"pull_policy\":\"IfMissing\",\"resources\":{\"cpu_placement\":null,\"cpus\":1,"
		"\"max_cpus\":1,\"max_memory_mib\":512,\"memory_mib\":512,\"pids_limit\":1024,"
		"\"placement_profile\":null,\"thp\":null},\"rlimits\":[],"
		"\"runtime\":{\"cmd\":null,\"disable_metrics_sample\":false,\"entrypoint\":null,"
		"\"hostname\":null,\"log_disabled\":false,\"log_level\":null,"
		"\"metrics_sample_interval_ms\":1000,\"scripts\":{},\"shell\":\"/bin/sh\","
		"\"stop_signal\":null,\"user\":null,\"workdir\":null},"
		"\"security_profile\":\"default\"}";
	AUTO_SPEC s;
	AUTO_FREE char *text = NULL;

	spec_init(&s);
	s.name = xstrdup("box");
	OK(parse_image("img:1", &s.image, &e));
	text = text_of(&s, 0);
	T_STR(text, want);
}

static void images(void)
{
	static const struct {
		const char *image, *json;
	} rows[] = {
		{ "host", "\"image\":{\"Host\":{}}" },
		{ "/srv",
		  "\"image\":{\"Bind\":{\"follow_root_symlinks\":false,\"path\":\"/srv\"}}" },
		{ "/srv,cow",
		  "\"image\":{\"Bind\":{\"cow\":true,\"follow_root_symlinks\":false,\"path\":"
		  "\"/srv\"}}" },
		{ "/d.raw", "\"image\":{\"DiskImage\":{\"path\":\"/d.raw\"}}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO_SPEC s, back;
		AUTO_FREE char *text = NULL;

		spec_init(&s);
		OK(parse_image(rows[i].image, &s.image, &e));
		text = text_of(&s, 0);
		if (!strstr(text, rows[i].json))
			T_FAIL("%s lacks %s", text, rows[i].json);
		OK(read_text(text, &back));
		T_INT(back.image.kind, s.image.kind);
		T_STR(back.image.reference, s.image.reference);
		T_INT(back.image.cow, s.image.cow);
	}
}

/* A directory with a root disk is copy-on-write. After the record is read back, `cow` is true, but
 * `asked` is false: the record does not say that the user named the disk. */
static void directory_with_a_disk(void)
{
	AUTO_SPEC s, back;
	AUTO_FREE char *text = NULL;

	spec_init(&s);
	OK(parse_image("/srv", &s.image, &e));
	OK(parse_root_disk("--root-disk", "disk", &s.image.root_disk, &e));
	text = text_of(&s, 0);
	OK(read_text(text, &back));
	T_TRUE(back.image.cow && !back.image.root_disk.asked);
	T_TRUE(!spec_image_in_place(&back.image));
}

static void mount_objects(void)
{
	static const struct {
		enum mount_flag flag;
		const char *value, *json;
	} rows[] = {
		{ MOUNT_FLAG_VOLUME, "/a:/b:ro,nodev",
		  "\"mounts\":[{\"follow_root_symlinks\":false,\"guest\":\"/b\",\"host\":\"/a\","
		  "\"host_permissions\":\"private\",\"options\":{\"nodev\":true,\"noexec\":false,"
		  "\"nosuid\":false,\"readonly\":true},\"quota_mib\":null,"
		  "\"stat_virtualization\":\"strict\",\"stat_virtualization_set\":false,"
		  "\"type\":\"Bind\",\"want\":\"any\"}]" },
		{ MOUNT_FLAG_NAMED, "v:/b:noexec,quota=1G",
		  "\"guest\":\"/"
		  "b\",\"host_permissions\":\"private\",\"kind\":\"dir\",\"name\":\"v\","
		  "\"options\":{\"nodev\":false,\"noexec\":true,\"nosuid\":false,\"readonly\":"
		  "false},"
		  "\"quota_mib\":1024,\"size_mib\":null," },
		{ MOUNT_FLAG_DISK, "/x.raw:/b:nosuid",
		  "\"mounts\":[{\"format\":\"raw\",\"fstype\":null,\"guest\":\"/b\",\"host\":\"/"
		  "x.raw\","
		  "\"options\":{\"nodev\":false,\"noexec\":false,\"nosuid\":true,\"readonly\":"
		  "false},"
		  "\"type\":\"DiskImage\"}]" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO_SPEC s;
		AUTO_FREE char *text = NULL;

		spec_init(&s);
		OK(spec_add_mount(&s, rows[i].flag, rows[i].value, &e));
		text = text_of(&s, 0);
		if (!strstr(text, rows[i].json))
			T_FAIL("%s lacks %s", text, rows[i].json);
	}
}

static void damaged_records(void)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "[]", "expected object" },
		{ "{}", "image: missing" },
		{ "{\"image\":{}}", "one member" },
		{ "{\"image\":{\"Nope\":{}}}", "unknown value 'Nope'" },
		{ "{\"image\":{\"Bind\":{\"path\":\"x\"}}}", "absolute" },
		{ "{\"image\":{\"Oci\":{}}}", "reference is missing" },
		{ "{\"image\":{\"Host\":{}},\"name\":\"a/b\"}", "bad name" },
		{ "{\"image\":{\"Host\":{}},\"security_profile\":\"strong\"}",
		  "unknown value 'strong'" },
		{ "{\"image\":{\"Host\":{}},\"engine\":\"x\"}", "unknown value 'x'" },
		{ "{\"image\":{\"Host\":{}},\"resources\":{\"cpus\":0}}", "resources.cpus" },
		{ "{\"image\":{\"Host\":{}},\"resources\":{\"cpus\":1.5005}}", "resources.cpus" },
		{ "{\"image\":{\"Host\":{}},\"resources\":{\"cpus\":1e300}}", "resources.cpus" },
		{ "{\"image\":{\"Host\":{}},\"resources\":{\"max_cpus\":-1}}",
		  "resources.max_cpus" },
		{ "{\"image\":{\"Host\":{}},\"mounts\":{}}", "mounts: expected an array" },
		{ "{\"image\":{\"Host\":{}},\"mounts\":[1]}", "mounts[0]: expected an object" },
		{ "{\"image\":{\"Host\":{}},\"mounts\":[{\"type\":\"Tmpfs\",\"guest\":\"/a/..\"}]}",
		  "other than '/'" },
		{ "{\"image\":{\"Host\":{}},\"mounts\":[{\"type\":\"Tmpfs\",\"guest\":\"/a\"},"
		  "{\"type\":\"Tmpfs\",\"guest\":\"/a\"}]}",
		  "mounted twice" },
		{ "{\"image\":{\"Host\":{}},\"mounts\":[{\"type\":\"Named\",\"guest\":\"/a\","
		  "\"name\":\"../x\"}]}",
		  "bad name" },
		{ "{\"image\":{\"Host\":{}},\"mounts\":[{\"type\":\"Bind\",\"guest\":\"/a\"}]}",
		  "host must be" },
		{ "{\"image\":{\"Host\":{}},\"env\":[{\"key\":\"a=b\",\"value\":\"\"}]}",
		  "without '='" },
		{ "{\"image\":{\"Host\":{}},\"env\":[{\"key\":\"a\",\"value\":\"\\u0000\"}]}",
		  "NUL" },
		{ "{\"image\":{\"Host\":{}},\"env\":[{\"key\":\"a\",\"value_base64\":\"AA==\"}]}",
		  "base64" },
		{ "{\"image\":{\"Host\":{}},\"network\":{\"ports\":[{\"host_bind\":\"x\","
		  "\"guest_port\":1,\"host_port\":1}]}}",
		  "network: ports[0]: host_bind" },
		{ "{\"image\":{\"Host\":{}},\"runtime\":{\"scripts\":{\"a/b\":\"\"}}}",
		  "bad name" },
		{ "{\"image\":{\"Host\":{}},\"runtime\":{\"user\":\"a b\"}}", "bad user" },
		{ "{\"image\":{\"Host\":{}},\"rlimits\":[{\"resource\":\"nofile\",\"soft\":null,"
		  "\"hard\":1}]}",
		  "soft above hard" },
		{ "{\"image\":{\"Host\":{}},\"patches\":[{\"op\":\"copy\",\"path\":\"/a\"}]}",
		  "source must be" },
		{ "{\"image\":{\"Host\":{}},\"patches\":[{\"op\":\"mkdir\",\"path\":\"/a\","
		  "\"source\":\"x\"}]}",
		  "source must be" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO_SPEC s;

		if (read_text(rows[i].text, &s) != -1)
			T_FAIL("accepted %s", rows[i].text);
		else if (e.code != ERR_INVALID || !strstr(e.msg, rows[i].says))
			T_FAIL("%s: got \"%s\", want \"%s\"", rows[i].text, e.msg, rows[i].says);
		T_INT(s.cpu_milli, SPEC_DEFAULT_CPU_MILLI);
	}
}

static void unknown_members_are_ignored(void)
{
	AUTO_SPEC s;

	OK(read_text("{\"image\":{\"Host\":{\"later\":1}},\"later\":{},\"resources\":{\"x\":[]}}",
		     &s));
	T_INT(s.image.kind, IMAGE_HOST);
	T_INT(s.memory_mib, SPEC_DEFAULT_MEMORY_MIB);
}

int main(void)
{
	T_RUN(there_and_back);
	T_RUN(keys_are_sorted);
	T_RUN(defaults_read_as_msb_shows_them);
	T_RUN(images);
	T_RUN(directory_with_a_disk);
	T_RUN(mount_objects);
	T_RUN(damaged_records);
	T_RUN(unknown_members_are_ignored);
	return t_end();
}
