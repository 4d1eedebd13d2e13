/*
 * The text is scanned from left to right. At each place the finders look for a secret, one after
 * the other. The first finder that recognizes a secret appends the replacement, and returns how
 * many bytes it replaced. Finders that look for words begin only where a word begins, so that each
 * finder reads a long word only once.
 */
#include "service/redaction.h"

#include <ctype.h>
#include <strings.h>

#include "base/cleanup.h"
#include "service/python.h"

#define SHORT_CHARS 18u /* a secret with fewer characters is hidden completely */
#define HEAD_CHARS 6u
#define TAIL_CHARS 4u
#define HIDDEN "***"

struct scan {
	struct str text;
	struct buf *out;
	bool form; /* the whole text is the body of a web form */
};

typedef size_t finder_fn(const struct scan *s, size_t at);

/* --- words ------------------------------------------------------------------------------------ */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool is_dotted(char c)
{
	return is_word(c) || c == '.';
}

static bool is_upper(char c)
{
	return (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

static bool is_value(char c)
{
	return !is_blank(c) && !is_quote(c);
}

static bool is_parameter(char c)
{
	return is_value(c) && c != '&' && c != '#';
}

static bool is_userinfo(char c)
{
	return is_value(c) && c != '/' && c != '?' && c != '#';
}

/* Returns the length of the run of characters from AT on for which IS is true. */
static size_t run(const struct scan *s, size_t at, bool (*is)(char c))
{
	size_t n = 0;

	while (at + n < s->text.n && is(s->text.p[at + n]))
		n++;
	return n;
}

static bool starts_word(const struct scan *s, size_t at)
{
	return at == 0 || !is_word(s->text.p[at - 1]);
}

static bool has(const struct scan *s, size_t at, const char *word)
{
	size_t n = strlen(word);

	return s->text.n - at >= n && memcmp(s->text.p + at, word, n) == 0;
}

static bool has_any_case(const struct scan *s, size_t at, const char *word)
{
	size_t n = strlen(word);

	return s->text.n - at >= n && strncasecmp(s->text.p + at, word, n) == 0;
}

static void copy(const struct scan *s, size_t at, size_t n)
{
	buf_add(s->out, s->text.p + at, n);
}

static void hide(const struct scan *s, size_t at, size_t n)
{
	struct str secret = { s->text.p + at, n };
	size_t chars = python_length(secret);
	size_t head, tail;

	if (chars < SHORT_CHARS) {
		buf_add_str(s->out, HIDDEN);
		return;
	}
	head = python_first(secret, HEAD_CHARS).n;
	tail = python_first(secret, chars - TAIL_CHARS).n;
	buf_add(s->out, secret.p, head);
	buf_add_str(s->out, "...");
	buf_add(s->out, secret.p + tail, secret.n - tail);
}

/* Returns true if NAME contains a word for a secret, is "bearer" or "authorization", or ends with
 * "auth". Upper case and separators make no difference: "API-Key" contains "apikey". */
static bool names_secret(struct str name)
{
	static const char *const words[] = { "apikey", "token",      "secret",    "password",
					     "passwd", "credential", "privatekey" };
	char plain[64];
	size_t n = 0;

	for (size_t i = 0; i < name.n && n < sizeof(plain) - 1; i++)
		if (isalnum((unsigned char)name.p[i]))
			plain[n++] = (char)tolower((unsigned char)name.p[i]);
	plain[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(plain, words[i]))
			return true;
	return strcmp(plain, "bearer") == 0 || strcmp(plain, "authorization") == 0 ||
	       (n >= 4 && strcmp(plain + n - 4, "auth") == 0);
}

/* --- finders ---------------------------------------------------------------------------------- */

/* Finds a private key in PEM. If the end of the key was cut off, the rest of the text is hidden. */
static size_t find_private_key(const struct scan *s, size_t at)
{
	static const char end[] = "-----END ", mark[] = "PRIVATE KEY-----", dashes[] = "-----";
	const char *stop = s->text.p + s->text.n, *p = s->text.p + at, *line, *q;

	if (!has(s, at, "-----BEGIN "))
		return 0;
	line = memchr(p, '\n', (size_t)(stop - p));
	q = memmem(p, (size_t)((line ? line : stop) - p), mark, strlen(mark));
	if (!q)
		return 0;
	q += strlen(mark);
	buf_add_str(s->out, "[REDACTED PRIVATE KEY]");
	q = memmem(q, (size_t)(stop - q), end, strlen(end));
	if (!q)
		return s->text.n - at;
	q += strlen(end);
	q = memmem(q, (size_t)(stop - q), dashes, strlen(dashes));
	return q ? (size_t)(q - p) + strlen(dashes) : s->text.n - at;
}

/* Finds a key that begins like the keys of a well-known provider. */
static size_t find_key(const struct scan *s, size_t at)
{
	static const struct {
		const char *prefix;
		size_t more; /* how many characters must follow the beginning of the key */
	} keys[] = {
		{ "sk-", 10 },      { "ghp_", 10 },     { "github_pat_", 10 }, { "gho_", 10 },
		{ "ghu_", 10 },     { "ghs_", 10 },     { "ghr_", 10 },        { "xoxb-", 10 },
		{ "xoxa-", 10 },    { "xoxp-", 10 },    { "xoxr-", 10 },       { "xoxs-", 10 },
		{ "AIza", 30 },     { "pplx-", 10 },    { "fal_", 10 },        { "fc-", 10 },
		{ "bb_live_", 10 }, { "gAAAA", 20 },    { "AKIA", 16 },        { "sk_live_", 10 },
		{ "sk_test_", 10 }, { "rk_live_", 10 }, { "SG.", 10 },         { "hf_", 10 },
		{ "r8_", 10 },      { "npm_", 10 },     { "pypi-", 10 },       { "dop_v1_", 10 },
		{ "doo_v1_", 10 },  { "am_", 10 },      { "sk_", 10 },         { "tvly-", 10 },
		{ "exa_", 10 },     { "gsk_", 10 },     { "syt_", 10 },        { "retaindb_", 10 },
		{ "hsk-", 10 },     { "mem0_", 10 },    { "brv_", 10 },        { "fw_", 10 },
		{ "ntn_", 10 },     { "xai-", 10 },
	};

	if (!starts_word(s, at))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		size_t n = strlen(keys[i].prefix), more;

		if (!has(s, at, keys[i].prefix))
			continue;
		more = run(s, at + n, keys[i].prefix[n - 1] == '.' ? is_dotted : is_word);
		if (more < keys[i].more)
			continue;
		hide(s, at, n + more);
		return n + more;
	}
	return 0;
}

/* Finds a JSON web token: parts in base64, joined by dots. The first part begins with "eyJ". */
static size_t find_web_token(const struct scan *s, size_t at)
{
	size_t n;

	if (!starts_word(s, at) || !has(s, at, "eyJ") || run(s, at, is_word) < 13)
		return 0;
	n = run(s, at, is_dotted);
	/* dots at the end belong to the sentence, not to the token */
	while (s->text.p[at + n - 1] == '.')
		n--;
	hide(s, at, n);
	return n;
}

/* Finds the token of a Telegram bot: the number of the bot, a colon and a key. */
static size_t find_bot_token(const struct scan *s, size_t at)
{
	size_t digits, key;

	if (!is_digit(s->text.p[at]) || (at > 0 && is_digit(s->text.p[at - 1])))
		return 0;
	digits = run(s, at, is_digit);
	if (digits < 8 || !has(s, at + digits, ":"))
		return 0;
	key = run(s, at + digits + 1, is_word);
	if (key < 30)
		return 0;
	copy(s, at, digits + 1);
	buf_add_str(s->out, HIDDEN);
	return digits + 1 + key;
}

static bool is_in_line(char c)
{
	return c != '\n' && c != '\r' && !is_quote(c);
}

/* AT is the place after `Authorization:`. If one of the known schemes stands there, such as
 * `Bearer`, returns the length of its name and of the blanks that follow. Otherwise returns 0: the
 * word at AT may then be the secret itself. */
static size_t scheme_at(const struct scan *s, size_t at)
{
	static const char *const schemes[] = { "bearer", "basic", "token" };

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t n = strlen(schemes[i]);

		if (run(s, at, is_word) == n && has_any_case(s, at, schemes[i]) &&
		    run(s, at + n, is_blank))
			return n + run(s, at + n, is_blank);
	}
	return 0;
}

