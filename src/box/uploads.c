#include "box/uploads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/io.h"

#define KEY_MAX_CHARS 255u

struct upload {
	struct upload *next;
	char *key;
	int fd;
	uint64_t bytes;
};

void uploads_init(struct uploads *u, struct ceiling *ceiling, uint64_t max_bytes)
{
	*u = (struct uploads){ .ceiling = ceiling, .max_bytes = max_bytes };
}

static void forget(struct uploads *u, struct upload *file)
{
	struct upload **at = &u->first;

	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
	u->n--;
	ceiling_give(u->ceiling, file->bytes);
	fd_closep(&file->fd);
	free(file->key);
	free(file);
}

void uploads_done(struct uploads *u)
{
	while (u->first)
		forget(u, u->first);
}

static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool key_is_good(struct str key)
{
	if (key.n == 0 || key.n > KEY_MAX_CHARS || !is_plain(key.p[0]) ||
	    memmem(key.p, key.n, "..", 2))
		return false;
	for (size_t i = 0; i < key.n; i++)
		if (!is_plain(key.p[i]) && key.p[i] != '.' && key.p[i] != '_' && key.p[i] != '-')
			return false;
	return true;
}

static struct upload *find(struct uploads *u, const char *key)
{
	struct upload *file = u->first;

	while (file && strcmp(file->key, key) != 0)
		file = file->next;
	return file;
}

static int begin(struct uploads *u, const char *key, struct upload **ret, struct fault *f)
{
	struct upload *file = find(u, key);

	if (file)
		forget(u, file); /* a first chunk replaces an older file with the same key */
	if (u->n >= UPLOAD_KEYS_MAX)
		return fault_set(f, FAULT_VALUE, "Active file transfer capacity reached");
	file = xcalloc(1, sizeof(*file));
	file->fd = memfd_create("upload", MFD_CLOEXEC);
	if (file->fd < 0) {
		free(file);
		return fault_set(f, FAULT_BOX, "cannot keep an uploaded file: %s", strerror(errno));
	}
	file->key = xstrdup(key);
	file->next = u->first;
	u->first = file;
	u->n++;
	*ret = file;
	return 0;
}

static bool get_int(const struct json_value *data, const char *key, int64_t *ret)
{
	const struct json_value *v = json_get(data, key);

	if (!v || v->type != JSON_INT)
		return false;
	*ret = v->integer;
	return true;
}

static int append(struct uploads *u, struct upload *file, const struct buf *bytes, struct fault *f)
{
	if (bytes->n > u->max_bytes - file->bytes) {
		forget(u, file);
		return fault_set(f, FAULT_VALUE, "File transfer exceeds the configured size limit");
	}
	if (!ceiling_take(u->ceiling, bytes->n))
		return fault_set(f, FAULT_VALUE, "Active file transfer capacity reached");
	if (io_write_all(file->fd, bytes->p, bytes->n) < 0) {
		ceiling_give(u->ceiling, bytes->n);
		return fault_set(f, FAULT_BOX, "cannot keep an uploaded file");
	}
	file->bytes += bytes->n;
	return 0;
}

int uploads_add(struct uploads *u, const struct json_value *data, struct fault *f)
{
	const struct json_value *key = json_get(data, "file_key"),
				*chunk = json_get(data, "chunk_base64");
	AUTO_BUF bytes = BUF_INIT(UPLOAD_CHUNK_BYTES);
	struct upload *file;
	int64_t index, amount;

	if (!key)
		return fault_set(f, FAULT_KEY, "'file_key'");
	if (!chunk)
		return fault_set(f, FAULT_KEY, "'chunk_base64'");
	if (key->type != JSON_STRING || !key_is_good(key->string))
		return fault_set(f, FAULT_VALUE, "Invalid file transfer key");
	if (!get_int(data, "chunk_index", &index) || !get_int(data, "chunk_amount", &amount) ||
	    index < 0 || index >= amount)
		return fault_set(f, FAULT_VALUE, "Invalid file chunk position");
	if (chunk->type != JSON_STRING || chunk->string.n > UPLOAD_CHUNK_CHARS ||
	    base64_decode(&bytes, chunk->string.p, chunk->string.n) < 0 || buf_failed(&bytes))
		return fault_set(f, FAULT_VALUE, "File transfer chunk exceeds the protocol limit");
	if (index == 0 && begin(u, key->string.p, &file, f) < 0)
		return -1;
	file = find(u, key->string.p);
	if (!file)
		return fault_set(f, FAULT_VALUE, "Invalid file chunk position");
	return append(u, file, &bytes, f);
}

int uploads_take(struct uploads *u, const struct json_value *data, struct skills_file *ret,
		 struct fault *f)
{
	const struct json_value *key = json_get(data, "file_key");
	struct upload *file;

	if (!key)
		return fault_set(f, FAULT_VALIDATION, "'file_key'");
	if (key->type != JSON_STRING || !key_is_good(key->string))
		return fault_set(f, FAULT_VALIDATION, "Invalid file transfer key");
	file = find(u, key->string.p);
	if (!file)
		return fault_set(f, FAULT_VALIDATION, "Uploaded file was not found");
	*ret = (struct skills_file){ .fd = file->fd, .bytes = file->bytes };
	file->fd = -1;
	file->bytes = 0;
	forget(u, file);
	return 0;
}
