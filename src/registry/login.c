/* The commands login, logout and registries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/say.h"
#include "base/str.h"
#include "base/table.h"
#include "image/reference.h"
#include "registry/commands.h"
#include "registry/credentials.h"
#include "registry/registry.h"
#include "registry/settings.h"

/* Sets *RET to the host in WORD. WORD may also be an address with a scheme, because people paste
 * addresses. */
static int read_host(const char *word, char **ret, struct err *e)
{
	AUTO_FREE char *probe = NULL;
	struct str host = str_of(word);
	struct reference r;
	struct err ignored;

	if (starts_with(word, "https://"))
		host = str_of(word + 8);
	else if (starts_with(word, "http://"))
		host = str_of(word + 7);
	host = str_cut(&host, '/');
	probe = xasprintf("%.*s/x", (int)host.n, host.p);
	/* If HOST cannot be the name of a host, reference_parse() takes HOST for a directory of the
	 * default registry. So we compare HOST with the registry that reference_parse() found. */
	if (reference_parse(probe, &r, &ignored) < 0 ||
	    (!str_eq(host, r.registry) && !str_eq(host, "index." REFERENCE_DEFAULT_REGISTRY)))
		return err_set(e, ERR_INVALID, "bad registry host '%.200s'", word);
	*ret = xstrdup(r.registry);
	return 0;
}

static void strip_newline(struct buf *b)
{
	while (b->n > 0 && (b->p[b->n - 1] == '\n' || b->p[b->n - 1] == '\r'))
		b->p[--b->n] = '\0';
}

static int read_password(struct buf *out, struct err *e)
{
	int r = io_read_to_end(STDIN_FILENO, out);

	if (r < 0)
		return err_sys(e, -r, "read the password from stdin");
	strip_newline(out);
	if (buf_failed(out) || (out->n && strlen(out->p) != out->n))
		return err_set(e, ERR_INVALID, "the password is too long or contains a NUL byte");
	if (out->n == 0)
		return err_set(e, ERR_INVALID, "the password is empty");
	return 0;
}

static int try_login(const struct options *o, int home, const char *host, const char *password,
		     struct err *e)
{
	const struct registry_options ro = { .insecure = o->insecure, .ca_certs = o->ca_certs };
	AUTO_FREE char *probe = xasprintf("%s/x", host);
	struct registry registry;
	struct reference ref;
	struct settings s;
	int r;

	if (reference_parse(probe, &ref, e) < 0 || settings_read(home, &s, e) < 0)
		return -1;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	r = registry_open(home, &s, &ref, &ro, &registry, e);
	if (r == 0) {
		r = registry_try_login(&registry, o->username, password, e);
		registry_done(&registry);
	}
	curl_global_cleanup();
	settings_done(&s);
	return r;
}

int run_login(const struct options *o, struct err *e)
{
	AUTO_BUF password = BUF_SECRET(CREDENTIAL_SECRET_MAX_BYTES);
	AUTO_FREE char *host = NULL;
	AUTO_FD home = -1;
	int r;

	if (!o->username || !*o->username || strchr(o->username, ':'))
		return err_set(e, ERR_INVALID, "--username: a name without ':' is needed");
	if (read_host(o->arg[0], &host, e) < 0 || options_open_home(o, &home, e) < 0 ||
	    read_password(&password, e) < 0)
		return -1;
	r = o->no_check ? 0 : try_login(o, home, host, password.p, e);
	if (r == 0)
		r = credentials_store(home, host, o->username, password.p, e);
	if (r == 0)
		say_done("Logged in", host, 0);
	return r;
}

int run_logout(const struct options *o, struct err *e)
{
	AUTO_FREE char *host = NULL;
	AUTO_FD home = -1;
	bool known;

	/* If the word cannot be a registry, we look it up all the same. The user then gets the
	 * warning for a registry without a stored login. */
	if (read_host(o->arg[0], &host, e) < 0)
		host = xstrdup(o->arg[0]);
	if (options_open_home(o, &home, e) < 0 || credentials_remove(home, host, &known, e) < 0)
		return -1;
	if (known)
		say_done("Logged out", host, 0);
	else
		say_warn("no login stored for '%s'", host);
	return 0;
}

int run_registries(const struct options *o, struct err *e)
{
	AUTO_BUF out = BUF_INIT(CREDENTIALS_MAX_BYTES);
	struct credential_line *line;
	struct settings s;
	struct table t;
	AUTO_FD home = -1;
	size_t n;
	int r;

	if (options_open_home(o, &home, e) < 0 || settings_read(home, &s, e) < 0)
		return -1;
	r = credentials_list(home, &s, &line, &n, e);
	settings_done(&s);
	if (r < 0)
		return -1;
	TABLE_BEGIN(&t, "REGISTRY", "USERNAME", "SOURCE");
	for (size_t i = 0; i < n; i++)
		TABLE_ROW(&t, line[i].host, line[i].username, line[i].source);
	credential_lines_free(line, n);
	table_end(&t, &out);
	if (n == 0) {
		buf_clear(&out);
		buf_add_str(&out, "No registries configured.\n");
	}
	return say_data(&out, e);
}
