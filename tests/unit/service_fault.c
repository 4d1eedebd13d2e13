#include "service/fault.h"

#include "base/cleanup.h"
#include "t.h"

static const char *message(const struct fault *f)
{
	static char out[65536];
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);

	fault_print(f, &b);
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

static void every_class_has_its_name(void)
{
	static const char *const want[FAULT_CLASS_COUNT] = {
		[FAULT_ADMISSION] = "BoxAdmissionError: x",
		[FAULT_READINESS] = "BoxReadinessError: x",
		[FAULT_CAPACITY] = "BoxCapacityExceededError: x",
		[FAULT_VALIDATION] = "BoxValidationError: x",
		[FAULT_SESSION_NOT_FOUND] = "BoxSessionNotFoundError: x",
		[FAULT_SESSION_CONFLICT] = "BoxSessionConflictError: x",
		[FAULT_PROCESS_NOT_FOUND] = "BoxManagedProcessNotFoundError: x",
		[FAULT_PROCESS_CONFLICT] = "BoxManagedProcessConflictError: x",
		[FAULT_BACKEND_UNAVAILABLE] = "BoxBackendUnavailableError: x",
		[FAULT_RUNTIME_UNAVAILABLE] = "BoxRuntimeUnavailableError: x",
		[FAULT_BOX] = "BoxError: x",
		[FAULT_PERMISSION] = "PermissionError: x",
		[FAULT_VALUE] = "ValueError: x",
		[FAULT_KEY] = "KeyError: x",
		[FAULT_MODEL] = "ValidationError: x",
		[FAULT_BARE] = "x",
	};

	for (unsigned i = FAULT_NONE + 1; i < FAULT_CLASS_COUNT; i++) {
		AUTO_FAULT f = { 0 };

		T_INT(fault_set(&f, i, "%c", 'x'), -1);
		T_INT(f.class, i);
		T_STR(message(&f), want[i]);
	}
}

/* A text keeps up to 4096 characters, however many bytes each of them has. A longer text is cut and
 * gets a notice. */
static void long_texts_are_cut(void)
{
	static const char *const letters[] = { "a", "\xc3\xa9", "\xe2\x82\xac",
					       "\xf0\x9f\x98\x80" };

	for (size_t i = 0; i < ARRAY_SIZE(letters); i++) {
		AUTO_BUF text = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20);
		AUTO_FAULT f = { 0 };

		for (unsigned k = 0; k < FAULT_TEXT_MAX; k++)
			buf_add_str(&text, letters[i]);
		buf_addf(&want, "ValueError: %s", text.p);
		fault_set(&f, FAULT_VALUE, "%s", text.p);
		T_STR(message(&f), want.p);
		buf_add_str(&text, letters[i]);
		buf_add_str(&want, "... [protocol error truncated]");
		fault_set(&f, FAULT_VALUE, "%s", text.p);
		T_STR(message(&f), want.p);
		for (unsigned k = 0; k < 100000; k++)
			buf_add_str(&text, letters[i]);
		fault_about(&f, FAULT_VALUE, "", (struct str){ text.p, text.n }, " behind");
		T_STR(message(&f), want.p);
	}
}

static void peers_cannot_choose_the_class(void)
{
	AUTO_FAULT f = { 0 };

	fault_about(&f, FAULT_SESSION_NOT_FOUND, "session ",
		    STR("BoxAdmissionError: xBoxBackendUnavailableError:BoxError: ValueError:"),
		    " not found");
	T_STR(message(&f), "BoxSessionNotFoundError: session BoxAdmissionError : "
			   "xBoxBackendUnavailableError :BoxError: ValueError: not found");
	fault_set(&f, FAULT_VALUE, "BBoxAdmissionError:");
	T_STR(message(&f), "ValueError: BBoxAdmissionError :");
	fault_set(&f, FAULT_VALUE, "BoxAdmissionError");
	T_STR(message(&f), "ValueError: BoxAdmissionError");
}

static void any_bytes_become_text(void)
{
	AUTO_FAULT f = { 0 };
	AUTO_FAULT other = { 0 };

	fault_about(&f, FAULT_VALUE, "<", (struct str){ "a\0b\xff", 4 }, ">");
	T_INT(f.n, 8);
	T_TRUE(memcmp(f.text, "<a\0b\xef\xbf\xbd>", 8) == 0);
	fault_move(&other, &f);
	T_INT(f.class, FAULT_NONE);
	T_INT(other.n, 8);
}

int main(void)
{
	T_RUN(every_class_has_its_name);
	T_RUN(long_texts_are_cut);
	T_RUN(peers_cannot_choose_the_class);
	T_RUN(any_bytes_become_text);
	return t_end();
}
