#include "base/stack.h"

#include <stdint.h>
#include <sys/mman.h>

#include "base/err.h"

#define PAGE_BYTES 4096u
#define TRIMMED_BYTES (128u << 10) /* how much the kernel maps for a new stack */

void stack_trim(void)
{
	/* use the address of the frame, because a sanitizer may keep variables off the stack */
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	/* keep the current page of the stack and the page below, because both are in use */
	uintptr_t end = (here & ~(uintptr_t)(PAGE_BYTES - 1)) - PAGE_BYTES;

	/* if nothing is mapped below the stack, madvise() fails and changes nothing */
	IGNORE(madvise((void *)(end - TRIMMED_BYTES), TRIMMED_BYTES, MADV_DONTNEED));
}
