/* The words records use for closed sets, by enum value and ended by NULL. Private to spec/. */
#pragma once

extern const char *const spec_pull_names[];
extern const char *const spec_root_disk_names[];
extern const char *const spec_want_names[];
extern const char *const spec_mount_names[];
