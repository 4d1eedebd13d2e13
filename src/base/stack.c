#include "base/stack.h"

#include <stdint.h>
#include <sys/mman.h>

#include "base/err.h"

#define PAGE_BYTES 4096u
#define TRIMMED_BYTES (128u << 10) /* as much as the kernel maps of a new one */

void stack_trim(void)
{
	/* not a variable's address: a sanitizer may keep it elsewhere */
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	/* the page that we are on and the next one are in use */
	uintptr_t end = (here & ~(uintptr_t)(PAGE_BYTES - 1)) - PAGE_BYTES;

	/* below the stack nothing is mapped, which is an error that changes nothing */
	IGNORE(madvise((void *)(end - TRIMMED_BYTES), TRIMMED_BYTES, MADV_DONTNEED));
}
