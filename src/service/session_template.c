#include "service/session_template.h"

#include <stdio.h>
#include <string.h>

#include "service/python.h"

static int malformed(struct str text, const char *why, struct fault *f)
{
	char behind[128];

	snprintf(behind, sizeof(behind), "' is invalid: %s", why);
	return fault_about(f, FAULT_VALIDATION, "session id template '", text, behind);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Checks the name of a field, the text between its braces. */
static int check_name(struct str text, struct str name, struct fault *f)
{
	if (name.n == 0 || is_digit(name.p[0]))
		return malformed(text, "a field needs the name of a variable", f);
	for (size_t i = 0; i < name.n; i++)
		if (strchr("!:.[]{", name.p[i]))
			return malformed(text, "a field may only name a variable", f);
	return 0;
}

int session_template_fill(struct str text, session_variable_fn *fn, void *arg, struct buf *out,
			  struct fault *f)
{
	if (text.n > SESSION_TEMPLATE_MAX_BYTES)
		return malformed(python_first(text, 64), "it is too long", f);
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		const char *end;
		struct str name;

		if ((c == '{' || c == '}') && i + 1 < text.n && text.p[i + 1] == c) {
			buf_add_char(out, c);
			i++;
		} else if (c == '}') {
			return malformed(text, "a closing brace has no opening one", f);
		} else if (c == '{') {
			end = memchr(text.p + i, '}', text.n - i);
			if (!end)
				return malformed(text, "a brace is not closed", f);
			name = (struct str){ text.p + i + 1, (size_t)(end - text.p) - i - 1 };
			if (check_name(text, name, f) < 0)
				return -1;
			fn(arg, name, out);
			i += name.n + 1;
		} else {
			buf_add_char(out, c);
		}
	}
	return 0;
}

static void ignore(void *arg, struct str name, struct buf *out)
{
}

int session_template_check(struct str text, struct fault *f)
{
	struct buf out = BUF_INIT(SESSION_TEMPLATE_MAX_BYTES);
	int r = session_template_fill(text, ignore, NULL, &out, f);

	buf_done(&out);
	return r;
}
