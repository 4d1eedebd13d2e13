#include "image/manifest.h"

#include "t.h"

#define D1 "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define D2 "sha256:1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CONFIG \
	"\"config\":{\"mediaType\":\"" MEDIA_OCI_CONFIG "\",\"digest\":\"" D1 "\",\"size\":7}"
#define LAYER(type) "{\"mediaType\":\"" type "\",\"digest\":\"" D2 "\",\"size\":9}"

static int parse(const char *s, struct image_manifest *m, struct err *e)
{
	return manifest_parse(s, strlen(s), m, e);
}

static void image(void)
{
	struct image_manifest m;
	struct err e = { .msg = "" };

	T_INT(parse("{\"schemaVersion\":2," CONFIG ",\"layers\":[" LAYER(
			    MEDIA_OCI_LAYER "+gzip") "," LAYER(MEDIA_DOCKER_LAYER) "]}",
		    &m, &e),
	      0);
	T_INT(m.kind, MANIFEST_IMAGE);
	T_STR(m.config.digest, D1);
	T_INT(m.config.size_bytes, 7);
	T_INT(m.n_items, 2);
	T_STR(m.item[0].digest, D2);
	T_STR(m.item[1].media_type, MEDIA_DOCKER_LAYER);
	manifest_done(&m);
}

static const char *pick(const char *items)
{
	static char digest[DIGEST_BYTES];
	const struct image_descriptor *d;
	struct image_manifest m;
	struct err e = { .msg = "" };
	AUTO_BUF b = BUF_INIT(4096);

	buf_addf(&b, "{\"manifests\":[%s]}", items);
	if (manifest_parse(b.p, b.n, &m, &e) < 0)
		return "bad";
	if (manifest_select(&m, "linux", "amd64", &d, &e) == 0)
		snprintf(digest, sizeof(digest), "%s", d->digest);
	else
		snprintf(digest, sizeof(digest), "%.60s", e.msg);
	manifest_done(&m);
	return digest;
}

#define ITEM(digest, platform) "{\"digest\":\"" digest "\",\"size\":1" platform "}"
#define ON(os, arch) ",\"platform\":{\"os\":\"" os "\",\"architecture\":\"" arch "\"}"

static void platforms(void)
{
	T_STR(pick(ITEM(D1, ON("linux", "arm64")) "," ITEM(D2, ON("linux", "amd64"))), D2);
	T_STR(pick(ITEM(D1, ",\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\","
			    "\"variant\":\"v3\"}") "," ITEM(D2, ON("linux", "amd64"))),
	      D2);
	T_STR(pick(ITEM(D1, ON("windows", "amd64")) "," ITEM(D2, ON("unknown", "unknown"))),
	      "no image for linux/amd64, only for windows/amd64");
	T_STR(pick(ITEM(D1, "")), D1);
	T_STR(pick(ITEM(D1, "") "," ITEM(D2, "")), "no image for linux/amd64, only for nothing");
}

static void refused(void)
{
	static const struct {
		const char *text;
		enum err_code code;
	} bad[] = {
		{ "", ERR_INVALID },
		{ "[]", ERR_INVALID },
		{ "{}", ERR_INVALID },
		{ "{" CONFIG "}", ERR_INVALID },
		{ "{\"layers\":[]}", ERR_INVALID },
		{ "{" CONFIG ",\"layers\":{}}", ERR_INVALID },
		{ "{" CONFIG ",\"layers\":[],\"manifests\":[]}", ERR_INVALID },
		{ "{\"schemaVersion\":1,\"fsLayers\":[]}", ERR_UNSUPPORTED },
		{ "{" CONFIG ",\"layers\":[" LAYER("application/x-unknown") "]}", ERR_UNSUPPORTED },
		{ "{" CONFIG ",\"layers\":[" LAYER(
			  "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip") "]}",
		  ERR_UNSUPPORTED },
		{ "{" CONFIG ",\"layers\":[{\"mediaType\":\"" MEDIA_OCI_LAYER "\",\"size\":1}]}",
		  ERR_INVALID },
		{ "{" CONFIG ",\"layers\":[{\"mediaType\":\"" MEDIA_OCI_LAYER
		  "\",\"size\":-1,\"digest\":\"" D1 "\"}]}",
		  ERR_INVALID },
		{ "{" CONFIG ",\"layers\":[{\"mediaType\":\"" MEDIA_OCI_LAYER
		  "\",\"size\":1,\"digest\":\"sha512:00\"}]}",
		  ERR_UNSUPPORTED },
		{ "{" CONFIG ",\"layers\":[{\"mediaType\":\"" MEDIA_OCI_LAYER
		  "\",\"size\":9000000000000,\"digest\":\"" D1 "\"}]}",
		  ERR_LIMIT },
		{ "{\"config\":{\"mediaType\":\"application/"
		  "vnd.cncf.helm.config.v1+json\",\"digest\":\"" D1 "\",\"size\":7},\"layers\":[]}",
		  ERR_UNSUPPORTED },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct image_manifest m;
		struct err e = { .code = ERR_NONE };

		if (parse(bad[i].text, &m, &e) == 0)
			T_FAIL("accepted: %s", bad[i].text);
		if (e.code != bad[i].code)
			T_FAIL("%s: %s", bad[i].text, e.msg);
	}
}

int main(void)
{
	T_RUN(image);
	T_RUN(platforms);
	T_RUN(refused);
	return t_end();
}
