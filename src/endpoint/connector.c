#include "endpoint/connector.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "endpoint/way.h"
#include "service/default_workspace.h"

void connector_init(struct connector *c, struct service_config *config,
		    const struct interrupts *interrupts, bool wants_skills, bool patient)
{
	const struct runtime_config *r = &config->runtime;

	*c = (struct connector){ .config = config,
				 .interrupts = interrupts,
				 .wants_skills = wants_skills };
	reconnect_init(&c->reconnect, (uint64_t)r->reconnect_ms * NS_PER_MS,
		       clock_mono_ns() + (uint64_t)r->connect_sec * NS_PER_SEC);
	if (!patient || !config->enabled || r->kind != RUNTIME_WEBSOCKET)
		reconnect_end(&c->reconnect);
}

void connector_close(struct connector *c)
{
	int signal = c->way ? c->way->row->close(c->way) : 0;

	c->way = NULL;
	if (signal)
		c->signal = signal;
}

void connector_done(struct connector *c)
{
	fault_done(&c->unavailable);
	json_free(c->skills);
}

/* --- one attempt ----------------------------------------------------------------------------- */

/* Asks for the skills that calls may see. If the runtime has no skills for us, calls see none.
 * Fails only if the connection is lost. */
static int load_skills(struct connector *c)
{
	AUTO_FAULT f = { 0 };

	c->config->skills = NULL;
	json_free(c->skills);
	c->skills = NULL;
	if (c->way->row->skills(c->way, &c->skills, &f) == 0) {
		c->config->skills = json_get(json_root(c->skills), "skills");
		return 0;
	}
	if (f.again) {
		fault_move(&c->unavailable, &f);
		return -1;
	}
	log_line(LOG_WARN, "no skills are mounted: %s", f.text);
	return 0;
}

static int open_way(struct connector *c)
{
	if (!c->config->enabled)
		return fault_set(&c->unavailable, FAULT_BOX,
				 "the Box runtime is disabled by the configuration (box.enabled)");
	if (default_workspace_prepare(c->config, &c->unavailable) < 0)
		return -1;
	if (c->config->runtime.kind != RUNTIME_LOCAL)
		return way_open_endpoint(c->config, c->interrupts, c->reconnect.until_ns, &c->way,
					 &c->signal, &c->unavailable);
	c->way = way_open_local(c->config);
	return 0;
}

static int attempt(struct connector *c)
{
	if (open_way(c) < 0)
		return -1;
	if (!c->wants_skills || load_skills(c) == 0)
		return 0;
	connector_close(c);
	return -1;
}

/* --- waiting --------------------------------------------------------------------------------- */

static void tell(struct connector *c)
{
	if (!c->told)
		log_line(LOG_WARN, "%s; trying again for up to %lld seconds", c->unavailable.text,
			 (long long)c->config->runtime.connect_sec);
	c->told = true;
}

/* Waits for the time of the next attempt. Returns 0 when this time has come, or -1 if a signal
 * comes before or if waiting fails. */
static int wait_turn(struct connector *c)
{
	struct interrupt i;
	struct err e;

	if (c->interrupts->open(&i, &e) < 0)
		return fault_set(&c->unavailable, FAULT_BOX, "%s", e.msg);
	tell(c);
	c->signal = interrupt_wait(&i, c->reconnect.at_ns);
	c->interrupts->close(&i);
	return c->signal ? -1 : 0;
}

/* Waits and tries to connect, again and again, after reconnect_lost() has begun a loop of attempts.
 * Returns 0 when an attempt succeeds and c->way is set, or -1 when the loop ends without
 * success. */
static int run_loop(struct connector *c)
{
	while (c->reconnect.state == RECONNECT_WAITING) {
		if (wait_turn(c) < 0) {
			reconnect_end(&c->reconnect);
			break;
		}
		if (!reconnect_try(&c->reconnect, clock_mono_ns()))
			continue;
		if (attempt(c) == 0) {
			reconnect_succeeded(&c->reconnect);
			return 0;
		}
		if (c->signal || !c->unavailable.again)
			reconnect_end(&c->reconnect);
		else
			reconnect_failed(&c->reconnect, clock_mono_ns());
	}
	return -1;
}

void connector_open(struct connector *c)
{
	if (attempt(c) < 0 && !c->signal && c->unavailable.again &&
	    reconnect_lost(&c->reconnect, clock_mono_ns()))
		IGNORE(run_loop(c)); /* c->way tells whether an attempt succeeded */
}

int connector_again(struct connector *c, struct fault *f)
{
	connector_close(c);
	fault_set(&c->unavailable, FAULT_BOX, "Disconnected from Box runtime");
	if (c->signal || !f->again || !reconnect_lost(&c->reconnect, clock_mono_ns()))
		return -1;
	if (run_loop(c) == 0) {
		fault_done(f);
		return 0;
	}
	return fault_set(f, FAULT_BOX, "Disconnected from Box runtime, and then: %s",
			 c->unavailable.text);
}
