#include "wire/file.h"

#include <errno.h>

#include "t.h"

static void records_survive_any_cut(void)
{
	AUTO_BUF b = BUF_INIT(1 << 16);
	static struct file_record r;

	file_put_link(&b, "name", "../target");
	for (size_t n = 0; n < b.n; n++) {
		struct str in = { b.p, n };

		T_INT(file_record_next(&in, &r), 0);
		T_INT(in.n, n);
	}
	struct str in = { b.p, b.n };
	T_INT(file_record_next(&in, &r), 1);
	T_INT(in.n, 0);
	T_INT(r.type, FILE_LINK);
	T_STR(r.name, "name");
	T_STR(r.target, "../target");
}

static void every_kind_round_trips(void)
{
	AUTO_BUF b = BUF_INIT(1 << 16);
	static struct file_record r;
	struct str in;

	file_put_dir(&b, 01777, "");
	file_put_file(&b, 04755, "f");
	file_put_data(&b, "ab\0c", 4);
	file_put_hole(&b, 1ull << 40);
	file_put_end(&b);
	file_put_note(&b, FILE_MISS, "why");
	file_put_fail(&b, ERR_NOT_FOUND, "gone");
	file_put_done(&b);
	in = (struct str){ b.p, b.n };
	T_INT(file_record_next(&in, &r), 1);
	T_INT(r.mode, 01777);
	T_STR(r.name, "");
	T_INT(file_record_next(&in, &r), 1);
	T_INT(r.mode, 04755);
	T_STR(r.name, "f");
	T_INT(file_record_next(&in, &r), 1);
	T_INT(r.data.n, 4);
	T_INT(file_record_next(&in, &r), 1);
	T_INT(r.size, 1ull << 40);
	T_INT(file_record_next(&in, &r), 1);
	T_INT(r.type, FILE_END);
	T_INT(file_record_next(&in, &r), 1);
	T_INT(r.type, FILE_MISS);
	T_STR(r.text, "why");
	T_INT(file_record_next(&in, &r), 1);
	T_INT(r.code, ERR_NOT_FOUND);
	T_STR(r.text, "gone");
	T_INT(file_record_next(&in, &r), 1);
	T_INT(r.type, FILE_DONE);
	T_INT(in.n, 0);
}

static int try_name(const char *name, size_t n)
{
	AUTO_BUF b = BUF_INIT(1 << 16);
	static struct file_record r;
	char head[FILE_RECORD_HEADER_BYTES + 4] = { FILE_FILE, (char)(n + 4),
						    (char)((n + 4) >> 8) };
	struct str in;

	buf_add(&b, head, sizeof(head));
	buf_add(&b, name, n);
	in = (struct str){ b.p, b.n };
	return file_record_next(&in, &r);
}

static void a_name_is_one_component(void)
{
	static const char long_name[256] = { 'x' };
	AUTO_BUF filled = BUF_INIT(512);

	T_INT(try_name("ok", 2), 1);
	T_INT(try_name("...", 3), 1);
	T_INT(try_name(".", 1), -EPROTO);
	T_INT(try_name("..", 2), -EPROTO);
	T_INT(try_name("a/b", 3), -EPROTO);
	T_INT(try_name("/", 1), -EPROTO);
	T_INT(try_name("a\0b", 3), -EPROTO);
	T_INT(try_name(long_name, 255), -EPROTO);
	buf_add_fill(&filled, 'x', 256);
	T_INT(try_name(filled.p, 255), 1);
	T_INT(try_name(filled.p, 256), -EPROTO);
}

static void lies_about_lengths_are_refused(void)
{
	static struct file_record r;
	char huge[] = { FILE_DATA, 0, 0, 2, 0 };
	char empty_data[] = { FILE_DATA, 0, 0, 0, 0 };
	char bad_type[] = { 99, 0, 0, 0, 0 };
	char bad_mode[] = { FILE_DIR, 5, 0, 0, 0, 0, 0, 1, 0, 'x' };
	char bad_link[] = { FILE_LINK, 5, 0, 0, 0, 9, 0, 0, 0, 'x' };
	struct str in = { huge, sizeof(huge) };

	T_INT(file_record_next(&in, &r), -EPROTO);
	in = (struct str){ empty_data, sizeof(empty_data) };
	T_INT(file_record_next(&in, &r), -EPROTO);
	in = (struct str){ bad_type, sizeof(bad_type) };
	T_INT(file_record_next(&in, &r), -EPROTO);
	in = (struct str){ bad_mode, sizeof(bad_mode) };
	T_INT(file_record_next(&in, &r), -EPROTO);
	in = (struct str){ bad_link, sizeof(bad_link) };
	T_INT(file_record_next(&in, &r), -EPROTO);
}

static void requests_round_trip(void)
{
	AUTO_BUF b = BUF_INIT(4096);
	struct file_message m = { .op = FILE_PUT,
				  .flags = FILE_PATCH | FILE_EXACT,
				  .path = "/a b" },
			    got;

	file_encode(&b, &m);
	T_INT(file_decode((struct str){ b.p, b.n }, &got), 0);
	T_INT(got.op, FILE_PUT);
	T_INT(got.flags, FILE_PATCH | FILE_EXACT);
	T_STR(got.path, "/a b");
	buf_clear(&b);
	m.path = "rel";
	file_encode(&b, &m);
	T_INT(file_decode((struct str){ b.p, b.n }, &got), -EPROTO);
	T_INT(file_decode((struct str){ b.p, 0 }, &got), -EPROTO);
}

int main(void)
{
	T_RUN(records_survive_any_cut);
	T_RUN(every_kind_round_trips);
	T_RUN(a_name_is_one_component);
	T_RUN(lies_about_lengths_are_refused);
	T_RUN(requests_round_trip);
	return t_end();
}
