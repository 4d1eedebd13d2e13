/*
 * The part of the host's /etc that the image `host` shows: configuration without which the programs in /usr do not work.
 *
 * It consists of a fixed list of names, and of what symbolic links near the top of /usr lead to. A file is copied
 * only if every user of the host may read it and may enter every directory above it. A link is copied only if it leads
 * to /usr or to another place in /etc. Files that name the users or the machine, and keys, are never copied, also if a link
 * leads to them.
 */
#pragma once

#include "base/buf.h"

/* Copies into TO, the new /etc. What TO has already stays as it is. A file that cannot be copied is left out. */
void host_etc_copy(int to);
/* Adds to OUT what tells an old copy from a current one. This function looks at a few files only, because every start
 * calls it. */
void host_etc_key(struct buf *out);
