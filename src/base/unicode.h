/*
 * Python's rules for characters. Some clients are Python programs, which trim, count and check text
 * by these rules. Our servers must get the same results as these clients.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define UNICODE_REPLACEMENT 0xfffdu

/* Removes the first character from REST, which must not be empty, and returns its code point. A
 * byte that does not begin a well-formed character counts as the character U+FFFD. */
uint32_t unicode_take(struct str *rest);
/* Returns how many characters S has, as len() does. */
size_t unicode_count(struct str s);
/* Does str.isspace() for one character. */
bool unicode_is_space(uint32_t c);
/* Does str.isalnum() for one character: a letter or a digit of any script. */
bool unicode_is_alnum(uint32_t c);
/* Returns S without white space at both ends, as str.strip() does. */
struct str unicode_trim(struct str s);
/* Removes the first line from REST and returns it with its line end, as
 * str.splitlines(keepends=True) does. */
struct str unicode_take_line(struct str *rest);
