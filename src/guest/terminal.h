/* Terminals of the sandbox's own devpts; the master never leaves pid 1. */
#pragma once

#include <stdint.h>

#include "guest/users.h"

/* 0 or -errno. The slave is given to the user, as login would. */
MUST_USE int terminal_open(const struct user *u, uint32_t rows, uint32_t cols, int *ret_master,
			   int *ret_slave);
void terminal_resize(int master, uint32_t rows, uint32_t cols);
