#include "registry/registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "image/manifest.h"
#include "registry/challenge.h"
#include "store/hash.h"

#define USER_AGENT "cordon/" CORDON_VERSION
#define DEFAULT_REGISTRY_API "registry-1." REFERENCE_DEFAULT_REGISTRY
#define ACCEPT_MANIFESTS                                                          \
	"Accept: " MEDIA_OCI_INDEX ", " MEDIA_OCI_MANIFEST ", " MEDIA_DOCKER_LIST \
	", " MEDIA_DOCKER_MANIFEST

/* --- endpoints ------------------------------------------------------------------------------ */

static const char *api_host(const char *host)
{
	return strcmp(host, REFERENCE_DEFAULT_REGISTRY) == 0 ? DEFAULT_REGISTRY_API : host;
}

/* Adds the mirror or the registry NAME. NAME is a host; for a mirror it may also be an address with
 * a scheme. For the registry itself, O holds the options of the command. For a mirror, O is
 * NULL. */
static int add_endpoint(struct registry *r, int home_fd, const struct settings *s, const char *name,
			const struct registry_options *o, struct err *e)
{
	struct endpoint *p = &r->endpoint[r->n_endpoints];
	struct str host = str_of(name);

	*p = (struct endpoint){ .plain = o && o->insecure };
	if (starts_with(name, "http://") || starts_with(name, "https://")) {
		p->plain = starts_with(name, "http://");
		host = str_of(name + (p->plain ? 7 : 8));
		host = str_cut(&host, '/');
	}
	p->host = xstrndup(host.p, host.n);
	if (json_get_bool(settings_host(s, p->host), "insecure", false))
		p->plain = true;
	p->base = xasprintf("%s://%s", p->plain ? "http" : "https", api_host(p->host));
	r->n_endpoints++;
	if (o && o->username)
		return credentials_given(o->username, o->password_env, &p->credentials, e);
	return credentials_find(home_fd, s, p->host, &p->credentials, e);
}

int registry_open(int home_fd, const struct settings *s, const struct reference *ref,
		  const struct registry_options *o, struct registry *ret, struct err *e)
{
	const struct json_value *mirrors = json_get(settings_host(s, ref->registry), "mirrors");
	struct registry r = { .reference = *ref };

	r.ca_certs = o->ca_certs ? o->ca_certs : settings_ca_certs(s);
	for (size_t i = 0; mirrors && mirrors->type == JSON_ARRAY && i < mirrors->array.n &&
			   i < REGISTRY_MIRRORS_MAX;
	     i++)
		if (mirrors->array.item[i].type == JSON_STRING &&
		    add_endpoint(&r, home_fd, s, mirrors->array.item[i].string.p, NULL, e) < 0)
			goto fail;
	if (add_endpoint(&r, home_fd, s, ref->registry, o, e) < 0)
		goto fail;
	*ret = r;
	return 0;
fail:
	registry_done(&r);
	return -1;
}

static void wipe_token(struct endpoint *p)
{
	if (p->token)
		explicit_bzero(p->token, strlen(p->token));
	free(TAKE(p->token));
}

void registry_done(struct registry *r)
{
	for (size_t i = 0; i < r->n_endpoints; i++) {
		struct endpoint *p = &r->endpoint[i];

		free(p->host);
		free(p->base);
		credentials_done(&p->credentials);
		wipe_token(p);
	}
	*r = (struct registry){ 0 };
}

/* --- requests ------------------------------------------------------------------------------- */

/* Ends a transfer if the body of a redirect or of an error is too large. Without this limit a
 * server could send an endless body, because these bodies are read to their end: curl reads the
 * body of a redirect, and we read the body of an error. */
static int watch_body(void *arg, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
		      curl_off_t up)
{
	CURL *c = arg;
	long status = 0;

	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	return status != 200 && status != 206 && down > REGISTRY_REST_MAX_BYTES;
}

