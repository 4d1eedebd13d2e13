#include "box/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "service/python.h"
#include "service/sessions.h"

#define SERVE_WORD "--serve" /* only the server's parent passes this word */

static int read_arguments(struct settings *s, int argc, char **argv, struct err *e)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i], *value = NULL;
		uint64_t port;

		if (starts_with(word, "--host=") || starts_with(word, "--ws-control-port="))
			value = strchr(word, '=') + 1;
		else if (strcmp(word, "--host") == 0 || strcmp(word, "--ws-control-port") == 0)
			value = i + 1 < argc ? argv[++i] : NULL;
		if (starts_with(word, "--host") && value) {
			s->host = value;
		} else if (starts_with(word, "--ws-control-port") && value) {
			if (parse_u64(value, 0, UINT16_MAX, &port) < 0)
				return err_set(e, ERR_USAGE, "--ws-control-port: bad port '%s'",
					       value);
			s->port = (uint16_t)port;
		} else if (strcmp(word, "-s") == 0 || strcmp(word, "--stdio-control") == 0) {
			s->stdio = true;
		} else if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
			s->help = true;
		} else if (strcmp(word, "--version") == 0) {
			s->version = true;
		} else if (strcmp(word, SERVE_WORD) == 0) {
			s->serve = true;
		} else {
			return err_set(e, ERR_USAGE, "unexpected argument '%s'", word);
		}
	}
	return 0;
}

static void read_config(struct settings *s, char warning[256])
{
	const char *text = getenv("LANGBOT_BOX_CONFIG");
	struct err e;

	if (!text || !*text)
		return;
	if (json_parse_lenient(text, strlen(text), &s->config, &e) < 0) {
		snprintf(warning, 256, "LANGBOT_BOX_CONFIG is ignored: %.200s", e.msg);
	} else if (json_root(s->config)->type != JSON_OBJECT) {
		snprintf(warning, 256, "LANGBOT_BOX_CONFIG is ignored: it is no object");
		json_freep(&s->config);
	}
}

static int read_trust(struct handshake_trust *t, struct err *e)
{
	if (handshake_set_token(t, getenv("LANGBOT_BOX_CONTROL_TOKEN"), e) < 0)
		return err_wrap(e, "LANGBOT_BOX_CONTROL_TOKEN");
	if (handshake_set_instance(t, getenv("LANGBOT_BOX_TRUSTED_INSTANCE_UUID"), e) < 0)
		return err_wrap(e, "LANGBOT_BOX_TRUSTED_INSTANCE_UUID");
	if (handshake_set_legacy(t, getenv("LANGBOT_BOX_ALLOW_LEGACY_CLIENTS"), e) < 0)
		return err_wrap(e, "LANGBOT_BOX_ALLOW_LEGACY_CLIENTS");
	return 0;
}

/* Reads our own settings, which LangBot does not have. */
static int read_own(struct settings *s, struct err *e)
{
	const char *ttl = getenv("CORDON_BOX_TTL_SEC"), *watch = getenv("CORDON_BOX_WATCH_LOOP");
	const char *ping = getenv("CORDON_BOX_PING_MS");

	s->ttl_sec = SESSION_TTL_SEC;
	s->ping_ms = SETTINGS_PING_MS;
	s->watch_loop = watch && strcmp(watch, "1") == 0;
	if (ttl && *ttl && parse_u64(ttl, 0, SETTINGS_TTL_MAX_SEC, &s->ttl_sec) < 0)
		return err_set(e, ERR_INVALID, "CORDON_BOX_TTL_SEC: '%s' is no number of seconds",
			       ttl);
	if (ping && *ping &&
	    parse_u64(ping, SETTINGS_PING_MIN_MS, SETTINGS_PING_MAX_MS, &s->ping_ms) < 0)
		return err_set(
			e, ERR_INVALID,
			"CORDON_BOX_PING_MS: '%s' is no number of milliseconds from %u to %u", ping,
			SETTINGS_PING_MIN_MS, SETTINGS_PING_MAX_MS);
	return 0;
}

/* Returns true if TEXT, the value of an environment variable, is one of the words for "on". */
static bool is_on(const char *text)
{
	static const char *const words[] = { "1", "true", "yes", "on" };
	struct str word = python_trim(str_of(text ? text : ""));

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (http_same_word(word, words[i]))
			return true;
	return false;
}

int settings_read(struct settings *s, int argc, char **argv, char warning[256], struct err *e)
{
	*s = (struct settings){ .port = SETTINGS_PORT };
	warning[0] = '\0';
	if (read_arguments(s, argc, argv, e) < 0 || read_trust(&s->trust, e) < 0 ||
	    read_own(s, e) < 0)
		return -1;
	if (s->stdio && !s->trust.instance && !handshake_legacy_stdio(&s->trust))
		return err_set(e, ERR_INVALID, "stdio needs LANGBOT_BOX_TRUSTED_INSTANCE_UUID");
	if (!s->host) /* without a token, listen only on this machine */
		s->host = s->trust.token ? "0.0.0.0" : "127.0.0.1";
	s->unsafe_storage = is_on(getenv("LANGBOT_BOX_ALLOW_UNSAFE_SOFT_STORAGE_LIMITS"));
	read_config(s, warning);
	return 0;
}

void settings_done(struct settings *s)
{
	handshake_trust_done(&s->trust);
	json_freep(&s->config);
}
