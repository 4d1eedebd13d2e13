/*
 * The connection of the service to its runtime. The connector prepares the default workspace,
 * connects, and asks for the skills if WANTS_SKILLS is true. After a loss it marks the runtime as
 * unavailable, waits (endpoint/reconnect.h) and does all of this again.
 *
 * The connector waits only for a Box server that others run (RUNTIME_WEBSOCKET), because such a
 * server may be restarting. The member `again` of a fault (service/fault.h) says whether waiting
 * can help.
 */
#pragma once

#include "endpoint/interrupt.h"
#include "endpoint/reconnect.h"
#include "service/way.h"

struct connector {
	struct service_config *config;       /* borrowed; the connector sets its member `skills` */
	const struct interrupts *interrupts; /* borrowed */
	bool wants_skills;
	struct way *way;          /* NULL while the runtime is unavailable */
	struct fault unavailable; /* says why WAY is NULL */
	struct json_doc *skills;
	struct reconnect reconnect;
	int signal; /* the signal that ended a call or a wait, or 0 */
	bool told;  /* the user knows that the connector waits */
};

/* CONFIG and INTERRUPTS must live as long as the connector. If PATIENT is false, the connector
 * makes one attempt and never waits. */
void connector_init(struct connector *c, struct service_config *config,
		    const struct interrupts *interrupts, bool wants_skills, bool patient);
/* Connects. If this fails, c->way is NULL. */
void connector_open(struct connector *c);
/* Connects again after an action failed with F. Returns 0 if the caller can do the action again.
 * Otherwise returns -1. If attempts to connect have failed, F then also tells why. */
MUST_USE int connector_again(struct connector *c, struct fault *f);
/* Closes the way. If the server is our child, ends the server. */
void connector_close(struct connector *c);
void connector_done(struct connector *c);
