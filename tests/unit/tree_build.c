/* Tests which files the host makes from streams that a hostile sandbox could send. */
#include "tree/build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/erase.h"
#include "base/io.h"
#include "t.h"

static char dir[] = "/tmp/tree-build-XXXXXX";
static unsigned n_notes, n_misses;

static void count(void *arg, enum file_record_type type, const char *text)
{
	*(type == FILE_MISS ? &n_misses : &n_notes) += 1;
}

/* Builds the tree TO from the stream. Feeds the stream byte by byte if CUT is true, else in one
 * piece. */
static int build(const char *to, unsigned flags, const struct buf *stream, bool cut, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/%s", dir, to);
	struct tree_build *b = tree_build_new(path, flags, count, NULL);
	int r = 0;

	n_notes = n_misses = 0;
	for (size_t i = 0; cut && r == 0 && i < stream->n; i++)
		r = tree_build_feed(b, stream->p + i, 1, e);
	if (!cut)
		r = tree_build_feed(b, stream->p, stream->n, e);
	tree_build_free(b);
	return r;
}

static const char *content(const char *name)
{
	static struct buf b = BUF_INIT(4096);
	AUTO_FREE char *path = xasprintf("%s/%s", dir, name);

	buf_clear(&b);
	return io_read_file(AT_FDCWD, path, &b) < 0 ? "(unreadable)" : buf_str(&b);
}

static const char *link_target(const char *name)
{
	static char target[4096];
	AUTO_FREE char *path = xasprintf("%s/%s", dir, name);
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	target[n > 0 ? n : 0] = '\0';
	return target;
}

