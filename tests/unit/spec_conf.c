/* Tests how configuration files, already converted to JSON, are merged, expanded and checked. */
#include "spec/conf.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "t.h"

static struct err e;

/* The files that load() can read: a path and a text for each file, then NULL. */
static const char *const *files;

static int load(void *arg, const char *path, struct json_doc **ret, struct err *err)
{
	for (size_t i = 0; files[i]; i += 2)
		if (strcmp(files[i], path) == 0)
			return json_parse(files[i + 1], strlen(files[i + 1]), ret, err);
	return err_set(err, ERR_NOT_FOUND, "no file '%s'", path);
}

static const struct conf_loader loader = { load, NULL };

struct world {
	struct conf c;
	struct conf_extra x;
	struct spec s;
};

static void world_done(struct world *w)
{
	conf_done(&w->c);
	conf_extra_done(&w->x);
	spec_done(&w->s);
}

#define WORLD(w)                                                     \
	__attribute__((cleanup(world_done))) struct world w = { 0 }; \
	spec_init(&w.s)

static int one(struct world *w, enum conf_scope scope, const char *text)
{
	const char *const list[] = { "/etc/box/f", text, NULL };

	files = list;
	if (conf_add(&w->c, scope, "/etc/box/f", &loader, &e) < 0)
		return -1;
	return conf_apply(&w->c, NULL, &w->s, &w->x, &e);
}

