/* The environment and the program of a command, composed from what the sandbox and the call say. */
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

/* Sandbox's own, then the call's; PATH gets our scripts in front; HOME and TERM where missing. */
void environ_compose(struct environ_list *l, const struct boot_message *boot,
		     const struct exec_message *m, const struct user *u);
/* The files to try for PROGRAM: itself when it has a slash, else one per directory of PATH. */
void environ_candidates(struct environ_list *l, const struct environ_list *env,
			const char *program);
void environ_done(struct environ_list *l);
