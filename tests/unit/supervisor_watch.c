/* Tests when the supervisor looks at the free space, measures a writable layer, and ends
 * commands. */
#include "supervisor/watch.h"

#include "t.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static struct watch_space space(uint64_t free_mib, uint64_t files_free)
{
	return (struct watch_space){ free_mib * MIB, 1024 * GIB, files_free, 10000000 };
}

static struct watch fresh(uint64_t free_mib)
{
	struct watch_space now = space(free_mib, 9000000);
	struct watch w;

	watch_init(&w, 4 * GIB, true, &now);
	return w;
}

static struct watch_order look(struct watch *w, uint64_t free_mib)
{
	struct watch_space now = space(free_mib, 9000000);

	return watch_look(w, &now, false);
}

static enum end_reason measured(struct watch *w, uint64_t mib)
{
	return watch_measured(w, &(struct watch_size){ mib * MIB, 1000 });
}

static void test_a_layer_that_cannot_be_too_large_is_not_measured(void)
{
	struct watch w = fresh(500000);
	struct watch_order o = look(&w, 500000);

	T_TRUE(!o.measure && !o.ask);
	T_INT(o.next_ms, WATCH_LATEST_MS);
	T_TRUE(!look(&w, 500000 - 4095).measure);
	T_TRUE(look(&w, 500000 - 4097).measure);
	T_TRUE(!look(&w, 500000 - 5000).measure); /* a measurement is under way */
}

static void test_looks_become_more_frequent(void)
{
	struct watch w = fresh(500000);
	unsigned last = WATCH_LATEST_MS;

	for (uint64_t lost = 0; lost < 4096; lost += 512) {
		unsigned next = look(&w, 500000 - lost).next_ms;

		T_TRUE(next <= last);
		last = next;
	}
	T_TRUE(last < 150);
	T_INT(look(&w, 500000 - 4090).next_ms, WATCH_SOONEST_MS);
	/* looks are also frequent if the disk is nearly full */
	w = fresh(1100);
	T_INT(look(&w, 1100).next_ms, (1100 - 1024) / 4);
}

/* Other processes took the space. So after the measurement, only later losses of space count. */
static void test_others_take_space(void)
{
	struct watch w = fresh(500000);

	T_TRUE(look(&w, 400000).measure);
	T_INT(measured(&w, 96), END_NONE);
	T_TRUE(!look(&w, 400000 - 3990).measure);
	T_TRUE(look(&w, 400000 - 4010).measure);
}

/* Space that other processes free must not hide later growth of the layer. */
static void test_others_give_space_back(void)
{
	struct watch w = fresh(500000);

	T_TRUE(!look(&w, 700000).measure);
	T_TRUE(look(&w, 700000 - 4100).measure);
}

static void test_too_large(void)
{
	struct watch w = fresh(500000);
	struct watch_order o;

	T_TRUE(look(&w, 490000).measure);
	T_INT(watch_counted(&w, 60), END_NONE);
	T_INT(measured(&w, 4097), END_LAYER);
	T_TRUE(watch_is_full(&w));
	/* bytes that the ended commands wrote must not count as later growth */
	o = look(&w, 480000);
	T_TRUE(o.measure && o.ask);
	T_INT(watch_counted(&w, 65), END_NONE);
	T_INT(measured(&w, 6000), END_NONE);
	for (unsigned i = 1; i < WATCH_LAST_LOOKS; i++) {
		T_TRUE(look(&w, 480000).ask);
		T_INT(watch_counted(&w, 70), END_NONE);
	}
	T_TRUE(!look(&w, 480000).ask);
	/* much free space has come back: commands may have deleted files, so measure again */
	T_TRUE(!look(&w, 480010).measure);
	T_TRUE(look(&w, 481000).measure);
	T_INT(measured(&w, 5000), END_NONE);
	T_TRUE(watch_is_full(&w));
	/* the layer grows because earlier writes reach the disk late: this is no fault */
	T_TRUE(look(&w, 480800).measure);
	T_INT(watch_counted(&w, 70), END_NONE);
	T_INT(measured(&w, 5200), END_NONE);
	T_TRUE(look(&w, 480800).ask);
	T_INT(watch_counted(&w, 70), END_NONE);
	/* the layer grows because new commands write: these commands are ended */
	T_TRUE(look(&w, 480600).measure);
	T_INT(watch_counted(&w, 70), END_NONE);
	T_INT(measured(&w, 5400), END_NONE);
	T_TRUE(look(&w, 480600).ask);
	T_INT(watch_counted(&w, 71), END_LAYER);
	/* when the layer is small again, it is watched as before */
	T_TRUE(look(&w, 486000).measure);
	T_INT(measured(&w, 100), END_NONE);
	T_TRUE(!watch_is_full(&w));
	/* earlier writes that reach the disk late do not end new commands, but new writes do */
	for (unsigned i = 0; i < WATCH_LAST_LOOKS; i++) {
		look(&w, 470000);
		T_INT(watch_counted(&w, 72), END_NONE);
		T_INT(measured(&w, 5000), END_NONE);
		T_TRUE(watch_is_full(&w));
	}
	look(&w, 460000);
	T_INT(watch_counted(&w, 72), END_NONE);
	T_INT(measured(&w, 6000), END_NONE);
	T_TRUE(look(&w, 460000).ask);
	T_INT(watch_counted(&w, 73), END_LAYER);
}

