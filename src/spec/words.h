/* The words that records use for enum values. Each array is indexed by value and ends with NULL.
 * Private to spec/. */
#pragma once

extern const char *const spec_pull_names[];
extern const char *const spec_root_disk_names[];
extern const char *const spec_want_names[];
extern const char *const spec_mount_names[];
