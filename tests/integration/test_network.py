"""Tests sandboxes with a network. `cordon` itself runs on a host that is a network namespace of the test (see
netlab.py), so no packet can reach a real network. Servers that a sandbox must not reach really exist.

Most tests run once as root, with a tap device, and once as an ordinary user, with a veth.
"""

import errno
import json
import os
import re
import shutil
import signal
import socket
import time
import unittest

import netlab
from harness import BASE, MSB, CordonTest, below
from netlab import HOST, METADATA, PRIVATE, PUBLIC, PUBLIC2, PUBLIC6, RESOLVER, Resolver, Server, World, hello

USER = 54321  # an id that belongs to no user
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000

CONNECT = """
import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), 5) as s:
        print("got", b"".join(iter(lambda: s.recv(4096), b"")).decode().strip())
except OSError as exc:
    print(type(exc).__name__)
"""
PING = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
s.settimeout(2)
try:
    s.sendto(bytes([8, 0, 0, 0, 0, 0, 0, 1]) + b"pong", (sys.argv[1], 0))
    print("got", s.recv(100)[-4:].decode())
except OSError as exc:
    print(type(exc).__name__)
"""
SERVE = """
import socket, sys
kind = socket.SOCK_DGRAM if sys.argv[2] == "udp" else socket.SOCK_STREAM
s = socket.socket(socket.AF_INET, kind)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", int(sys.argv[1])))
if kind == socket.SOCK_DGRAM:
    data, peer = s.recvfrom(4096)
    s.sendto(b"inside " + data, peer)
else:
    s.listen()
    while True:
        c, _ = s.accept()
        c.sendall(b"inside\\n")
        c.close()
