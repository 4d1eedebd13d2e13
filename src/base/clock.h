/* Time. Deadlines use the monotonic clock; times that people read use the real-time clock. */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_SEC 1000000000ull
#define NS_PER_MS 1000000ull

uint64_t clock_mono_ns(void);
uint64_t clock_real_ns(void);
/* Returns the milliseconds until DEADLINE_NS on the monotonic clock, for poll(): rounded up, at
 * most INT_MAX, and 0 if the deadline has passed. */
int clock_poll_ms(uint64_t deadline_ns);

#define CLOCK_RFC3339_BYTES 40
/* Writes "2026-01-02T03:04:05.678901234+00:00". */
void clock_rfc3339_ns(uint64_t real_ns, char out[CLOCK_RFC3339_BYTES]);
/* Writes "2026-01-02T03:04:05.678Z", the form of log records. */
void clock_rfc3339_ms(uint64_t real_ns, char out[CLOCK_RFC3339_BYTES]);
#define CLOCK_LOCAL_BYTES 32
/* Writes "2026-01-02 03:04:05" in the local time zone. */
void clock_local(uint64_t real_ns, char out[CLOCK_LOCAL_BYTES]);
/* Parses a time in the form of RFC 3339, such as "2026-01-02T03:04:05.678+01:00". The seconds
 * may have any number of decimals or none, and the time zone is Z or an offset. *RET_NS is the time
 * in nanoseconds since 1970. Returns 0 or -EINVAL. */
int clock_parse_rfc3339(const char *s, uint64_t *ret_ns);
