#include "process/host_cas.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "process/image_file.h"

/* The largest file of certificates that we read from the host. Mozilla's list has 0.25 MiB. In the
 * sandbox /.msb is a tmpfs of 16 MiB (MSB_AREA_MIB in rootfs.c). This tmpfs holds two files: the
 * host's list, and the image's list with the host's list appended. The two files have at most 12
 * MiB together. */
#define BUNDLE_MAX_BYTES (4u << 20)

const char *const host_cas_places[] = { "etc/ssl/certs/ca-certificates.crt",
					"etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/cert.pem",
					NULL };

static int read_host(struct buf *out, struct err *e)
{
	for (size_t i = 0; host_cas_places[i]; i++) {
		AUTO_FREE char *path = xasprintf("/%s", host_cas_places[i]);
		int r = io_read_file(AT_FDCWD, path, out);

		if (r == 0 && out->n)
			return 0;
		if (r == -EFBIG)
			return err_set(e, ERR_LIMIT, "--trust-host-cas: '%s' is too large", path);
		buf_clear(out);
	}
	err_set(e, ERR_UNSUPPORTED, "--trust-host-cas: this host has no file of root certificates");
	return err_hint(e, "install the package 'ca-certificates'");
}

/* Adds the image's file of root certificates to OUT, if the image has one, and sets *RET_PLACE to
 * the path of this file. Otherwise sets *RET_PLACE to the first of host_cas_places. */
static void read_image(const struct rootfs *r, struct buf *out, const char **ret_place)
{
	*ret_place = host_cas_places[0];
	for (size_t i = 0; host_cas_places[i]; i++) {
		struct stat st;
		AUTO_FD fd = image_file_open(r, host_cas_places[i], &st);

		if (fd < 0)
			continue;
		*ret_place = host_cas_places[i];
		if (io_read_to_end(fd, out) < 0)
			buf_clear(out);
		break;
	}
	if (out->n && out->p[out->n - 1] != '\n')
		buf_add_char(out, '\n');
}

int host_cas_read(struct rootfs *r, struct err *e)
{
	AUTO_BUF host = BUF_INIT(BUNDLE_MAX_BYTES), all = BUF_INIT(2 * BUNDLE_MAX_BYTES);
	const char *place;

	if (read_host(&host, e) < 0)
		return -1;
	read_image(r, &all, &place);
	buf_add(&all, host.p, host.n);
	if (memchr(host.p, 0, host.n))
		return err_set(e, ERR_INVALID,
			       "--trust-host-cas: the host's list of certificates has a NUL byte");
	if (buf_failed(&all) || memchr(all.p, 0, all.n))
		return err_set(e, ERR_INVALID,
			       "--trust-host-cas: '/%s' of the image is no list of "
			       "certificates",
			       place);
	r->ca_place = xasprintf("/%s", place);
	r->ca_bundle = buf_take(&all);
	r->host_cas = buf_take(&host);
	return 0;
}