"""


def why_not():
    if os.geteuid() != 0:
        return "needs root to make network namespaces"
    return None if os.path.exists(netlab.PROGRAM) else "there is no cordon-gateway"


class NetworkTest(CordonTest):
    modes = ("root",)
    user = None

    def setUp(self):
        if why_not():
            self.not_run(why_not())
        self.lab = World()
        self.addCleanup(self.lab.close)  # registered first, so that the lab closes after the sandboxes are removed
        super().setUp()
        if self.user:
            os.chmod(BASE, 0o711)
            os.chown(self.dir, self.user, self.user)

    def on_host(self):
        self.lab.outside.enter()
        if self.user:
            os.setgroups([])
            os.setresgid(self.user, self.user, self.user)
            os.setresuid(self.user, self.user, self.user)

    def cordon(self, *args, **kwargs):
        return super().cordon(*args, preexec_fn=self.on_host, **kwargs)

    def spawn(self, *args, **kwargs):
        return super().spawn(*args, preexec_fn=self.on_host, **kwargs)

    def server(self, address, port, handler=hello):
        host = address in ("127.0.0.1", HOST)
        server = Server(self.lab.outside if host else self.lab.world, address, port, handler)
        self.addCleanup(server.close)
        return server

    def resolver(self, **table):
        names = {name.replace("_", "."): addresses for name, addresses in table.items()}
        resolver = Resolver(self.lab.world, RESOLVER, table=names)
        self.addCleanup(resolver.close)
        return resolver

    def connect(self, box, address, port):
        """Connects from the sandbox. Returns what the client received, or the name of its error."""
        got = box.exec("/usr/bin/python3", "-c", CONNECT, address, str(port))
        self.assertEqual(got.code, 0, got)
        return got.text.strip()

    def serve(self, box, port, kind="tcp"):
        self.spawn("exec", box.name, "--", "/usr/bin/python3", "-c", SERVE, str(port), kind)
        table = "/proc/net/udp" if kind == "udp" else "/proc/net/tcp"
        self.eventually(lambda: f":{port:04X} " in box.out(f"cat {table}"))

    def gateways(self, box):
        return [p for p in below(box.roots) if p.state != "Z" and p.cmdline[:1] == ["cordon-gateway"]]

    def denials(self, box):
        got = box.cordon("logs", "--source", "net", "--json", box.name)
        self.assertEqual(got.code, 0, got)
        return [json.loads(line)["d"] for line in got.text.splitlines()]

    def from_host(self, port, address="127.0.0.1"):
        with self.lab.outside.socket() as s:
            s.connect((address, port))
            return s.recv(100)


class Reach(NetworkTest):
    def test_the_public_internet_is_reached_and_nothing_else(self):
        inner = [self.server(PRIVATE, 80), self.server(METADATA, 80), self.server("127.0.0.1", 80),
                 self.server(HOST, 80)]
        self.server(PUBLIC, 80)
        self.server(PUBLIC6, 80)
        box = self.create()
        self.assertEqual(self.connect(box, PUBLIC, 80), "got hello")
        self.assertEqual(self.connect(box, PUBLIC6, 80), "got hello")
        for address in (PRIVATE, METADATA, HOST, "host.microsandbox.internal"):
            self.assertEqual(self.connect(box, address, 80), "ConnectionRefusedError", address)
        self.assertEqual([s.seen for s in inner], [[]] * 4)

    def test_profiles_and_rules_open_more(self):
        self.server(PRIVATE, 80)
        self.server("127.0.0.1", 81)
        self.server(PUBLIC, 80)
        box = self.create("--net", "private,host", "--net-rule", f"deny@{PRIVATE}:tcp:82")
        self.assertEqual(self.connect(box, PRIVATE, 80), "got hello")
        self.assertEqual(self.connect(box, "host.microsandbox.internal", 81), "got hello")
        self.assertEqual(self.connect(box, PUBLIC, 80), "ConnectionRefusedError")
        self.assertEqual(self.connect(box, PRIVATE, 82), "ConnectionRefusedError")
        self.assertTrue(any(f"{PRIVATE}:82" in d for d in self.denials(box)), self.denials(box))

    def test_a_name_rule_opens_one_name(self):
        self.server(PUBLIC, 443)
        self.server(PUBLIC2, 443)
        resolver = self.resolver(good_example_com=[PUBLIC], bad_example_com=[PUBLIC2])
        box = self.create("--dns-nameserver", RESOLVER, "--net-default", "deny", "--net-rule",
                          "allow@good.example.com:tcp:443")
        # no name has been resolved to this address yet
        self.assertEqual(self.connect(box, PUBLIC, 443), "ConnectionRefusedError")
        self.assertEqual(self.connect(box, "good.example.com", 443), "got hello")
        self.assertEqual(self.connect(box, "bad.example.com", 443), "gaierror")
        self.assertEqual({name for name, _, _ in resolver.asked}, {"good.example.com"})
        told = [d for d in self.denials(box) if "bad.example.com" in d]
        self.assertEqual(len(told), 1, told)
        self.assertIn("allow@bad.example.com", told[0])

    def test_a_name_that_resolves_to_a_private_address_is_refused(self):
        self.resolver(rebind_example_com=[PRIVATE], public_example_com=[PUBLIC])
        self.server(PUBLIC, 80)
        box = self.create("--dns-nameserver", RESOLVER)
        self.assertEqual(self.connect(box, "rebind.example.com", 80), "gaierror")
        self.assertEqual(self.connect(box, "public.example.com", 80), "got hello")

    def test_a_sandbox_without_a_network_has_no_interface(self):
        for option in (["--no-net"], ["--no-network"], ["--net", "none"], ["--net-default", "deny"]):
            box = self.create(*option)
            self.assertEqual(box.out("tail -n +3 /proc/net/dev | cut -d: -f1").split(), ["lo"], option)
            self.assertNotIn("nameserver", box.out("cat /etc/resolv.conf"))
            self.assertEqual(self.connect(box, PUBLIC, 80), "OSError")
            self.assertIs(box.inspect()["config"]["network"]["enabled"], False)

    def test_each_denial_is_logged_once_with_advice(self):
        box = self.create()
        for _ in range(3):
            self.connect(box, METADATA, 80)
        told = [d for d in self.denials(box) if METADATA in d]
        self.assertEqual(len(told), 1, told)
        self.assertIn("allow@", told[0])

    def test_a_command_says_which_connections_were_refused_while_it_ran(self):
        box = self.create()
        script = ("import socket\nfor host, port in (('%s', 80), ('%s', 5432), ('%s', 5432)):\n"
                  "  try: socket.create_connection((host, port), 10)\n  except OSError: pass" % (METADATA, PRIVATE, PRIVATE))
        for _ in range(2):  # the second command reports the same refusals again
            got = box.exec("/usr/bin/python3", "-c", script)
            self.assertEqual((got.code, got.out), (0, b""), got)
            self.assertEqual(got.errtext,
                             f"note: 3 connections refused: {PRIVATE}:5432 → cordon modify {box.name} --net-rule-add "
                             f"allow@{PRIVATE}:tcp:5432, {METADATA}:80 → cordon modify {box.name} --net-rule-add "
                             f"allow@{METADATA}:tcp:80\n")
        self.assertEqual(box.exec("true").err, b"")
        self.assertEqual(box.exec("/usr/bin/python3", "-c", script, opts=("--quiet",)).err, b"")
        self.assertEqual(self.cordon("exec", box.name, "--", "/usr/bin/python3", "-c", script, program=MSB).err, b"")
        got = self.cordon("run", "host", "--", "/usr/bin/python3", "-c", script)
        self.assertIn(f"{PRIVATE}:5432 → --net-rule allow@{PRIVATE}:tcp:5432", got.errtext)
        self.assertNotIn("modify", got.errtext)

    def test_a_host_that_cannot_be_reached_is_reported_in_seconds(self):
        gone = PUBLIC.rsplit(".", 1)[0] + ".250"  # an address in the network of the namespace `world` that no host has
        self.assertEqual(self.connect(self.create(), gone, 80), "OSError")
        script = f"import socket\ntry: socket.create_connection(('{gone}', 80))\nexcept OSError as e: print(e.errno)"
        got = self.create().exec("/usr/bin/python3", "-c", script)
        self.assertEqual(got.text.strip(), str(errno.EHOSTUNREACH), got)

    def test_the_network_comes_back_after_a_stop(self):
        self.server(PUBLIC, 80)
        box = self.create()
        before = box.out("ip -o address show eth0")
        self.assertEqual(self.connect(box, PUBLIC, 80), "got hello")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(self.gateways(box), [])
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("ip -o address show eth0"), before)
        self.assertEqual(self.connect(box, PUBLIC, 80), "got hello")

    def test_bytes_are_counted(self):
        self.server(PUBLIC, 80, lambda conn, peer: conn.sendall(b"x" * 100_000))
        box = self.create()
        self.assertEqual(len(self.connect(box, PUBLIC, 80)), 100_004)
        got = box.cordon("metrics", box.name, "--format", "json").json()
        self.assertGreater(got["net_rx_bytes"], 100_000)
        self.assertLess(got["net_rx_bytes"], 200_000)
        self.assertGreater(got["net_tx_bytes"], 100)

    def test_the_interface_has_an_mtu_of_1500_and_no_tun_device(self):
        box = self.create()
        self.assertRegex(box.out("ip link show eth0"), r" mtu 1500 ")
        self.assertEqual(box.exec("test", "-e", "/dev/net/tun").code, 1)

    def test_a_host_without_ipv6(self):
        for which in ("all", "default"):
            self.lab.outside.sysctl(f"ipv6/conf/{which}/disable_ipv6", 1)
        self.server(PUBLIC, 80)
        box = self.create()
        self.assertEqual(self.connect(box, PUBLIC, 80), "got hello")
        self.assertEqual(self.connect(box, PUBLIC6, 80), "OSError")

    def test_inspect_shows_the_active_policy(self):
        box = self.create("--net-rule", "deny@9.9.9.9", "--max-connections", "7")
        network = box.inspect()["config"]["network"]
        self.assertEqual((network["enabled"], network["max_connections"]), (True, 7))
        policy = network["policy"]
        self.assertEqual((policy["default_egress"], policy["default_ingress"]), ("deny", "allow"))
        self.assertEqual([r["action"] for r in policy["rules"]], ["deny", "allow", "allow"])
        text = box.cordon("inspect", box.name).text
        self.assertRegex(text, r"(?m)^Network: +deny@9\.9\.9\.9 .*allow@public, else deny egress, allow ingress$")

    def test_ping(self):
        box = self.create()
        for address, answer in ((PUBLIC, "got pong"), (PRIVATE, "TimeoutError")):
            got = box.exec("/usr/bin/python3", "-c", PING, address)
            self.assertEqual(got.text.strip(), answer, got)

    def test_run_has_a_network_too(self):
        self.server(PUBLIC, 80)
        got = self.cordon("run", "--quiet", "host", "--", "/usr/bin/python3", "-c", CONNECT, PUBLIC, "80")
        self.assertEqual((got.code, got.text.strip()), (0, "got hello"), got)


class Change(NetworkTest):
    def modify(self, box, *options):
        got = box.cordon("modify", box.name, *options)
        self.assertEqual(got.code, 0, got)

    def test_rules_change_while_the_sandbox_runs(self):
        self.server(PUBLIC, 80)
        self.server(PRIVATE, 80)
        box = self.create("--max-connections", "9")
        self.assertEqual(self.connect(box, PUBLIC, 80), "got hello")
        gateway = self.gateways(box)[0].pid
        self.modify(box, "--net", "private")
        self.assertEqual(self.connect(box, PUBLIC, 80), "ConnectionRefusedError")
        self.assertEqual(self.connect(box, PRIVATE, 80), "got hello")
        self.modify(box, "--net-rule", f"deny@{PRIVATE},allow@private")
        self.assertEqual(self.connect(box, PRIVATE, 80), "ConnectionRefusedError")
        self.assertEqual(self.connect(box, PUBLIC, 80), "got hello")
        self.assertEqual([p.pid for p in self.gateways(box)], [gateway])
        self.modify(box, "--net", "none")
        self.assertEqual(self.connect(box, PUBLIC, 80), "ConnectionRefusedError")
        self.modify(box, "--net", "public")
        self.assertEqual(self.connect(box, PUBLIC, 80), "got hello")
        self.assertEqual(box.inspect()["config"]["network"]["max_connections"], 9)

    def test_one_rule_is_added_and_removed(self):
        self.server(PUBLIC, 80)
        self.server(PRIVATE, 80)
        box = self.create("--net-rule", "deny@198.51.100.0/24")
        before = box.inspect()["config"]["network"]["policy"]
        self.assertEqual(self.connect(box, PRIVATE, 80), "ConnectionRefusedError")
        self.modify(box, "--net-rule-add", f"allow@{PRIVATE}:tcp:80")
        self.assertEqual(self.connect(box, PRIVATE, 80), "got hello")
        self.assertEqual(self.connect(box, PUBLIC, 80), "got hello")
        self.modify(box, "--net-rule-rm", f"allow@{PRIVATE}:tcp:80")
        self.assertEqual(self.connect(box, PRIVATE, 80), "ConnectionRefusedError")
        self.assertEqual(box.inspect()["config"]["network"]["policy"], before)
        got = box.cordon("modify", box.name, "--net-rule-rm", f"allow@{PRIVATE}:tcp:80")
        self.assertEqual(got.code, 1, got)
        self.assertIn("has no rule", got.errtext)

    def test_a_change_that_fails_in_part_leaves_the_old_rules_in_force(self):
        """pid 1 takes no environment of this size while the sandbox runs, so no part of the change may take effect."""
        self.server(PUBLIC, 80)
        self.server(PRIVATE, 80)
        box = self.create()
        large = ("-e", "A=" + "a" * 90000, "-e", "B=" + "b" * 90000)
        for reached in (False, True):  # without and with a gateway
            before = box.inspect()["config"]
            got = box.cordon("modify", box.name, "--net", "private", *large)
            self.assertEqual(got.code, 1, got)
            self.assertIn("an environment this large can only be changed at the next start", got.errtext)
            self.assertEqual(box.inspect()["config"], before)
            self.assertEqual(self.connect(box, PRIVATE, 80), "ConnectionRefusedError", reached)
            self.assertEqual(self.connect(box, PUBLIC, 80), "got hello", reached)

    def test_advice_opens_no_more_than_it_says(self):
        """The text of `help network` and the log name commands that allow more in a live sandbox. None of them may be
        `modify --net-rule`, which replaces all rules: in a sandbox that denies by default, this would open the public
        internet. tools/check-man.py looks at the manual."""
        self.server(PUBLIC, 80)
        self.server(PRIVATE, 80)
        box = self.create("--net-default", "deny", "--net-rule", f"allow@{PUBLIC2}")
        before = box.inspect()["config"]["network"]["policy"]
        self.assertEqual(self.connect(box, PRIVATE, 80), "ConnectionRefusedError")
        advice = [line.split()[3:] for line in self.cordon("help", "network").text.splitlines()
                  if line.startswith("    cordon modify ")]
        self.assertEqual(len(advice), 1, advice)
        said = self.denials(box)
        self.assertEqual(len(said), 1, said)
        advice.append(said[0].split("to allow it: ")[1].removeprefix("modify ").split())
        for words in advice:
            with self.subTest(words):
                self.modify(box, *words)
                self.assertEqual(self.connect(box, PUBLIC, 80), "ConnectionRefusedError")
        self.assertEqual(self.connect(box, PRIVATE, 80), "got hello")
        for rule in ("allow@10.0.0.5", advice[-1][1]):
            self.modify(box, "--net-rule-rm", rule)
        self.assertEqual(box.inspect()["config"]["network"]["policy"], before)

    def ports(self, box):
        return [(p["host_bind"], p["host_port"], p["guest_port"]) for p in box.inspect()["ports"]]

    def test_ports_change_at_the_next_start(self):
        box = self.create("-p", "127.0.0.1:18080:80")
        # a change of ports needs --restart
        self.assertNotEqual(box.cordon("modify", box.name, "-p", "127.0.0.1:18081:80").code, 0)
        self.modify(box, "-p", "127.0.0.1:18081:80", "-p", "127.0.0.1:18090:90", "--restart")
        self.assertEqual(self.ports(box), [("127.0.0.1", 18081, 80), ("127.0.0.1", 18090, 90)])
        self.serve(box, 80)
        self.assertTrue(self.from_host(18081))
        self.modify(box, "--port-rm", "90", "--restart")
        self.assertEqual(self.ports(box), [("127.0.0.1", 18081, 80)])
        self.modify(box, "-p", "127.0.0.1:18081:80", "-p", "127.0.0.1:18082:80", "--restart")
        self.assertEqual(len(self.ports(box)), 2)
        self.modify(box, "--port-rm", "80", "--restart")  # every port of the host that leads to it
        self.assertEqual(self.ports(box), [])
        self.modify(box, "-p", "127.0.0.1:18081:80", "--restart")
        for bad in ("90", "0", "80/sctp", "x"):
            self.assertEqual(box.cordon("modify", box.name, "--port-rm", bad, "--restart").code, 1, bad)

    def test_rules_change_before_the_gateway_starts(self):
        self.server(PRIVATE, 80)
        box = self.create()
        self.modify(box, "--net", "private")
        self.assertEqual(self.gateways(box), [])
        self.assertEqual(self.connect(box, PRIVATE, 80), "got hello")

    def test_adding_an_interface_needs_a_restart(self):
        self.server(PUBLIC, 80)
        box = self.create("--no-net")
        got = box.cordon("modify", box.name, "--net", "public")
        self.assertEqual(got.code, 1, got)
        self.assertIn("restart", got.errtext)
        with self.claiming(box):
            self.modify(box, "--net", "public", "--restart")
        self.assertEqual(self.connect(box, PUBLIC, 80), "got hello")

    def test_bad_rules_change_nothing(self):
        box = self.create()
        before = box.inspect()["config"]
        got = box.cordon("modify", box.name, "--net-rule", "allow@publik")
        self.assertEqual(got.code, 1, got)
        self.assertIn("public", got.errtext)
        self.assertEqual(box.inspect()["config"], before)


class Gateway(NetworkTest):
    def test_an_idle_sandbox_has_no_gateway(self):
        box = self.create()
        box.out("ip address show eth0; cat /etc/resolv.conf")
        time.sleep(10)  # the test checks that no gateway starts, so there is no event to wait for
        self.assertEqual(self.gateways(box), [])
        self.connect(box, PUBLIC, 80)
        self.assertEqual(len(self.gateways(box)), 1)

    def test_a_killed_gateway_is_started_again(self):
        self.server(PUBLIC, 80)
        box = self.create()
        self.assertEqual(self.connect(box, PUBLIC, 80), "got hello")
        old = self.gateways(box)[0]
        os.kill(old.pid, signal.SIGKILL)
        self.assertEqual(self.connect(box, PUBLIC, 80), "got hello")
        self.assertNotIn(old.pid, [p.pid for p in self.gateways(box)])

    def test_the_gateway_has_no_privileges(self):
        box = self.create()
        self.connect(box, PUBLIC, 80)
        gateway = self.gateways(box)[0]
        self.assertNotIn(0, gateway.uids)
        self.assertEqual(int(gateway.status("CapEff")[0], 16) | int(gateway.status("CapPrm")[0], 16), 0)
        self.assertEqual(gateway.status("NoNewPrivs"), ["1"])
        with open(f"/proc/{gateway.pid}/maps") as maps:
            if "libasan" not in maps.read():  # a build with sanitizers has no filter
                self.assertEqual(gateway.status("Seccomp"), ["2"])


class HostResolvers(NetworkTest):
    """The test gives the host an /etc with its own list of resolvers. The gateway reads this list when it starts, which
    may be long after the start of the sandbox. By then the supervisor, which starts the gateway, has confined
    itself. The gateway inherits this confinement, and can open only files that the supervisor has allowed."""

    def on_host(self):
        super().on_host()
        netlab.check(netlab.libc.unshare(CLONE_NEWNS), "unshare")
        netlab.check(netlab.libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "make private")
        netlab.check(netlab.libc.mount(self.etc.encode(), b"/etc", None, MS_BIND, None), "bind")

    def setUp(self):
        super().setUp()
        self.etc = os.path.join(self.dir, "etc")
        self.lists = os.path.join(self.dir, "lists")
        os.mkdir(self.etc)
        os.mkdir(self.lists)
        shutil.copy("/etc/ld.so.cache", self.etc)
        self.server(PUBLIC, 80)
        self.resolver(public_example_com=[PUBLIC])

    @staticmethod
    def replace(path, server):
        with open(path + ".new", "w") as handle:
            handle.write(f"nameserver {server}\n")
        os.rename(path + ".new", path)

    def test_a_resolv_conf_in_etc_is_read_once_at_create(self):
        path = os.path.join(self.etc, "resolv.conf")
        self.replace(path, RESOLVER)
        box = self.create()
        self.replace(path, "192.0.2.1")  # no resolver has this address
        self.assertEqual(self.connect(box, "public.example.com", 80), "got hello")

    def test_changes_of_a_linked_resolv_conf_are_followed(self):
        path = os.path.join(self.lists, "resolv.conf")
        os.symlink(path, os.path.join(self.etc, "resolv.conf"))
        self.replace(path, "192.0.2.1")
        box = self.create()
        self.replace(path, RESOLVER)
        self.assertEqual(self.connect(box, "public.example.com", 80), "got hello")


class Ports(NetworkTest):
    def test_tcp_and_a_free_port(self):
        box = self.create("-p", "0:8080", "-p", "127.0.0.1:18081:8081", "-p", "[::1]:0:9")
        self.assertEqual(len(self.gateways(box)), 1)  # a published port needs the gateway from the start
        shown = box.cordon("status", box.name, "--format", "json").json()["ports"]
        self.assertEqual([(p["host_bind"], p["guest_port"], p["protocol"]) for p in shown],
                         [("127.0.0.1", 8080, "tcp"), ("127.0.0.1", 8081, "tcp"), ("::1", 9, "tcp")])
        chosen = [p["host_port"] for p in shown]
        self.assertTrue(chosen[0] > 0 and chosen[1] == 18081 and chosen[2] > 0, chosen)
        text = box.cordon("inspect", box.name).text
        self.assertEqual(re.findall(r"(?m)^Port: +(.*)$", text),
                         [f"127.0.0.1:{chosen[0]}->8080/tcp", "127.0.0.1:18081->8081/tcp", f"[::1]:{chosen[2]}->9/tcp"])
        self.assertEqual(box.inspect()["ports"], shown)
        self.serve(box, 8080)
        self.serve(box, 8081)
        self.assertEqual(self.from_host(chosen[0]), b"inside\n")
        self.assertEqual(self.from_host(18081), b"inside\n")
        with self.assertRaises(ConnectionRefusedError):
            self.from_host(18081, HOST)  # the port is bound to loopback only

    def test_udp(self):
        box = self.create("-p", "15353:5353/udp")
        self.serve(box, 5353, "udp")
        with self.lab.outside.socket(kind=socket.SOCK_DGRAM) as s:
            s.sendto(b"ping", ("127.0.0.1", 15353))
            self.assertEqual(s.recv(100), b"inside ping")

    def test_a_taken_port_fails_the_create(self):
        self.server("127.0.0.1", 18080)
        box = self.box()
        got = self.cordon("create", "--name", box.name, "-p", "18080:80", "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("18080", got.errtext)
        self.assertIn(f'failed to start "{box.name}"', got.errtext)
        self.assertEqual(self.names(), [])

    def test_a_port_is_free_after_stop(self):
        for _ in range(2):
            box = self.create("-p", "18080:80")
            self.serve(box, 80)
            self.assertEqual(self.from_host(18080), b"inside\n")
            self.assertEqual(box.stop().code, 0)
            with self.assertRaises(ConnectionRefusedError):
                self.from_host(18080)

    def test_a_port_without_a_network_causes_a_warning_and_is_closed(self):
        box = self.box()
        with self.claiming(box):
            got = self.cordon("create", "--name", box.name, "--no-net", "-p", "18080:80", "host")
        self.assertEqual(got.code, 0, got)
        self.assertRegex(got.errtext, "(?m)^warn: .*port")
        self.serve(box, 80)
        try:
            self.assertEqual(self.from_host(18080), b"")
        except ConnectionError:
            pass


class ReachWithoutTun(Reach):
    """Root on a host without /dev/net/tun uses a veth, as ordinary users do."""

    def on_host(self):
        super().on_host()
        netlab.check(netlab.libc.unshare(CLONE_NEWNS), "unshare")
        netlab.check(netlab.libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount")
        netlab.check(netlab.libc.mount(b"none", b"/dev/net", b"tmpfs", 0, None), "mount")


class UserReach(Reach):
    user = USER


class UserChange(Change):
    user = USER


class UserGateway(Gateway):
    user = USER


class UserPorts(Ports):
    user = USER


if __name__ == "__main__":
    unittest.main()
