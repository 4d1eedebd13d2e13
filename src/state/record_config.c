#include "state/record_config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "state/format.h"
#include "state/record.h"

#define FILE_MAX_BYTES (4u << 20)
#define FILE_USUAL_BYTES 4096
#define CONFIG_FILE "config.json"
#define ACTIVE_FILE "active.json"

static int compose(struct buf *b, const struct spec *s, uint64_t created_ns, struct err *e)
{
	struct json_writer w;

	json_writer_init(&w, b, 0);
	json_begin_object(&w);
	json_key_int(&w, "format", RECORD_FORMAT);
	json_key_int(&w, "created_ns", (int64_t)created_ns);
	json_key_int(&w, "updated_ns", (int64_t)clock_real_ns());
	json_key(&w, "config");
	spec_write_json(s, &w);
	json_end_object(&w);
	return buf_failed(b) ? err_set(e, ERR_LIMIT, "the configuration is larger than %u bytes",
				       FILE_MAX_BYTES)
			     : 0;
}

static int write_spec(int dir, const char *file, const struct spec *s, uint64_t created_ns,
		      struct err *e)
{
	AUTO_BUF b = BUF_INIT(FILE_MAX_BYTES);
	int r;

	if (compose(&b, s, created_ns, e) < 0)
		return -1;
	r = io_replace_file(dir, file, b.p, b.n, 0600);
	return r < 0 ? err_sys(e, -r, "write '%s'", file) : 0;
}

int record_write_first_config(int dir, const struct spec *s, struct err *e)
{
	char room[FILE_USUAL_BYTES];
	AUTO_BUF b = BUF_IN(room, FILE_MAX_BYTES);
	AUTO_FD fd = -1;
	int r;

	if (compose(&b, s, clock_real_ns(), e) < 0)
		return -1;
	fd = openat(dir, CONFIG_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	r = fd < 0 ? -errno : io_write_all(fd, b.p, b.n);
	return r < 0 ? err_sys(e, -r, "write '%s'", CONFIG_FILE) : 0;
}

int record_write_config(int dir, const struct spec *s, uint64_t created_ns, struct err *e)
{
	return write_spec(dir, CONFIG_FILE, s, created_ns, e);
}

int record_lock_config(int dir, int *ret_fd, struct err *e)
{
	AUTO_FD fd = openat(dir, "config.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return err_sys(e, errno, "lock the configuration");
	*ret_fd = fd_take(&fd);
	return 0;
}

static int read_spec(int dir, const char *file, struct spec *ret, uint64_t *ret_created,
		     uint64_t *ret_updated, struct err *e)
{
	char room[FILE_USUAL_BYTES];
	AUTO_BUF b = BUF_IN(room, FILE_MAX_BYTES);
	AUTO_JSON doc = NULL;
	int r = io_read_file(dir, file, &b);

	if (r < 0)
		return err_sys(e, -r, "read '%s'", file);
	if (json_parse(buf_str(&b), b.n, &doc, e) < 0)
		return err_wrap(e, "'%s'", file);
	r = format_check(json_root(doc), RECORD_FORMAT);
	if (r == -ENOTSUP)
		return err_set(e, ERR_UNSUPPORTED, "this sandbox was made by a newer cordon");
	if (r < 0)
		return err_set(e, ERR_INVALID, "'%s': the format is not an integer", file);
	*ret_created = (uint64_t)json_get_int(json_root(doc), "created_ns", 0);
	*ret_updated = (uint64_t)json_get_int(json_root(doc), "updated_ns", 0);
	return spec_read_json(json_get(json_root(doc), "config"), ret, e);
}

int record_read_config(int dir, struct record *ret, struct err *e)
{
	return read_spec(dir, CONFIG_FILE, &ret->spec, &ret->created_ns, &ret->updated_ns, e);
}

int record_write_active(int dir, const struct spec *s, struct err *e)
{
	if (s)
		return write_spec(dir, ACTIVE_FILE, s, 0, e);
	return unlinkat(dir, ACTIVE_FILE, 0) < 0 && errno != ENOENT
		       ? err_sys(e, errno, "remove '" ACTIVE_FILE "'")
		       : 0;
}

int record_read_active(int dir, struct record *ret, struct err *e)
{
	uint64_t ignored;

	ret->has_active = faccessat(dir, ACTIVE_FILE, F_OK, 0) == 0;
	return ret->has_active ? read_spec(dir, ACTIVE_FILE, &ret->active, &ignored, &ignored, e)
			       : 0;
}
