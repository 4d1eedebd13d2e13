#include "endpoint/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define AUTHORITIES_VARIABLE "SSL_CERT_FILE"
/* How often one call of OpenSSL may read from the socket. OpenSSL skips some messages, such
 * as tickets and requests to renegotiate, and reads on. If a server sent such messages without end,
 * OpenSSL would never return, and our caller could not look at the clock and at signals. */
#define READS_PER_CALL 64u

struct tls {
	SSL_CTX *context;
	SSL *ssl;
	bool wants_out;      /* before OpenSSL can go on, the socket must take bytes */
	unsigned reads_left; /* how many reads the current call of OpenSSL may still do */
};

/* --- beginning -------------------------------------------------------------------------------- */

static int no_memory(struct fault *f)
{
	ERR_clear_error();
	return fault_set(f, FAULT_BOX, "TLS cannot be set up");
}

/* Loads the certificates of the authorities that we trust. OpenSSL itself ignores a file that
 * cannot be read. We report such a file, because otherwise the user would only learn that the
 * server cannot be trusted. */
static int load_authorities(SSL_CTX *context, struct fault *f)
{
	const char *file = getenv(AUTHORITIES_VARIABLE);

	if (SSL_CTX_set_default_verify_paths(context) != 1)
		return no_memory(f);
	if (file && *file && SSL_CTX_load_verify_file(context, file) != 1) {
		ERR_clear_error();
		return fault_set(f, FAULT_BOX,
				 AUTHORITIES_VARIABLE ": '%s' has no readable certificates", file);
	}
	return 0;
}

static bool is_address(const char *name)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

/* Demands that the server's certificate is for NAME, a host name or an address. If NAME is a host
 * name, also sends NAME to the server. TLS forbids sending an address. */
