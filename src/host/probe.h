/*
 * One probe for each fact of facts.h. The caller passes a fact F in which `yes` is false and the
 * texts are empty, and the probe fills it.
 */
#pragma once

#include "base/err.h"
#include "host/facts.h"

void fact_yes(struct fact *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
void fact_no(struct fact *f, int sys, const char *fmt, ...) PRINTF_LIKE(3, 4);
void fact_fix(struct fact *f, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* probe_walls.c */
void probe_user_namespace(const char *dir, struct fact *f);
void probe_subids(const char *dir, struct fact *f);
void probe_overlay(const char *dir, struct fact *f);
void probe_overlay_on_disk(const char *dir, struct fact *f);
void probe_fuse_overlayfs(const char *dir, struct fact *f);
void probe_mount_api(const char *dir, struct fact *f);
void probe_idmapped_mount(const char *dir, struct fact *f);
void probe_cgroup_memory(const char *dir, struct fact *f);
void probe_cgroup_cpu(const char *dir, struct fact *f);
void probe_cgroup_pids(const char *dir, struct fact *f);
void probe_cgroup_kill(const char *dir, struct fact *f);

/* probe_machine.c */
void probe_setuid_programs(const char *dir, struct fact *f);
void probe_landlock(const char *dir, struct fact *f);
void probe_tun(const char *dir, struct fact *f);
void probe_kvm(const char *dir, struct fact *f);
void probe_loop(const char *dir, struct fact *f);
void probe_project_quota(const char *dir, struct fact *f);

/* Finds a KVM module in the text of /proc/modules: "kvm_intel", "kvm_amd", "kvm_pvm", or NULL. */
const char *probe_kvm_vendor(const char *modules);
