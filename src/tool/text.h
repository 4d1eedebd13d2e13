/* Prints the answers of `cordon service` for people, as tables instead of JSON. */
#pragma once

#include "base/json.h"

/* Appends V as a table. An object has a row for each member. An array of objects has a row for each
 * object, with the columns of the command VERB. */
void text_write(const char *verb, const struct json_value *v, struct buf *out);
