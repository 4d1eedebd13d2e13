#include "image/store.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "t.h"

#define D1 "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define D2 "sha256:1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define D3 "sha256:2123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int home = -1;
static char home_path[] = "/tmp/cordon-unit-XXXXXX";

static void put(const char *path, const char *text)
{
	T_INT(io_replace_file(home, path, text, strlen(text), 0600), 0);
}

static void put_record(const char *reference, uint64_t created_at_ns)
{
	struct image_layer layer = { .digest = D1, .diff_id = D2, .size_bytes = 5 };
	struct image_record r = {
		.reference = (char *)reference,
		.manifest_digest = D3,
		.config_digest = D1,
		.architecture = "amd64",
		.os = "linux",
		.created_at_ns = created_at_ns,
		.size_bytes = 1ull << 40,
		.layer = &layer,
		.n_layers = 1,
	};
	AUTO_BUF b = BUF_INIT(4096);
	struct json_writer w;
	char path[IMAGE_PATH_BYTES];
	struct err e;

	json_writer_init(&w, &b, 0);
	image_record_write_json(&r, &w);
	T_INT(image_record_path(reference, path, &e), 0);
	put(path, buf_str(&b));
}

static void find(void)
{
	struct image_record r;
	struct err e = { .msg = "" };

	T_INT(image_store_find(home, "app", &r, &e), -1);
	T_STR(e.msg, "image not found: app");
	T_INT(e.code, ERR_NOT_FOUND);
	put_record("app:latest", 5000000000ull);
	T_INT(image_store_find(home, "docker.io/library/app", &r, &e), 0);
	T_STR(r.reference, "app:latest");
	T_STR(r.manifest_digest, D3);
	T_INT(r.size_bytes, 1ll << 40);
	T_INT(r.created_at_ns, 5000000000ull);
	T_INT(r.n_layers, 1);
	T_STR(r.layer[0].diff_id, D2);
	image_record_done(&r);
	T_INT(image_store_find(home, "app:1", &r, &e), -1);
	T_INT(image_store_find(home, "APP", &r, &e), -1);
	T_INT(e.code, ERR_INVALID);
}

static void list(void)
{
	struct image_record *r;
	struct err e = { .msg = "" };
	char path[IMAGE_PATH_BYTES];
	size_t n;

	put_record("newer", 9000000000ull);
	T_INT(image_record_path("torn", path, &e), 0);
	put(path, "{\"format\":1,\"refere");
	put("cache/images/README", "not a record");
	T_INT(image_store_list(home, &r, &n, &e), 0);
	T_INT(n, 2);
	T_STR(r[0].reference, "newer");
	T_STR(r[1].reference, "app:latest");
	image_records_free(r, n);
}

static void damaged(void)
{
	struct image_record r;
	struct err e = { .msg = "" };

	T_INT(image_store_find(home, "torn", &r, &e), -1);
	T_TRUE(strstr(e.msg, "torn") && e.hint);
	T_TRUE(e.code != ERR_NOT_FOUND);
}

static void by_digest(void)
{
	struct image_record r;
	struct image_layer_info info;
	struct err e = { .msg = "" };
	char path[IMAGE_PATH_BYTES];

	image_blob_path(D3, path);
	put(path, "{\"config\":{\"digest\":\"" D1 "\",\"size\":1},\"layers\":[{\"mediaType\":"
		  "\"application/vnd.oci.image.layer.v1.tar\",\"digest\":\"" D2 "\",\"size\":3}]}");
	image_blob_path(D1, path);
	put(path, "{\"os\":\"linux\",\"rootfs\":{\"diff_ids\":[\"" D3 "\"]}}");
	T_INT(image_store_find_digest(home, D3, &r, &e), 0);
	T_TRUE(!r.reference);
	T_STR(r.layer[0].digest, D2);
	T_STR(r.layer[0].diff_id, D3);
	T_STR(r.os, "linux");
	image_record_done(&r);
	put(path, "{\"os\":\"linux\",\"rootfs\":{\"diff_ids\":[]}}");
	T_INT(image_store_find_digest(home, D3, &r, &e), -1);
	T_INT(image_store_find_digest(home, D2, &r, &e), -1);
	T_INT(image_store_find_digest(home, "sha256:../..", &r, &e), -1);
	T_INT(image_store_layer_info(home, D1, "", &info, &e), -1);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	return remove(path);
}

/* The name of a flat form depends on the contents of the layers, not on their compression. */
static void flat(void)
{
	struct image_layer one[] = { { .digest = D1, .diff_id = D2 },
				     { .digest = D2, .diff_id = D3 } };
	struct image_layer repacked[] = { { .digest = D3, .diff_id = D2 },
					  { .digest = D1, .diff_id = D3 } };
	struct image_layer turned[] = { one[1], one[0] };
	struct image_record r = { .layer = one, .n_layers = 2 };
	char first[DIGEST_HEX_CHARS + 1], hex[DIGEST_HEX_CHARS + 1], path[IMAGE_PATH_BYTES];
	uint64_t mib = 7;

	image_flat_hex(&r, first);
	T_TRUE(digest_hex_valid(first));
	r.layer = repacked;
	image_flat_hex(&r, hex);
	T_STR(hex, first);
	r.layer = turned;
	image_flat_hex(&r, hex);
	T_TRUE(strcmp(hex, first) != 0);
	T_INT(image_store_flat(home, &r, &mib), 0);
	T_INT(mib, 7);
	T_INT(mkdirat(home, "cache/flat", 0700), 0);
	image_flat_path(&r, path);
	put(path, "x");
	T_TRUE(image_store_flat(home, &r, &mib) > 0);
	T_INT(mib, 0);
	r.n_layers = 1;
	T_INT(image_store_flat(home, &r, &mib), 0);
}

int main(void)
{
	struct err e;
	size_t n = 1;
	struct image_record *r;

	if (!mkdtemp(home_path) || (home = open(home_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return 1;
	if (image_store_list(home, &r, &n, &e) < 0 || n != 0)
		printf("Bail out! a home without a store is not empty\n");
	mkdirat(home, "cache", 0700);
	mkdirat(home, "cache/images", 0700);
	mkdirat(home, "cache/blobs", 0700);
	mkdirat(home, "cache/blobs/sha256", 0700);
	T_RUN(find);
	T_RUN(list);
	T_RUN(damaged);
	T_RUN(by_digest);
	T_RUN(flat);
	nftw(home_path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return t_end();
}
