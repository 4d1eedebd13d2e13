/*
 * Directories that are the same in every sandbox of root's, made once per machine and shown read-only:
 * /dev, and /sys with its two mount points. They are in a place that says nothing of whose sandbox it is,
 * since /proc/self/mountinfo tells it.
 */
#pragma once

#include <stdbool.h>

/* The devices every sandbox has. */
struct fixture_node {
	const char *path, *name;
	unsigned major, minor;
};
extern const struct fixture_node fixture_nodes[];
#define FIXTURE_NODES 6

/* What else is in /dev: links, and mount points. */
struct fixture_link {
	const char *name, *to;
};
extern const struct fixture_link fixture_links[];
#define FIXTURE_LINKS 5

/* Opens them, making what is missing. False: no nodes can be made or used there; then /dev shows the
 * host's one by one, and /sys is made anew. */
bool fixtures_open(int *ret_sys, int *ret_dev);
