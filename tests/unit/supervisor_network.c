/*
 * Tests how a supervisor starts and ends gateways. A Python script acts as the gateway. The test
 * uses no network: its "link" is a pipe.
 */
#include "supervisor/network.h"
#include "t.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

static struct loop *loop;
static unsigned n_born, n_started, n_denied, n_failed;
static char last_text[ERR_MSG_BYTES];

/* This gateway reads its configuration, reports a denied connection, and reports that it is ready.
 * It ends after it has read one byte from the link. If the configuration names host port 1, the
 * gateway reports an error and ends. */
static const char program[] =
	"#!/usr/bin/python3\n"
	"import json, os, socket\n"
	"c = socket.socket(fileno=4)\n"
	"config = json.loads(c.recv(1 << 20))\n"
	"if config['ports'] and config['ports'][0]['host_port'] == 1:\n"
	"    c.send(json.dumps({'type': 'error', 'text': 'port 1 is taken'}).encode())\n"
	"    raise SystemExit(1)\n"
	"c.send(json.dumps({'type': 'denied', 'text': "
	"config['network']['policy']['default_egress']}).encode())\n"
	"c.send(json.dumps({'type': 'ready', 'ports': config['ports']}).encode())\n"
	"os.read(3, 1)\n";

static void on_denied(void *arg, const char *text)
{
	n_denied++;
	snprintf(last_text, sizeof(last_text), "%s", text);
}

static void on_started(void *arg, const struct json_value *ports, const struct err *failure)
{
	n_started += ports != NULL;
	n_failed += failure != NULL;
	if (failure)
		snprintf(last_text, sizeof(last_text), "%s", failure->msg);
	loop_stop(loop);
}

static void on_born(void *arg, pid_t pid)
{
	n_born++;
}

static void on_late(void *arg)
{
	loop_stop(loop);
}

/* Runs the loop until a gateway started or failed, but at most for MS milliseconds. */
static void turn(unsigned ms)
{
	loop_id timer = loop_add_timer(loop, clock_mono_ns() + ms * NS_PER_MS, on_late, NULL);

	T_INT(loop_run(loop), 0);
	loop_remove(loop, &timer);
}

static char script[] = "/tmp/cordon-test-gateway-XXXXXX";

static struct network *make(struct spec *s, int pipe_fds[2])
{
	const struct network_events events = { on_denied, on_born, on_started, NULL };
	struct network *n = NULL;
	struct err e = { 0 };

	T_INT(pipe2(pipe_fds, O_CLOEXEC), 0);
	if (network_new(loop, s, script, &events, &n, &e) < 0)
		T_FAIL("%s", e.msg);
	if (network_set_link(n, pipe_fds[0], &e) < 0)
		T_FAIL("%s", e.msg);
	return n;
}

static void started_by_the_first_frame_and_again_by_the_next(void)
{
	struct spec s;
	struct network *n;
	int link[2];

	n_born = n_started = n_denied = 0;
	spec_init(&s);
	s.name = xstrdup("box");
	n = make(&s, link);
	turn(200);
	T_INT(n_started, 0); /* without a frame no gateway starts */
	T_INT(write(link[1], "x", 1), 1);
	turn(5000);
	T_INT(n_started, 1);
	T_INT(n_denied, 1);
	T_STR(last_text, "deny");
	/* the script has read the byte and ended, and the supervisor watches the link again */
	turn(1500);
	T_INT(n_started, 1);
	T_INT(write(link[1], "x", 1), 1);
	turn(5000);
	T_INT(n_started, 2);
	T_INT(n_born, 2);
	network_free(n);
	close(link[1]);
	spec_done(&s);
}

/* Makes a network with a published port. Because of the port, the gateway starts at once. */
static struct network *make_with_port(struct spec *s, int pipe_fds[2])
{
	struct network *n;

	n_started = n_failed = 0;
	spec_init(s);
	s->name = xstrdup("box");
	s->port = xcalloc(1, sizeof(*s->port));
	s->n_ports = 1;
	s->port[0] = (struct spec_port){ .host_port = 8080, .guest_port = 80 };
	n = make(s, pipe_fds);
	turn(5000);
	T_INT(n_started, 1);
	return n;
}

static void started_at_once_for_a_port(void)
{
	struct spec s;
	struct network *n;
	int link[2];

	n = make_with_port(&s, link);
	network_free(n);
	close(link[1]);
	s.port[0].host_port = 1;
	n = make(&s, link);
	turn(5000);
	T_INT(n_failed, 1);
	T_STR(last_text, "port 1 is taken");
	network_free(n);
	close(link[1]);
	spec_done(&s);
}

static void a_failed_start_is_tried_again_later(void)
{
	struct rlimit before, none;
	struct spec s;
	struct network *n;
	int link[2];

	n = make_with_port(&s, link);
	T_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ 3, before.rlim_max };
	T_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
	T_INT(write(link[1], "x", 1), 1); /* the gateway ends */
	turn(5000);
	T_INT(n_failed, 1);
	T_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
	turn(5000);
	T_INT(n_started, 2);
	network_free(n);
	close(link[1]);
	spec_done(&s);
}

static void the_files_name_the_gateway(void)
{
	AUTO_BUF b = BUF_INIT(1024);
	const struct lease *lease;
	struct spec s;
	struct network *n;
	char want[64];
	int link[2];

	spec_init(&s);
	s.name = xstrdup("box");
	n = make(&s, link);
	lease = network_lease(n);
	snprintf(want, sizeof(want), "nameserver %u.%u.%u.%u\n", lease->gateway_v4.b[0],
		 lease->gateway_v4.b[1], lease->gateway_v4.b[2], lease->gateway_v4.b[3]);
	network_resolv_conf(n, &b);
	T_STR(buf_str(&b), want);
	T_INT(lease->guest_v4.b[3] & 3, 2);
	network_free(n);
	close(link[1]);
	spec_done(&s);
}

int main(void)
{
	int fd = mkostemp(script, O_CLOEXEC);

	if (fd < 0 || write(fd, program, strlen(program)) < 0 || fchmod(fd, 0755) < 0 ||
	    close(fd) < 0 || loop_new(&loop) < 0) {
		printf("Bail out! no script\n");
		return 1;
	}
	T_RUN(started_by_the_first_frame_and_again_by_the_next);
	T_RUN(started_at_once_for_a_port);
	T_RUN(a_failed_start_is_tried_again_later);
	T_RUN(the_files_name_the_gateway);
	loop_free(loop);
	unlink(script);
	return t_end();
}
