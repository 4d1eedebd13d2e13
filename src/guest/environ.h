/* The environment and the program of a command, made from the sandbox's settings and the EXEC message. */
#pragma once

#include "base/err.h"
#include "guest/users.h"
#include "wire/message.h"

#define SCRIPTS_DIR "/.msb/scripts"
#define FALLBACK_BIN_DIR "/.msb/bin"
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct environ_list {
	char **v; /* NULL-terminated, owned */
	size_t n;
};

/* Takes the sandbox's variables, then the message's. Puts SCRIPTS_DIR first in PATH. Adds HOME and TERM if missing. */
void environ_compose(struct environ_list *l, const struct boot_message *boot,
		     const struct exec_message *m, const struct user *u);
/* Lists the files to try for PROGRAM: PROGRAM itself if it has a slash, otherwise one file per directory of PATH. */
void environ_candidates(struct environ_list *l, const struct environ_list *env,
			const char *program);
void environ_done(struct environ_list *l);
