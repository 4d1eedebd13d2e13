/* Variables that own memory or a descriptor. At the end of its block such a variable releases the
 * memory or the descriptor, unless fd_take() or TAKE() has passed it to another owner. This file
 * also has allocations whose result need not be checked. */
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline void fd_closep(int *fd)
{
	int saved = errno;

	/* never repeat close() after EINTR: Linux has already freed the descriptor */
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

static inline void free_p(void *p)
{
	int saved = errno;

	free(*(void **)p);
	*(void **)p = NULL;
	errno = saved;
}

#define AUTO_FD __attribute__((cleanup(fd_closep))) int
#define AUTO_FREE __attribute__((cleanup(free_p)))

/* Returns the descriptor. The variable no longer owns it. */
static inline int fd_take(int *fd)
{
	int v = *fd;

	*fd = -1;
	return v;
}

#define TAKE(p)                             \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

/* Prints "out of memory" on stderr and ends the program. */
__attribute__((noreturn)) void out_of_memory(void);

/* For small allocations whose size we choose. If there is no memory, these functions end the
 * program. */
static inline void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		out_of_memory();
	return p;
}

static inline void *xmalloc(size_t n)
{
	void *p = malloc(n);

	if (!p)
		out_of_memory();
	return p;
}

/* Makes the array P longer or shorter, so that it has N members of SIZE bytes. Returns the array,
 * which may have moved. The caller must have checked that N is within a limit. If there is no
 * memory, ends the program. */
static inline void *xreallocarray(void *p, size_t n, size_t size)
{
	p = reallocarray(p, n, size);
	if (!p)
		out_of_memory();
	return p;
}

char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n); /* copies at most the first N bytes of S */
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
