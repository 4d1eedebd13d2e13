/*
 * The client's side of a TLS connection to a Box server, by OpenSSL. Before anything is sent, the
 * server must prove by its certificate that it is the host of the URL. We trust the authorities of
 * this machine, or those that the variables SSL_CERT_FILE and SSL_CERT_DIR name. The version is TLS
 * 1.2 or later.
 *
 * The functions do not block. They work on a connected, non-blocking socket, which the caller polls
 * and closes.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "endpoint/address.h"

struct tls;

/* Begins TLS on FD to the host of A. */
MUST_USE int tls_new(int fd, const struct address *a, struct tls **ret, struct fault *f);
/* Frees T. First tells the server that no more bytes come, if this can be sent at once. */
void tls_free(struct tls *t);
/* Goes on with the handshake. Returns 1 when it is complete, 0 if the caller must first wait for
 * tls_events(), or -1 with a fault that says what is wrong. */
MUST_USE int tls_shake(struct tls *t, const struct address *a, struct fault *f);
/* Returns the events of poll() that tls_shake() or tls_read() waits for. */
short tls_events(const struct tls *t);

/* These functions work like read() and write(), but return -errno. One read gives at most the rest
 * of one record of TLS, which has up to 16 KiB. If a write returns -EAGAIN, a part of the bytes may
 * have been sent. The next write must then begin with the same bytes. */
ssize_t tls_read(struct tls *t, void *p, size_t n);
ssize_t tls_write(struct tls *t, const void *p, size_t n);
