/* In the sanitizer build only. Programs that another one starts get no environment, so what they need
 * to know is part of them. */

const char *__asan_default_options(void);

/* who made itself non-dumpable cannot be searched for leaks; unit tests are */
const char *__asan_default_options(void)
{
	return "detect_leaks=0:abort_on_error=1:detect_stack_use_after_return=1";
}