static void whole_file(void)
{
	static const char text[] =
		"{\"image\":\"python:3.12\",\"pull_policy\":\"never\",\"cpus\":2.5,\"memory\":"
		"\"1G\","
		"\"registry\":{\"username\":\"u\",\"password_env\":\"P\"},"
		"\"read_only\":true,\"writable\":[\"/tmp/../var/\",\"/"
		"home\"],\"root_disk\":\"disk\",\"pids_limit\":77,\"soft_limits\":true,"
		"\"max_duration\":\"12h\",\"idle_timeout\":\"10m\","
		"\"rlimits\":[{\"resource\":\"nofile\",\"soft\":5,\"hard\":9},"
		"{\"resource\":\"nproc\",\"soft\":7}],"
		"\"workdir\":\"/"
		"app\",\"user\":\"me\",\"hostname\":\"h\",\"security\":\"restricted\",\"seccomp_"
		"filters\":true,"
		"\"entrypoint\":[\"tini\",\"--\"],\"cmd\":[\"python\"],\"env\":{\"A\":\"1=2\"},"
		"\"labels\":{\"team\":\"x\"},\"scripts\":{\"go\":\"echo "
		"\\\\n\"},\"shell\":\"bash\","
		"\"mounts\":[\"./src:/app:ro\",\"cache:/c\",{\"bind\":\"b\",\"target\":\"/"
		"b\",\"nodev\":true,"
		"\"stat_virtualization\":\"off\"},{\"named\":\"v\",\"target\":\"/v\","
		"\"create\":\"ensure-exists\"},{\"tmpfs\":{\"size\":\"64M\"},\"target\":\"/t\"},"
		"{\"disk\":\"d.qcow2\",\"target\":\"/d\",\"fstype\":\"ext4\",\"readonly\":true}],"
		"\"patches\":[{\"copy_file\":{\"src\":\"c.toml\",\"dst\":\"/c.toml\"}},"
		"{\"mkdir\":{\"path\":\"/m\"}},{\"remove\":{\"path\":\"/r\"}}],"
		"\"network\":{\"policy\":\"public\",\"allow\":[\"api.example.com\"],"
		"\"deny\":[\"10.0.0.1\"],\"ports\":[\"80:80\"],\"max_connections\":9,"
		"\"trust_host_cas\":true,\"dns\":{\"rebind_protection\":false,"
		"\"nameservers\":[\"9.9.9.9\"],\"query_timeout\":\"5s\"}},\"ports\":[\"81:81/"
		"udp\"]}";
	WORLD(w);

	if (one(&w, CONF_ROOT, text) < 0)
		T_FAIL("%s", e.msg);
	T_STR(w.s.image.reference, "python:3.12");
	T_INT(w.s.pull, PULL_NEVER);
	T_INT(w.s.cpu_milli, 2500);
	T_INT(w.s.max_cpu_milli, 2500);
	T_INT(w.s.memory_mib, 1024);
	T_TRUE(w.s.cpus_set && w.s.memory_set && w.s.restricted && w.s.own_filters &&
	       w.s.has_entrypoint);
	T_TRUE(w.s.pids_set && w.s.soft_limits && w.s.pids_limit == 77);
	T_TRUE(w.s.read_only && w.s.writable.n == 2);
	T_STR(w.s.writable.v[0], "/var");
	T_TRUE(w.s.image.root_disk.on_disk);
	T_INT(w.s.max_duration_s, 43200);
	T_INT(w.s.idle_timeout_s, 600);
	T_INT(w.s.n_rlimits, 2);
	T_INT(w.s.rlimit[1].hard, 7);
	T_STR(w.s.workdir, "/app");
	T_STR(w.s.entrypoint.v[1], "--");
	T_STR(w.s.cmd.v[0], "python");
	T_STR(w.s.env[0].value, "1=2");
	T_STR(w.s.label[0].key, "team");
	T_STR(w.s.script[0].body, "#!/usr/bin/env bash\necho \\n\n");
	T_INT(w.s.n_mounts, 6);
	T_STR(w.s.mount[0].source, "/etc/box/src");
	T_TRUE(w.s.mount[0].readonly);
	T_STR(w.s.mount[1].source, "/etc/box/cache");
	T_STR(w.s.mount[2].source, "/etc/box/b");
	T_TRUE(w.s.mount[2].nodev && w.s.mount[2].stat_virt == STAT_VIRT_OFF);
	T_INT(w.s.mount[3].kind, MOUNT_NAMED);
	T_INT(w.s.mount[4].size_mib, 64);
	T_STR(w.s.mount[5].format, "qcow2");
	T_INT(w.s.n_patches, 3);
	T_STR(w.s.patch[0].source, "/etc/box/c.toml");
	T_STR(w.s.patch[2].op, "remove");
	T_INT(w.s.n_ports, 2);
	T_INT(w.s.max_connections, 9);
	T_STR(w.x.net, "public");
	T_TRUE(w.x.net_allow_list && w.x.trust_host_cas && w.x.no_rebind_protection);
	T_STR(w.x.net_rules.v[0], "deny@10.0.0.1");
	T_STR(w.x.net_rules.v[1], "allow@api.example.com");
	T_STR(w.x.nameservers.v[0], "9.9.9.9");
	T_INT(w.x.query_timeout_ms, 5000);
	T_STR(w.x.registry_password_env, "P");
}

static void maps_merge_lists_replace(void)
{
	static const char *const list[] = {
		"/a/base",
		"{\"image\":{\"oci\":\"x\"},\"env\":{\"A\":\"1\",\"B\":\"1\"},"
		"\"mounts\":[\"./one:/one\"],\"network\":\"open\",\"memory\":\"1G\","
		"\"scripts\":{\"s\":\"one\"}}",
		"/b/over",
		"{\"image\":{\"bind\":\"root\"},\"env\":{\"B\":\"2\"},"
		"\"mounts\":[\"./two:/two\"],\"network\":{\"deny\":[\"any\"]}}",
		"/c/res",
		"{\"memory\":\"2G\"}",
		"/c/net",
		"{\"allow\":[\"a.example\"]}",
		"/c/run",
		"{\"env\":{\"C\":\"3\"}}",
		"/c/script",
		"{\"t\":\"two\"}",
		"/c/empty",
		"null",
		NULL,
	};
	WORLD(w);

	files = list;
	T_INT(conf_add(&w.c, CONF_ROOT, "/a/base", &loader, &e), 0);
	T_INT(conf_add(&w.c, CONF_ROOT, "/b/over", &loader, &e), 0);
	T_INT(conf_add(&w.c, CONF_RESOURCE, "/c/res", &loader, &e), 0);
	T_INT(conf_add(&w.c, CONF_NET, "/c/net", &loader, &e), 0);
	T_INT(conf_add(&w.c, CONF_RUNTIME, "/c/run", &loader, &e), 0);
	T_INT(conf_add(&w.c, CONF_SCRIPT, "/c/script", &loader, &e), 0);
	T_INT(conf_add(&w.c, CONF_FS, "/c/empty", &loader, &e), 0);
	T_INT(conf_apply(&w.c, "/bin/zsh", &w.s, &w.x, &e), 0);
	T_INT(w.s.image.kind, IMAGE_DIR);
	T_STR(w.s.image.reference, "/b/root");
	T_INT(w.s.n_env, 3);
	T_STR(w.s.env[1].value, "2");
	T_INT(w.s.n_mounts, 1);
	T_STR(w.s.mount[0].source, "/b/two");
	T_INT(w.s.memory_mib, 2048);
	T_STR(w.x.net, "all");
	T_INT(w.x.net_rules.n, 2);
	T_INT(w.s.n_scripts, 2);
	T_STR(w.s.script[0].body, "#!/bin/zsh\none\n");
}