/* When the supervisor starts, the size of the layer is not known. */
static void test_found_too_large(void)
{
	struct watch_space now = space(500000, 9000000);
	struct watch w;

	watch_init(&w, 4 * GIB, false, &now);
	T_TRUE(!look(&w, 500000 - 60).measure);
	T_TRUE(look(&w, 500000 - 70).measure);
	T_INT(measured(&w, 5000), END_NONE);
	T_TRUE(watch_is_full(&w));
	T_INT(watch_counted(&w, 1), END_NONE);
	for (unsigned i = 1; i < WATCH_LAST_LOOKS; i++) {
		T_TRUE(look(&w, 500000 - 70).ask);
		T_INT(watch_counted(&w, 1), END_NONE);
	}
	T_TRUE(look(&w, 500000 - 200).ask);
	T_INT(watch_counted(&w, 1), END_NONE);
	T_INT(measured(&w, 5100), END_NONE);
	T_TRUE(look(&w, 500000 - 200).ask);
	T_INT(watch_counted(&w, 2), END_LAYER);
}

static void test_too_many_files(void)
{
	struct watch w = fresh(500000);
	struct watch_space now = space(500000, 9000000 - (4 * GIB / 4096) - 1);

	T_TRUE(watch_look(&w, &now, false).measure);
	T_INT(watch_measured(&w, &(struct watch_size){ MIB, UINT64_MAX }), END_FILES);
}

static void test_idle_after_too_large(void)
{
	struct watch w = fresh(500000);
	struct watch_space now = space(495000, 9000000);

	T_TRUE(look(&w, 495000).measure);
	T_INT(measured(&w, 5000), END_LAYER);
	/* no command runs any more, but the last commands may have deleted files */
	T_TRUE(watch_look(&w, &now, true).measure);
	T_INT(measured(&w, 1), END_NONE);
	T_TRUE(!watch_look(&w, &now, true).measure);
}

static void test_below_the_floor(void)
{
	struct watch w = fresh(1100);

	T_TRUE(!look(&w, 1030).ask);
	/* the free space is too small for the first time, so the watch asks how many bytes commands
	 * have written so far; later answers are compared with this one */
	T_TRUE(look(&w, 1000).ask);
	T_INT(watch_counted(&w, 7), END_NONE);
	T_TRUE(!look(&w, 1000).ask); /* the free space did not shrink since the last look */
	/* the commands have still written 7 bytes, so other processes took the space */
	T_TRUE(look(&w, 990).ask);
	T_INT(watch_counted(&w, 7), END_NONE);
	T_TRUE(!watch_is_full(&w));
	T_TRUE(look(&w, 980).ask);
	T_INT(watch_counted(&w, 8), END_SPACE);
	T_TRUE(watch_is_full(&w));
	/* bytes that the ended commands wrote do not end later commands */
	T_TRUE(look(&w, 970).ask);
	T_INT(watch_counted(&w, 9), END_NONE);
	/* files are deleted: new commands may write only when the free space is above the floor */
	T_TRUE(!look(&w, 1000).ask);
	T_TRUE(watch_is_full(&w));
	T_TRUE(!look(&w, 1500).ask);
	T_TRUE(!watch_is_full(&w));
}

