/*
 * The tree of all commands for args_main(), and the handlers of the commands. Each handler returns
 * the exit status. Most handlers are in the file that has the name of their command. Some files,
 * such as images.c and tool.c, hold the handlers of several commands.
 */
#pragma once

#include "cli/args.h"

extern const struct command cordon_root;

int cmd_init(const struct args *a);
int cmd_allow(const struct args *a);
int cmd_create(const struct args *a);
int cmd_run(const struct args *a);
int cmd_exec(const struct args *a);
int cmd_shell(const struct args *a);
int cmd_attach(const struct args *a);
int cmd_start(const struct args *a);
int cmd_stop(const struct args *a);
int cmd_restart(const struct args *a);
int cmd_remove(const struct args *a);
int cmd_list(const struct args *a);
int cmd_status(const struct args *a);
int cmd_inspect(const struct args *a);
int cmd_ps(const struct args *a);
int cmd_ping(const struct args *a);
int cmd_touch(const struct args *a);
int cmd_box_serve(const struct args *a);
int cmd_tool(const struct args *a);
int cmd_service_status(const struct args *a);
int cmd_service_sessions(const struct args *a);
int cmd_service_errors(const struct args *a);
int cmd_service_resolve(const struct args *a);
int cmd_service_exec(const struct args *a);
int cmd_service_cleanup(const struct args *a);
int cmd_logs(const struct args *a);
int cmd_metrics(const struct args *a);
int cmd_copy(const struct args *a);
int cmd_modify(const struct args *a);
int cmd_ssh(const struct args *a);
int cmd_pull(const struct args *a);
int cmd_load(const struct args *a);
int cmd_save(const struct args *a);
int cmd_image_list(const struct args *a);
int cmd_image_inspect(const struct args *a);
int cmd_image_remove(const struct args *a);
int cmd_image_prune(const struct args *a);
int cmd_registry_login(const struct args *a);
int cmd_registry_logout(const struct args *a);
int cmd_registry_list(const struct args *a);
int cmd_volume_create(const struct args *a);
int cmd_volume_list(const struct args *a);
int cmd_volume_inspect(const struct args *a);
int cmd_volume_remove(const struct args *a);
int cmd_snapshot(const struct args *a);
int cmd_prune(const struct args *a);
int cmd_df(const struct args *a);
int cmd_doctor(const struct args *a);
int cmd_install(const struct args *a);
int cmd_uninstall(const struct args *a);
int cmd_self_update(const struct args *a);
int cmd_self_uninstall(const struct args *a);
int cmd_completion(const struct args *a);
int cmd_context(const struct args *a);
int cmd_version(const struct args *a);
int cmd_help(const struct args *a);
