#include "registry/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/program.h"
#include "base/spawn.h"
#include "base/str.h"
#include "image/reference.h"

#define STORE_NAME "registries.json"
#define STORE_FORMAT 1
#define HELPER_TOKEN_USER "<token>" /* with this user name, the password is an identity token */

extern char **environ;

static void wipe(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
}

void credentials_done(struct credentials *c)
{
	free(c->username);
	wipe(c->password);
	*c = (struct credentials){ 0 };
}

static void set(struct credentials *c, const char *username, const char *password,
		const char *source)
{
	c->username = xstrdup(username);
	c->password = xstrdup(password);
	c->token = strcmp(username, HELPER_TOKEN_USER) == 0;
	c->source = source;
}

/* Returns true if KEY, a key in a configuration file, means HOST. KEY may have a scheme and a path.
 * It may also be another name of the default registry. */
static bool same_host(struct str key, const char *host)
{
	const char *scheme = memmem(key.p, key.n, "://", 3);
	struct str rest = key;

	if (scheme) {
		rest.n -= (size_t)(scheme + 3 - key.p);
		rest.p = scheme + 3;
	}
	rest = str_cut(&rest, '/');
	if (str_eq(rest, "index." REFERENCE_DEFAULT_REGISTRY) ||
	    str_eq(rest, "registry-1." REFERENCE_DEFAULT_REGISTRY))
		rest = STR(REFERENCE_DEFAULT_REGISTRY);
	return str_eq(rest, host);
}

/* --- our own store -------------------------------------------------------------------------- */

