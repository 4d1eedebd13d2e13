#include "wire/hand.h"

#include <errno.h>

#include "t.h"

static void requests_round_trip(void)
{
	struct hand_request q = { .task = HAND_CREATE,
				  .spec = STR("{\"name\":\"a\"}"),
				  .max_bytes = 1ull << 40,
				  .max_entries = 7,
				  .refused = { "/etc", "/proc" },
				  .n_refused = 2,
				  .root = { "/srv" },
				  .n_roots = 1,
				  .makeable = 3,
				  .literal = true,
				  .erase = true,
				  .judged = "/x" };
	struct hand_request got;
	AUTO_BUF b = BUF_INIT(4096);

	hand_request_encode(&b, &q);
	T_INT(hand_request_decode((struct str){ b.p, b.n }, &got), 0);
	T_INT(got.task, HAND_CREATE);
	T_TRUE(str_eq(got.spec, "{\"name\":\"a\"}"));
	T_INT(got.max_bytes, 1ull << 40);
	T_INT(got.max_entries, 7);
	T_INT(got.n_refused, 2);
	T_STR(got.refused[1], "/proc");
	T_INT(got.n_roots, 1);
	T_STR(got.root[0], "/srv");
	T_INT(got.makeable, 3);
	T_STR(got.judged, "/x");
	T_TRUE(got.literal && got.erase);
	T_TRUE(!got.name && !got.path);
}

static int try_request(const struct hand_request *q)
{
	struct hand_request got;
	AUTO_BUF b = BUF_INIT(65536);

	hand_request_encode(&b, q);
	return hand_request_decode((struct str){ b.p, b.n }, &got);
}

static void a_request_is_whole(void)
{
	T_INT(try_request(&(struct hand_request){ .task = HAND_SWEEP }), 0);
	T_INT(try_request(&(struct hand_request){ .task = HAND_CREATE }), -EPROTO);
	T_INT(try_request(&(struct hand_request){ .task = HAND_START }), -EPROTO);
	T_INT(try_request(&(struct hand_request){ .task = HAND_START, .name = "a" }), 0);
	T_INT(try_request(&(struct hand_request){ .task = HAND_SIZE, .name = "a" }), -EPROTO);
	T_INT(try_request(&(struct hand_request){ .task = HAND_SIZE, .path = "a" }), -EPROTO);
	T_INT(try_request(&(struct hand_request){ .task = HAND_SIZE, .path = "/a" }), 0);
	T_INT(try_request(&(struct hand_request){ .task = HAND_WORKSPACE }), -EPROTO);
	T_INT(try_request(&(struct hand_request){ .task = HAND_WORKSPACE, .path = "/a" }), 0);
	T_INT(try_request(&(struct hand_request){ .task = HAND_MARKER, .path = "/a" }), -EPROTO);
	T_INT(try_request(&(struct hand_request){ .task = HAND_MARKER, .name = "a" }), -EPROTO);
	T_INT(try_request(&(struct hand_request){ .task = HAND_MARKER, .path = "/a", .name = "b" }),
	      0);
	T_INT(try_request(&(struct hand_request){ .task = HAND_TASK_COUNT }), -EPROTO);
	T_INT(try_request(&(struct hand_request){ 0 }), -EPROTO);
}

static void lists_are_bounded(void)
{
	struct hand_request q = { .task = HAND_SWEEP, .n_roots = HAND_PATHS_MAX }, got;
	AUTO_BUF b = BUF_INIT(65536);

	for (size_t i = 0; i < HAND_PATHS_MAX; i++)
		q.root[i] = "/x";
	hand_request_encode(&b, &q);
	T_INT(hand_request_decode((struct str){ b.p, b.n }, &got), 0);
	T_INT(got.n_roots, HAND_PATHS_MAX);
	field_put_str(&b, 8, "/y"); /* one root more than HAND_PATHS_MAX */
	T_INT(hand_request_decode((struct str){ b.p, b.n }, &got), -EPROTO);
}

static void answers_round_trip(void)
{
	struct hand_answer a = { .code = ERR_BUSY,
				 .text = "busy",
				 .hint = "wait",
				 .warnings = "w",
				 .mount = 4,
				 .bytes = 5,
				 .entries = 6,
				 .held = "h",
				 .found = "/f",
				 .usable = true };
	struct hand_answer got;
	AUTO_BUF b = BUF_INIT(4096);

	hand_answer_encode(&b, &a);
	T_INT(hand_answer_decode((struct str){ b.p, b.n }, &got), 0);
	T_INT(got.code, ERR_BUSY);
	T_STR(got.text, "busy");
	T_STR(got.hint, "wait");
	T_STR(got.warnings, "w");
	T_INT(got.mount, 4);
	T_INT(got.bytes, 5);
	T_INT(got.entries, 6);
	T_STR(got.held, "h");
	T_STR(got.found, "/f");
	T_TRUE(got.usable);
	T_INT(hand_answer_decode((struct str){ NULL, 0 }, &got), 0);
	T_STR(got.text, "");
	T_STR(got.warnings, "");
	T_STR(got.held, "");
	T_STR(got.found, "");
	T_TRUE(!got.usable);
	T_TRUE(!got.hint);
}

static void unknown_error_codes_are_refused(void)
{
	struct hand_answer got;
	AUTO_BUF b = BUF_INIT(256);

	field_put_u64(&b, 10, ERR_CODE_COUNT);
	T_INT(hand_answer_decode((struct str){ b.p, b.n }, &got), -EPROTO);
}

/* A server and its hands may be of different versions, and the newer one may send more fields. */
static void unknown_fields_are_skipped(void)
{
	struct hand_request q;
	AUTO_BUF b = BUF_INIT(256);

	field_put_u64(&b, 200, 1);
	hand_request_encode(&b, &(struct hand_request){ .task = HAND_SWEEP });
	T_INT(hand_request_decode((struct str){ b.p, b.n }, &q), 0);
	T_INT(hand_request_decode((struct str){ b.p, b.n - 1 }, &q), -EPROTO);
}

int main(void)
{
	T_RUN(requests_round_trip);
	T_RUN(a_request_is_whole);
	T_RUN(lists_are_bounded);
	T_RUN(answers_round_trip);
	T_RUN(unknown_error_codes_are_refused);
	T_RUN(unknown_fields_are_skipped);
	return t_end();
}
