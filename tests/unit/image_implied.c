#include "image/implied.h"

#include <errno.h>

#include "base/cleanup.h"
#include "t.h"

static struct image_implied found[IMAGE_IMPLIED_MAX];

static void there_and_back(void)
{
	const struct image_implied two[] = {
		{ .path = "/", .mode = 01777 },
		{ .path = " a b\n\xff", .mode = 0700, .uid = UINT32_MAX, .gid = 5 },
	};
	AUTO_BUF text = BUF_INIT(IMAGE_IMPLIED_MAX_BYTES);

	image_implied_write(two, 2, &text);
	T_INT(image_implied_read(buf_str(&text), text.n, found), 2);
	T_STR(found[0].path, "/");
	T_INT(found[0].mode, 01777);
	T_STR(found[1].path, " a b\n\xff");
	T_INT(found[1].uid, UINT32_MAX);
	T_INT(found[1].gid, 5);
	T_INT(image_implied_read("", 0, found), 0);
}

static void malformed(void)
{
	static const char *const bad[] = {
		"",
		"493",
		"493 0 0",
		"493 0 0 ",
		"x 0 0 a",
		"4096 0 0 a",
		"493 4294967296 0 a",
		"493 0 -1 a",
	};
	AUTO_BUF text = BUF_INIT(IMAGE_IMPLIED_MAX_BYTES);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		T_INT(image_implied_read(bad[i], strlen(bad[i]) + 1, found), -EBADMSG);
	/* the terminating NUL is missing */
	T_INT(image_implied_read("493 0 0 a", 9, found), -EBADMSG);
	for (size_t i = 0; i <= IMAGE_IMPLIED_MAX; i++)
		buf_add(&text, "493 0 0 a", 10);
	T_INT(image_implied_read(buf_str(&text), text.n, found), -EBADMSG);
	T_INT(image_implied_read(buf_str(&text), text.n - 10, found), IMAGE_IMPLIED_MAX);
	buf_clear(&text);
	buf_addf(&text, "493 0 0 %0*d", IMAGE_IMPLIED_PATH_BYTES, 0);
	T_INT(image_implied_read(buf_str(&text), text.n + 1, found), -EBADMSG);
}

int main(void)
{
	T_RUN(there_and_back);
	T_RUN(malformed);
	return t_end();
}
