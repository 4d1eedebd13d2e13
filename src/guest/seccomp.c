#include "guest/seccomp.h"

#include <string.h>

const struct sock_filter *seccomp_choose(unsigned switches)
{
	static struct sock_filter copy[SECCOMP_FILTER_MAX];

	if (!switches)
		return seccomp_filter; /* no switch is on, so no copy is needed */
	memcpy(copy, seccomp_filter, seccomp_filter_len * sizeof(copy[0]));
	for (unsigned i = 0; i < seccomp_filter_clauses_len; i++)
		if (switches & seccomp_filter_clauses[i].boot_switch)
			copy[seccomp_filter_clauses[i].at].k =
				0; /* the jump now leads to the clause, not over it */
	return copy;
}
