/*
 * cordon-gateway LINK CONTROL REFUSALS [RESOLV-CONF]: the network of one sandbox.
 *
 * The sandbox's supervisor starts this program. The arguments are the numbers of open descriptors.
 * LINK is a tap or a packet socket. The first message on CONTROL is the configuration
 * (gateway/control.h). REFUSALS is shared memory with a struct refusals (wire/refusals.h).
 * RESOLV-CONF is the host's /etc/resolv.conf, already open, because the program may not be able to
 * open it by name.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gateway/confine.h"
#include "gateway/gateway.h"

static int serve(struct gateway *g, struct gateway_config *config, int link_fd, int resolv_conf,
		 struct err *e)
{
	AUTO_JSON doc = NULL;

	if (control_receive(g->control.fd, &doc, e) < 0)
		return -1;
	if (config_read(json_root(doc), config, e) < 0)
		return -1;
	config->resolv_conf = resolv_conf;
	if (gateway_start(g, config, link_fd, e) < 0)
		return -1;
	json_free(TAKE(doc));
	/* confine first, because from here on the gateway reads what the sandbox sends, and the
	 * sandbox may be hostile */
	if (confine(config, e) < 0)
		return -1;
	control_send_ready(&g->control, config);
	return gateway_serve(g, e);
}

int main(int argc, char **argv)
{
	struct gateway *g = xcalloc(1, sizeof(*g));
	struct gateway_config *config = xcalloc(1, sizeof(*config));
	struct err e = { 0 };
	uint64_t link_fd, control_fd, refusals_fd, list_fd = 0;
	int r;

	if (argc < 4 || argc > 5 || parse_u64(argv[1], 3, 1 << 20, &link_fd) < 0 ||
	    parse_u64(argv[2], 3, 1 << 20, &control_fd) < 0 ||
	    parse_u64(argv[3], 3, 1 << 20, &refusals_fd) < 0 ||
	    (argc == 5 && parse_u64(argv[4], 3, 1 << 20, &list_fd) < 0)) {
		fputs("usage: cordon-gateway LINK-FD CONTROL-FD REFUSALS-FD [RESOLV-CONF-FD] "
		      "(started by cordon-supervisor)\n",
		      stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	g->control.fd = (int)control_fd;
	/* if the mapping fails and this is NULL, clients are not told which connections were
	 * refused */
	g->denials.refusals = refusals_map((int)refusals_fd, true);
	close((int)refusals_fd);
	r = serve(g, config, (int)link_fd, argc == 5 ? (int)list_fd : -1, &e);
	if (r < 0)
		control_send_error(&g->control, &e);
	/* only the leak checker needs this; the kernel frees all memory when the process ends */
	gateway_stop(g);
	config_done(config);
	free(config);
	free(g);
	return r < 0;
}
