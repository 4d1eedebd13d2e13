/* Terminals of the sandbox's own devpts; the master never leaves pid 1. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* 0 or -errno. The slave is given to OWNER (an outer id), as login would. */
MUST_USE int terminal_open(uint32_t owner, uint32_t rows, uint32_t cols, int *ret_master,
			   int *ret_slave);
void terminal_resize(int master, uint32_t rows, uint32_t cols);
