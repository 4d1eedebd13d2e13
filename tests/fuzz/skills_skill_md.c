/* Parses any bytes as a skill. If the fields of the skill are written and parsed again, they must
 * be the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "skills/skill_md.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int differ(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) != 0 : a != b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_SKILL_MD one = { 0 }, two = { 0 };
	AUTO_BUF text = BUF_INIT(8 << 20);
	struct err e;

	if (!utf8_valid((const char *)data, size) ||
	    skill_md_read((struct str){ (const char *)data, size }, &one, &e) < 0 || !one.name)
		return 0;
	skill_md_write(&text, one.name, one.display_name, one.description, one.instructions);
	if (buf_failed(&text) || skill_md_read((struct str){ text.p, text.n }, &two, &e) < 0 ||
	    differ(one.name, two.name) || differ(one.display_name, two.display_name) ||
	    differ(one.description, two.description))
		abort();
	/* skill_md_read() drops line feeds before the instructions, so one.instructions begins with
	 * none. The second read drops only line feeds that skill_md_write() added, so the
	 * instructions must be equal. */
	if (one.instructions.n != two.instructions.n ||
	    (one.instructions.n &&
	     memcmp(one.instructions.p, two.instructions.p, one.instructions.n) != 0))
		abort();
	return 0;
}
