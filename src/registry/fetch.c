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
	struct fetch_item *it;

	for (size_t i = 0; i < f->n_items; i++)
		if (strcmp(f->item[i].digest, digest) == 0)
			return;
	f->item = xreallocarray(f->item, f->n_items + 1, sizeof(*f->item));
	it = &f->item[f->n_items++];
	*it = (struct fetch_item){ .size_bytes = size_bytes, .endpoint = endpoint, .part.fd = -1 };
	memcpy(it->digest, digest, DIGEST_BYTES);
}

bool fetch_has(const struct fetch *f, const char *digest)
{
	for (size_t i = 0; i < f->n_items; i++)
		if (strcmp(f->item[i].digest, digest) == 0)
			return f->item[i].state == FETCH_DONE;
	return false;
}

/* --- one attempt ----------------------------------------------------------------------------- */

/* Decides whether the body is the blob (status 200 or 206) or an error page. An error page is not
 * stored. If the server ignores the header Range and sends the whole blob, the bytes of earlier
 * attempts are dropped. */
static int check_answer(struct fetch_item *it)
{
	long status = 0;

	curl_easy_getinfo(it->easy, CURLINFO_RESPONSE_CODE, &status);
	it->answered = status == 200 || status == 206;
	if (status == 200 && it->resumed) {
		it->resumed = false;
		return blob_part_restart(&it->part, &it->write_err);
	}
	return 0;
}

static size_t take_bytes(char *data, size_t size, size_t n, void *arg)
{
	struct fetch_item *it = arg;

	n *= size;
	if (!it->answered && check_answer(it) < 0)
		return 0;
	if (!it->answered)
		return n;
	if (n > it->size_bytes - it->part.n) {
		err_set(&it->write_err, ERR_PROTOCOL,
			"%s is longer than the %llu bytes it should have", it->digest,
			(unsigned long long)it->size_bytes);
		return 0;
	}
	if (blob_part_write(&it->part, data, n, &it->write_err) < 0)
		return 0;
	it->done_bytes = it->part.n;
	return n;
}

static void end_attempt(struct fetch *f, struct fetch_item *it)
{
	if (it->easy) {
		curl_multi_remove_handle(f->multi, it->easy);
		curl_easy_cleanup(it->easy);
		it->easy = NULL;
	}
	if (it->part.fd >= 0)
		blob_part_done(&it->part);
	it->state = FETCH_WAITING;
}

static void retry_in(struct fetch_item *it, unsigned ms)
{
	it->not_before_ns = clock_mono_ns() + ms * NS_PER_MS;
}