/* A relative path of an image is relative to the directory of the configuration file that names it.
 * An ending ",cow" does not change that. */
static void directory_images(void)
{
	static const char *const list[] = {
		"/a/text", "{\"image\":\"./r,cow\"}",
		"/a/here", "{\"image\":\".,cow\"}",
		"/a/bind", "{\"image\":{\"bind\":\"r,cow\"}}",
		"/a/size", "{\"image\":{\"bind\":\"r\",\"upper_size\":\"1G\"}}",
		"/a/disk", "{\"image\":{\"disk\":\"r,cow\"}}",
		NULL,
	};
	static const struct {
		const char *file, *path;
		bool cow;
	} rows[] = { { "/a/text", "/a/r", true },
		     { "/a/here", "/a", true },
		     { "/a/bind", "/a/r", true },
		     { "/a/size", "/a/r", false } };

	files = list;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		WORLD(w);

		T_INT(conf_add(&w.c, CONF_ROOT, rows[i].file, &loader, &e), 0);
		T_INT(conf_apply(&w.c, NULL, &w.s, &w.x, &e), 0);
		T_INT(w.s.image.kind, IMAGE_DIR);
		T_STR(w.s.image.reference, rows[i].path);
		T_INT(w.s.image.cow, rows[i].cow);
		T_TRUE(!spec_image_in_place(&w.s.image));
	}
	WORLD(w);
	T_INT(conf_add(&w.c, CONF_ROOT, "/a/disk", &loader, &e), -1);
	T_STR(e.msg, "/a/disk: image: a disk cannot be copy-on-write");
}

static void patch_files(void)
{
	static const char *const list[] = {
		"/a/f",
		"{\"patch_files\":[\"p/one\"],\"patches\":[{\"mkdir\":{\"path\":\"/last\"}}]}",
		"/a/p/one",
		"{\"patches\":[{\"copy_dir\":{\"src\":\"x\",\"dst\":\"/x\"}}]}",
		"/a/g",
		"{\"patch_files\":[\"/bad\"]}",
		"/bad",
		"{\"patches\":[],\"more\":1}",
		"/a/h",
		"{\"patch_files\":[\"gone\"]}",
		NULL,
	};
	WORLD(w);

	files = list;
	T_INT(conf_add(&w.c, CONF_FS, "/a/f", &loader, &e), 0);
	T_INT(conf_apply(&w.c, NULL, &w.s, &w.x, &e), 0);
	T_INT(w.s.n_patches, 2);
	T_STR(w.s.patch[0].source, "/a/p/x");
	T_STR(w.s.patch[1].path, "/last");
	T_INT(conf_add(&w.c, CONF_FS, "/a/g", &loader, &e), -1);
	T_STR(e.msg, "/a/g: /bad: expected the one key 'patches'");
	T_INT(conf_add(&w.c, CONF_FS, "/a/h", &loader, &e), -1);
	T_INT(e.code, ERR_NOT_FOUND);
}