static size_t watch_headers(char *data, size_t size, size_t n, void *arg)
{
	CURL *c = arg;
	long so_far = 0;

	curl_easy_getinfo(c, CURLINFO_HEADER_SIZE, &so_far);
	return so_far > (long)REGISTRY_HEADERS_MAX_BYTES ? 0 : size * n;
}

static CURL *new_request(const struct registry *r, const struct endpoint *p, const char *url)
{
	CURL *c = curl_easy_init();
	const char *schemes = p->plain ? "http,https" : "https";

	if (!c)
		return NULL;
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_USERAGENT, USER_AGENT);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, schemes);
	curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, schemes);
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)REGISTRY_REDIRECTS_MAX);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)REGISTRY_CONNECT_SECONDS);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)REGISTRY_STALL_SECONDS);
	curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, watch_body);
	curl_easy_setopt(c, CURLOPT_XFERINFODATA, c);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, watch_headers);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, c);
	if (r->ca_certs) /* curl trusts these certificates in addition to the system's */
		curl_easy_setopt(c, CURLOPT_CAINFO, r->ca_certs);
	return c;
}

static void identify(CURL *c, const struct endpoint *p)
{
	if (p->token) {
		curl_easy_setopt(c, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
		curl_easy_setopt(c, CURLOPT_XOAUTH2_BEARER, p->token);
	} else if (p->basic && p->credentials.username) {
		curl_easy_setopt(c, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
		curl_easy_setopt(c, CURLOPT_USERNAME, p->credentials.username);
		curl_easy_setopt(c, CURLOPT_PASSWORD, p->credentials.password);
	}
}

CURL *registry_blob_request(struct registry *r, size_t endpoint, const char *digest, uint64_t from)
{
	const struct endpoint *p = &r->endpoint[endpoint];
	AUTO_FREE char *url =
		xasprintf("%s/v2/%s/blobs/%s", p->base, r->reference.repository, digest);
	CURL *c = new_request(r, p, url);
	char range[32];

	if (!c)
		return NULL;
	identify(c, p);
	/* not CURLOPT_RESUME_FROM: with it, curl fails if the server sends the whole blob */
	if (from > 0) {
		snprintf(range, sizeof(range), "%llu-", (unsigned long long)from);
		curl_easy_setopt(c, CURLOPT_RANGE, range);
	}
	return c;
}

static size_t keep(char *data, size_t size, size_t n, void *arg)
{
	struct buf *b = arg;

	buf_add(b, data, size * n);
	return buf_failed(b) ? 0 : size * n;
}

/* --- trying again ---------------------------------------------------------------------------- */

static bool passes_by_itself(CURLcode result)
{
	switch (result) {
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_PARTIAL_FILE:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		return true;
	default:
		return false;
	}
}

/* Returns true if the same request may succeed a little later. */
static bool may_pass(CURLcode result, long status)
{
	return result == CURLE_OK ? status == 408 || status == 429 || status >= 500
				  : passes_by_itself(result);
}

static void pause_ms(unsigned ms)
{
	struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* --- tokens --------------------------------------------------------------------------------- */

static void add_query(CURL *c, struct buf *url, const char *name, const char *value)
{
	char *escaped = *value ? curl_easy_escape(c, value, 0) : NULL;

	if (escaped)
		buf_addf(url, "%c%s=%s", strchr(buf_str(url), '?') ? '&' : '?', name, escaped);
	curl_free(escaped);
}

static int read_token(struct endpoint *p, const struct buf *body, struct err *e)
{
	AUTO_SECRET_JSON doc = NULL;
	const char *token;

	if (json_parse(buf_str(body), body->n, &doc, e) < 0)
		return err_wrap(e, "token of '%s'", p->host);
	token = json_get_str(json_root(doc), "token", NULL);
	if (!token || !*token)
		token = json_get_str(json_root(doc), "access_token", NULL);
	if (!token || !*token)
		return err_set(e, ERR_PROTOCOL, "the token server of '%s' gave no token", p->host);
	wipe_token(p);
	p->token = xstrdup(token);
	return 0;
}

static void post_identity(CURL *c, const struct endpoint *p, const struct challenge *ch)
{
	char *service = curl_easy_escape(c, ch->service, 0);
	char *scope = curl_easy_escape(c, ch->scope, 0);
	char *token = curl_easy_escape(c, p->credentials.password, 0);
	AUTO_FREE char *body =
		xasprintf("grant_type=refresh_token&client_id=cordon&service=%s&scope=%s"
			  "&refresh_token=%s",
			  service, scope, token);

	/* follow no redirect: otherwise the server to which the redirect leads would get the
	 * token */
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c, CURLOPT_COPYPOSTFIELDS, body);
	explicit_bzero(body, strlen(body));
	curl_free(service);
	curl_free(scope);
	curl_free(token);
}

static CURL *token_request(struct registry *r, const struct endpoint *p, const struct challenge *ch)
{
	AUTO_BUF url = BUF_INIT(4 * CHALLENGE_FIELD_BYTES);
	CURL *c = new_request(r, p, ch->realm);

	if (!c)
		abort(); /* no memory even for this small object: end, as xcalloc() does */
	if (p->credentials.token) {
		post_identity(c, p, ch);
		return c;
	}
	buf_add_str(&url, ch->realm);
	add_query(c, &url, "service", ch->service);
	add_query(c, &url, "scope", ch->scope);
	curl_easy_setopt(c, CURLOPT_URL, buf_str(&url));
	if (p->credentials.username) {
		curl_easy_setopt(c, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
		curl_easy_setopt(c, CURLOPT_USERNAME, p->credentials.username);
		curl_easy_setopt(c, CURLOPT_PASSWORD, p->credentials.password);
	}
	return c;
}

static int ask_for_token(struct registry *r, struct endpoint *p, const struct challenge *ch,
			 struct err *e)
{
	AUTO_BUF body = BUF_SECRET(REGISTRY_TOKEN_MAX_BYTES);
	CURL *c = token_request(r, p, ch);
	CURLcode result;
	long status = 0;

	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &body);
	for (unsigned n = 1;; n++) {
		buf_clear(&body);
		result = curl_easy_perform(c);
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
		if (!may_pass(result, status) || n == REGISTRY_TRIES_MAX)
			break;
		pause_ms(REGISTRY_PAUSE_MS << (n - 1));
	}
	curl_easy_cleanup(c);
	if (buf_failed(&body))
		return err_set(e, ERR_LIMIT, "the token server of '%s' sends more than %u KiB",
			       p->host, REGISTRY_TOKEN_MAX_BYTES >> 10);
	if (result != CURLE_OK)
		return err_set(e, ERR_SYSTEM, "ask '%.200s' for a token: %s", ch->realm,
			       curl_easy_strerror(result));
	if (status != 200) {
		err_set(e, ERR_DENIED, "the token server of '%s' answers %ld", p->host, status);
		return err_hint(e, "log in: cordon registry login HOST -u USER");
	}
	return read_token(p, &body, e);
}

/* Returns true if both addresses have the same scheme, host and port. */
static bool same_origin(const char *a, const char *b)
{
	static const CURLUPart parts[] = { CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT };
	const char *text[] = { a, b };
	CURLU *url[] = { curl_url(), curl_url() };
	bool same = true;

	for (size_t i = 0; i < ARRAY_SIZE(url); i++)
		same = same && url[i] &&
		       curl_url_set(url[i], CURLUPART_URL, text[i], 0) == CURLUE_OK;
	for (size_t i = 0; same && i < ARRAY_SIZE(parts); i++) {
		char *x = NULL, *y = NULL;

		same = curl_url_get(url[0], parts[i], &x, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		       curl_url_get(url[1], parts[i], &y, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		       strcasecmp(x, y) == 0;
		curl_free(x);
		curl_free(y);
	}
	curl_url_cleanup(url[0]);
	curl_url_cleanup(url[1]);
	return same;
}

/* Reacts to a 401: gets a token, or decides to send the password with the next request. */
static int authenticate(struct registry *r, struct endpoint *p, CURL *easy, struct err *e)
{
	struct curl_header *h;
	struct challenge ch;
	char *from = NULL;

	if (curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &from) != CURLE_OK || !from ||
	    !same_origin(from, p->base))
		return err_set(e, ERR_DENIED,
			       "'%s' redirects us to '%.200s', which wants its own login", p->host,
			       from ? from : "?");
	for (size_t i = 0;; i++) {
		if (curl_easy_header(easy, "WWW-Authenticate", i, CURLH_HEADER, -1, &h) !=
		    CURLHE_OK)
			return err_set(e, ERR_DENIED,
				       "'%s' answers 401 and does not say how to log in", p->host);
		if (challenge_parse(h->value, &ch) == 0)
			break;
	}
	if (ch.kind == CHALLENGE_BEARER)
		return ask_for_token(r, p, &ch, e);
	if (!p->credentials.username || p->credentials.token || p->basic) {
		err_set(e, ERR_DENIED, "'%s' %s", p->host,
			p->basic ? "refuses the password" : "wants a login");
		return err_hint(e, "log in: cordon registry login HOST -u USER");
	}
	p->basic = true;
	return 0;
}

/* --- results of requests --------------------------------------------------------------------- */

static int fail_transfer(const struct endpoint *p, CURLcode result, struct err *e)
{
	if (result == CURLE_ABORTED_BY_CALLBACK)
		return err_set(e, ERR_LIMIT, "'%s' sends an error or redirect of more than %u KiB",
			       p->host, REGISTRY_REST_MAX_BYTES >> 10);
	/* callers report a failed write of the body themselves, so this error means that the
	 * headers are too long */
	if (result == CURLE_WRITE_ERROR)
		return err_set(e, ERR_LIMIT, "'%s' sends headers of more than %u KiB", p->host,
			       REGISTRY_HEADERS_MAX_BYTES >> 10);
	err_set(e, ERR_SYSTEM, "'%s': %s", p->host, curl_easy_strerror(result));
	if (result == CURLE_PEER_FAILED_VERIFICATION)
		return err_hint(e, "trust its certificate: 'cordon pull --ca-certs FILE', or "
				   "registries.ca_certs in config.json");
	if (result == CURLE_SSL_CONNECT_ERROR)
		return err_hint(e, "if it has no TLS: 'cordon pull --insecure', or \"insecure\" of "
				   "registries.hosts in config.json");
	if (result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_COULDNT_CONNECT)
		return err_hint(e, "check the network and the proxy variables");
	return -1;
}

static int fail_status(const struct endpoint *p, long status, struct err *e)
{
	switch (status) {
	case 403:
		err_set(e, ERR_DENIED, "'%s' forbids this request (403)", p->host);
		return err_hint(e, "log in with an account that may: cordon registry login HOST");
	case 404:
		return err_set(e, ERR_NOT_FOUND, "not found on '%s'", p->host);
	case 429:
		return err_set(e, ERR_LIMIT, "'%s' has had too many requests (429)", p->host);
	default:
		return err_set(e, ERR_PROTOCOL, "'%s' answers %ld", p->host, status);
	}
}

/* Returns true if the server has not sent a byte. */
static bool is_silent(CURL *easy)
{
	long n = 0;

	return curl_easy_getinfo(easy, CURLINFO_HEADER_SIZE, &n) == CURLE_OK && n == 0;
}

enum registry_verdict registry_judge(struct registry *r, size_t endpoint, CURL *easy,
				     CURLcode result, unsigned n_tries, bool *authenticated,
				     unsigned *ret_pause_ms, struct err *e)
{
	struct endpoint *p = &r->endpoint[endpoint];
	curl_off_t after = 0;
	long status = 0;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &after);
	if (result == CURLE_OK && (status == 200 || status == 206))
		return REGISTRY_DONE;
	*ret_pause_ms = 0;
	if (result == CURLE_OK && status == 401 && !*authenticated) {
		*authenticated = true;
		wipe_token(p);
		return authenticate(r, p, easy, e) < 0 ? REGISTRY_FAILED : REGISTRY_AGAIN;
	}
	if (result == CURLE_OPERATION_TIMEDOUT && is_silent(easy)) {
		err_set(e, ERR_TIMEOUT, "'%s' does not answer", p->host);
		err_hint(e, "check the network, the proxy variables and the name of the registry");
		/* we do not try again, because five such timeouts take too long */
		return REGISTRY_FAILED;
	}
	if (may_pass(result, status) && n_tries < REGISTRY_TRIES_MAX &&
	    after <= REGISTRY_RETRY_AFTER_MAX_S) {
		*ret_pause_ms =
			after > 0 ? (unsigned)after * 1000 : REGISTRY_PAUSE_MS << (n_tries - 1);
		return REGISTRY_AGAIN;
	}
	if (result != CURLE_OK)
		fail_transfer(p, result, e);
	else if (status == 401) {
		err_set(e, ERR_DENIED,
			"'%s' gives no access to the repository '%s' (401): it does not exist, or "
			"it needs a%s login",
			p->host, r->reference.repository, p->credentials.username ? "nother" : "");
		err_hint(e, "log in: cordon registry login HOST -u USER");
	} else
		fail_status(p, status, e);
	return REGISTRY_FAILED;
}

/* --- manifests ------------------------------------------------------------------------------ */

static int check_manifest_digest(CURL *c, const char *target, const struct buf *body, struct err *e)
{
	char got[DIGEST_BYTES];
	struct curl_header *h;
	const char *want = digest_valid(target) ? target : NULL;

	hash_bytes(buf_str(body), body->n, got);
	if (!want &&
	    curl_easy_header(c, "Docker-Content-Digest", 0, CURLH_HEADER, -1, &h) == CURLHE_OK &&
	    digest_valid(h->value))
		want = h->value;
	if (want && strcmp(want, got) != 0)
		return err_set(e, ERR_PROTOCOL, "the manifest %s arrived with the digest %s", want,
			       got);
	return 0;
}

/* Fills *E after a manifest was not found. BODY, the answer, may say what is missing: the
 * repository or the manifest. */
static void explain_missing(const struct registry *r, const struct endpoint *p, const char *target,
			    const struct buf *body, struct err *e)
{
	const char *what = digest_valid(target) ? "manifest" : "tag", *code = "";
	const struct json_value *errors;
	struct err ignored;
	AUTO_JSON doc = NULL;

	if (json_parse(buf_str(body), body->n, &doc, &ignored) == 0) {
		errors = json_get(json_root(doc), "errors");
		if (errors && errors->type == JSON_ARRAY && errors->array.n)
			code = json_get_str(&errors->array.item[0], "code", "");
	}
	if (strcmp(code, "NAME_UNKNOWN") == 0) {
		err_set(e, ERR_NOT_FOUND, "the repository '%s' was not found on '%s'",
			r->reference.repository, p->host);
		err_hint(e, "check the name; a private repository needs a login: cordon registry "
			    "login HOST -u USER");
	} else if (strcmp(code, "MANIFEST_UNKNOWN") == 0) {
		err_set(e, ERR_NOT_FOUND,
			"the %s '%s' was not found in the repository '%s' of '%s'", what, target,
			r->reference.repository, p->host);
		err_hint(e, "the repository exists: check the tag");
	} else {
		err_set(e, ERR_NOT_FOUND, "'%s:%s' was not found on '%s'", r->reference.repository,
			target, p->host);
	}
}

static int get_manifest_once(struct registry *r, size_t endpoint, const char *target,
			     struct buf *body, bool *authenticated, unsigned n_tries,
			     bool *ret_again, struct err *e)
{
	const struct endpoint *p = &r->endpoint[endpoint];
	AUTO_FREE char *url =
		xasprintf("%s/v2/%s/manifests/%s", p->base, r->reference.repository, target);
	CURL *c = new_request(r, p, url);
	struct curl_slist *headers = curl_slist_append(NULL, ACCEPT_MANIFESTS);
	enum registry_verdict v;
	CURLcode result;
	unsigned ms = 0;
	int rc = -1;

	if (!c || !headers)
		abort(); /* no memory even for this small object: end, as xcalloc() does */
	*ret_again = false;
	buf_clear(body);
	identify(c, p);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, body);
	result = curl_easy_perform(c);
	if (buf_failed(body)) {
		err_set(e, ERR_LIMIT, "manifest is larger than %u bytes", MANIFEST_MAX_BYTES);
	} else {
		v = registry_judge(r, endpoint, c, result, n_tries, authenticated, &ms, e);
		*ret_again = v == REGISTRY_AGAIN;
		if (v == REGISTRY_DONE)
			rc = check_manifest_digest(c, target, body, e);
		else if (v == REGISTRY_FAILED && e->code == ERR_NOT_FOUND)
			explain_missing(r, p, target, body, e);
	}
	curl_easy_cleanup(c);
	curl_slist_free_all(headers);
	if (*ret_again)
		pause_ms(ms);
	return rc;
}

static int get_manifest_at(struct registry *r, size_t endpoint, const char *target,
			   struct buf *body, struct err *e)
{
	bool authenticated = false, again;

	for (unsigned n = 1;; n++) {
		int rc = get_manifest_once(r, endpoint, target, body, &authenticated, n, &again, e);

		if (!again)
			return rc;
	}
}

int registry_get_manifest(struct registry *r, const char *target, struct buf *ret,
			  size_t *ret_endpoint, struct err *e)
{
	for (size_t i = 0; i < r->n_endpoints; i++)
		if (get_manifest_at(r, i, target, ret, e) == 0) {
			*ret_endpoint = i;
			return 0;
		}
	/* the registry is asked last, after its mirrors, so *E holds the error of the registry
	 * itself */
	return r->n_endpoints > 1 ? err_wrap(e, "%zu mirrors failed, too", r->n_endpoints - 1) : -1;
}

/* --- logins ---------------------------------------------------------------------------------- */

int registry_try_login(struct registry *r, const char *username, const char *password,
		       struct err *e)
{
	size_t last = r->n_endpoints - 1;
	struct endpoint *p = &r->endpoint[last];
	AUTO_FREE char *url = xasprintf("%s/v2/", p->base);
	AUTO_BUF body = BUF_INIT(REGISTRY_REST_MAX_BYTES);
	enum registry_verdict v = REGISTRY_AGAIN;
	bool authenticated = false;

	credentials_done(&p->credentials);
	p->credentials = (struct credentials){ .username = xstrdup(username),
					       .password = xstrdup(password),
					       .source = "given" };
	for (unsigned n = 1; v == REGISTRY_AGAIN; n++) {
		CURL *c = new_request(r, p, url);
		unsigned ms = 0;
		CURLcode result;

		if (!c)
			/* no memory even for this small object: end, as xcalloc() does */
			abort();
		identify(c, p);
		buf_clear(&body);
		curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
		curl_easy_setopt(c, CURLOPT_WRITEDATA, &body);
		result = curl_easy_perform(c);
		v = registry_judge(r, last, c, result, n, &authenticated, &ms, e);
		curl_easy_cleanup(c);
		if (v == REGISTRY_AGAIN)
			pause_ms(ms);
	}
	if (v == REGISTRY_DONE)
		return 0;
	if (e->code == ERR_DENIED) {
		err_set(e, ERR_DENIED, "'%s' refuses the password of '%s'", p->host, username);
		err_hint(e, "the login was not stored");
	}
	return -1;
}
