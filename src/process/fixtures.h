/*
 * Directories that are the same in every sandbox of root: /dev, and /sys with its mount points.
 * They are made once per machine and are read-only in sandboxes. A process in a sandbox can see in
 * /proc/self/mountinfo where they are on the host (/var/lib/cordon/fixtures-2). So this path must
 * not contain the name of a sandbox or of a user.
 */
#pragma once

#include <stdbool.h>

/* The devices that every sandbox has. */
struct fixture_node {
	const char *path, *name;
	unsigned major, minor;
};
extern const struct fixture_node fixture_nodes[];
#define FIXTURE_NODES 6

/* The symbolic links in /dev. */
struct fixture_link {
	const char *name, *to;
};
extern const struct fixture_link fixture_links[];
#define FIXTURE_LINKS 5

/* Opens both directories, and makes them if they are missing. Returns false if they cannot be made
 * or opened, or if the device nodes in /dev cannot be used. In that case the nodes of the host are
 * mounted one by one in the sandbox's /dev, and the sandbox's /sys is a new file system. */
bool fixtures_open(int *ret_sys, int *ret_dev);