/* Finds the value of a header `Authorization: SCHEME VALUE`. The name may be in upper or lower
 * case. For an unknown scheme the rest of the line is hidden. */
static size_t find_header(const struct scan *s, size_t at)
{
	static const char name[] = "authorization:";
	size_t from = at + strlen(name), scheme, n;

	if (!starts_word(s, at) || !has_any_case(s, at, name))
		return 0;
	from += run(s, from, is_blank);
	scheme = scheme_at(s, from);
	from += scheme;
	n = run(s, from, scheme ? is_value : is_in_line);
	if (n == 0)
		return 0;
	copy(s, at, from - at);
	hide(s, from, n);
	return from + n - at;
}

/* Returns the length of the quoted text that begins at AT and ends before the quote C. */
static size_t quoted(const struct scan *s, size_t at, char c)
{
	size_t n = 0;

	while (at + n < s->text.n && s->text.p[at + n] != c)
		n += s->text.p[at + n] == '\\' && at + n + 1 < s->text.n ? 2 : 1;
	return n;
}

/* Finds a member `"name": "value"`, in JSON or in Python's quotes, if the name is the name of a
 * secret. */
static size_t find_field(const struct scan *s, size_t at)
{
	char c = s->text.p[at];
	size_t name, to, n;

	if (!is_quote(c))
		return 0;
	name = run(s, at + 1, is_word);
	to = at + 1 + name;
	if (!name || to >= s->text.n || s->text.p[to] != c ||
	    !names_secret((struct str){ s->text.p + at + 1, name }))
		return 0;
	to += 1 + run(s, to + 1, is_blank);
	if (!has(s, to, ":"))
		return 0;
	to += 1 + run(s, to + 1, is_blank);
	if (to >= s->text.n || !is_quote(s->text.p[to]))
		return 0;
	n = quoted(s, to + 1, s->text.p[to]);
	if (n == 0)
		return 0;
	copy(s, at, to + 1 - at);
	hide(s, to + 1, n);
	return to + 1 + n - at;
}

