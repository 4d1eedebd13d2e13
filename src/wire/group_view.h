/* The file systems that show a sandbox its own control groups, and the mount points of these file
 * systems. */
#pragma once

enum group_view {
	/* cgroup v2; the other views are cgroup v1 and never come together with this one */
	GROUP_VIEW_UNIFIED,
	GROUP_VIEW_MEMORY,
	GROUP_VIEW_CPU,
	GROUP_VIEW_CPUACCT,
	GROUP_VIEW_CPUSET,
	GROUP_VIEW_COUNT
};

/* The mount points below /sys. */
#define GROUP_VIEW_TOP "fs/cgroup"
static const char *const group_view_place[GROUP_VIEW_COUNT] = {
	[GROUP_VIEW_UNIFIED] = GROUP_VIEW_TOP,
	[GROUP_VIEW_MEMORY] = GROUP_VIEW_TOP "/memory",
	[GROUP_VIEW_CPU] = GROUP_VIEW_TOP "/cpu",
	[GROUP_VIEW_CPUACCT] = GROUP_VIEW_TOP "/cpuacct",
	[GROUP_VIEW_CPUSET] = GROUP_VIEW_TOP "/cpuset",
};
