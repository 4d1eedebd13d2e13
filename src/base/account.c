#include "base/account.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ENTRY_MAX_BYTES 16384 /* a line of the password database is much shorter than this */

const char *account_home(char place[PATH_MAX])
{
	const char *home = getenv("HOME");
	char line[ENTRY_MAX_BYTES];
	struct passwd pw, *found = NULL;

	if (home && home[0] == '/')
		return home;
	if (getpwuid_r(getuid(), &pw, line, sizeof(line), &found) != 0 || !found || !pw.pw_dir ||
	    pw.pw_dir[0] != '/' || snprintf(place, PATH_MAX, "%s", pw.pw_dir) >= PATH_MAX)
		return NULL;
	return place;
}
