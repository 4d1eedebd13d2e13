/*
 * The supervisor's part of a sandbox's network. The supervisor holds the link and starts the
 * gateway.
 *
 * A gateway is started at the first frame on the link, or at once if a port is published. When a
 * gateway has ended, the next frame starts another gateway. While no gateway runs, a sandbox with a
 * network costs only its interface. The supervisor polls the link and never reads it.
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/json.h"
#include "loop/loop.h"
#include "policy/addr.h"
#include "policy/lease.h"
#include "policy/policy.h"
#include "spec/spec.h"

struct network;

/* Functions of the supervisor that the network calls. None of them may free the network. */
struct network_events {
	/* TEXT says which connection the gateway refused, for the log. A gateway reports each
	 * refusal once. */
	void (*denied)(void *arg, const char *text);
	/* The gateway PID runs. It waits for its configuration and has opened nothing yet. */
	void (*born)(void *arg, pid_t pid);
	/* If the gateway serves, PORTS is the array of ports with their real numbers. If it could
	 * not start, PORTS is NULL, and FAILURE says why (mostly a taken port). */
	void (*started)(void *arg, const struct json_value *ports, const struct err *failure);
	void *arg;
};

struct network_counters {
	uint64_t rx_bytes, tx_bytes; /* the sums of all gateways that this sandbox has had */
};

/* If `set` is true, each gateway changes from the supervisor's ids to UID and GID, which belong to
 * no user of the host. If `set` is false, gateways keep the supervisor's ids. */
struct network_ids {
	bool set;
	uint32_t uid, gid;
};

/* Makes *RET, the network of a sandbox with SPEC. Starts no gateway yet. PROGRAM is the path of
 * cordon-gateway. EVENTS is copied. */
MUST_USE int network_new(struct loop *loop, const struct spec *spec, const char *program,
			 const struct network_events *events, struct network **ret, struct err *e);
/* Ends the gateway. Returns the link, or -1 if there is none. After this call only network_free()
 * may be called. */
int network_end(struct network *n);
/* Ends the gateway and closes the link. */
void network_free(struct network *n);

/* Returns the addresses of both ends of the link, borrowed. */
const struct lease *network_lease(const struct network *n);
/* Sets the ids that gateways change to. Call this before the first gateway starts. */
void network_set_ids(struct network *n, struct network_ids ids);
/* These two functions write to OUT what the sandbox gets: the text of /etc/resolv.conf, and the
 * line of /etc/hosts for host.microsandbox.internal. */
void network_resolv_conf(const struct network *n, struct buf *out);
void network_hosts_line(const struct network *n, struct buf *out);

/* Returns the descriptor of the memory in which the gateway lists refused connections
 * (wire/refusals.h), for pid 1. */
int network_refusals(const struct network *n);
/* Returns the path of the gateway's program, borrowed. */
const char *network_program(const struct network *n);
/* Returns true if the user named a DNS server. The server may be given by its host name, and the
 * gateway must read files such as /etc/hosts to look up this name. */
bool network_has_resolver(const struct network *n);
/* Takes over FD, which is the host's list of resolvers, open for reading. A gateway that cannot
 * open the list itself reads FD. */
void network_set_resolv_conf(struct network *n, int fd);
/* Sets the addresses that lead to this host although no interface has them. Copies LIST. */
void network_set_host_addresses(struct network *n, const struct cidr *list, size_t count);
/* Takes over the link. If ports are published, starts the gateway at once. Else the first frame on
 * the link will start it. */
MUST_USE int network_set_link(struct network *n, int link, struct err *e);
/* Reads the policy of SPEC. The caller must call policy_done() for *RET. */
MUST_USE int network_read_policy(const struct spec *spec, struct policy *ret, struct err *e);
/* Applies the policy *P to new connections, and sets *P to the policy that was in force before.
 * After an error the old policy stays in force, and *P is unchanged. */
MUST_USE int network_swap_policy(struct network *n, struct policy *p, struct err *e);
/* Takes back network_swap_policy(), which has set *P. If the gateway does not take the old policy,
 * kills the gateway: the next gateway begins with the old policy. */
void network_restore_policy(struct network *n, struct policy *p);
/* Returns the last known numbers. Asks the gateway for newer numbers: the next call returns
 * those. */
struct network_counters network_count(struct network *n);
