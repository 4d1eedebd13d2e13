/*
 * The small process that starts the others of a Box server: it reads no peer. It opens the port, starts the process that
 * reads peers and that one's hands, hands on signals, and reaps when it is pid 1 of a container.
 */
#pragma once

#include "box/settings.h"

/* Runs until the server ends; the exit status. ARGV is handed on. */
int parent(const struct settings *s, int argc, char **argv);
