#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static uint64_t now_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

uint64_t clock_real_ns(void)
{
	return now_ns(CLOCK_REALTIME);
}

int clock_poll_ms(uint64_t deadline_ns)
{
	uint64_t now = clock_mono_ns();
	uint64_t left = deadline_ns <= now ? 0 : (deadline_ns - now) / NS_PER_MS + 1;

	return left > INT_MAX ? INT_MAX : (int)left;
}

static void stamp(uint64_t real_ns, struct tm *ret)
{
	time_t t = (time_t)(real_ns / NS_PER_SEC);

	gmtime_r(&t, ret);
}

void clock_rfc3339_ns(uint64_t real_ns, char out[CLOCK_RFC3339_BYTES])
{
	struct tm t;

	stamp(real_ns, &t);
	snprintf(out, CLOCK_RFC3339_BYTES, "%04u-%02u-%02uT%02u:%02u:%02u.%09llu+00:00",
		 (unsigned)(t.tm_year + 1900) % 10000u, (unsigned)(t.tm_mon + 1) % 100u,
		 (unsigned)t.tm_mday % 100u, (unsigned)t.tm_hour % 100u, (unsigned)t.tm_min % 100u,
		 (unsigned)t.tm_sec % 100u, (unsigned long long)(real_ns % NS_PER_SEC));
}

void clock_rfc3339_ms(uint64_t real_ns, char out[CLOCK_RFC3339_BYTES])
{
	struct tm t;

	stamp(real_ns, &t);
	snprintf(out, CLOCK_RFC3339_BYTES, "%04u-%02u-%02uT%02u:%02u:%02u.%03lluZ",
		 (unsigned)(t.tm_year + 1900) % 10000u, (unsigned)(t.tm_mon + 1) % 100u,
		 (unsigned)t.tm_mday % 100u, (unsigned)t.tm_hour % 100u, (unsigned)t.tm_min % 100u,
		 (unsigned)t.tm_sec % 100u, (unsigned long long)(real_ns % NS_PER_SEC / NS_PER_MS));
}

/* Converts a date and time in UTC to seconds since the epoch. */
static int64_t utc_seconds(int year, int month, int day, int hour, int min, int sec)
{
	/* counts in years that start in March, so that the leap day is the last day of a year */
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t yoe = y - era * 400;
	int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;

	return (era * 146097 + doe - 719468) * 86400 + hour * 3600 + min * 60 + sec;
}

void clock_local(uint64_t real_ns, char out[CLOCK_LOCAL_BYTES])
{
	time_t t = (time_t)(real_ns / NS_PER_SEC);
	struct tm tm;

	if (!localtime_r(&t, &tm) ||
	    strftime(out, CLOCK_LOCAL_BYTES, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		snprintf(out, CLOCK_LOCAL_BYTES, "-");
}

/* Reads a decimal number of WIDTH digits into *RET and moves *S behind the digits. Returns false if
 * there are other characters, or if the number is not between LO and HI. */
static bool digits(const char **s, int width, int lo, int hi, int *ret)
{
	int v = 0;

	for (int i = 0; i < width; i++, (*s)++) {
		if (**s < '0' || **s > '9')
			return false;
		v = v * 10 + (**s - '0');
	}
	*ret = v;
	return v >= lo && v <= hi;
}

static bool literal(const char **s, char c)
{
	return *(*s)++ == c;
}

int clock_parse_rfc3339(const char *s, uint64_t *ret_ns)
{
	int year, month, day, hour, min, sec, oh = 0, om = 0, sign = 1;
	uint64_t frac = 0, unit = NS_PER_SEC;
	int64_t t;

	if (!digits(&s, 4, 1970, 9999, &year) || !literal(&s, '-') ||
	    !digits(&s, 2, 1, 12, &month) || !literal(&s, '-') || !digits(&s, 2, 1, 31, &day) ||
	    (*s != 'T' && *s != 't' && *s != ' '))
		return -EINVAL;
	s++;
	if (!digits(&s, 2, 0, 23, &hour) || !literal(&s, ':') || !digits(&s, 2, 0, 59, &min) ||
	    !literal(&s, ':') || !digits(&s, 2, 0, 60, &sec))
		return -EINVAL;
	if (*s == '.') {
		s++;
		if (*s < '0' || *s > '9')
			return -EINVAL;
		for (; *s >= '0' && *s <= '9'; s++) {
			unit /= 10;
			frac += unit * (uint64_t)(*s - '0');
		}
	}
	if (*s == 'Z' || *s == 'z') {
		s++;
	} else {
		if (*s != '+' && *s != '-')
			return -EINVAL;
		sign = *s++ == '-' ? -1 : 1;
		if (!digits(&s, 2, 0, 23, &oh) || !literal(&s, ':') || !digits(&s, 2, 0, 59, &om))
			return -EINVAL;
	}
	if (*s != '\0')
		return -EINVAL;
	t = utc_seconds(year, month, day, hour, min, sec) - sign * (oh * 3600 + om * 60);
	/* refuse a time before 1970 or after mid-2554 */
	if (t < 0 || (uint64_t)t >= UINT64_MAX / NS_PER_SEC)
		return -EINVAL;
	*ret_ns = (uint64_t)t * NS_PER_SEC + frac;
	return 0;
}
