#include "image/config.h"

#include "t.h"

#define DIFF "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int parse(const char *s, struct image_config *c, struct err *e)
{
	return image_config_parse(s, strlen(s), c, e);
}

static void whole(void)
{
	struct image_config c;
	struct err e = { .msg = "" };

	T_INT(parse("{\"architecture\":\"amd64\",\"os\":\"linux\",\"created\":\"2020-01-01T00:00:"
		    "00Z\","
		    "\"config\":{\"Env\":[\"A=1\",\"=bad\",\"alsobad\",\"B=\"],\"Entrypoint\":[\"/"
		    "e\"],"
		    "\"Cmd\":[\"a\",\"b\"],\"User\":\"1000:100\",\"WorkingDir\":\"/w\","
		    "\"StopSignal\":\"SIGINT\",\"Volumes\":{\"/v\":{}},\"Labels\":{\"k\":\"v\"},"
		    "\"ExposedPorts\":{\"80/tcp\":{}}},"
		    "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"" DIFF "\"]}}",
		    &c, &e),
	      0);
	T_STR(c.architecture, "amd64");
	T_STR(c.os, "linux");
	T_INT(c.env.n, 2);
	T_STR(c.env.v[0], "A=1");
	T_STR(c.env.v[1], "B=");
	T_TRUE(c.env.v[2] == NULL);
	T_STR(c.entrypoint.v[0], "/e");
	T_INT(c.cmd.n, 2);
	T_STR(c.user, "1000:100");
	T_STR(c.working_dir, "/w");
	T_STR(c.stop_signal, "SIGINT");
	T_STR(c.volumes.v[0], "/v");
	T_STR(c.exposed_ports.v[0], "80/tcp");
	T_STR(c.label[0].key, "k");
	T_STR(c.label[0].value, "v");
	T_STR(c.diff_ids.v[0], DIFF);
	image_config_done(&c);
}

static void nulls_mean_absent(void)
{
	struct image_config c;
	struct err e = { .msg = "" };

	T_INT(parse("{\"config\":{\"Env\":null,\"Entrypoint\":null,\"Cmd\":null,\"Labels\":null,"
		    "\"User\":null,\"User2\":1,\"WorkingDir\":\"\"},\"rootfs\":{\"diff_ids\":[]}}",
		    &c, &e),
	      0);
	T_TRUE(!c.user && !c.working_dir && !c.env.v && !c.cmd.v);
	image_config_done(&c);
	T_INT(parse("{}", &c, &e), 0);
	image_config_done(&c);
	T_INT(parse("{\"config\":null}", &c, &e), 0);
	image_config_done(&c);
}

static void refused(void)
{
	static const char *const bad[] = {
		"",
		"[]",
		"1",
		"{\"config\":[]}",
		"{\"config\":{\"Env\":\"A=1\"}}",
		"{\"config\":{\"Env\":[1]}}",
		"{\"config\":{\"Cmd\":{}}}",
		"{\"config\":{\"User\":1000}}",
		"{\"config\":{\"User\":\"a\\u0000b\"}}",
		"{\"config\":{\"Env\":[\"A=\\u0000\"]}}",
		"{\"config\":{\"Labels\":{\"a\":1}}}",
		"{\"config\":{\"Volumes\":[]}}",
		"{\"rootfs\":{\"diff_ids\":[\"md5:00\"]}}",
		"{\"rootfs\":{\"diff_ids\":[\"sha256:../../etc\"]}}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct image_config c;
		struct err e = { .code = ERR_NONE };

		if (parse(bad[i], &c, &e) == 0)
			T_FAIL("accepted: %s", bad[i]);
		T_INT(e.code, ERR_INVALID);
	}
}

static void limits(void)
{
	AUTO_BUF b = BUF_INIT(1u << 20);
	struct image_config c;
	struct err e = { .code = ERR_NONE };

	buf_add_str(&b, "{\"config\":{\"User\":\"");
	buf_add_fill(&b, '9', IMAGE_USER_MAX_BYTES + 1);
	buf_add_str(&b, "\"}}");
	T_INT(image_config_parse(b.p, b.n, &c, &e), -1);
	T_INT(e.code, ERR_LIMIT);

	buf_clear(&b);
	buf_add_str(&b, "{\"rootfs\":{\"diff_ids\":[\"" DIFF "\"");
	for (unsigned i = 0; i < IMAGE_LAYERS_MAX; i++)
		buf_add_str(&b, ",\"" DIFF "\"");
	buf_add_str(&b, "]}}");
	T_INT(image_config_parse(b.p, b.n, &c, &e), -1);
	T_INT(e.code, ERR_LIMIT);
}

int main(void)
{
	T_RUN(whole);
	T_RUN(nulls_mean_absent);
	T_RUN(refused);
	T_RUN(limits);
	return t_end();
}