static void test_the_floor_of_a_small_disk(void)
{
	struct watch_space now = { 50 * MIB, 500 * MIB, 0, 0 };
	struct watch w;

	watch_init(&w, 4 * GIB, true, &now);
	T_TRUE(!watch_look(&w, &now, false).ask);
	now.free = 24 * MIB;
	T_TRUE(watch_look(&w, &now, false).ask);
}

static void test_inodes(void)
{
	struct watch_space now = { 500 * GIB, 1000 * GIB, 51000, 1000000 };
	struct watch w;

	watch_init(&w, 4 * GIB, true, &now);
	T_TRUE(!watch_look(&w, &now, false).measure);
	now.files_free = 49000;
	T_TRUE(watch_look(&w, &now, false).measure);
	T_INT(watch_measured(&w, &(struct watch_size){ MIB, 2000 }), END_NONE);
	/* the layer still has 2000 files, so other processes made files */
	now.files_free = 48000;
	T_TRUE(watch_look(&w, &now, false).measure);
	T_INT(watch_measured(&w, &(struct watch_size){ MIB, 2000 }), END_NONE);
	now.files_free = 47000;
	T_TRUE(watch_look(&w, &now, false).measure);
	T_INT(watch_measured(&w, &(struct watch_size){ MIB, 3000 }), END_INODES);
	/* the 100 new files may be of the ended commands, which made them before they were dead */
	now.files_free = 46900;
	T_TRUE(watch_look(&w, &now, false).measure);
	T_INT(watch_measured(&w, &(struct watch_size){ MIB, 3100 }), END_NONE);
	T_TRUE(watch_is_full(&w));
	now.files_free = 60000;
	watch_look(&w, &now, false);
	T_TRUE(!watch_is_full(&w));
}

/* A payload that slows the measuring down must gain nothing by this. */
static void test_a_measurement_that_does_not_end(void)
{
	struct watch w = fresh(500000);
	struct watch_order o = look(&w, 495000);

	T_TRUE(o.measure && o.ask);
	T_INT(watch_counted(&w, 100), END_NONE);
	T_TRUE(!look(&w, 495000 - 500).ask);
	/* the commands have still written 100 bytes, so other processes took the space */
	T_TRUE(look(&w, 495000 - 600).ask);
	T_INT(watch_counted(&w, 100), END_NONE);
	T_TRUE(look(&w, 495000 - 700).ask);
	T_INT(watch_counted(&w, 200), END_LAYER);
	T_TRUE(watch_is_full(&w));
	/* this measurement began before the commands were ended, so it does not count */
	T_INT(measured(&w, 100), END_NONE);
	T_TRUE(watch_is_full(&w));
	T_TRUE(look(&w, 495000 - 700).measure);
	/* a new measurement shows that the layer is not too large */
	T_INT(measured(&w, 100), END_NONE);
	T_TRUE(!watch_is_full(&w));
}

static void test_measuring_is_not_possible(void)
{
	struct watch w = fresh(500000);

	T_TRUE(look(&w, 490000).measure);
	T_INT(watch_unmeasured(&w), END_LAYER);
	T_TRUE(!look(&w, 490000).measure);
}

int main(void)
{
	T_RUN(test_a_layer_that_cannot_be_too_large_is_not_measured);
	T_RUN(test_looks_become_more_frequent);
	T_RUN(test_others_take_space);
	T_RUN(test_others_give_space_back);
	T_RUN(test_too_large);
	T_RUN(test_found_too_large);
	T_RUN(test_too_many_files);
	T_RUN(test_idle_after_too_large);
	T_RUN(test_below_the_floor);
	T_RUN(test_the_floor_of_a_small_disk);
	T_RUN(test_inodes);
	T_RUN(test_a_measurement_that_does_not_end);
	T_RUN(test_measuring_is_not_possible);
	return t_end();
}