/* Finds a variable `NAME=value`, if the name is in upper case and is the name of a secret. */
static size_t find_variable(const struct scan *s, size_t at)
{
	size_t name, n;
	bool secret;

	if (!starts_word(s, at))
		return 0;
	name = run(s, at, is_upper);
	if (!name || !has(s, at + name, "="))
		return 0;
	secret = names_secret((struct str){ s->text.p + at, name }) ||
		 memmem(s->text.p + at, name, "AUTH", 4);
	at += name + 1;
	if (!secret || at >= s->text.n)
		return 0;
	if (is_quote(s->text.p[at])) {
		n = quoted(s, at + 1, s->text.p[at]);
		copy(s, at - name - 1, name + 2);
		hide(s, at + 1, n);
		return name + 2 + n;
	}
	n = run(s, at, is_value);
	if (n == 0)
		return 0;
	copy(s, at - name - 1, name + 1);
	hide(s, at, n);
	return name + 1 + n;
}

/* Finds the password in `scheme://user:password@host`. */
static size_t find_password(const struct scan *s, size_t at)
{
	const char *from, *user, *end;
	size_t n;

	if (!has(s, at, "://"))
		return 0;
	from = s->text.p + at + 3;
	n = run(s, at + 3, is_userinfo);
	end = memrchr(from, '@', n);
	user = end ? memchr(from, ':', (size_t)(end - from)) : NULL;
	if (!user || user + 1 == end)
		return 0;
	copy(s, at, (size_t)(user + 1 - (s->text.p + at)));
	buf_add_str(s->out, HIDDEN);
	return (size_t)(end - (s->text.p + at));
}

