/* Finds programs in one of three ways. The caller's PATH is used only for programs that the caller chose. All
 * functions give an absolute path that the caller frees. */
#pragma once

#include "base/err.h"

/* Finds one of our own programs: beside the running program, or else where cordon was installed. */
MUST_USE int program_ours(const char *name, char **ret, struct err *e);
/* Finds a program of the system in a fixed list of directories, or returns NULL. PATH is not trusted, because
 * these programs may be set-user-id or get descriptors of ours. */
char *program_of_system(const char *name);
/* Finds a program of the user in the absolute directories of PATH, or returns NULL. */
char *program_of_user(const char *name);
