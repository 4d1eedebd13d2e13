/*
 * The network of one sandbox, as its supervisor holds it: the link, and the gateway behind it.
 *
 * The gateway is started at the first frame on the link, at once when a port is published, and
 * again at the next frame after it died; until then a sandbox with a network costs its interface
 * and nothing else. The supervisor polls the link and never reads it.
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/json.h"
#include "loop/loop.h"
#include "policy/addr.h"
#include "policy/lease.h"
#include "spec/spec.h"

struct network;

/* None of these may free the network. */
struct network_events {
	/* A refusal, for the log: told once by each gateway. */
	void (*denied)(void *arg, const char *text);
	/* A gateway runs. It waits for its configuration and has opened nothing yet. */
	void (*born)(void *arg, pid_t pid);
	/* The gateway serves: PORTS is the array of ports with their real numbers. Or it could not
	 * start: FAILURE says why (a taken port, mostly), and PORTS is NULL. */
	void (*started)(void *arg, const struct json_value *ports, const struct err *failure);
	void *arg;
};

struct network_counters {
	uint64_t rx_bytes, tx_bytes; /* of all gateways this sandbox had */
};

/* Whom the gateway becomes when we are root. */
struct network_ids {
	bool set;
	uint32_t uid, gid;
};

/* PROGRAM is the path of cordon-gateway. EVENTS is copied. */
MUST_USE int network_new(struct loop *loop, const struct spec *spec, const char *program,
			 const struct network_events *events, struct network **ret, struct err *e);
/* Ends the gateway and gives the link back, or -1. Only network_free() may follow. */
int network_end(struct network *n);
/* Ends the gateway and closes the link. */
void network_free(struct network *n);

/* The addresses of both ends of the link, borrowed. */
const struct lease *network_lease(const struct network *n);
/* Before the first gateway: whom it becomes. */
void network_set_ids(struct network *n, struct network_ids ids);
/* /etc/resolv.conf inside, and the line of /etc/hosts for host.microsandbox.internal. */
void network_resolv_conf(const struct network *n, struct buf *out);
void network_hosts_line(const struct network *n, struct buf *out);

/* The path of the gateway's program, borrowed. */
const char *network_program(const struct network *n);
/* Somebody gave a resolver, which may be a name. */
bool network_has_resolver(const struct network *n);
/* Takes the host's list of resolvers over, open for reading: for gateways that cannot open it. */
void network_set_resolv_conf(struct network *n, int fd);
/* Addresses that lead to this host though it does not have them; copied. */
void network_set_host_addresses(struct network *n, const struct cidr *list, size_t count);
/* Takes the link over and begins to wait for its first frame, or starts the gateway. */
MUST_USE int network_set_link(struct network *n, int link, struct err *e);
/* The policy of SPEC, from now on, for new connections. */
MUST_USE int network_set_policy(struct network *n, const struct spec *spec, struct err *e);
/* What is known now; asks the gateway for fresher numbers, which the next call will see. */
struct network_counters network_count(struct network *n);