static unsigned mode_of(const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return lstat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

static void make_link(const char *name, const char *target)
{
	AUTO_FREE char *path = xasprintf("%s/%s", dir, name);

	T_INT(symlink(target, path), 0);
}

static void a_small_tree(struct buf *s)
{
	file_put_dir(s, 0555, "t");
	file_put_file(s, 0640, "f");
	file_put_data(s, "he", 2);
	file_put_data(s, "llo", 3);
	file_put_end(s);
	file_put_link(s, "l", "f");
	file_put_end(s);
	file_put_done(s);
}

static void trees_are_built_however_the_stream_is_cut(void)
{
	AUTO_BUF s = BUF_INIT(65536);
	struct err e = { 0 };

	a_small_tree(&s);
	T_INT(build("whole", TREE_OUTSIDE, &s, false, &e), 0);
	T_INT(build("cut", TREE_OUTSIDE, &s, true, &e), 0);
	T_STR(content("whole/f"), "hello");
	T_STR(content("cut/f"), "hello");
	T_STR(link_target("cut/l"), "f");
	T_INT(mode_of("cut"), 0555);
	T_INT(mode_of("cut/f"), 0640);
}

static void a_tree_is_put_into_an_existing_directory(void)
{
	AUTO_BUF s = BUF_INIT(65536);
	AUTO_FREE char *into = xasprintf("%s/into", dir);
	struct err e = { 0 };

	a_small_tree(&s);
	T_INT(mkdir(into, 0755), 0);
	T_INT(build("into", TREE_OUTSIDE, &s, false, &e), 0);
	T_STR(content("into/t/f"), "hello");
	T_INT(mode_of("into"), 0755);
	T_INT(build("made/", TREE_OUTSIDE, &s, false, &e), 0);
	T_STR(content("made/t/f"), "hello");
}

static void links_stay_inside(void)
{
	static const struct {
		const char *target;
		unsigned depth;
		const char *want; /* NULL: refused */
	} cases[] = {
		{ "f", 0, "f" },
		{ "..", 0, NULL },
		{ "..", 1, ".." },
		{ "../f", 1, "../f" },
		{ "../../f", 1, NULL },
		{ "a/../../f", 0, NULL },
		{ "a/../f", 0, "f" },
		{ "a/../../f", 1,
		  /* "a/.." is cancelled in the text, even if `a` is a link that leads elsewhere */
		  "../f" },
		{ "./a//b/.", 0, "a/b" },
		{ ".", 0, "." },
		{ "a/..", 0, "." },
		/* the tree comes from /top, so an absolute target is inside only if it is below
		 * /top */
		{ "/", 0, NULL },
		{ "/etc/passwd", 2, NULL },
		{ "/topple/f", 0, NULL },
		{ "/top/../etc", 1, NULL },
		{ "/top", 0, "." },
		{ "/top/", 2, "../.." },
		{ "/top/f", 0, "f" },
		{ "//top//a/./f", 2, "../../a/f" },
		{ "/../top/a/../f", 1, "../f" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_BUF out = BUF_INIT(8192);
		bool ok = tree_confine_link(cases[i].target, "/x/..//top/.", cases[i].depth, &out);

		T_INT(ok, cases[i].want != NULL);
		if (cases[i].want)
			T_STR(buf_str(&out), cases[i].want);
	}
}

static void absolute_links_of_a_whole_root_are_inside(void)
{
	AUTO_BUF out = BUF_INIT(8192);

	T_TRUE(tree_confine_link("/etc/passwd", "/", 1, &out));
	T_STR(buf_str(&out), "../etc/passwd");
	T_TRUE(!tree_confine_link("/etc/passwd", NULL, 1, &out));
}

static void names_come_from_the_callers_path(void)
{
	static const char *const cases[][2] = {
		{ "/a/b", "b" }, { "/a/b//", "b" }, { "/", "" },         { "/a/.", "" },
		{ "/a/..", "" }, { "b", "b" },      { "/a/...", "..." },
	};
	AUTO_BUF path = BUF_INIT(1024);
	char name[FILE_NAME_MAX_BYTES + 1];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		T_INT(tree_name_of(cases[i][0], name), 0);
		T_STR(name, cases[i][1]);
	}
	buf_add_fill(&path, 'x', FILE_NAME_MAX_BYTES + 1);
	T_INT(tree_name_of(buf_str(&path), name), -ENAMETOOLONG);
}

static void privileges_are_not_copied(void)
{
	AUTO_BUF s = BUF_INIT(65536);
	struct err e = { 0 };

	file_put_dir(&s, 07755, "t");
	file_put_file(&s, 06755, "f");
	file_put_end(&s);
	file_put_end(&s);
	file_put_done(&s);
	T_INT(build("lowered", TREE_OUTSIDE, &s, false, &e), 0);
	T_INT(mode_of("lowered"), 01755);
	T_INT(mode_of("lowered/f"), 0755);
	T_INT(n_notes, 2);
	T_INT(build("kept", 0, &s, false, &e), 0);
	T_INT(mode_of("kept/f"), 06755);
}

static ino_t inode_of(const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return lstat(path, &st) < 0 ? 0 : st.st_ino;
}

static void hard_links_are_kept(void)
{
	AUTO_BUF s = BUF_INIT(65536);
	struct err e = { 0 };

	file_put_dir(&s, 0755, "t");
	file_put_dir(&s, 0755, "d");
	for (unsigned i = 0; i < 2; i++) {
		file_put_file(&s, 0644, i ? "g" : "f");
		file_put_shared(&s);
		file_put_data(&s, i ? "g" : "f", 1);
		file_put_end(&s);
	}
	file_put_end(&s);
	file_put_same(&s, 1, "g2");
	file_put_same(&s, 0, "f2");
	file_put_end(&s);
	file_put_done(&s);
	T_INT(build("hard", TREE_OUTSIDE, &s, true, &e), 0);
	T_INT(n_misses, 0);
	T_TRUE(inode_of("hard/f2") == inode_of("hard/d/f"));
	T_TRUE(inode_of("hard/g2") == inode_of("hard/d/g"));
	T_STR(content("hard/g2"), "g");
}

/* A symbolic link has replaced the file to which a hard link is to be made. */
static void a_hard_link_is_never_made_to_another_object(void)
{
	AUTO_BUF s = BUF_INIT(65536);
	struct err e = { 0 };

	file_put_dir(&s, 0755, "t");
	file_put_dir(&s, 0755, "d");
	file_put_file(&s, 0644, "f");
	file_put_shared(&s);
	file_put_end(&s);
	file_put_link(&s, "f", "../f");
	file_put_end(&s);
	file_put_same(&s, 0, "up");
	file_put_end(&s);
	file_put_done(&s);
	T_INT(build("swapped", TREE_OUTSIDE, &s, false, &e), 0);
	T_INT(n_misses, 1);
	T_STR(link_target("swapped/d/f"), "../f");
	T_INT(inode_of("swapped/up"), 0);
}

static void a_link_out_of_the_tree_is_left_out_and_the_rest_copied(void)
{
	AUTO_BUF s = BUF_INIT(65536);
	struct err e = { 0 };

	file_put_dir(&s, 0755, "t");
	file_put_link(&s, "bad", "../../../etc");
	file_put_link(&s, "abs", "/etc/passwd");
	file_put_file(&s, 0644, "f");
	file_put_end(&s);
	file_put_end(&s);
	file_put_done(&s);
	T_INT(build("climb", TREE_OUTSIDE, &s, false, &e), 0);
	T_INT(n_notes, 2);
	T_STR(link_target("climb/bad"), "");
	T_STR(link_target("climb/abs"), "");
	T_STR(content("climb/f"), "");
	T_INT(build("inside", 0, &s, false, &e), 0);
	T_STR(link_target("inside/bad"), "../../../etc");
	T_STR(link_target("inside/abs"), "/etc/passwd");
}

/* The stream has a link and then a file below the name of the link. */
static void nothing_is_written_through_a_link(void)
{
	AUTO_BUF s = BUF_INIT(65536);
	struct err e = { 0 };

	file_put_dir(&s, 0755, "t");
	file_put_link(&s, "d", ".");
	file_put_dir(&s, 0755, "d");
	file_put_file(&s, 0644, "f");
	file_put_end(&s);
	file_put_end(&s);
	file_put_end(&s);
	file_put_done(&s);
	T_INT(build("through", TREE_OUTSIDE, &s, false, &e), -1);
	T_INT(e.code, ERR_DENIED);
	T_STR(content("through/f"), "(unreadable)");
}

static void links_already_there_are_not_followed(void)
{
	AUTO_BUF s = BUF_INIT(65536);
	AUTO_FREE char *into = xasprintf("%s/planted", dir);
	AUTO_FREE char *victim = xasprintf("%s/victim", dir);
	struct err e = { 0 };

	T_INT(mkdir(into, 0755), 0);
	T_INT(mkdir(victim, 0755), 0);
	make_link("planted/t", victim);
	a_small_tree(&s);
	T_INT(build("planted", TREE_OUTSIDE, &s, false, &e), -1);
	T_STR(content("victim/f"), "(unreadable)");
	/* a file replaces the link */
	make_link("planted/f", victim);
	buf_clear(&s);
	file_put_file(&s, 0644, "f");
	file_put_data(&s, "x", 1);
	file_put_end(&s);
	file_put_done(&s);
	T_INT(build("planted", TREE_OUTSIDE, &s, false, &e), 0);
	T_STR(content("planted/f"), "x");
	T_STR(link_target("planted/f"), "");
}

static void streams_that_make_no_sense_are_refused(void)
{
	struct err e = { 0 };

	for (unsigned k = 0; k < 12; k++) {
		AUTO_BUF s = BUF_INIT(65536);
		AUTO_FREE char *to = xasprintf("nonsense-%u", k);

		switch (k) {
		case 0: /* data without a file */
			file_put_data(&s, "x", 1);
			break;
		case 1: /* an end without a file */
			file_put_end(&s);
			break;
		case 2: /* two trees */
			file_put_file(&s, 0644, "a");
			file_put_end(&s);
			file_put_file(&s, 0644, "b");
			break;
		case 3: /* a file in a file */
			file_put_file(&s, 0644, "a");
			file_put_file(&s, 0644, "b");
			break;
		case 4: /* the record "done" while a directory is open */
			file_put_dir(&s, 0755, "a");
			file_put_done(&s);
			break;
		case 5: /* a directory after the record "done" */
			file_put_done(&s);
			file_put_dir(&s, 0755, "a");
			break;
		case 6: /* a file without a name */
			file_put_file(&s, 0644, "");
			break;
		case 7: /* a directory without a name in another directory */
			file_put_dir(&s, 0755, "a");
			file_put_dir(&s, 0755, "");
			break;
		case 8: /* a hard link to a file that was not sent */
			file_put_dir(&s, 0755, "a");
			file_put_same(&s, 0, "b");
			break;
		case 9: /* a hard link outside every directory */
			file_put_same(&s, 0, "b");
			break;
		case 10: /* the record "shared" after a directory, not after a file */
			file_put_dir(&s, 0755, "a");
			file_put_shared(&s);
			break;
		case 11: /* the record "shared" after the data of a file, not before */
			file_put_dir(&s, 0755, "a");
			file_put_file(&s, 0644, "f");
			file_put_data(&s, "x", 1);
			file_put_shared(&s);
			break;
		}
		T_INT(build(to, TREE_OUTSIDE, &s, false, &e), -1);
		T_INT(e.code, ERR_PROTOCOL);
	}
}

static void depth_is_bounded(void)
{
	AUTO_BUF s = BUF_INIT(1 << 20);
	struct err e = { 0 };

	for (unsigned i = 0; i < TREE_DEPTH_MAX + 5; i++)
		file_put_dir(&s, 0755, "d");
	T_INT(build("deep", TREE_OUTSIDE, &s, false, &e), -1);
	T_INT(e.code, ERR_LIMIT);
}

static void holes_stay_holes(void)
{
	AUTO_BUF s = BUF_INIT(65536);
	AUTO_FREE char *path = xasprintf("%s/sparse", dir);
	struct err e = { 0 };
	struct stat st;

	file_put_file(&s, 0644, "x");
	file_put_hole(&s, 1ull << 30);
	file_put_data(&s, "x", 1);
	file_put_hole(&s, 1ull << 30);
	file_put_end(&s);
	file_put_done(&s);
	T_INT(build("sparse", TREE_OUTSIDE, &s, false, &e), 0);
	T_INT(stat(path, &st), 0);
	T_INT(st.st_size, (2ll << 30) + 1);
	T_TRUE(st.st_blocks < 1024);
	buf_clear(&s);
	file_put_file(&s, 0644, "x");
	file_put_hole(&s, INT64_MAX);
	file_put_hole(&s, INT64_MAX);
	T_INT(build("sparse", TREE_OUTSIDE, &s, false, &e), -1);
}

static void messages_of_the_source_are_passed_on(void)
{
	AUTO_BUF s = BUF_INIT(65536);
	struct err e = { 0 };

	file_put_note(&s, FILE_NOTE, "a");
	file_put_note(&s, FILE_MISS, "b");
	file_put_fail(&s, ERR_NOT_FOUND, "no such thing");
	T_INT(build("fail", TREE_OUTSIDE, &s, false, &e), -1);
	T_INT(n_notes, 1);
	T_INT(n_misses, 1);
	T_INT(e.code, ERR_NOT_FOUND);
	T_STR(e.msg, "no such thing");
}

static void a_copy_ends_before_the_disk_is_full(void)
{
	struct statvfs fs = { .f_frsize = 4096, .f_blocks = 1000000, .f_bavail = 50000 };

	T_INT(disk_limit_left(&fs), 0); /* exactly 5 % are free */
	fs.f_bavail = 50001;
	T_INT(disk_limit_left(&fs), 4096);
	fs.f_blocks = 100000000; /* 400 GB: 1 GiB is less than 5 % */
	fs.f_bavail = (1u << 30) / 4096;
	T_INT(disk_limit_left(&fs), 0);
	fs.f_bavail += 2;
	T_INT(disk_limit_left(&fs), 8192);
	fs.f_files = 1000;
	fs.f_favail = 49;
	T_INT(disk_limit_left(&fs), 0);
	fs.f_favail = 50;
	T_INT(disk_limit_left(&fs), 8192);
	fs = (struct statvfs){ .f_frsize = 4096 };
	T_TRUE(disk_limit_left(&fs) == UINT64_MAX);
}

int main(void)
{
	AUTO_FD place = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (!mkdtemp(dir))
		return 1;
	T_RUN(trees_are_built_however_the_stream_is_cut);
	T_RUN(a_tree_is_put_into_an_existing_directory);
	T_RUN(links_stay_inside);
	T_RUN(absolute_links_of_a_whole_root_are_inside);
	T_RUN(names_come_from_the_callers_path);
	T_RUN(privileges_are_not_copied);
	T_RUN(hard_links_are_kept);
	T_RUN(a_hard_link_is_never_made_to_another_object);
	T_RUN(a_copy_ends_before_the_disk_is_full);
	T_RUN(a_link_out_of_the_tree_is_left_out_and_the_rest_copied);
	T_RUN(nothing_is_written_through_a_link);
	T_RUN(links_already_there_are_not_followed);
	T_RUN(streams_that_make_no_sense_are_refused);
	T_RUN(depth_is_bounded);
	T_RUN(holes_stay_holes);
	T_RUN(messages_of_the_source_are_passed_on);
	IGNORE(erase_tree(place, dir + strlen("/tmp/"))); /* a leftover in /tmp is no failure */
	return t_end();
}