static void expansion(void)
{
	WORLD(w);

	setenv("SPEC_CONF_X", "val", 1);
	unsetenv("SPEC_CONF_NO");
	T_INT(one(&w, CONF_ROOT,
		  "{\"env\":{\"A\":\"<${SPEC_CONF_X}${SPEC_CONF_X}>\",\"B\":\"$x "
		  "$\",\"C\":\"$${\"}}"),
	      -1);
	T_INT(one(&w, CONF_ROOT,
		  "{\"env\":{\"A\":\"<${SPEC_CONF_X}${SPEC_CONF_X}>\",\"B\":\"$x $\"},"
		  "\"mounts\":[\"${SPEC_CONF_X}:/m\"]}"),
	      0);
	T_STR(w.s.env[0].value, "<valval>");
	T_STR(w.s.env[1].value, "$x $");
	T_STR(w.s.mount[0].source, "/etc/box/val");
	T_INT(one(&w, CONF_ROOT, "{\"env\":{\"A\":\"${SPEC_CONF_NO}\"}}"), -1);
	T_STR(e.msg, "/etc/box/f: env.A: ${SPEC_CONF_NO} is not set in your environment");
	T_INT(one(&w, CONF_ROOT, "{\"env\":{\"A\":\"${X:-y}\"}}"), -1);
	T_INT(one(&w, CONF_ROOT, "{\"env\":{\"A\":\"${\"}}"), -1);
	T_INT(one(&w, CONF_ROOT, "{\"env\":{\"A\":\"${1}\"}}"), -1);
	setenv("SPEC_CONF_X", "\xff", 1);
	T_INT(one(&w, CONF_ROOT, "{\"env\":{\"A\":\"${SPEC_CONF_X}\"}}"), -1);
}

