/*
 * The channel to the supervisor: a SOCK_SEQPACKET pair, one JSON object per message.
 *
 * To the gateway: config (first, once), {"type":"policy","network":{…}}, {"type":"counters"},
 * {"type":"quit"}. From it: {"type":"ready","ports":[…]} or {"type":"error","code":…,"text":…},
 * {"type":"denied","text":…}, {"type":"counters",…}, {"type":"policy"} as acknowledgement. The
 * supervisor is trusted; its end being closed ends the gateway.
 */
#pragma once

#include "base/json.h"

#define CONTROL_MESSAGE_MAX (192u << 10) /* the longest policy; also below a socket's send buffer */

struct gateway;
struct gateway_config;

struct control {
	int fd;        /* borrowed from main() */
	uint64_t lost; /* messages the supervisor had no room for */
};

/* Waits for one message and parses it. ERR_PROTOCOL when the peer is gone. */
MUST_USE int control_receive(int fd, struct json_doc **ret, struct err *e);

void control_send_ready(struct control *c, const struct gateway_config *config);
void control_send_error(struct control *c, const struct err *e);
void control_send_denied(struct control *c, const char *text);

/* Something can be read. Sets g->quit when it is over. */
void control_handle(struct gateway *g);
