/*
 * The part of the host's /etc that the image `host` shows: configuration without which the programs
 * in /usr do not work.
 *
 * This part consists of the files on a fixed list, and of the files to which symbolic links near
 * the top of /usr lead. A file is copied only if every user of the host may read it and may enter
 * every directory above it. A link is copied only if it leads to /usr or to another place in /etc.
 * Files that hold keys, passwords, or names of users or of the machine are never copied, even if a
 * link leads to them.
 */
#pragma once

#include "base/buf.h"

/* Copies the files into the directory TO, the new /etc. Files that TO already has stay as they are.
 * A file that cannot be copied is left out. */
void host_etc_copy(int to);
/* Adds a text to OUT, by which an old copy can be recognised: the text changes when
 * programs are installed on the host. Every start calls this function, so the text depends on only
 * a few files. */
void host_etc_key(struct buf *out);
