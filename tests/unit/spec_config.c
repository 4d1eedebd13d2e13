#include "spec/config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "t.h"

static struct err e;

static int read_text(const char *text, struct config *c)
{
	AUTO_JSON d = NULL;

	if (json_parse(text, strlen(text), &d, &e) < 0)
		return -2;
	return config_read(json_root(d), "/srv/x", c, &e);
}

static void whole_file(void)
{
	struct config c;
	struct spec s;

	T_INT(read_text(
		      "{\"log_level\":\"info\",\"engine\":\"vm\",\"shell_fallback\":true,"
		      "\"deployment_profile\":\"multi-tenant\",\"future\":[1],"
		      "\"sandbox_defaults\":{\"cpus\":2,\"memory_mib\":1024,\"shell\":\"/bin/"
		      "bash\","
		      "\"workdir\":\"/"
		      "app\",\"oci\":{\"root_disk\":{\"kind\":\"flat\",\"size_mib\":8192,"
		      "\"clone\":\"auto\"}},\"metrics_sample_interval_ms\":0},"
		      "\"paths\":{\"cache\":\"/fast\",\"volumes\":\"v\",\"logs\":null},"
		      "\"registries\":{\"ca_certs\":\"/ca.pem\",\"hosts\":{\"r.example:5000\":"
		      "{\"insecure\":true,\"auth\":{\"username\":\"u\",\"password_env\":\"P\"}}}}}",
		      &c),
	      0);
	T_STR(c.log_level, "info");
	T_INT(c.engine, ENGINE_VM);
	T_TRUE(c.shell_fallback && c.multi_tenant);
	T_STR(c.cache, "/fast");
	T_STR(c.volumes, "/srv/x/v");
	T_TRUE(c.logs == NULL);
	T_STR(c.ca_certs, "/ca.pem");
	T_INT(c.n_registries, 1);
	T_STR(c.registry[0].host, "r.example:5000");
	T_TRUE(c.registry[0].insecure);
	T_STR(c.registry[0].password_env, "P");
	spec_init(&s);
	config_apply(&c, &s);
	T_INT(s.cpu_milli, 2000);
	T_INT(s.max_cpu_milli, 2000);
	T_INT(s.memory_mib, 1024);
	T_TRUE(!s.cpus_set && !s.memory_set);
	T_STR(s.shell, "/bin/bash");
	T_STR(s.workdir, "/app");
	T_INT(s.engine, ENGINE_VM);
	T_INT(s.image.root_disk.kind, ROOT_DISK_FLAT);
	T_INT(s.image.root_disk.size_mib, 8192);
	T_TRUE(!s.image.root_disk.explicit && s.image.root_disk.configured);
	T_TRUE(s.metrics_disabled && s.multi_tenant);
	spec_done(&s);
	config_done(&c);
}

static void nothing_given_changes_nothing(void)
{
	struct config c;
	struct spec s;

	T_INT(read_text("{}", &c), 0);
	spec_init(&s);
	config_apply(&c, &s);
	T_INT(s.cpu_milli, SPEC_DEFAULT_CPU_MILLI);
	T_INT(s.memory_mib, SPEC_DEFAULT_MEMORY_MIB);
	T_INT(s.metrics_interval_ms, SPEC_DEFAULT_METRICS_INTERVAL_MS);
	T_TRUE(!s.metrics_disabled && s.shell == NULL);
	spec_done(&s);
	config_done(&c);
}

static void bad_values(void)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "[]", "expected object" },
		{ "{\"engine\":\"x\"}", "engine: unknown engine 'x'" },
		{ "{\"deployment_profile\":\"x\"}", "deployment_profile" },
		{ "{\"sandbox_defaults\":1}", "sandbox_defaults: expected object" },
		{ "{\"sandbox_defaults\":{\"cpus\":\"2\"}}",
		  "sandbox_defaults.cpus: expected a number from 0.01 to 255" },
		{ "{\"sandbox_defaults\":{\"memory_mib\":0}}", "sandbox_defaults.memory_mib" },
		{ "{\"sandbox_defaults\":{\"shell\":\"a b\"}}", "sandbox_defaults.shell" },
		{ "{\"sandbox_defaults\":{\"workdir\":\"a\"}}", "not absolute" },
		{ "{\"sandbox_defaults\":{\"oci\":{\"root_disk\":\"x\"}}}",
		  "oci.root_disk: bad size" },
		{ "{\"sandbox_defaults\":{\"oci\":{\"root_disk\":\"/d\"}}}", "share one disk" },
		{ "{\"paths\":{\"cache\":1}}", "paths.cache" },
		{ "{\"host_addresses\":\"192.0.2.1\"}", "host_addresses: expected array" },
		{ "{\"host_addresses\":[1]}", "host_addresses: expected strings" },
		{ "{\"host_addresses\":[\"192.0.2.1\",\"here.example\"]}",
		  "host_addresses: bad address or network 'here.example'" },
		{ "{\"paths\":{\"volumes\":\"\"}}", "paths.volumes: empty" },
		{ "{\"registries\":{\"hosts\":[]}}", "registries.hosts" },
		{ "{\"registries\":{\"hosts\":{\"h\":{\"auth\":{\"secret_name\":\"../x\"}}}}}",
		  "bad name" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct config c;

		if (read_text(rows[i].text, &c) != -1)
			T_FAIL("accepted %s", rows[i].text);
		else if (e.code != ERR_INVALID || !strstr(e.msg, rows[i].says))
			T_FAIL("%s: got \"%s\", want \"%s\"", rows[i].text, e.msg, rows[i].says);
	}
}

static void files(void)
{
	char home[] = "/tmp/spec_config.XXXXXX";
	struct config c;
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *want = NULL;

	T_TRUE(mkdtemp(home) != NULL);
	path = xasprintf("%s/config.json", home);
	unsetenv("MSB_CONFIG_PATH");
	unsetenv("CORDON_ENGINE");
	T_INT(config_load(home, &c, &e), 0);
	T_INT(c.engine, ENGINE_AUTO);
	config_done(&c);
	T_INT(io_replace_file(AT_FDCWD, path, "{\n \"engine\": vm}", 16, 0600), 0);
	T_INT(config_load(home, &c, &e), -1);
	want = xasprintf("%s: line 2 column 12", path);
	if (strncmp(e.msg, want, strlen(want)) != 0)
		T_FAIL("got \"%s\", want \"%s…\"", e.msg, want);
	T_INT(io_replace_file(AT_FDCWD, path, "{\"engine\":\"vm\"}", 15, 0600), 0);
	setenv("CORDON_ENGINE", "process", 1);
	setenv("MSB_SHELL_FALLBACK", "1", 1);
	T_INT(config_load(home, &c, &e), 0);
	T_INT(c.engine, ENGINE_PROCESS);
	T_TRUE(c.shell_fallback);
	config_done(&c);
	setenv("CORDON_ENGINE", "nope", 1);
	T_INT(config_load(home, &c, &e), -1);
	unsetenv("CORDON_ENGINE");
	setenv("MSB_CONFIG_PATH", "/no/such/config.json", 1);
	T_INT(config_load(home, &c, &e), -1);
	T_INT(e.code, ERR_NOT_FOUND);
	unlink(path);
	rmdir(home);
}

int main(void)
{
	T_RUN(whole_file);
	T_RUN(nothing_given_changes_nothing);
	T_RUN(bad_values);
	T_RUN(files);
	return t_end();
}
