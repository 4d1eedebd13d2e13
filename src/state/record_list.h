/* The names of all records, newest first. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct home;

struct record_list {
	char **name;
	size_t n;
};
MUST_USE int record_list_all(const struct home *h, struct record_list *ret, struct err *e);
void record_list_done(struct record_list *l);
