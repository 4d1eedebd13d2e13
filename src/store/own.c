/*
 * The command `own`. If the ids of a user's sandbox are rotated, the user who runs cordon is the
 * user who works in the sandbox, and the sandbox's root has another id (base/rotation.h). The files
 * of the image must then have other owners on disk, because an ordinary user cannot map the ids of
 * a mount. So `own` makes a second form of each layer, with rotated owners. This form is unpacked
 * from the blobs once for each image and each user who works inside, and is removed together with
 * the layers. The queue of store/layers.h does the work.
 */
#include <string.h>

#include "base/str.h"
#include "image/store.h"
#include "store/commands.h"
#include "store/layers.h"
#include "store/owners.h"

static int parse_owner(const char *text, struct rotation *ret, struct err *e)
{
	struct str rest = str_of(text ? text : "");
	uint64_t uid, gid;

	if (parse_u64_str(str_cut(&rest, ':'), 0, OWNERS_ID_SQUASHED, &uid) < 0 || !rest.p ||
	    parse_u64_str(rest, 0, OWNERS_ID_SQUASHED, &gid) < 0)
		return err_set(e, ERR_USAGE, "cordon-image own: --owner UID:GID is missing or bad");
	*ret = (struct rotation){ (uint32_t)uid, (uint32_t)gid };
	return 0;
}

static int own(const struct store *store, const struct image_record *r,
	       const struct rotation *rotation, struct err *e)
{
	struct layers layers;
	int rc;

	layers_init(&layers, store, rotation);
	for (size_t i = 0; i < r->n_layers; i++)
		layers_add(&layers, r->layer[i].digest, r->layer[i].diff_id,
			   r->layer[i].size_bytes);
	rc = layers_run(&layers, e);
	layers_done(&layers);
	return rc;
}

int run_own(const struct options *o, struct err *e)
{
	struct rotation rotation;
	struct image_record r;
	struct store store;
	int rc;

	if (parse_owner(o->owner, &rotation, e) < 0 || store_open(o->home, &store, e) < 0)
		return -1;
	rc = image_store_find_digest(store.home_fd, o->arg[0], &r, e);
	if (rc == 0) {
		rc = own(&store, &r, &rotation, e);
		image_record_done(&r);
	}
	store_done(&store);
	return rc;
}