static bool set_name(SSL *ssl, const char *name)
{
	X509_VERIFY_PARAM *p = SSL_get0_param(ssl);

	if (is_address(name))
		return X509_VERIFY_PARAM_set1_ip_asc(p, name) == 1;
	/* ignore the subject: the authority may not have checked it as the name of a host */
	X509_VERIFY_PARAM_set_hostflags(p, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
						   X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return X509_VERIFY_PARAM_set1_host(p, name, 0) == 1 &&
	       SSL_set_tlsext_host_name(ssl, name) == 1;
}

/* OpenSSL calls this function before and after each use of the socket. After
 * READS_PER_CALL reads, the function lets each further read fail as if no bytes had come. */
static long count_read(BIO *b, int operation, const char *p, size_t n, int argi, long argl, int r,
		       size_t *done)
{
	struct tls *t = (struct tls *)BIO_get_callback_arg(b);

	if (operation != BIO_CB_READ)
		return r;
	BIO_clear_retry_flags(b);
	if (t->reads_left == 0) {
		BIO_set_retry_read(b);
		return -1;
	}
	t->reads_left--;
	return r;
}

static void count_reads(struct tls *t)
{
	BIO *b = SSL_get_rbio(t->ssl);

	BIO_set_callback_arg(b, (char *)t);
	BIO_set_callback_ex(b, count_read);
}

static int set_up(struct tls *t, int fd, const char *name, struct fault *f)
{
	t->context = SSL_CTX_new(TLS_client_method());
	if (!t->context || SSL_CTX_set_min_proto_version(t->context, TLS1_2_VERSION) != 1)
		return no_memory(f);
	SSL_CTX_set_verify(t->context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_options(t->context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(t->context,
			 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (load_authorities(t->context, f) < 0)
		return -1;
	t->ssl = SSL_new(t->context);
	if (!t->ssl || !set_name(t->ssl, name) || SSL_set_fd(t->ssl, fd) != 1)
		return no_memory(f);
	count_reads(t);
	SSL_set_connect_state(t->ssl);
	return 0;
}

int tls_new(int fd, const struct address *a, struct tls **ret, struct fault *f)
{
	struct tls *t = xcalloc(1, sizeof(*t));

	if (set_up(t, fd, a->name, f) < 0) {
		tls_free(t);
		return -1;
	}
	*ret = t;
	return 0;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	if (t->ssl && SSL_is_init_finished(t->ssl))
		SSL_shutdown(t->ssl); /* this only informs the server, so ignore the result */
	ERR_clear_error();
	SSL_free(t->ssl);
	SSL_CTX_free(t->context);
	free(t);
}

/* --- the handshake ---------------------------------------------------------------------------- */

/* Returns a text that says why the certificate is not accepted. RESULT is what
 * SSL_get_verify_result() returned. */
static const char *certificate_problem(long result)
{
	switch (result) {
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
		return "no authority that this machine knows has signed its certificate; if you "
		       "trust "
		       "the authority, name the file of its certificate in " AUTHORITIES_VARIABLE;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return "its certificate belongs to another host";
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return "its certificate has expired";
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "its certificate is not valid yet; check the clock of this machine";
	default:
		return X509_verify_cert_error_string(result);
	}
}

static int closed(const struct address *a, struct fault *f)
{
	fault_set(
		f, FAULT_BOX,
		"the server at %s closed the connection during the TLS handshake; use ws:// if it "
		"does not speak TLS",
		a->host);
	return fault_set_again(f);
}

static int explain(struct tls *t, const struct address *a, int error, struct fault *f)
{
	long result = SSL_get_verify_result(t->ssl);
	unsigned long first = ERR_peek_error();
	int reason = ERR_GET_REASON(first);
	const char *text = ERR_reason_error_string(first);

	if (result != X509_V_OK)
		return fault_set(f, FAULT_BOX, "the Box runtime at %s cannot be trusted: %s",
				 a->host, certificate_problem(result));
	if (error != SSL_ERROR_SSL || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return closed(a, f);
	if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
	    reason == SSL_R_PACKET_LENGTH_TOO_LONG)
		return fault_set(f, FAULT_BOX, "the server at %s does not speak TLS; use ws://",
				 a->host);
	return fault_set(f, FAULT_BOX, "the TLS handshake with the server at %s failed: %s",
			 a->host, text ? text : "unknown reason");
}

/* ERROR is what SSL_get_error() returned for the last call of OpenSSL. Returns true if this call
 * must be repeated when the socket is ready, and sets t->wants_out if the socket must take bytes
 * for this. Returns false if the call failed. */
static bool must_wait(struct tls *t, int error)
{
	t->wants_out = error == SSL_ERROR_WANT_WRITE;
	return error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ;
}

/* Must run before each call of OpenSSL: clears old errors and allows READS_PER_CALL new reads. */
static void begin(struct tls *t)
{
	ERR_clear_error();
	t->reads_left = READS_PER_CALL;
}

int tls_shake(struct tls *t, const struct address *a, struct fault *f)
{
	int r, error;

	begin(t);
	r = SSL_do_handshake(t->ssl);
	if (r == 1) {
		t->wants_out = false;
		return 1;
	}
	error = SSL_get_error(t->ssl, r);
	if (must_wait(t, error))
		return 0;
	explain(t, a, error, f);
	ERR_clear_error();
	return -1;
}

short tls_events(const struct tls *t)
{
	return t->wants_out ? POLLOUT : POLLIN;
}

/* --- bytes ------------------------------------------------------------------------------------ */

ssize_t tls_read(struct tls *t, void *p, size_t n)
{
	int r, error;

	begin(t);
	r = SSL_read(t->ssl, p, n > INT_MAX ? INT_MAX : (int)n);
	if (r > 0) {
		t->wants_out = false;
		return r;
	}
	error = SSL_get_error(t->ssl, r);
	if (must_wait(t, error))
		return -EAGAIN;
	ERR_clear_error();
	return error == SSL_ERROR_ZERO_RETURN ? 0 : -EIO;
}

ssize_t tls_write(struct tls *t, const void *p, size_t n)
{
	int r, error;

	begin(t);
	r = SSL_write(t->ssl, p, n > INT_MAX ? INT_MAX : (int)n);
	if (r > 0)
		return r;
	error = SSL_get_error(t->ssl, r);
	ERR_clear_error();
	return error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ ? -EAGAIN : -EIO;
}
