#include "registry/fetch.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* the pause before we look again at a blob that another process is fetching */
#define BUSY_PAUSE_MS 50
#define EXTRA_MAX 16

int fetch_init(struct fetch *f, const struct store *store, struct registry *r, struct err *e)
{
	*f = (struct fetch){ .store = store, .registry = r, .multi = curl_multi_init() };
	return f->multi ? 0 : err_set(e, ERR_SYSTEM, "no memory for transfers");
}

void fetch_add(struct fetch *f, const char *digest, uint64_t size_bytes, size_t endpoint)
{
	struct fetch_job *j;

	for (size_t i = 0; i < f->n_jobs; i++)
		if (strcmp(f->job[i].digest, digest) == 0)
			return;
	f->job = xreallocarray(f->job, f->n_jobs + 1, sizeof(*f->job));
	j = &f->job[f->n_jobs++];
	*j = (struct fetch_job){ .size_bytes = size_bytes, .endpoint = endpoint, .part.fd = -1 };
	memcpy(j->digest, digest, DIGEST_BYTES);
}

bool fetch_has(const struct fetch *f, const char *digest)
{
	for (size_t i = 0; i < f->n_jobs; i++)
		if (strcmp(f->job[i].digest, digest) == 0)
			return f->job[i].state == FETCH_DONE;
	return false;
}

/* --- one attempt ----------------------------------------------------------------------------- */

/* Decides whether the body is the blob (status 200 or 206) or an error page. An error page is not
 * stored. If the server ignores the header Range and sends the whole blob, the bytes of earlier
 * attempts are dropped. */
static int check_answer(struct fetch_job *j)
{
	long status = 0;

	curl_easy_getinfo(j->easy, CURLINFO_RESPONSE_CODE, &status);
	j->answered = status == 200 || status == 206;
	if (status == 200 && j->resumed) {
		j->resumed = false;
		return blob_part_restart(&j->part, &j->write_err);
	}
	return 0;
}

static size_t take_bytes(char *data, size_t size, size_t n, void *arg)
{
	struct fetch_job *j = arg;

	n *= size;
	if (!j->answered && check_answer(j) < 0)
		return 0;
	if (!j->answered)
		return n;
	if (n > j->size_bytes - j->part.n) {
		err_set(&j->write_err, ERR_PROTOCOL,
			"%s is longer than the %llu bytes it should have", j->digest,
			(unsigned long long)j->size_bytes);
		return 0;
	}
	if (blob_part_write(&j->part, data, n, &j->write_err) < 0)
		return 0;
	j->done_bytes = j->part.n;
	return n;
}

static void end_attempt(struct fetch *f, struct fetch_job *j)
{
	if (j->easy) {
		curl_multi_remove_handle(f->multi, j->easy);
		curl_easy_cleanup(j->easy);
		j->easy = NULL;
	}
	if (j->part.fd >= 0)
		blob_part_done(&j->part);
	j->state = FETCH_WAITING;
}

static void retry_in(struct fetch_job *j, unsigned ms)
{
	j->not_before_ns = clock_mono_ns() + ms * NS_PER_MS;
}

