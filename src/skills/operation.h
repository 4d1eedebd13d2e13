/*
 * The operations that a peer may ask for. Each gets the store, the data of the request and a writer; it writes the
 * data of the reply, or fails with a reason.
 */
#pragma once

#include "base/json.h"
#include "skills/store.h"
#include "skills/why.h"

struct operation {
	const char *name;
	/* Failures are told by their own class; those of all others are BoxValidationError. */
	bool own_class;
	bool changes; /* it may leave rubbish (skills/sweep.h) */
	int (*run)(const struct store *s, const struct json_value *data, int file,
		   struct json_writer *w, struct why *y);
};

/* NULL if there is none of that name. */
const struct operation *operation_find(const char *name);

/* looking: look.c */
int run_list(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	     struct why *y);
int run_get(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	    struct why *y);
int run_scan(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	     struct why *y);
/* changing: change.c */
int run_create(const struct store *s, const struct json_value *data, int file,
	       struct json_writer *w, struct why *y);
int run_update(const struct store *s, const struct json_value *data, int file,
	       struct json_writer *w, struct why *y);
int run_delete(const struct store *s, const struct json_value *data, int file,
	       struct json_writer *w, struct why *y);
/* files of a package: files.c */
int run_list_files(const struct store *s, const struct json_value *data, int file,
		   struct json_writer *w, struct why *y);
int run_read(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	     struct why *y);
int run_write(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	      struct why *y);
/* uploaded archives: upload.c */
int run_preview_zip(const struct store *s, const struct json_value *data, int file,
		    struct json_writer *w, struct why *y);
int run_install_zip(const struct store *s, const struct json_value *data, int file,
		    struct json_writer *w, struct why *y);
