/*
 * Characters as Python sees them. Peers that are Python programs trim, count and judge text by these
 * rules, and a server that replaces one must agree with them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define UNICODE_REPLACEMENT 0xfffdu

/* Takes the first character off REST, which must not be empty. A byte that does not begin a well-formed
 * character counts as U+FFFD. */
uint32_t unicode_take(struct str *rest);
/* How many characters S has (len() in Python). */
size_t unicode_count(struct str s);
/* str.isspace() of one character. */
bool unicode_is_space(uint32_t c);
/* str.isalnum() of one character: a letter or a digit of any script. */
bool unicode_is_alnum(uint32_t c);
/* S without white space at both ends (str.strip()). */
struct str unicode_trim(struct str s);
/* Takes the first line off REST together with its line end, as str.splitlines(keepends=True) does. */
struct str unicode_take_line(struct str *rest);
