#include "wire/refusals.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

int refusals_new(void)
{
	AUTO_FD fd = memfd_create("refusals", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	/* the size is fixed, so that the other side cannot shrink the memory and make our accesses
	 * fail */
	if (fd < 0 || ftruncate(fd, sizeof(struct refusals)) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	return fd_take(&fd);
}

struct refusals *refusals_map(int fd, bool writable)
{
	void *p = mmap(NULL, sizeof(struct refusals), writable ? PROT_READ | PROT_WRITE : PROT_READ,
		       MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Returns the place of the refusal WHAT. If WHAT is not in the list, returns the place of the
 * oldest refusal, which the caller overwrites. */
static struct refusal *place_of(struct refusals *r, const char *what)
{
	struct refusal *oldest = &r->item[0];

	for (struct refusal *i = r->item; i < r->item + REFUSALS_KEPT; i++) {
		if (strncmp(i->what, what, REFUSAL_WHAT_BYTES - 1) == 0)
			return i;
		if (r->count - i->last > r->count - oldest->last)
			oldest = i;
	}
	return oldest;
}

/* Copies FROM to TO. Cuts the text so that it fits into SIZE bytes with its terminating zero. */
static void set_text(char *to, const char *from, size_t size)
{
	size_t n = strnlen(from, size - 1);

	memcpy(to, from, n);
	to[n] = '\0';
}

void refusals_add(struct refusals *r, const char *what, const char *rule)
{
	struct refusal *i = place_of(r, what);

	set_text(i->what, what, sizeof(i->what));
	set_text(i->rule, strlen(rule) < sizeof(i->rule) ? rule : "", sizeof(i->rule));
	i->last = r->count + 1;
	/* store the count last: when pid 1 sees the new count, it also sees the new texts */
	__atomic_store_n(&r->count, r->count + 1, __ATOMIC_RELEASE);
}

uint32_t refusals_count(const struct refusals *r)
{
	return __atomic_load_n(&r->count, __ATOMIC_ACQUIRE);
}

/* Copies FROM, a text that the gateway may be changing during the copy. */
static void copy_text(char *to, const char *from, size_t size)
{
	memcpy(to, from, size - 1);
	to[size - 1] = '\0';
}

void refusals_since(const struct refusals *r, uint32_t since, struct refused *ret)
{
	uint32_t count = refusals_count(r), below = 0;

	*ret = (struct refused){ .n = count - since };
	/* the latest refusal has the age 0, and each turn of the loop finds the next older
	 * refusal */
	while (ret->shown < REFUSALS_SHOWN) {
		const struct refusal *next = NULL;
		uint32_t age = ret->n;

		for (size_t i = 0; i < REFUSALS_KEPT; i++) {
			uint32_t its = count - r->item[i].last;

			if (its >= below && its < age) {
				age = its;
				next = &r->item[i];
			}
		}
		if (!next)
			break;
		copy_text(ret->item[ret->shown].what, next->what, sizeof(next->what));
		copy_text(ret->item[ret->shown].rule, next->rule, sizeof(next->rule));
		ret->shown++;
		below = age + 1;
	}
}