static int begin_attempt(struct fetch *f, struct fetch_item *it, struct err *e)
{
	bool busy;

	if (store_has_blob(f->store, it->digest, it->size_bytes)) {
		it->state = FETCH_DONE;
		it->done_bytes = it->size_bytes;
		return 0;
	}
	if (blob_part_open(f->store, it->digest, &it->part, &busy, e) < 0)
		return -1;
	if (busy) {
		it->part.fd = -1;
		retry_in(it, BUSY_PAUSE_MS);
		return 0;
	}
	if (it->part.n > it->size_bytes && blob_part_restart(&it->part, e) < 0)
		return -1;
	it->n_tries++;
	it->resumed = it->part.n > 0;
	it->answered = false;
	it->done_bytes = it->part.n;
	it->write_err.code = ERR_NONE;
	/* an earlier process got all bytes, but did not move them into the store */
	if (it->part.n == it->size_bytes) {
		it->state = FETCH_RUNNING;
		return 0;
	}
	it->easy = registry_blob_request(f->registry, it->endpoint, it->digest, it->part.n);
	if (!it->easy)
		return err_set(e, ERR_SYSTEM, "no memory for a transfer");
	curl_easy_setopt(it->easy, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(it->easy, CURLOPT_WRITEDATA, it);
	curl_easy_setopt(it->easy, CURLOPT_PRIVATE, it);
	if (curl_multi_add_handle(f->multi, it->easy) != CURLM_OK)
		return err_set(e, ERR_SYSTEM, "no memory for a transfer");
	it->state = FETCH_RUNNING;
	return 0;
}

/* Handles the end of a successful transfer: asks for missing bytes, or moves the complete blob into
 * the store. */
static int complete(struct fetch *f, struct fetch_item *it, struct err *e)
{
	bool resumed = it->resumed;

	if (it->part.n < it->size_bytes && it->n_tries < REGISTRY_TRIES_MAX) {
		/* the body was too short, so the next attempt asks for the rest */
		end_attempt(f, it);
		retry_in(it, REGISTRY_PAUSE_MS);
		return 0;
	}
	if (blob_part_commit(f->store, &it->part, it->size_bytes, e) == 0) {
		end_attempt(f, it);
		it->state = FETCH_DONE;
		return 0;
	}
	end_attempt(f, it);
	/* a power cut may have damaged the bytes of an earlier attempt; in this case we fetch the
	 * whole blob once more */
	if (e->code != ERR_PROTOCOL || !resumed || it->restart_tried)
		return -1;
	it->restart_tried = true;
	return 0;
}

static int finish_attempt(struct fetch *f, struct fetch_item *it, CURLcode result, struct err *e)
{
	enum registry_verdict v;
	unsigned ms = 0;
	long status = 0;

	if (it->write_err.code != ERR_NONE) {
		*e = it->write_err;
		end_attempt(f, it);
		return -1;
	}
	curl_easy_getinfo(it->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status == 416 && it->resumed &&
	    /* the server's blob is shorter than what we have, so we start again */
	    !it->restart_tried) {
		int r = blob_part_restart(&it->part, e);

		it->restart_tried = true;
		end_attempt(f, it);
		return r;
	}
	v = registry_judge(f->registry, it->endpoint, it->easy, result, it->n_tries,
			   &it->authenticated, &ms, e);
	if (v == REGISTRY_DONE)
		return complete(f, it, e);
	end_attempt(f, it);
	if (v == REGISTRY_AGAIN) {
		retry_in(it, ms);
		return 0;
	}
	if (it->endpoint + 1 < f->registry->n_endpoints) {
		it->endpoint++;
		it->n_tries = 0;
		it->authenticated = false;
		return 0;
	}
	return err_wrap(e, "%s", it->digest);
}

/* --- all blobs ------------------------------------------------------------------------------- */

static unsigned running(const struct fetch *f)
{
	unsigned n = 0;

	for (size_t i = 0; i < f->n_items; i++)
		n += f->item[i].state == FETCH_RUNNING;
	return n;
}

static int begin_some(struct fetch *f, struct err *e)
{
	uint64_t now = clock_mono_ns();

	for (size_t i = 0; i < f->n_items && running(f) < FETCH_PARALLEL_MAX; i++) {
		struct fetch_item *it = &f->item[i];

		if (it->state != FETCH_WAITING || it->not_before_ns > now)
			continue;
		if (begin_attempt(f, it, e) < 0)
			return -1;
		if (it->state == FETCH_RUNNING && !it->easy && complete(f, it, e) < 0)
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
		struct fetch_item *it = NULL;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&it);
		if (finish_attempt(f, it, result, e) < 0)
			return -1;
	}
	return 0;
}

int fetch_advance(struct fetch *f, bool *ret_done, struct err *e)
{
	bool done = true;

	if (begin_some(f, e) < 0 || finish_some(f, e) < 0)
		return -1;
	for (size_t i = 0; i < f->n_items; i++)
		done &= f->item[i].state == FETCH_DONE;
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
	for (size_t i = 0; i < f->n_items; i++)
		end_attempt(f, &f->item[i]);
	if (f->multi)
		curl_multi_cleanup(f->multi);
	free(f->item);
	*f = (struct fetch){ 0 };
}
