/*
 * Probes the machine on which the test runs. Machines differ, so for each fact the test accepts
 * true and false. The test also checks that no probe leaves anything behind.
 */
#include "host/facts.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/hierarchy.h"
#include "host/trial.h"
#include "t.h"

static unsigned entries(const char *dir)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void every_fact(void)
{
	static struct facts facts;
	char dir[] = "/tmp/cordon-facts-XXXXXX";
	char user_ns[64] = "", user_ns_after[64] = "";

	T_TRUE(mkdtemp(dir) != NULL);
	T_TRUE(readlink("/proc/self/ns/user", user_ns, sizeof(user_ns) - 1) > 0);
	facts_probe(dir, &facts);
	for (unsigned i = 0; i < FACT_COUNT; i++) {
		const struct fact *f = &facts.fact[i];

		printf("# %2u %-3s %s%s%s\n", i, f->yes ? "yes" : "no", f->text,
		       f->fix[0] ? " -> " : "", f->fix);
		T_TRUE(f->text[0] != '\0');
		T_TRUE(!f->yes || (f->sys == 0 && f->fix[0] == '\0'));
	}
	T_INT(readlink("/proc/self/ns/user", user_ns_after, sizeof(user_ns_after) - 1),
	      strlen(user_ns));
	T_STR(user_ns_after, user_ns);
	T_INT(entries(dir), 2);
	T_INT(rmdir(dir), 0);
	T_TRUE(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static const char *fails_at_second(const void *arg)
{
	errno = EXDEV;
	return *(const int *)arg == 2 ? "second step" : NULL;
}

static void trials(void)
{
	struct trial t;
	int n = 2;

	T_INT(trial_run(fails_at_second, &n, &t), 0);
	T_STR(t.step, "second step");
	T_INT(t.sys, EXDEV);
	n = 1;
	T_INT(trial_run(fails_at_second, &n, &t), 0);
	T_TRUE(t.step == NULL);
}

/* Runs in a child, because the setting cannot be undone. */
static const char *with_no_new_privs(const void *arg)
{
	struct fact f;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return "prctl";
	fact_probe(FACT_SETUID_PROGRAMS, "/", &f);
	return f.yes || f.fix[0] == '\0' ? "no_new_privs was not noticed" : NULL;
}

static void no_new_privs(void)
{
	struct trial t;

	T_INT(trial_run(with_no_new_privs, NULL, &t), 0);
	if (t.step)
		T_FAIL("%s", t.step);
}

static void missing_directory(void)
{
	struct fact f;

	fact_probe(FACT_PROJECT_QUOTA, "/proc/nothing", &f);
	T_TRUE(!f.yes);
	T_INT(f.sys, ENOENT);
	T_STR(f.text, "open '/proc/nothing': No such file or directory");
}

static void own_cgroups(void)
{
	struct hierarchy_layout l;

	T_INT(hierarchy_find(&l), 0);
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		if (l.controller[c].version != 0)
			T_TRUE(access(l.controller[c].dir, F_OK) == 0);
}

int main(void)
{
	T_RUN(trials);
	T_RUN(every_fact);
	T_RUN(no_new_privs);
	T_RUN(missing_directory);
	T_RUN(own_cgroups);
	return t_end();
}
