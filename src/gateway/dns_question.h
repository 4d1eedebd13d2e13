/*
 * Questions of the guest on port 53, by UDP and TCP: judged, forwarded, their answers judged.
 *
 * A name that policy does not allow is answered NXDOMAIN at once and never leaves. An answer that
 * holds an inside address is NXDOMAIN too, unless a rule about addresses allows that one. What does
 * reach the guest is remembered, because rules about names match connections through it.
 */
#pragma once

#include "gateway/gateway.h"

void dns_question_by_udp(struct gateway *g, const struct packet *p);
void dns_question_by_tcp(void *gateway, const struct addr *server, unsigned conn,
			 uint32_t generation, const uint8_t *p, size_t n);
/* resolver_done_fn */
void dns_question_answered(void *gateway, const struct dns_query *q, const struct dns_origin *o,
			   uint8_t *msg, size_t n);
