/*
 * The small process that starts the other processes of a Box server. It reads nothing from a peer.
 * It opens the port, starts the server process and its hands, forwards signals, and reaps orphans
 * if it is pid 1 of a container.
 */
#pragma once

#include <stdint.h>

#include "box/settings.h"

/* Runs until the server ends. Returns the exit status. The server process gets the same ARGV. The
 * hands, and with them the sandboxes, get NOFILE as their soft limit of open files. */
int parent(const struct settings *s, uint64_t nofile, int argc, char **argv);