static int begin_attempt(struct fetch *f, struct fetch_job *j, struct err *e)
{
	bool busy;

	if (store_has_blob(f->store, j->digest, j->size_bytes)) {
		j->state = FETCH_DONE;
		j->done_bytes = j->size_bytes;
		return 0;
	}
	if (blob_part_open(f->store, j->digest, &j->part, &busy, e) < 0)
		return -1;
	if (busy) {
		j->part.fd = -1;
		retry_in(j, BUSY_PAUSE_MS);
		return 0;
	}
	if (j->part.n > j->size_bytes && blob_part_restart(&j->part, e) < 0)
		return -1;
	j->n_tries++;
	j->resumed = j->part.n > 0;
	j->answered = false;
	j->done_bytes = j->part.n;
	j->write_err.code = ERR_NONE;
	/* an earlier process got all bytes, but did not move them into the store */
	if (j->part.n == j->size_bytes) {
		j->state = FETCH_RUNNING;
		return 0;
	}
	j->easy = registry_blob_request(f->registry, j->endpoint, j->digest, j->part.n);
	if (!j->easy)
		return err_set(e, ERR_SYSTEM, "no memory for a transfer");
	curl_easy_setopt(j->easy, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(j->easy, CURLOPT_WRITEDATA, j);
	curl_easy_setopt(j->easy, CURLOPT_PRIVATE, j);
	if (curl_multi_add_handle(f->multi, j->easy) != CURLM_OK)
		return err_set(e, ERR_SYSTEM, "no memory for a transfer");
	j->state = FETCH_RUNNING;
	return 0;
}

/* Handles the end of a successful transfer: asks for missing bytes, or moves the complete blob into
 * the store. */
static int complete(struct fetch *f, struct fetch_job *j, struct err *e)
{
	bool resumed = j->resumed;

	if (j->part.n < j->size_bytes && j->n_tries < REGISTRY_TRIES_MAX) {
		/* the body was too short, so the next attempt asks for the rest */
		end_attempt(f, j);
		retry_in(j, REGISTRY_PAUSE_MS);
		return 0;
	}
	if (blob_part_commit(f->store, &j->part, j->size_bytes, e) == 0) {
		end_attempt(f, j);
		j->state = FETCH_DONE;
		return 0;
	}
	end_attempt(f, j);
	/* a power cut may have damaged the bytes of an earlier attempt; in this case we fetch the
	 * whole blob once more */
	if (e->code != ERR_PROTOCOL || !resumed || j->restart_tried)
		return -1;
	j->restart_tried = true;
	return 0;
}

static int finish_attempt(struct fetch *f, struct fetch_job *j, CURLcode result, struct err *e)
{
	enum registry_verdict v;
	unsigned ms = 0;
	long status = 0;

	if (j->write_err.code != ERR_NONE) {
		*e = j->write_err;
		end_attempt(f, j);
		return -1;
	}
	curl_easy_getinfo(j->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status == 416 && j->resumed &&
	    /* the server's blob is shorter than what we have, so we start again */
	    !j->restart_tried) {
		int r = blob_part_restart(&j->part, e);

		j->restart_tried = true;
		end_attempt(f, j);
		return r;
	}
	v = registry_judge(f->registry, j->endpoint, j->easy, result, j->n_tries, &j->authenticated,
			   &ms, e);
	if (v == REGISTRY_DONE)
		return complete(f, j, e);
	end_attempt(f, j);
	if (v == REGISTRY_AGAIN) {
		retry_in(j, ms);
		return 0;
	}
	if (j->endpoint + 1 < f->registry->n_endpoints) {
		j->endpoint++;
		j->n_tries = 0;
		j->authenticated = false;
		return 0;
	}
	return err_wrap(e, "%s", j->digest);
}

/* --- all blobs ------------------------------------------------------------------------------- */

static unsigned running(const struct fetch *f)
{
	unsigned n = 0;

	for (size_t i = 0; i < f->n_jobs; i++)
		n += f->job[i].state == FETCH_RUNNING;
	return n;
}

static int begin_some(struct fetch *f, struct err *e)
{
	uint64_t now = clock_mono_ns();

	for (size_t i = 0; i < f->n_jobs && running(f) < FETCH_PARALLEL_MAX; i++) {
		struct fetch_job *j = &f->job[i];

		if (j->state != FETCH_WAITING || j->not_before_ns > now)
			continue;
		if (begin_attempt(f, j, e) < 0)
			return -1;
		if (j->state == FETCH_RUNNING && !j->easy && complete(f, j, e) < 0)
			return -1;
	}
	return 0;
}

static int finish_some(struct fetch *f, struct err *e)
{
	int left, busy;
	CURLMsg *m;

	curl_multi_perform(f->multi, &busy);
	while ((m = curl_multi_info_read(f->multi, &left))) {
		CURLcode result = m->data.result;
		struct fetch_job *j = NULL;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&j);
		if (finish_attempt(f, j, result, e) < 0)
			return -1;
	}
	return 0;
}

int fetch_advance(struct fetch *f, bool *ret_done, struct err *e)
{
	bool done = true;

	if (begin_some(f, e) < 0 || finish_some(f, e) < 0)
		return -1;
	for (size_t i = 0; i < f->n_jobs; i++)
		done &= f->job[i].state == FETCH_DONE;
	*ret_done = done;
	return 0;
}

void fetch_wait(struct fetch *f, struct pollfd *extra, size_t n_extra, int ms)
{
	struct curl_waitfd fds[EXTRA_MAX];
	size_t n = n_extra < EXTRA_MAX ? n_extra : EXTRA_MAX;

	for (size_t i = 0; i < n; i++)
		fds[i] = (struct curl_waitfd){ extra[i].fd, CURL_WAIT_POLLIN, 0 };
	curl_multi_poll(f->multi, fds, (unsigned)n, ms, NULL);
}

void fetch_done(struct fetch *f)
{
	for (size_t i = 0; i < f->n_jobs; i++)
		end_attempt(f, &f->job[i]);
	if (f->multi)
		curl_multi_cleanup(f->multi);
	free(f->job);
	*f = (struct fetch){ 0 };
}
