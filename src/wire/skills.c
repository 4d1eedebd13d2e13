#include "wire/skills.h"

#include <errno.h>

void skills_message_begin(struct buf *b)
{
	buf_add_fill(b, 0, SKILLS_HEAD_BYTES);
}

void skills_message_end(struct buf *b)
{
	size_t n = b->n - SKILLS_HEAD_BYTES;

	if (buf_failed(b))
		return;
	for (unsigned i = 0; i < SKILLS_HEAD_BYTES; i++)
		b->p[i] = (char)(unsigned char)(n >> (8 * i));
}

int skills_message_size(const unsigned char head[SKILLS_HEAD_BYTES], size_t max, size_t *ret)
{
	size_t n = 0;

	for (unsigned i = 0; i < SKILLS_HEAD_BYTES; i++)
		n |= (size_t)head[i] << (8 * i);
	if (n == 0 || n > max)
		return -EMSGSIZE;
	*ret = n;
	return 0;
}
