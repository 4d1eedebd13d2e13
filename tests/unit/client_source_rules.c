/* Applies rules about paths of the host in a new directory that has links. */
#include "client/source_rules.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/erase.h"
#include "t.h"

static char top[] = "/tmp/cordon-unit-XXXXXX";

static char *at(const char *rest)
{
	return xasprintf("%s/%s", top, rest);
}

static void make(const char *rest)
{
	AUTO_FREE char *path = at(rest);

	T_INT(mkdir(path, 0755), 0);
}

static bool is_there(const char *rest)
{
	AUTO_FREE char *path = at(rest);

	return access(path, F_OK) == 0;
}

static enum err_code check(const struct source_rules *r, const char *rest)
{
	AUTO_FREE char *path = at(rest);
	struct err e = { 0 };

	return source_rules_check(r, path, &e) == 0 ? ERR_NONE : e.code;
}

static enum err_code make_missing(const struct source_rules *r, const char *rest)
{
	AUTO_FREE char *path = at(rest);
	struct err e = { 0 };

	return source_rules_make(r, path, &e) == 0 ? ERR_NONE : e.code;
}

static void a_prefix_is_whole_components(void)
{
	AUTO_FREE char *dir = at("dir");
	const struct source_rules refusing = { .refused = (const char *const[]){ dir },
					       .n_refused = 1 };
	const struct source_rules bounded = { .root = (const char *const[]){ dir }, .n_roots = 1 };
	struct err e = { 0 };

	T_INT(check(&refusing, "dir"), ERR_DENIED);
	T_INT(check(&refusing, "dir/below"), ERR_DENIED);
	T_INT(check(&refusing, "dir2"), ERR_NONE);
	T_INT(check(&refusing, "di"), ERR_NONE);
	T_INT(source_rules_check(&refusing, top, &e), -1); /* top contains a refused directory */
	T_INT(e.code, ERR_DENIED);
	T_INT(check(&bounded, "dir"), ERR_NONE);
	T_INT(check(&bounded, "dir/below"), ERR_NONE);
	T_INT(check(&bounded, "dir2"), ERR_DENIED);
	T_INT(check(&bounded, ""), ERR_DENIED);
}

static void refused_wins_over_allowed(void)
{
	AUTO_FREE char *dir = at("dir");
	AUTO_FREE char *below = at("dir/below");
	const struct source_rules r = { .root = (const char *const[]){ dir },
					.n_roots = 1,
					.refused = (const char *const[]){ below },
					.n_refused = 1 };

	T_INT(check(&r, "dir/other"), ERR_NONE);
	T_INT(check(&r, "dir/below/x"), ERR_DENIED);
}

static void rules_follow_their_own_links(void)
{
	AUTO_FREE char *link = at("link");
	const struct source_rules r = { .refused = (const char *const[]){ link }, .n_refused = 1 };

	T_INT(check(&r, "dir/below"), ERR_DENIED); /* the link leads to dir */
	T_INT(check(&r, "link"), ERR_DENIED);
	T_INT(check(&r, "other"), ERR_NONE);
}

static void the_root_is_never_shared(void)
{
	struct err e = { 0 };

	T_INT(source_rules_check(&(struct source_rules){ 0 }, "/", &e), -1);
	T_INT(e.code, ERR_DENIED);
	T_INT(source_rules_check(&(struct source_rules){ 0 }, "/usr", &e), 0);
}

static void directories_are_made_within_the_rules(void)
{
	AUTO_FREE char *dir = at("dir");
	const struct source_rules r = { .root = (const char *const[]){ dir }, .n_roots = 1 };

	T_INT(make_missing(&r, "dir/a/b/c"), ERR_NONE);
	T_TRUE(is_there("dir/a/b/c"));
	T_INT(make_missing(&r, "dir/a/b/c"), ERR_NONE);
	T_INT(make_missing(&r, "dir/a/./x/../y//z/"), ERR_NONE);
	T_TRUE(is_there("dir/a/y/z") && !is_there("dir/a/x"));
	T_INT(make_missing(&r, "new"), ERR_DENIED);
	T_INT(make_missing(&r, "dir/../new"), ERR_DENIED);
	T_INT(make_missing(&r, "dir/out/new"), ERR_DENIED); /* a link to the outside */
	T_TRUE(!is_there("new") && !is_there("other/new"));
	T_TRUE(make_missing(&r, "dir/hole") != ERR_NONE); /* a link to nothing */
	T_TRUE(!is_there("other/hole"));
	T_TRUE(make_missing(&r, "dir/file/x") != ERR_NONE);
}

static void a_literal_path_leads_over_no_link(void)
{
	AUTO_FREE char *dir = at("dir");
	const struct source_rules r = { .root = (const char *const[]){ dir },
					.n_roots = 1,
					.literal = true };

	T_INT(make_missing(&r, "dir/in/new"), ERR_DENIED); /* even a link that leads inside */
	T_TRUE(!is_there("dir/below/new"));
	T_INT(make_missing(&r, "dir/plain/new"), ERR_NONE);
}

/* Removes the directory of the test. */
static void nothing_is_left(void)
{
	T_INT(chdir("/tmp"), 0);
	T_INT(erase_tree(AT_FDCWD, strrchr(top, '/') + 1), 0);
}

int main(void)
{
	T_TRUE(mkdtemp(top));
	T_INT(chdir(top), 0);
	make("dir");
	make("other");
	T_INT(symlink("dir", "link"), 0);
	T_INT(symlink("../other", "dir/out"), 0);
	T_INT(symlink("../other/hole", "dir/hole"), 0);
	close(open("dir/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	T_RUN(a_prefix_is_whole_components);
	T_RUN(refused_wins_over_allowed);
	T_RUN(rules_follow_their_own_links);
	T_RUN(the_root_is_never_shared);
	T_RUN(directories_are_made_within_the_rules);
	T_INT(mkdir("dir/below", 0755), 0);
	T_INT(symlink("below", "dir/in"), 0);
	T_RUN(a_literal_path_leads_over_no_link);
	T_RUN(nothing_is_left);
	return t_end();
}
