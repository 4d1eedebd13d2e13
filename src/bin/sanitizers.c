/* Only builds with sanitizers have this file. Some of our programs are started without an
 * environment, so the settings of the sanitizers are compiled in. */

const char *__asan_default_options(void);

/* The search for leaks fails in a program that made itself non-dumpable. So the search is off by
 * default, and unit tests turn it on. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0:abort_on_error=1:detect_stack_use_after_return=1";
}
