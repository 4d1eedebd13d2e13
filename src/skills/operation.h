/*
 * The operations that a peer may request. Each operation reads the data of the request, and then
 * writes the data of the reply or fails with a reason.
 */
#pragma once

#include "base/json.h"
#include "skills/store.h"
#include "skills/why.h"

struct operation {
	const char *name;
	/* If true, peers see the class of the failure, from struct why. If false, peers see a
	 * BoxValidationError for every failure. */
	bool own_class;
	bool changes; /* the operation may leave files that must be erased later (skills/sweep.h) */
	int (*run)(const struct store *s, const struct json_value *data, int file,
		   struct json_writer *w, struct why *y);
};

/* Returns NULL if no operation has that name. */
const struct operation *operation_find(const char *name);

/* queries.c: operations that change nothing */
int run_list(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	     struct why *y);
int run_get(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	    struct why *y);
int run_scan(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	     struct why *y);
/* change.c: operations that make, change and delete skills */
int run_create(const struct store *s, const struct json_value *data, int file,
	       struct json_writer *w, struct why *y);
int run_update(const struct store *s, const struct json_value *data, int file,
	       struct json_writer *w, struct why *y);
int run_delete(const struct store *s, const struct json_value *data, int file,
	       struct json_writer *w, struct why *y);
/* files.c: operations on the files of a package */
int run_list_files(const struct store *s, const struct json_value *data, int file,
		   struct json_writer *w, struct why *y);
int run_read(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	     struct why *y);
int run_write(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	      struct why *y);
/* upload.c: operations on uploaded archives */
int run_preview_zip(const struct store *s, const struct json_value *data, int file,
		    struct json_writer *w, struct why *y);
int run_install_zip(const struct store *s, const struct json_value *data, int file,
		    struct json_writer *w, struct why *y);
