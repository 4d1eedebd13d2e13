/*
 * All commands: the tree that args_main() walks, and the handlers it ends in. Each handler lives in
 * the file named after its command and returns the exit status.
 */
#pragma once

#include "cli/args.h"

extern const struct command cordon_root;

int cmd_create(const struct args *a);
int cmd_run(const struct args *a);
int cmd_exec(const struct args *a);
int cmd_attach(const struct args *a);
int cmd_start(const struct args *a);
int cmd_stop(const struct args *a);
int cmd_restart(const struct args *a);
int cmd_remove(const struct args *a);
int cmd_list(const struct args *a);
int cmd_status(const struct args *a);
int cmd_inspect(const struct args *a);
int cmd_ping(const struct args *a);
int cmd_touch(const struct args *a);
int cmd_doctor(const struct args *a);
int cmd_version(const struct args *a);
int cmd_help(const struct args *a);
