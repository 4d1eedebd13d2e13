/*
 * The channel between the gateway and the supervisor. It is a pair of SOCK_SEQPACKET sockets. Each
 * message is one JSON object.
 *
 * The supervisor first sends the configuration (gateway/config.h), once. Later it may send
 * {"type":"policy","network":{…}}, {"type":"counters"} and {"type":"quit"}. The gateway answers the
 * configuration with {"type":"ready","ports":[…]}, a policy with {"type":"policy"}, and a request
 * for counters with {"type":"counters",…}. If the gateway cannot obey a message, its answer is
 * {"type":"error","code":…,"text":…}. When the gateway has denied a connection or a query, it may
 * also send {"type":"denied","text":…}. The gateway trusts the supervisor, and ends when the
 * supervisor closes the channel.
 */
#pragma once

#include "base/json.h"

/* the most bytes of a message: enough for the longest policy, and a socket's send buffer has room
 * for one such message */
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
