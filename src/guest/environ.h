/* Makes a command's environment, and the paths at which its program may be, from the sandbox's
 * settings and the EXEC message. */
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

/* Makes the environment: the sandbox's variables, then the message's variables. Puts SCRIPTS_DIR
 * first in PATH and, if the sandbox has a fallback shell, FALLBACK_BIN_DIR last. Adds
 * HOME if it is missing. If the command has a terminal and TERM is missing, adds TERM. */
void environ_compose(struct environ_list *l, const struct boot_message *boot,
		     const struct exec_message *m, const struct user *u);
/* Lists the paths at which PROGRAM may be. If PROGRAM has a slash, the list has only PROGRAM
 * itself. Otherwise it has one path for each directory of PATH. */
void environ_candidates(struct environ_list *l, const struct environ_list *env,
			const char *program);
void environ_done(struct environ_list *l);
