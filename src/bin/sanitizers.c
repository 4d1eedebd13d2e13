/* Only the sanitizer build has this file. Programs that another program starts get no environment, so these settings are
 * built in. */

const char *__asan_default_options(void);

/* The search for leaks fails in a program that made itself non-dumpable. Unit tests turn the search on. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0:abort_on_error=1:detect_stack_use_after_return=1";
}
