/*
 * TLS to a Box server, as its client (OpenSSL). Before anything is sent, the server must prove by
 * its certificate that it is the host of the URL. The authorities are those of this machine, or of
 * the variables SSL_CERT_FILE and SSL_CERT_DIR. The version is TLS 1.2 or later.
 *
 * The functions do not block. They work on a connected, non-blocking socket, which the caller polls and closes.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "endpoint/address.h"

struct tls;

/* Begins TLS on FD to the host of A. */
MUST_USE int tls_new(int fd, const struct address *a, struct tls **ret, struct fault *f);
/* Tells the server that no more bytes come, if that is possible at once. */
void tls_free(struct tls *t);
/* Goes on with the handshake. Returns 1 when it is complete, 0 if the caller must first wait for
 * tls_events(), or -1 with a fault that says what is wrong. */
MUST_USE int tls_shake(struct tls *t, const struct address *a, struct fault *f);
/* Returns the events of poll() that tls_shake() or tls_read() waits for. */
short tls_events(const struct tls *t);

/* These functions work like read() and write(), but return -errno. One read gives the rest of one
 * record, at most 16 KiB. If a write returns -EAGAIN, a part of the bytes may have been sent. The
 * next write must then begin with the same bytes. */
ssize_t tls_read(struct tls *t, void *p, size_t n);
ssize_t tls_write(struct tls *t, const void *p, size_t n);
