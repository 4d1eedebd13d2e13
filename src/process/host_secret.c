#include "process/host_secret.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

static bool ends_in(struct str name, const char *word)
{
	size_t n = strlen(word);

	return name.n >= n && strncasecmp(name.p + name.n - n, word, n) == 0;
}

/* Returns true if NAME ends in a word for a secret. */
static bool names_secret(struct str name)
{
	/* the list has no bare "token", because .NET's files use names such as publicKeyToken for
	 * public keys */
	static const char *const words[] = { "password",  "passwd", "passphrase",  "secret",
					     "authtoken", "_token", "accesstoken", "apikey",
					     "api_key",   "_pw" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (ends_in(name, words[i]))
			return true;
	return false;
}

/* AT is the place of '=', ':' or '>' in LINE. Returns true if the name before this character is the
 * name of a secret, and a value follows. */
static bool assigns_secret(struct str line, size_t at)
{
	size_t end = at, from = at + 1;

	while (end > 0 && (is_blank(line.p[end - 1]) || is_quote(line.p[end - 1])))
		end--;
	if (!names_secret((struct str){ line.p, end }))
		return false;
	while (from < line.n &&
	       (is_blank(line.p[from]) || is_quote(line.p[from]) || line.p[from] == '>'))
		from++;
	/* These characters show that no secret follows. For example, "<password></password>" is
	 * empty, and "password=$WORD" only names a variable. */
	return from < line.n && !strchr("<$,;", line.p[from]);
}

/* AT is the place of "://" in LINE. Returns true if a name and a password follow. */
static bool has_login(struct str line, size_t at)
{
	bool colon = false;

	for (size_t i = at + 3; i < line.n; i++) {
		char c = line.p[i];

		if (c == '@')
			return colon;
		if (c == '/' || is_blank(c) || is_quote(c) || c == '<')
			return false;
		colon |= c == ':';
	}
	return false;
}

static bool line_has_secret(struct str line)
{
	size_t start = 0;

	while (start < line.n && is_blank(line.p[start]))
		start++;
	if (start == line.n || strchr("#;!%", line.p[start]) ||
	    (line.n - start >= 2 && memcmp(line.p + start, "//", 2) == 0))
		return false;
	for (size_t i = start; i < line.n; i++) {
		char c = line.p[i];

		if (c != '=' && c != ':' && c != '>')
			continue;
		if (assigns_secret(line, i))
			return true;
		if (c == ':' && line.n - i > 3 && memcmp(line.p + i, "://", 3) == 0 &&
		    has_login(line, i))
			return true;
	}
	return false;
}

/* COMMENT is the place in TEXT at which an XML comment begins. Returns the place behind the
 * comment, or NULL if the comment does not end. */
static const char *comment_end(struct str text, const char *comment)
{
	const char *end = memmem(comment, (size_t)(text.p + text.n - comment), "-->", 3);

	return end ? end + 3 : NULL;
}

/* Only XML has comments that begin with `<!--`. In other files these characters mean nothing, so
 * they must not hide what comes after them. */
static bool is_xml(struct str text)
{
	while (text.n &&
	       (*text.p == ' ' || *text.p == '\t' || *text.p == '\n' || *text.p == '\r')) {
		text.p++;
		text.n--;
	}
	return text.n && *text.p == '<';
}

bool host_secret_found(struct str text)
{
	bool xml = is_xml(text);

	if (memchr(text.p, '\0', text.n)) /* a file that is no text has no settings */
		return false;
	while (text.n) {
		const char *feed = memchr(text.p, '\n', text.n);
		size_t n = feed ? (size_t)(feed - text.p) : text.n;
		const char *comment = xml ? memmem(text.p, n, "<!--", 4) : NULL;
		/* a comment that does not end is no comment */
		const char *end = comment ? comment_end(text, comment) : NULL;
		const char *next = end ? end : feed ? feed + 1 : text.p + n;

		if (end)
			n = (size_t)(comment - text.p);
		if (line_has_secret((struct str){ text.p, n }))
			return true;
		text.n -= (size_t)(next - text.p);
		text.p = next;
	}
	return false;
}
