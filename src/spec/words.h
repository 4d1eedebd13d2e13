/* The words for enum values in records, indexed by value, with a NULL at the end. Private to spec/. */
#pragma once

extern const char *const spec_pull_names[];
extern const char *const spec_root_disk_names[];
extern const char *const spec_want_names[];
extern const char *const spec_mount_names[];