static int open_secrets(int home_fd, bool create, int *ret_fd, struct err *e)
{
	int fd;

	if (create && mkdirat(home_fd, "secrets", 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "make the directory of secrets");
	fd = openat(home_fd, "secrets", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && !(errno == ENOENT && !create))
		return err_sys(e, errno, "open the directory of secrets");
	*ret_fd = fd;
	return 0;
}

/* Reads the stored logins. Sets *RET to NULL if there is no file of logins. */
static int read_store(int secrets_fd, struct json_doc **ret, struct err *e)
{
	AUTO_BUF text = BUF_SECRET(CREDENTIALS_MAX_BYTES);
	int r = secrets_fd < 0 ? -ENOENT : io_read_file(secrets_fd, STORE_NAME, &text);

	*ret = NULL;
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return err_sys(e, -r, "read the registry logins");
	r = json_parse(buf_str(&text), text.n, ret, e);
	return r < 0 ? err_wrap(e, "secrets/" STORE_NAME) : 0;
}

static const struct json_value *stored_hosts(const struct json_doc *doc)
{
	const struct json_value *hosts = doc ? json_get(json_root(doc), "hosts") : NULL;

	return hosts && hosts->type == JSON_OBJECT ? hosts : NULL;
}

static int find_stored(int home_fd, const char *host, struct credentials *ret, struct err *e)
{
	AUTO_FD fd = -1;
	AUTO_SECRET_JSON doc = NULL;
	const struct json_value *v;
	const char *username, *password;

	if (open_secrets(home_fd, false, &fd, e) < 0 || read_store(fd, &doc, e) < 0)
		return -1;
	v = json_get(stored_hosts(doc), host);
	username = json_get_str(v, "username", NULL);
	password = json_get_str(v, "password", NULL);
	if (username && password)
		set(ret, username, password, "login");
	return 0;
}

static void write_hosts(struct json_writer *w, const struct json_value *hosts, const char *but)
{
	for (size_t i = 0; hosts && i < hosts->object.n; i++) {
		const struct json_member *m = &hosts->object.member[i];

		if (str_eq(m->key, but))
			continue;
		json_key(w, m->key.p);
		json_value_copy(w, &m->value);
	}
}

/* Writes the file of logins again, with a new login for HOST, or without a login for HOST if
 * USERNAME is NULL. */
static int rewrite_store(int secrets_fd, const struct json_doc *old, const char *host,
			 const char *username, const char *password, struct err *e)
{
	AUTO_BUF text = BUF_SECRET(CREDENTIALS_MAX_BYTES);
	struct json_writer w;
	int r;

	json_writer_init(&w, &text, 2);
	json_begin_object(&w);
	json_key_int(&w, "format", STORE_FORMAT);
	json_key(&w, "hosts");
	json_begin_object(&w);
	write_hosts(&w, stored_hosts(old), host);
	if (username) {
		json_key(&w, host);
		json_begin_object(&w);
		json_key_str(&w, "password", password);
		json_key_str(&w, "username", username);
		json_end_object(&w);
	}
	json_end_object(&w);
	json_end_object(&w);
	r = buf_failed(&text) ? -EFBIG
			      : io_replace_file(secrets_fd, STORE_NAME, text.p, text.n, 0600);
	return r < 0 ? err_sys(e, -r, "write the registry logins") : 0;
}

/* Opens and locks the directory of secrets, and reads the stored logins. Without the lock, two
 * logins at the same time could overwrite each other. */
static int open_locked(int home_fd, int *ret_fd, struct json_doc **ret, struct err *e)
{
	AUTO_FD fd = -1;

	if (open_secrets(home_fd, true, &fd, e) < 0)
		return -1;
	if (flock(fd, LOCK_EX) < 0)
		return err_sys(e, errno, "lock the registry logins");
	if (read_store(fd, ret, e) < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

int credentials_store(int home_fd, const char *host, const char *username, const char *password,
		      struct err *e)
{
	AUTO_FD fd = -1;
	AUTO_SECRET_JSON old = NULL;

	if (open_locked(home_fd, &fd, &old, e) < 0)
		return -1;
	return rewrite_store(fd, old, host, username, password, e);
}

int credentials_remove(int home_fd, const char *host, bool *ret_known, struct err *e)
{
	AUTO_FD fd = -1;
	AUTO_SECRET_JSON old = NULL;

	if (open_locked(home_fd, &fd, &old, e) < 0)
		return -1;
	*ret_known = json_get(stored_hosts(old), host) != NULL;
	return *ret_known ? rewrite_store(fd, old, host, NULL, NULL, e) : 0;
}

/* --- config.json ---------------------------------------------------------------------------- */

static int find_secret_file(int home_fd, const char *name, char **ret, struct err *e)
{
	AUTO_BUF text = BUF_SECRET(CREDENTIAL_SECRET_MAX_BYTES);
	AUTO_FD fd = -1;
	int r;

	if (strchr(name, '/') || name[0] == '.')
		return err_set(e, ERR_INVALID, "config.json: bad secret_name '%.100s'", name);
	if (open_secrets(home_fd, false, &fd, e) < 0)
		return -1;
	r = fd < 0 ? -ENOENT : io_read_file(fd, name, &text);
	if (r < 0)
		return err_sys(e, -r, "read the secret '%.100s'", name);
	while (text.n > 0 && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
		text.p[--text.n] = '\0';
	*ret = buf_take(&text);
	return 0;
}

static int find_configured(int home_fd, const struct settings *s, const char *host,
			   struct credentials *ret, struct err *e)
{
	const struct json_value *auth = json_get(settings_host(s, host), "auth");
	const char *username = json_get_str(auth, "username", NULL);
	const char *variable = json_get_str(auth, "password_env", NULL);
	const char *secret = json_get_str(auth, "secret_name", NULL);
	const char *password = variable ? getenv(variable) : NULL;
	char *from_file = NULL;

	if (!username)
		return 0;
	if (variable && !password)
		return err_set(e, ERR_INVALID,
			       "config.json: the password of '%s' is in %.100s, which is not set",
			       host, variable);
	if (secret && find_secret_file(home_fd, secret, &from_file, e) < 0)
		return -1;
	if (password || from_file)
		set(ret, username, password ? password : from_file, "config");
	wipe(from_file);
	return 0;
}

/* --- Docker's configuration ----------------------------------------------------------------- */

static int read_docker_config(struct json_doc **ret, struct err *e)
{
	const char *dir = getenv("DOCKER_CONFIG");
	char place[PATH_MAX];
	const char *home = account_home(place);
	AUTO_FREE char *path = NULL;
	AUTO_BUF text = BUF_SECRET(CREDENTIALS_MAX_BYTES);
	int r;

	*ret = NULL;
	if (dir && *dir)
		path = xasprintf("%s/config.json", dir);
	else if (home)
		path = xasprintf("%s/.docker/config.json", home);
	r = path ? io_read_file(AT_FDCWD, path, &text) : -ENOENT;
	if (r == -ENOENT || r == -ENOTDIR || r == -EACCES)
		return 0; /* Docker's file is optional */
	if (r < 0)
		return err_sys(e, -r, "read '%s'", path);
	if (json_parse(buf_str(&text), text.n, ret, e) < 0)
		return err_wrap(e, "%s", path);
	return 0;
}

/* The value of "auth" is USER:PASSWORD in base64. */
static int decode_auth(const char *host, const char *auth, struct credentials *ret, struct err *e)
{
	AUTO_BUF plain = BUF_SECRET(CREDENTIAL_SECRET_MAX_BYTES);
	char *colon;

	if (base64_decode(&plain, auth, strlen(auth)) < 0 || !plain.p ||
	    !(colon = strchr(plain.p, ':')))
		return err_set(e, ERR_INVALID, "Docker's config.json: bad auth of '%s'", host);
	*colon = '\0';
	set(ret, plain.p, colon + 1, "docker");
	return 0;
}

/* Reads until the end of the file. Returns 0, -EFBIG if the buffer becomes full, -ETIMEDOUT at the
 * deadline, or another -errno. */
static int read_until(int fd, struct buf *b, uint64_t deadline_ns)
{
	for (;;) {
		struct pollfd p = { fd, POLLIN, 0 };
		char *room = buf_room(b, 1024);
		ssize_t k;

		if (!room)
			return -EFBIG;
		if (clock_mono_ns() >= deadline_ns)
			return -ETIMEDOUT;
		if (poll(&p, 1, clock_poll_ms(deadline_ns)) <= 0)
			continue;
		k = read(fd, room, 1024);
		if (k < 0 && errno != EINTR)
			return -errno;
		if (k == 0)
			return 0;
		b->n += k > 0 ? (size_t)k : 0;
	}
}

static int ask_helper(const char *path, const char *host, struct buf *answer, struct err *e)
{
	const char *argv[] = { path, "get", NULL };
	struct spawn s = {
		.path = path, .argv = argv, .envp = (const char *const *)environ, .cwd_fd = -1
	};
	int in[2], out[2], status = 0, r;
	struct child child;

	if (pipe2(in, O_CLOEXEC) < 0)
		return err_sys(e, errno, "make a pipe");
	if (pipe2(out, O_CLOEXEC) < 0) {
		close(in[0]);
		close(in[1]);
		return err_sys(e, errno, "make a pipe");
	}
	s.fd[s.n_fds++] = (struct spawn_fd){ in[0], STDIN_FILENO };
	s.fd[s.n_fds++] = (struct spawn_fd){ out[1], STDOUT_FILENO };
	r = spawn(&s, &child, e);
	close(in[0]);
	close(out[1]);
	if (r == 0) {
		/* this write does not block, because the empty pipe has room for the host's name;
		 * the helper may ignore the name */
		IGNORE(io_write_all(in[1], host, strlen(host)));
		close(in[1]);
		r = read_until(out[0], answer,
			       clock_mono_ns() + CREDENTIAL_HELPER_SECONDS * NS_PER_SEC);
		if (r < 0)
			kill(child.pid, SIGKILL);
		IGNORE(child_wait(&child, &status)); /* STATUS is checked below */
		if (r < 0)
			r = err_sys(e, -r, "ask '%s'", path);
		else if (status != 0)
			/* a helper without a login for this host fails, which is no error */
			answer->n = 0;
	} else {
		close(in[1]);
	}
	close(out[0]);
	return r;
}

static int find_by_helper(const char *helper, const char *key, struct credentials *ret,
			  struct err *e)
{
	AUTO_BUF answer = BUF_SECRET(CREDENTIAL_SECRET_MAX_BYTES);
	AUTO_SECRET_JSON doc = NULL;
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *path = NULL;
	const char *username, *secret;

	if (helper[strspn(helper,
			  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")])
		return err_set(e, ERR_INVALID, "Docker's config.json: bad helper '%.100s'", helper);
	name = xasprintf("docker-credential-%s", helper);
	path = program_of_user(name);
	if (!path)
		return 0; /* a helper that is not installed is no error */
	if (ask_helper(path, key, &answer, e) < 0)
		return -1;
	if (answer.n == 0)
		return 0;
	if (json_parse(answer.p, answer.n, &doc, e) < 0)
		return err_wrap(e, "answer of '%s'", name);
	username = json_get_str(json_root(doc), "Username", NULL);
	secret = json_get_str(json_root(doc), "Secret", NULL);
	if (username && secret)
		set(ret, username, secret, "docker");
	return 0;
}

static const struct json_member *find_member(const struct json_value *object, const char *host)
{
	for (size_t i = 0; object && object->type == JSON_OBJECT && i < object->object.n; i++)
		if (same_host(object->object.member[i].key, host))
			return &object->object.member[i];
	return NULL;
}

static int find_docker(const char *host, struct credentials *ret, struct err *e)
{
	AUTO_SECRET_JSON doc = NULL;
	const struct json_member *helper, *entry;
	const char *store, *auth, *token;
	/* credential helpers know the default registry by this key, as Docker's own files do */
	const char *key = strcmp(host, REFERENCE_DEFAULT_REGISTRY) == 0
				  ? "https://index." REFERENCE_DEFAULT_REGISTRY "/v1/"
				  : host;

	if (read_docker_config(&doc, e) < 0)
		return -1;
	if (!doc)
		return 0;
	helper = find_member(json_get(json_root(doc), "credHelpers"), host);
	if (helper && helper->value.type == JSON_STRING)
		return find_by_helper(helper->value.string.p, key, ret, e);
	entry = find_member(json_get(json_root(doc), "auths"), host);
	token = entry ? json_get_str(&entry->value, "identitytoken", NULL) : NULL;
	auth = entry ? json_get_str(&entry->value, "auth", NULL) : NULL;
	if (token && *token) {
		set(ret, HELPER_TOKEN_USER, token, "docker");
		return 0;
	}
	if (auth && *auth)
		return decode_auth(host, auth, ret, e);
	store = json_get_str(json_root(doc), "credsStore", NULL);
	return store && *store ? find_by_helper(store, key, ret, e) : 0;
}

/* --- all sources ---------------------------------------------------------------------------- */

int credentials_given(const char *username, const char *variable, struct credentials *ret,
		      struct err *e)
{
	const char *password = getenv(variable);

	if (!password)
		return err_set(e, ERR_INVALID,
			       "registry: the password is in %.100s, which is not set", variable);
	*ret = (struct credentials){ 0 };
	set(ret, username, password, "given");
	return 0;
}

int credentials_find(int home_fd, const struct settings *s, const char *host,
		     struct credentials *ret, struct err *e)
{
	struct credentials c = { 0 };

	if (find_stored(home_fd, host, &c, e) < 0)
		return -1;
	if (!c.source && find_configured(home_fd, s, host, &c, e) < 0)
		return -1;
	if (!c.source && find_docker(host, &c, e) < 0)
		return -1;
	*ret = c;
	return 0;
}

struct lines {
	struct credential_line *line;
	size_t n;
};

static void add_line(struct lines *l, const char *host, const char *username, const char *source)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->line[i].host, host) == 0)
			return; /* an earlier source wins */
	l->line = xreallocarray(l->line, l->n + 1, sizeof(*l->line));
	l->line[l->n++] = (struct credential_line){ xstrdup(host), xstrdup(username), source };
}

static int by_host(const void *a, const void *b)
{
	return strcmp(((const struct credential_line *)a)->host,
		      ((const struct credential_line *)b)->host);
}

static void add_object(struct lines *l, const struct json_value *hosts, const char *within,
		       const char *source)
{
	for (size_t i = 0; hosts && hosts->type == JSON_OBJECT && i < hosts->object.n; i++) {
		const struct json_member *m = &hosts->object.member[i];
		const struct json_value *v = within ? json_get(&m->value, within) : &m->value;
		const char *username = json_get_str(v, "username", NULL);

		if (username)
			add_line(l, m->key.p, username, source);
	}
}

static void add_docker(struct lines *l, const struct json_doc *docker)
{
	const struct json_value *auths = docker ? json_get(json_root(docker), "auths") : NULL;

	for (size_t i = 0; auths && auths->type == JSON_OBJECT && i < auths->object.n; i++) {
		const struct json_member *m = &auths->object.member[i];
		const char *auth = json_get_str(&m->value, "auth", "");
		struct credentials c = { 0 };
		struct err ignored; /* a login that cannot be read is left out of the list */

		if (decode_auth(m->key.p, auth, &c, &ignored) == 0)
			add_line(l, m->key.p, c.username, "docker");
		credentials_done(&c);
	}
}

int credentials_list(int home_fd, const struct settings *s, struct credential_line **ret,
		     size_t *ret_n, struct err *e)
{
	struct lines l = { 0 };
	AUTO_FD fd = -1;
	AUTO_SECRET_JSON stored = NULL;
	AUTO_SECRET_JSON docker = NULL;

	if (open_secrets(home_fd, false, &fd, e) < 0 || read_store(fd, &stored, e) < 0 ||
	    read_docker_config(&docker, e) < 0)
		return -1;
	add_object(&l, stored_hosts(stored), NULL, "login");
	if (s->doc)
		add_object(&l, json_get(json_get(json_root(s->doc), "registries"), "hosts"), "auth",
			   "config");
	add_docker(&l, docker);
	if (l.n > 1)
		qsort(l.line, l.n, sizeof(*l.line), by_host);
	*ret = l.line;
	*ret_n = l.n;
	return 0;
}

void credential_lines_free(struct credential_line *l, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(l[i].host);
		free(l[i].username);
	}
	free(l);
}
