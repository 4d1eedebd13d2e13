/*
 * Handles DNS questions that the guest sends to port 53 by UDP or TCP. The gateway judges the
 * question, forwards it, and judges the answer.
 *
 * If the policy does not allow the name, the guest gets NXDOMAIN at once, and the question is not
 * forwarded. Malformed questions and some types of questions are not forwarded either. If
 * the answer holds an internal address, the guest gets NXDOMAIN too, unless a rule about addresses
 * allows that address. The gateway remembers answers that reach the guest (resolved.h), because
 * rules about names need them to match connections.
 */
#pragma once

#include "gateway/gateway.h"

void dns_question_by_udp(struct gateway *g, const struct packet *p);
void dns_question_by_tcp(void *gateway, const struct addr *server, unsigned conn,
			 uint32_t generation, const uint8_t *p, size_t n);
/* Judges the answer MSG and passes it to the guest. If no answer came, MSG is NULL, and the guest
 * gets SERVFAIL. The resolver calls this function; its type is resolver_done_fn. */
void dns_question_answered(void *gateway, const struct dns_query *q, const struct dns_origin *o,
			   uint8_t *msg, size_t n);
