/* Opens terminals in the sandbox's own devpts. Only pid 1 ever has the master of a terminal. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Opens a terminal and gives the slave to OWNER, an id of the outer namespace, as login does.
 * Returns 0 or -errno. */
MUST_USE int terminal_open(uint32_t owner, uint32_t rows, uint32_t cols, int *ret_master,
			   int *ret_slave);
void terminal_resize(int master, uint32_t rows, uint32_t cols);
bool terminal_has_size(int master, uint32_t rows, uint32_t cols);
