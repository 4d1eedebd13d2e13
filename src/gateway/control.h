/*
 * The channel between the gateway and the supervisor. It is a pair of SOCK_SEQPACKET sockets. Each
 * message is one JSON object.
 *
 * To the gateway: config (first, once), {"type":"policy","network":{…}}, {"type":"counters"},
 * {"type":"quit"}. From the gateway: {"type":"ready","ports":[…]} or
 * {"type":"error","code":…,"text":…}, {"type":"denied","text":…}, {"type":"counters",…},
 * {"type":"policy"} as acknowledgement. The gateway trusts the supervisor, and ends when the
 * supervisor closes its end.
 */
#pragma once

#include "base/json.h"

/* enough for the longest policy; a socket's send buffer holds it */
#define CONTROL_MESSAGE_MAX (192u << 10)

struct gateway;
struct gateway_config;

struct control {
	int fd;        /* borrowed from main() */
	uint64_t lost; /* how many messages were dropped because the supervisor did not read */
};

/* Waits for one message and parses it. Fails with ERR_PROTOCOL if the supervisor is gone. */
MUST_USE int control_receive(int fd, struct json_doc **ret, struct err *e);

void control_send_ready(struct control *c, const struct gateway_config *config);
void control_send_error(struct control *c, const struct err *e);
void control_send_denied(struct control *c, const char *text);

/* Reads and handles one message. Sets g->quit if the gateway must end. */
void control_handle(struct gateway *g);
