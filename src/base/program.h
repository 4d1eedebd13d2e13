/* Finds programs in one of three ways. The user's PATH is searched only for programs that the user
 * chose. All functions give an absolute path that the calling function frees. */
#pragma once

#include "base/err.h"

/* Finds one of our own programs: in the directory of the running program, or else where cordon
 * was installed. */
MUST_USE int program_ours(const char *name, char **ret, struct err *e);
/* Finds a program of the system in a fixed list of directories, or returns NULL. Does not search
 * PATH, because PATH may lead to another program of the same name. That program would get our
 * descriptors, or would lack the set-user-id bit that we need. */
char *program_of_system(const char *name);
/* Finds a program that the user chose. Searches only the absolute directories of PATH. Returns NULL
 * if there is no such program. */
char *program_of_user(const char *name);
