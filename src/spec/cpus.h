/*
 * Numbers of CPUs. Cordon counts CPUs in thousandths: 500 is half a CPU.
 *
 * In options and in JSON, CPUs are decimal numbers. Whole CPUs are written without a fraction.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"

#define CPUS_ONE 1000u /* thousandths in one CPU */
/* The smallest limit that a control group accepts: a quota of 1 ms in each period of 100 ms. */
#define CPUS_MIN_MILLI 10u
#define CPUS_DECIMALS 3u
#define CPUS_TEXT_BYTES 16

/* Parses a number such as "2", "0.5" or "1.25", of at most MAX CPUs. Returns 0, -EINVAL or
 * -ERANGE. */
MUST_USE int cpus_parse(const char *s, uint32_t max, uint32_t *ret_milli);
/* Writes a number such as "2", "0.5" or "1.25" to OUT and returns OUT. */
const char *cpus_text(uint32_t milli, char out[CPUS_TEXT_BYTES]);
static inline bool cpus_are_whole(uint32_t milli)
{
	return milli % CPUS_ONE == 0;
}

void cpus_write_json(struct json_writer *w, const char *key, uint32_t milli);
/* Reads a number of CPUs from CPUS_MIN_MILLI to SPEC_CPUS_MAX. Refuses more than CPUS_DECIMALS
 * decimals. If V is NULL, *RET_MILLI stays as it is. An error message begins with PATH. */
MUST_USE int cpus_read_json(const struct json_value *v, const char *path, uint32_t *ret_milli,
			    struct err *e);
