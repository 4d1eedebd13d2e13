/* In the sanitizer build only. Programs that another program starts get no environment, so these settings are built
 * in. */

const char *__asan_default_options(void);

/* a program that made itself non-dumpable cannot be searched for leaks; unit tests can */
const char *__asan_default_options(void)
{
	return "detect_leaks=0:abort_on_error=1:detect_stack_use_after_return=1";
}