static void refusals(void)
{
	static const struct {
		enum conf_scope scope;
		const char *text, *says;
	} rows[] = {
		{ CONF_ROOT, "[]", "expected a map" },
		{ CONF_ROOT, "{\"imag\":1}",
		  "/etc/box/f: unknown key 'imag'; known keys are image, pull_policy, registry" },
		{ CONF_NET, "{\"network\":{}}",
		  "unknown key 'network'; known keys are policy, allow" },
		{ CONF_RESOURCE, "{\"workdir\":\"/\"}",
		  "known keys are cpus, memory, pids_limit, soft_limits, max_duration, "
		  "idle_timeout, "
		  "rlimits" },
		{ CONF_RUNTIME, "{\"cpus\":1}", "known keys are workdir" },
		{ CONF_FS, "{\"image\":\"x\"}",
		  "known keys are mounts, read_only, writable, root_disk, "
		  "patch_files, patches" },
		{ CONF_ROOT, "{\"memory\":512}", "memory: expected a string; put it in quotes" },
		{ CONF_ROOT, "{\"memory\":\"x\"}", "memory: bad size 'x'" },
		{ CONF_ROOT, "{\"cpus\":\"2\"}", "cpus: expected a number" },
		{ CONF_ROOT, "{\"cpus\":0}", "cpus: expected a number" },
		{ CONF_ROOT, "{\"cpus\":0.0015}", "cpus: expected a number" },
		{ CONF_ROOT, "{\"pids_limit\":0}", "pids_limit: expected a whole number" },
		{ CONF_ROOT, "{\"read_only\":\"yes\"}", "read_only: expected true or false" },
		{ CONF_ROOT, "{\"writable\":[\"x\"]}", "writable[0]: bad path 'x'" },
		{ CONF_ROOT, "{\"root_disk\":\"disk:x\"}", "root_disk: bad size" },
		{ CONF_ROOT, "{\"soft_limits\":1}", "soft_limits: expected true or false" },
		{ CONF_ROOT, "{\"env\":{\"A\":1}}", "env.A: expected a string" },
		{ CONF_ROOT, "{\"env\":[\"A=1\"]}", "env: expected a map" },
		{ CONF_ROOT, "{\"image\":{\"oci\":\"x\",\"bind\":\"y\"}}", "give one of" },
		{ CONF_ROOT, "{\"image\":{\"layer\":\"x\"}}", "unknown key 'layer'" },
		{ CONF_ROOT, "{\"image\":\"UP\"}", "lower case" },
		{ CONF_ROOT, "{\"security\":\"x\"}", "expected default or restricted" },
		{ CONF_ROOT, "{\"seccomp_filters\":\"x\"}", "expected true or false" },
		{ CONF_ROOT, "{\"pull_policy\":\"x\"}", "expected missing, always or never" },
		{ CONF_ROOT, "{\"workdir\":\"x\"}", "not an absolute path" },
		{ CONF_ROOT, "{\"rlimits\":[{\"resource\":\"x\",\"soft\":1}]}",
		  "unknown resource" },
		{ CONF_ROOT, "{\"rlimits\":[{\"resource\":\"as\",\"soft\":2,\"hard\":1}]}",
		  "above" },
		{ CONF_ROOT, "{\"rlimits\":[{\"resource\":\"core\",\"soft\":2}]}",
		  "core dumps are not supported" },
		{ CONF_ROOT, "{\"mounts\":[{\"bind\":\"x\"}]}", "mounts[0].target: missing" },
		{ CONF_ROOT, "{\"mounts\":[{\"bind\":\"x\",\"target\":\"/\"}]}",
		  "must not be '/'" },
		{ CONF_ROOT, "{\"mounts\":[{\"bind\":\"x\",\"target\":\"/a\",\"size\":1}]}",
		  "unknown key 'size'" },
		{ CONF_ROOT, "{\"mounts\":[\"./a:/x\",{\"tmpfs\":{},\"target\":\"/x\"}]}",
		  "mounted twice" },
		{ CONF_ROOT, "{\"mounts\":[{\"tmpfs\":{},\"target\":\"/a\",\"format\":\"raw\"}]}",
		  "go with disk" },
		{ CONF_ROOT, "{\"patches\":[{\"text\":{}}]}",
		  "patches[0].text is not supported yet" },
		{ CONF_ROOT,
		  "{\"patches\":[{\"mkdir\":{\"path\":\"/a\"},\"remove\":{\"path\":\"/a\"}}]}",
		  "expected one operation" },
		{ CONF_ROOT, "{\"patches\":[{\"mkdir\":{\"path\":\"/a\",\"mode\":\"0700\"}}]}",
		  "not supported yet" },
		{ CONF_ROOT, "{\"network\":\"private\"}", "expected none, public or open" },
		{ CONF_ROOT, "{\"network\":{\"tls\":{}}}", "network.tls is not supported yet" },
		{ CONF_NET, "{\"dns\":{\"query_timeout\":\"0s\"}}",
		  "network.dns.query_timeout: bad duration '0s': at least 1 ms" },
		{ CONF_ROOT, "{\"network\":{\"ports\":[\"80:80\"]},\"ports\":[\"80:81\"]}",
		  "published twice" },
		{ CONF_ROOT, "{\"ports\":[8080]}",
		  "ports[0]: expected a string; put it in quotes" },
		{ CONF_ROOT, "{\"secrets\":{\"A\":{}}}", "secrets is not supported yet" },
		{ CONF_ROOT, "{\"init\":{}}", "init is not supported yet" },
		{ CONF_SCRIPT, "{\"a/b\":\"x\"}", "bad name 'a/b'" },
		{ CONF_SCRIPT, "{\"a\":1}", "scripts.a: expected a string" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		WORLD(w);

		if (one(&w, rows[i].scope, rows[i].text) == 0)
			T_FAIL("accepted %s", rows[i].text);
		else if (!strstr(e.msg, rows[i].says) || strncmp(e.msg, "/etc/box/f: ", 12) != 0)
			T_FAIL("%s: got \"%s\", want \"%s\"", rows[i].text, e.msg, rows[i].says);
	}
}

int main(void)
{
	T_RUN(whole_file);
	T_RUN(maps_merge_lists_replace);
	T_RUN(directory_images);
	T_RUN(patch_files);
	T_RUN(expansion);
	T_RUN(refusals);
	return t_end();
}
