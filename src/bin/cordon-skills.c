/*
 * cordon-skills ROOT [SOURCE [REFUSED…]]: does the operations on skills for the process that
 * started it.
 *
 * Standard input is a socket to that process (wire/skills.h). ROOT is the directory of all skills.
 * SOURCE is a directory from which skills are imported. If there is a SOURCE, the process at the
 * other end sends only one request and then closes the socket. An empty SOURCE counts as no SOURCE.
 * ROOT and SOURCE must not be in a REFUSED directory, nor contain one.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/err.h"
#include "base/log.h"
#include "base/say.h"
#include "skills/confine.h"
#include "skills/serve.h"
#include "skills/store.h"

static int run(const char *root, const char *source, const char *const *refused, struct err *e)
{
	struct places p;
	bool ready = places_open(root, source, refused, &p, e) == 0 && skills_confine(&p, e) == 0;
	int r = serve_hello(STDIN_FILENO, &p, ready ? NULL : e);

	if (r < 0)
		r = err_sys(e, -r, "speak to the owner of this worker");
	else
		r = ready ? serve(STDIN_FILENO, &p, e) : -1;
	places_done(&p);
	return r;
}

int main(int argc, char **argv)
{
	const char *source = argc > 2 && *argv[2] ? argv[2] : NULL;
	struct err e;

	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		printf("cordon-skills %s\n", CORDON_VERSION);
		return 0;
	}
	if (argc < 2 || !*argv[1]) {
		fputs("usage: cordon-skills ROOT [SOURCE [REFUSED...]], "
		      "with a socket as standard input\n",
		      stderr);
		return 2;
	}
	/* if the process that started us is gone, or a file reaches its size limit, a write must
	 * fail and not kill us */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sys_close_range(3, ~0u, 0);
	say_set_plain(); /* a path in a message must not start a new line */
	log_set("warn", "cordon-skills", false);
	if (run(argv[1], source, argc > 3 ? (const char *const *)argv + 3 : NULL, &e) == 0)
		return 0;
	err_wrap(&e, "cordon-skills");
	say_error(&e);
	return 1;
}
