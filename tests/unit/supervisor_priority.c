/* Tests which processors a sandbox may use. */
#include "supervisor/priority.h"

#include "t.h"

static cpu_set_t set(unsigned bits)
{
	cpu_set_t s;

	CPU_ZERO(&s);
	for (unsigned i = 0; i < 32; i++)
		if (bits >> i & 1)
			CPU_SET(i, &s);
	return s;
}

static void processors(void)
{
	static const struct {
		unsigned mine, theirs, want;
	} cases[] = {
		{ 0xf, 0xf, 0xf },
		{ 0x3, 0xf, 0x3 },  /* the caller chose fewer processors */
		{ 0x1f, 0xf, 0xf }, /* one processor is reserved */
		{ 0x10, 0xf, 0xf }, /* the caller has only the reserved processor */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cpu_set_t mine = set(cases[i].mine), theirs = set(cases[i].theirs), got;
		cpu_set_t want = set(cases[i].want);

		priority_cpus(&mine, &theirs, &got);
		T_TRUE(CPU_EQUAL(&got, &want));
	}
}

int main(void)
{
	T_RUN(processors);
	return t_end();
}
