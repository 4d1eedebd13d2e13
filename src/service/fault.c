#include "service/fault.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "service/python.h"

/* The names of the classes, indexed by enum fault_class. */
static const char *const class_names[] = {
	[FAULT_NONE] = "",
	[FAULT_ADMISSION] = "BoxAdmissionError",
	[FAULT_READINESS] = "BoxReadinessError",
	[FAULT_CAPACITY] = "BoxCapacityExceededError",
	[FAULT_VALIDATION] = "BoxValidationError",
	[FAULT_SESSION_NOT_FOUND] = "BoxSessionNotFoundError",
	[FAULT_SESSION_CONFLICT] = "BoxSessionConflictError",
	[FAULT_PROCESS_NOT_FOUND] = "BoxManagedProcessNotFoundError",
	[FAULT_PROCESS_CONFLICT] = "BoxManagedProcessConflictError",
	[FAULT_BACKEND_UNAVAILABLE] = "BoxBackendUnavailableError",
	[FAULT_RUNTIME_UNAVAILABLE] = "BoxRuntimeUnavailableError",
	[FAULT_BOX] = "BoxError",
	[FAULT_PERMISSION] = "PermissionError",
	[FAULT_VALUE] = "ValueError",
	[FAULT_KEY] = "KeyError",
	[FAULT_MODEL] = "ValidationError",
	[FAULT_BARE] = "",
};
static_assert(ARRAY_SIZE(class_names) == FAULT_CLASS_COUNT, "a class has no name");

#define CUT_NOTICE "... [protocol error truncated]"
/* How many bytes of a text are read: at least one character more than a fault keeps, so that we
 * notice a text that is too long. */
#define LOOK_MAX_BYTES ((FAULT_TEXT_MAX + 1) * 4u)

const char *fault_class_name(enum fault_class class)
{
	return class_names[class];
}

void fault_done(struct fault *f)
{
	if (!f)
		return;
	free(f->text);
	*f = (struct fault){ 0 };
}

void fault_move(struct fault *to, struct fault *from)
{
	fault_done(to);
	*to = *from;
	*from = (struct fault){ 0 };
}

/* Returns the length of the class name with which S begins, or 0. A colon must follow the name. */
static size_t class_at(struct str s)
{
	for (size_t i = FAULT_ADMISSION; i <= FAULT_BACKEND_UNAVAILABLE; i++) {
		size_t n = strlen(class_names[i]);

		if (s.n > n && s.p[n] == ':' && memcmp(s.p, class_names[i], n) == 0)
			return n;
	}
	return 0;
}

/* Appends TEXT, with a blank before each colon that would follow a class name. */
static void add_harmless(struct buf *out, struct str text)
{
	while (text.n) {
		size_t n = text.p[0] == 'B' ? class_at(text) : 0;
		size_t k = n ? n : 1;

		buf_add(out, text.p, k);
		if (n)
			buf_add_char(out, ' ');
		text.p += k;
		text.n -= k;
	}
}

static int set_text(struct fault *f, enum fault_class class, struct str text)
{
	/* each byte that is not UTF-8 becomes U+FFFD, which has three bytes */
	AUTO_BUF clean = BUF_INIT(LOOK_MAX_BYTES * 3), out = BUF_INIT(LOOK_MAX_BYTES * 4);
	struct str kept;

	if (text.n > LOOK_MAX_BYTES)
		text.n = LOOK_MAX_BYTES;
	buf_add_utf8(&clean, text.p, text.n);
	kept = python_first((struct str){ buf_str(&clean), clean.n }, FAULT_TEXT_MAX);
	add_harmless(&out, kept);
	if (kept.n < clean.n)
		buf_add_str(&out, CUT_NOTICE);
	fault_done(f);
	f->class = class;
	f->n = out.n;
	f->text = buf_take(&out);
	return -1;
}

int fault_set(struct fault *f, enum fault_class class, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	return set_text(f, class, str_of(text));
}

int fault_set_again(struct fault *f)
{
	f->again = true;
	return -1;
}

int fault_about(struct fault *f, enum fault_class class, const char *before, struct str subject,
		const char *behind)
{
	AUTO_BUF text = BUF_INIT(LOOK_MAX_BYTES + strlen(before) + strlen(behind));

	buf_add_str(&text, before);
	buf_add(&text, subject.p, subject.n < LOOK_MAX_BYTES ? subject.n : LOOK_MAX_BYTES);
	buf_add_str(&text, behind);
	return set_text(f, class, (struct str){ buf_str(&text), text.n });
}

static bool cut_prefix(struct str *s, const char *prefix)
{
	size_t n = strlen(prefix);

	if (s->n < n || memcmp(s->p, prefix, n) != 0)
		return false;
	s->p += n;
	s->n -= n;
	return true;
}

int fault_from_message(struct fault *f, struct str message)
{
	enum fault_class class = FAULT_BOX;

	for (size_t i = FAULT_ADMISSION; i <= FAULT_BACKEND_UNAVAILABLE && class == FAULT_BOX;
	     i++) {
		AUTO_FREE char *word = xasprintf("%s:", class_names[i]);

		if (memmem(message.p, message.n, word, strlen(word)))
			class = (enum fault_class)i;
	}
	if (cut_prefix(&message, class_names[class]) && cut_prefix(&message, ":"))
		cut_prefix(&message, " ");
	return set_text(f, class, message);
}

void fault_print(const struct fault *f, struct buf *out)
{
	const char *name = fault_class_name(f->class);

	buf_add_str(out, name);
	if (*name)
		buf_add_str(out, ": ");
	buf_add(out, f->text, f->n);
}
