#include "store/hash.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sha256.h"

#define HASH_CHUNK_BYTES (256u << 10)

int hash_init(struct hash *h, struct err *e)
{
	h->ctx = EVP_MD_CTX_new();
	if (!h->ctx || EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL) != 1) {
		hash_done(h);
		return err_set(e, ERR_SYSTEM, "OpenSSL offers no SHA-256");
	}
	return 0;
}

void hash_reset(struct hash *h)
{
	if (EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL) != 1)
		abort(); /* cannot fail: the same call worked in hash_init() */
}

void hash_add(struct hash *h, const void *p, size_t n)
{
	if (EVP_DigestUpdate(h->ctx, p, n) != 1)
		abort(); /* cannot fail on an initialised context */
}

static void write_hex(const unsigned char raw[SHA256_BYTES], char out[DIGEST_BYTES])
{
	char *at = out + snprintf(out, DIGEST_BYTES, "%s", DIGEST_PREFIX);

	for (size_t i = 0; i < SHA256_BYTES; i++)
		at += snprintf(at, 3, "%02x", raw[i]);
}

void hash_end(struct hash *h, char out[DIGEST_BYTES])
{
	unsigned char raw[EVP_MAX_MD_SIZE];

	if (EVP_DigestFinal_ex(h->ctx, raw, NULL) != 1)
		abort(); /* cannot fail on an initialised context */
	write_hex(raw, out);
}

void hash_done(struct hash *h)
{
	EVP_MD_CTX_free(h->ctx);
	h->ctx = NULL;
}

void hash_bytes(const void *p, size_t n, char out[DIGEST_BYTES])
{
	char hex[SHA256_HEX_BYTES];

	sha256_hex(p, n, hex);
	digest_from_hex(hex, out);
}

int hash_fd(struct hash *h, int fd, uint64_t *ret_n)
{
	AUTO_FREE char *chunk = xcalloc(1, HASH_CHUNK_BYTES);
	uint64_t total = 0;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	for (;;) {
		ssize_t k = read(fd, chunk, HASH_CHUNK_BYTES);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (k == 0)
			break;
		hash_add(h, chunk, (size_t)k);
		total += (uint64_t)k;
	}
	*ret_n = total;
	return 0;
}