/* Finds a parameter of a URL or of a web form, if its name is the name of a secret. */
static size_t find_parameter(const struct scan *s, size_t at)
{
	static const char *const names[] = { "key",     "code",      "jwt",
					     "session", "signature", "x-amz-signature" };
	bool first = s->form && at == 0;
	size_t mark = first ? 0 : 1, name, n;
	struct str word;
	bool secret;

	if (!first && s->text.p[at] != '?' && s->text.p[at] != '&')
		return 0;
	name = run(s, at + mark, is_dotted);
	if (!name || !has(s, at + mark + name, "="))
		return 0;
	word = (struct str){ s->text.p + at + mark, name };
	secret = names_secret(word);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		secret |= word.n == strlen(names[i]) && strncasecmp(word.p, names[i], word.n) == 0;
	n = run(s, at + mark + name + 1, is_parameter);
	if (!secret || n == 0)
		return 0;
	copy(s, at, mark + name + 1);
	buf_add_str(s->out, HIDDEN);
	return mark + name + 1 + n;
}

/* Finds a mention of a person at Discord: `<@number>`. */
static size_t find_mention(const struct scan *s, size_t at)
{
	size_t mark = has(s, at, "<@!") ? 3 : has(s, at, "<@") ? 2 : 0;
	size_t digits = mark ? run(s, at + mark, is_digit) : 0;

	if (digits < 17 || digits > 20 || !has(s, at + mark + digits, ">"))
		return 0;
	copy(s, at, mark);
	buf_add_str(s->out, HIDDEN ">");
	return mark + digits + 1;
}

/* Finds a telephone number with its country code (E.164). */
static size_t find_telephone(const struct scan *s, size_t at)
{
	size_t digits;

	if (s->text.p[at] != '+' || !starts_word(s, at) || has(s, at + 1, "0"))
		return 0;
	digits = run(s, at + 1, is_digit);
	if (digits < 7 || digits > 15 || run(s, at + 1 + digits, is_word))
		return 0;
	buf_add_str(s->out, "+" HIDDEN);
	return 1 + digits;
}

/* --- the scan --------------------------------------------------------------------------------- */

/* Returns true if the whole text is `name=value&name=value…`. */
static bool is_form(struct str text)
{
	struct scan s = { .text = text };
	size_t at = 0, pairs = 0;

	for (;;) {
		size_t name = run(&s, at, is_dotted);

		if (!name || !has(&s, at + name, "="))
			return false;
		at += name + 1;
		at += run(&s, at, is_parameter);
		pairs++;
		if (at >= text.n)
			return pairs > 1;
		if (text.p[at++] != '&')
			return false;
	}
}

void redaction_write(struct str text, struct buf *out)
{
	static finder_fn *const finders[] = { find_private_key, find_key,      find_web_token,
					      find_bot_token,   find_header,   find_field,
					      find_variable,    find_password, find_parameter,
					      find_mention,     find_telephone };
	const struct scan s = { .text = text, .out = out, .form = is_form(text) };
	size_t at = 0;

	while (at < text.n) {
		size_t n = 0;

		for (size_t i = 0; i < ARRAY_SIZE(finders) && n == 0; i++)
			n = finders[i](&s, at);
		if (n == 0) {
			buf_add_char(out, text.p[at]);
			n = 1;
		}
		at += n;
	}
}
