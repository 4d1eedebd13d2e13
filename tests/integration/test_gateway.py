"""Tests what cordon-gateway promises. A network namespace takes the place of the sandbox.

The tests make all network namespaces (see netlab.py). Servers that the sandbox must not reach really exist, so a test
fails if the gateway lets a connection through."""

import contextlib
import errno
import hashlib
import os
import random
import select
import socket
import ssl
import struct
import threading
import time
import unittest

import netlab
from netlab import (ALLOW_DNS, ALLOW_PUBLIC, GATEWAY, GATEWAY6, GATEWAY_MAC, GUEST, GUEST_MAC, METADATA, PRIVATE,
                    PUBLIC, PUBLIC2, PUBLIC6, RESOLVER, RESOLVER2, Lab, Resolver, Server, echo, eventually, hello,
                    network, rule)


def why_not():
    if not os.path.exists(netlab.PROGRAM):
        return f"cordon-gateway is not at '{netlab.PROGRAM}'"
    if os.geteuid() != 0:
        return "needs root to make network namespaces and a tap device"
    if not os.path.exists("/dev/net/tun"):
        return "no /dev/net/tun"
    return None


@unittest.skipIf(why_not(), why_not())
class GatewayTest(unittest.TestCase):
    modes = ("root",)
    link, trains = "tap", True

    def setUp(self):
        self.lab = Lab(self.link, self.trains)
        self.addCleanup(self.lab.close)

    def start(self, *args, **kwargs):
        first = self.lab.start(*args, **kwargs)
        self.assertEqual(first["type"], "ready", first)
        return first

    def server(self, address, port, handler=hello):
        host = address in ("127.0.0.1", netlab.HOST, netlab.HOST6)
        server = Server(self.lab.outside if host else self.lab.world, address, port, handler)
        self.addCleanup(server.close)
        return server

    def resolver(self, table, address=RESOLVER):
        resolver = Resolver(self.lab.world, address, table=table)
        self.addCleanup(resolver.close)
        return resolver

    def get(self, address, port, timeout=5):
        with self.lab.connect(address, port, timeout) as s:
            return b"".join(iter(lambda: s.recv(65536), b""))

    def refused(self, address, port, expected=(errno.ECONNREFUSED,)):
        """Asserts that the gateway answers the connection with a refusal, so that connect() fails
        with an errno of EXPECTED. If the gateway only drops the packets, connect() raises a
        TimeoutError without an errno, so the test fails."""
        with self.assertRaises(OSError) as caught:
            self.lab.connect(address, port, timeout=10).close()
        self.assertIn(caught.exception.errno, expected, caught.exception)


class Reach(GatewayTest):
    def test_cve_2025_66479_an_empty_list_denies(self):
        seen = [self.server(PUBLIC, 80), self.server(PUBLIC6, 80)]
        self.start(network([]))
        for address in (PUBLIC, PUBLIC6, PRIVATE, METADATA, GATEWAY):
            self.refused(address, 80)
        self.assertEqual([s.seen for s in seen], [[], []])

    def test_only_public_addresses_are_reached(self):
        inner = [self.server(PRIVATE, 80), self.server(METADATA, 80), self.server("127.0.0.1", 80)]
        self.server(PUBLIC, 80)
        self.start()
        self.assertEqual(self.get(PUBLIC, 80), b"hello\n")
        for address in (PRIVATE, METADATA, GATEWAY, GATEWAY6):
            self.refused(address, 80)
        self.assertEqual([s.seen for s in inner], [[], [], []])
        self.assertEqual(self.lab.stop(), 0)

    def test_ipv6(self):
        self.server(PUBLIC6, 80)
        self.start()
        self.assertEqual(self.get(PUBLIC6, 80), b"hello\n")
        self.refused(PUBLIC6, 81)

    def test_host_profile_reaches_loopback(self):
        self.server("127.0.0.1", 8080)
        self.start(network([ALLOW_DNS, rule("allow", {"group": "host"})]))
        self.assertEqual(self.get(GATEWAY, 8080), b"hello\n")

    def test_the_hosts_public_addresses_are_not_public(self):
        """A connection to the host's own public address would bypass the host's firewall. So this address does not
        count as public."""
        servers = [self.server(netlab.HOST, 80), self.server(netlab.HOST6, 80)]
        self.start()
        self.refused(netlab.HOST, 80)
        self.refused(netlab.HOST6, 80)
        self.assertEqual([s.seen for s in servers], [[], []])
        self.lab.ask(type="policy", network=network([ALLOW_PUBLIC, rule("allow", {"group": "host"})]))
        self.assertEqual(self.get(netlab.HOST, 80), b"hello\n")
        self.lab.ask(type="policy", network=network([rule("allow", {"cidr": netlab.HOST6})]))
        self.assertEqual(self.get(netlab.HOST6, 80), b"hello\n")

    def test_an_address_that_the_host_gets_later_is_refused(self):
        """For every connection, the gateway must ask the kernel whether the address is the host's
        own, and must keep no earlier answer."""
        self.server(PUBLIC2, 80)
        self.start()
        self.assertEqual(self.get(PUBLIC2, 80), b"hello\n")
        self.lab.outside.ip(f"address add {PUBLIC2} dev lo\n")
        own = Server(self.lab.outside, PUBLIC2, 80, hello)
        self.addCleanup(own.close)
        self.refused(PUBLIC2, 80)
        self.assertEqual(own.seen, [])

    def test_refused_and_unreachable_are_reported_inside(self):
        self.start()
        self.refused(PUBLIC, 81)
        self.refused("192.0.2.1", 80, (errno.ENETUNREACH, errno.EHOSTUNREACH))

    def test_a_failed_connection_frees_its_slot(self):
        self.server(PUBLIC, 80)
        self.start(network(max_connections=2))
        for _ in range(5):
            self.refused("192.0.2.1", 80, (errno.ENETUNREACH, errno.EHOSTUNREACH))
            self.refused(PUBLIC, 81)
        self.assertEqual(self.get(PUBLIC, 80), b"hello\n")

    def test_no_handshake_before_the_upstream_answers(self):
        self.lab.outside.ip(netlab.BLACK_HOLE)
        self.start()
        with self.assertRaises(TimeoutError):
            self.lab.connect("198.18.0.1", 80, timeout=1).close()

    def test_udp(self):
        upstream = self.lab.world.socket(kind=socket.SOCK_DGRAM)
        upstream.bind((PUBLIC, 7000))
        private = self.lab.world.socket(kind=socket.SOCK_DGRAM, timeout=0.3)
        private.bind((PRIVATE, 7000))
        stranger = self.lab.world.socket(kind=socket.SOCK_DGRAM)
        stranger.bind((PUBLIC2, 7001))
        self.addCleanup(upstream.close), self.addCleanup(private.close), self.addCleanup(stranger.close)
        self.start()
        with self.lab.inside.socket(kind=socket.SOCK_DGRAM, timeout=2) as s:
            s.sendto(b"ping", (PUBLIC, 7000))
            data, peer = upstream.recvfrom(100)
            self.assertEqual(data, b"ping")
            stranger.sendto(b"unasked", peer)
            upstream.sendto(b"pong", peer)
            self.assertEqual(s.recvfrom(100), (b"pong", (PUBLIC, 7000)))
        with self.lab.inside.socket(kind=socket.SOCK_DGRAM, timeout=2) as s:
            s.connect((PRIVATE, 7000))
            s.send(b"ping")
            with self.assertRaises(OSError) as caught:
                s.recv(100)
            self.assertEqual(caught.exception.errno, errno.EHOSTUNREACH)
        with self.assertRaises(TimeoutError):
            private.recv(100)

    def test_ping(self):
        self.start()
        self.lab.inside.sysctl("ipv4/ping_group_range", "0 2147483647")

        def ping(address):
            s = self.lab.inside.do(socket.socket, socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
            with s:
                s.settimeout(2)
                s.connect((address, 0))
                s.send(struct.pack(">BBHHH", 8, 0, 0, 0, 1) + b"payload")
                return s.recv(100)[8:]
        self.assertEqual(ping(PUBLIC), b"payload")
        with self.assertRaises(OSError) as caught:
            ping(PRIVATE)
        self.assertEqual(caught.exception.errno, errno.EHOSTUNREACH)

    def test_dns_over_tls_and_local_name_services_are_refused(self):
        self.server(PUBLIC, 853)
        self.start(network([], egress="allow"))
        self.refused(PUBLIC, 853)
        for port in (853, 5353, 5355, 137):
            with self.lab.inside.socket(kind=socket.SOCK_DGRAM, timeout=2) as s:
                s.connect((PUBLIC, port))
                s.send(b"x")
                with self.assertRaises(OSError, msg=port) as caught:
                    s.recv(1)
                self.assertEqual(caught.exception.errno, errno.EHOSTUNREACH)


class ReachPlain(Reach):
    """The tests of Reach over a link without offloads."""
    trains = False


class ReachVeth(Reach):
    """The tests of Reach over a packet socket, which the gateways of ordinary users have."""
    link = "veth"


class Data(GatewayTest):
    SIZE, CONNECTIONS = 32 << 20, 10_000

    def pattern(self, seed):
        return random.Random(seed).randbytes(1 << 20) * (self.SIZE >> 20)

    def test_large_transfers_both_ways(self):
        down, up = self.pattern(1), hashlib.sha256()
        done = threading.Event()

        def sink(conn, peer):
            while data := conn.recv(65536):
                up.update(data)
            conn.sendall(b"end")  # the client has closed its sending side
            done.set()
        self.server(PUBLIC, 1000, lambda conn, peer: conn.sendall(down))
        self.server(PUBLIC, 1001, sink)
        self.start()
        self.assertEqual(hashlib.sha256(self.get(PUBLIC, 1000)).digest(), hashlib.sha256(down).digest())
        data = self.pattern(2)
        with self.lab.connect(PUBLIC, 1001, timeout=30) as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            self.assertEqual(s.recv(100), b"end")
        self.assertTrue(done.wait(5))
        self.assertEqual(up.digest(), hashlib.sha256(data).digest())

    def test_ipv6_transfer(self):
        data = self.pattern(3)[:8 << 20]
        self.server(PUBLIC6, 1000, lambda conn, peer: conn.sendall(data))
        self.start()
        self.assertEqual(hashlib.sha256(self.get(PUBLIC6, 1000)).digest(), hashlib.sha256(data).digest())

    def test_slow_reader_loses_nothing(self):
        data = self.pattern(4)[:4 << 20]
        self.server(PUBLIC, 1000, lambda conn, peer: conn.sendall(data))
        self.start()
        got = b""
        with self.lab.connect(PUBLIC, 1000) as s:
            time.sleep(0.5)
            while part := s.recv(256 << 10):
                got += part
                time.sleep(0.01)
        self.assertEqual(hashlib.sha256(got).digest(), hashlib.sha256(data).digest())

    def test_keep_alive(self):
        """The gateway must answer keep-alive probes of the guest's kernel, so that quiet
        connections stay open."""
        self.server(PUBLIC, 1000, echo)
        self.start()
        with self.lab.connect(PUBLIC, 1000) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 2)):
                s.setsockopt(socket.IPPROTO_TCP, option, value)
            sent = self.lab.counters()["tx_packets"]
            # After two unanswered probes (TCP_KEEPCNT) the kernel would close the connection. The
            # kernel sends four probes, so the gateway must have answered.
            eventually(lambda: self.lab.counters()["tx_packets"] >= sent + 4, within=20)
            s.sendall(b"still")
            self.assertEqual(s.recv(10), b"still")

    def test_five_hundred_connections_at_once(self):
        self.server(PUBLIC, 1000, echo)
        self.start(network(max_connections=600))
        socks = []
        self.addCleanup(lambda: [s.close() for s in socks])
        for i in range(500):
            socks.append(self.lab.connect(PUBLIC, 1000))
        for i, s in enumerate(socks):
            s.sendall(b"%d" % i)
        for i, s in enumerate(socks):
            self.assertEqual(s.recv(100), b"%d" % i)

    def test_thousands_of_connections_one_after_the_other(self):
        """Makes many more connections in a minute than --max-connections allows at once. The server closes each
        connection first, so that the server's side gets the state TIME_WAIT."""
        script = ("import socket,sys\n"
                  f"for i in range({self.CONNECTIONS}):\n"
                  f"    s=socket.create_connection(('{PUBLIC}',1000),5)\n"
                  "    assert s.recv(9)==b'hello\\n', i\n"
                  "    s.close()\n")
        listener = self.lab.world.socket()
        listener.bind((PUBLIC, 1000))
        listener.listen(64)
        self.addCleanup(listener.close)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    conn, _ = listener.accept()
                    conn.send(b"hello\n")
                    conn.close()
        threading.Thread(target=serve, daemon=True).start()
        self.start(network(max_connections=32))
        self.lab.inside.run("python3", "-c", script, timeout=60)
        eventually(lambda: self.lab.counters()["live"] == 0)
        counters = self.lab.counters()
        self.assertEqual(counters["connections"], self.CONNECTIONS)
        self.assertEqual(counters["sockets"], 0)


class DataPlain(Data):
    trains, CONNECTIONS = False, 500


class DataVeth(Data):
    link, CONNECTIONS = "veth", 500


class Names(GatewayTest):
    TABLE = {"example.com": [PUBLIC], "www.example.com": [PUBLIC2], "evilexample.com": [PUBLIC2],
             "inside.example": [PRIVATE], "meta.example": [METADATA], "loop.example": ["127.0.0.1"],
             "gateway.example": [GATEWAY], "mixed.example": [PUBLIC, PRIVATE], "zero.example": ["0.0.0.0"],
             "six.example": [PUBLIC6], "both.example": [PUBLIC, PUBLIC6], "local6.example": ["fe80::1"],
             "mapped.example": ["::ffff:10.1.2.3"]}
    ONLY = [rule("allow", {"domain_suffix": "example.com"}, ports=[(80, 80), (443, 443)], protocols=["tcp"])]

    def setUp(self):
        super().setUp()
        self.dns = self.resolver(self.TABLE)

    def test_names_are_answered_over_udp_and_tcp(self):
        self.start()
        for tcp in (False, True):
            self.assertEqual(self.lab.resolve("example.com", tcp=tcp), (0, [PUBLIC], False))
            self.assertEqual(self.lab.resolve("nosuch.example", tcp=tcp), (3, [], False))
        self.assertEqual(self.lab.resolve("example.com", server=GATEWAY6), (0, [PUBLIC], False))
        self.assertEqual(self.lab.resolve("EXAMPLE.com"), (0, [PUBLIC], False))
        self.assertEqual(self.lab.resolve("six.example", 28), (0, [PUBLIC6], False))

    def test_the_gateway_answers_for_every_resolver(self):
        self.start(network([rule("deny", {"domain": "example.com"}), ALLOW_DNS, ALLOW_PUBLIC]))
        for server in ("8.8.8.8", PRIVATE, PUBLIC6):
            self.assertEqual(self.lab.resolve("example.com", server=server), (3, [], False))
            self.assertEqual(self.lab.resolve("www.example.com", server=server), (0, [PUBLIC2], False))
            self.assertEqual(self.lab.resolve("example.com", server=server, tcp=True), (3, [], False))

    def test_cve_2025_55284_a_denied_name_is_never_asked(self):
        self.start(network(self.ONLY))
        for name in ("evilexample.com", "secret-data.evil.example", "com", "example.com.evil.example"):
            for tcp in (False, True):
                self.assertEqual(self.lab.resolve(name, tcp=tcp)[0], 3, name)
        self.assertEqual(self.dns.asked, [])
        self.assertEqual(self.lab.resolve("example.com"), (0, [PUBLIC], False))
        self.assertTrue(any("denied name evilexample.com: rule 'default egress deny'; to allow it: "
                            "modify --net-rule-add allow@evilexample.com" == text for text in self.lab.refusals()))

    def test_a_name_opens_its_address_and_no_other(self):
        for address in (PUBLIC, PUBLIC2):
            self.server(address, 80)
            self.server(address, 81)
        self.start(network(self.ONLY))
        self.refused(PUBLIC, 80)  # no name was resolved to this address
        self.lab.resolve("example.com")
        self.assertEqual(self.get(PUBLIC, 80), b"hello\n")
        self.refused(PUBLIC, 81)
        self.refused(PUBLIC2, 80)
        self.lab.resolve("www.example.com")
        self.assertEqual(self.get(PUBLIC2, 80), b"hello\n")

    def test_answers_with_inside_addresses_are_denied(self):
        self.start()
        for name in ("inside.example", "meta.example", "loop.example", "gateway.example", "mixed.example",
                     "zero.example"):
            self.assertEqual(self.lab.resolve(name)[:2], (3, []), name)
        for name in ("local6.example", "mapped.example"):
            self.assertEqual(self.lab.resolve(name, 28)[:2], (3, []), name)
        self.assertEqual(self.lab.resolve("inside.example", 255)[:2], (3, []))
        self.assertIn("denied answer 10.1.2.3 for name inside.example: rebind protection; "
                      "to allow it: modify --net-rule-add allow@10.1.2.3", self.lab.refusals())

    def test_rebinding_is_lifted_by_a_rule_about_addresses_only(self):
        self.start(network([ALLOW_DNS, rule("allow", {"group": "private"})]))
        self.assertEqual(self.lab.resolve("inside.example")[:2], (0, [PRIVATE]))
        self.assertEqual(self.lab.resolve("meta.example")[:2], (3, []))

    def test_rebinding_survives_ports_any_and_defaults(self):
        self.start(network([rule("allow", {"cidr": "10.0.0.0/8"}, ports=[(80, 80)], protocols=["tcp"]),
                            rule("allow", "any")], egress="allow"))
        self.assertEqual(self.lab.resolve("inside.example")[:2], (3, []))

    def test_dns_on_another_port_is_a_connection_like_any_other(self):
        elsewhere = Resolver(self.lab.world, PUBLIC2, port=5300, table={"evil.example": [PRIVATE]})
        self.addCleanup(elsewhere.close)
        self.start(network(self.ONLY))
        self.refused(PUBLIC2, 5300)
        with self.lab.inside.socket(kind=socket.SOCK_DGRAM) as s:
            s.connect((PUBLIC2, 5300))
            s.send(netlab.dns_query("evil.example"))
            with self.assertRaises(OSError) as caught:
                s.recv(100)
            self.assertEqual(caught.exception.errno, errno.EHOSTUNREACH)
        self.assertEqual(elsewhere.asked, [])
        # Now rules allow the resolver at PUBLIC2 and the name evil.example. The gateway does not read answers of this
        # resolver, so the address in its answer stays closed.
        self.lab.ask(type="policy", network=network([*self.ONLY, rule("allow", {"cidr": PUBLIC2}),
                                                     rule("allow", {"domain": "evil.example"})]))
        query = netlab.dns_query("evil.example")
        with self.lab.connect(PUBLIC2, 5300) as s:
            s.sendall(struct.pack(">H", len(query)) + query)
            size = struct.unpack(">H", netlab.receive_exactly(s, 2))[0]
            self.assertEqual(netlab.parse_reply(netlab.receive_exactly(s, size))[1], [PRIVATE])
        self.refused(PRIVATE, 80)

    def test_ambiguous_names_are_refused(self):
        self.start(network(self.ONLY))
        wrong = {"nul": b"\x0bexample\0com\x00", "dot in label": b"\x0bexample.com\x00",
                 "utf8": b"\x07ex\xc3\xa4mpl\x03com\x00", "space": b"\x08 example\x03com\x00",
                 "pointer": b"\xc0\x0c", "cut": b"\x3fexample"}
        for what, raw in wrong.items():
            code, found, _ = self.lab.resolve("", raw_name=raw)
            self.assertIn(code, (1, 3), what)
            self.assertEqual(found, [], what)
        self.assertEqual(self.dns.asked, [])
        self.assertEqual(self.lab.resolve("xn--exmple-cua.com")[0], 3)
        self.assertEqual(self.dns.asked, [])

    def test_service_records_and_transfers_are_not_forwarded(self):
        self.start()
        self.assertEqual(self.lab.resolve("example.com", 65), (0, [], False))
        self.assertEqual(self.lab.resolve("example.com", 252)[0], 5)
        self.assertEqual(self.dns.asked, [])

    def test_long_answers_are_truncated_over_udp(self):
        self.dns.truncate = True
        self.dns.table["big.example"] = [f"203.0.113.{i}" for i in range(1, 120)]
        self.start()
        # 119 addresses are an answer of 1.9 KB, too long for UDP: the guest gets an empty answer, marked as truncated.
        self.assertEqual(self.lab.resolve("big.example"), (0, [], True))
        code, found, cut = self.lab.resolve("big.example", tcp=True)
        self.assertEqual((code, len(found), cut), (0, 119, False))
        self.assertIn(("big.example", 1, "tcp"), self.dns.asked)

    def test_the_edns_size_is_honoured(self):
        self.dns.table["mid.example"] = [f"203.0.113.{i}" for i in range(1, 50)]
        self.start()
        self.assertTrue(self.lab.resolve("mid.example")[2])
        self.assertEqual(len(self.lab.resolve("mid.example", edns=4096)[1]), 49)

    def test_answers_are_cached_for_their_ttl(self):
        self.start()
        for _ in range(5):
            self.lab.resolve("example.com")
        self.assertEqual(len(self.dns.asked), 1)
        self.dns.ttl = 0
        for _ in range(3):
            self.lab.resolve("www.example.com")
        self.assertEqual(len(self.dns.asked), 4)

    def test_a_dead_resolver_is_skipped(self):
        self.dns.silent = True
        second = self.resolver(self.TABLE, RESOLVER2)
        self.start(network(nameservers=[RESOLVER, RESOLVER2], timeout_ms=400))
        self.assertEqual(self.lab.resolve("example.com"), (0, [PUBLIC], False))
        tried = self.dns.ignored
        self.assertGreater(tried, 0)
        self.assertEqual(self.lab.resolve("www.example.com"), (0, [PUBLIC2], False))
        # the gateway knows that the first resolver is dead, and did not ask it again
        self.assertEqual((self.dns.ignored, len(second.asked)), (tried, 2))

    def test_no_resolver_answers(self):
        self.dns.silent = True
        self.start(network(timeout_ms=300))
        self.assertEqual(self.lab.resolve("example.com")[0], 2)
        self.assertEqual(self.lab.resolve("example.com", tcp=True)[0], 2)

    def test_many_questions_at_once(self):
        self.start()
        for i in range(200):
            self.dns.table[f"n{i}.example"] = [PUBLIC]
        socks = [self.lab.inside.socket(kind=socket.SOCK_DGRAM, timeout=5) for _ in range(200)]
        for i, s in enumerate(socks):
            s.sendto(netlab.dns_query(f"n{i}.example"), (GATEWAY, 53))
        for s in socks:
            self.assertEqual(netlab.parse_reply(s.recv(1000))[1], [PUBLIC])
            s.close()

    def test_pipelined_tcp_questions(self):
        self.start()
        with self.lab.connect(GATEWAY, 53) as s:
            query = netlab.dns_query("example.com")
            s.sendall((struct.pack(">H", len(query)) + query) * 3)
            for _ in range(3):
                n = struct.unpack(">H", s.recv(2, socket.MSG_WAITALL))[0]
                self.assertEqual(netlab.parse_reply(s.recv(n, socket.MSG_WAITALL))[1], [PUBLIC])


class NamesWithoutIPv6(GatewayTest):
    def setUp(self):
        self.lab = Lab(v6_route=False)
        self.addCleanup(self.lab.close)

    def test_aaaa_is_suppressed(self):
        dns = self.resolver({"both.example": [PUBLIC, PUBLIC6]})
        self.start()
        self.assertEqual(self.lab.resolve("both.example", 28), (0, [], False))
        self.assertEqual(self.lab.resolve("both.example", 1), (0, [PUBLIC], False))
        self.assertEqual(dns.asked, [("both.example", 1, "udp")])


class WithoutIPv6(GatewayTest):
    """A host whose kernel has IPv6 switched off."""

    def test_ipv4_works_on_a_host_without_ipv6(self):
        self.server(PUBLIC, 80)
        self.resolver({"both.example": [PUBLIC, PUBLIC6]})
        self.lab.outside.sysctl("ipv6/conf/all/disable_ipv6", 1)
        self.start()
        self.assertEqual(self.get(PUBLIC, 80), b"hello\n")
        self.assertEqual(self.lab.resolve("both.example", 28), (0, [], False))
        self.assertEqual(self.lab.resolve("both.example", 1), (0, [PUBLIC], False))
        self.refused(PUBLIC6, 80, (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EACCES))


def client_hello(name):
    """Returns the ClientHello that a real TLS client sends for NAME. Uses no network."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


class ShownTest(GatewayTest):
    """Has a server that keeps the bytes that it gets. The server's address has two names, and a rule allows only one of
    the names."""

    def setUp(self):
        super().setUp()
        self.resolver({"good.example": [PUBLIC], "evil.example": [PUBLIC]})
        self.received = []

        def keep(conn, peer):
            while data := conn.recv(65536):
                self.received.append(data)
        self.server(PUBLIC, 443, keep)
        self.rules = [rule("allow", {"domain": "good.example"})]

    @staticmethod
    def not_reset(s):
        """Returns true. Raises an error if the connection was reset."""
        with contextlib.suppress(BlockingIOError):
            s.recv(1, socket.MSG_PEEK)
        return True

    def try_bytes(self, chunks, pause=0.02):
        """Sends CHUNKS one by one. Returns true if the server got all bytes, false if the connection was reset or the
        bytes did not all arrive within 10 s."""
        self.received.clear()
        want = b"".join(chunks)
        with self.lab.connect(PUBLIC, 443) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                for chunk in chunks:
                    s.sendall(chunk)
                    time.sleep(pause)
                s.setblocking(False)
                eventually(lambda: self.not_reset(s) and b"".join(self.received) == want, within=10)
                return True
            except (ConnectionError, AssertionError):
                return False


class Shown(ShownTest):
    """The name in a TLS hello or HTTP request must be allowed by a rule, however the bytes are split."""

    def test_sni_must_match(self):
        self.start(network(self.rules))
        self.lab.resolve("good.example")
        good, evil = client_hello("good.example"), client_hello("evil.example")
        self.assertTrue(self.try_bytes([good]))
        self.assertTrue(self.try_bytes([good[i:i + 50] for i in range(0, len(good), 50)], 0.001))
        self.assertFalse(self.try_bytes([evil]))
        self.assertFalse(self.try_bytes([evil[:100], evil[100:]]))
        self.assertFalse(self.try_bytes([evil[i:i + 50] for i in range(0, len(evil), 50)], 0.001))
        self.assertNotIn(evil, b"".join(self.received))
        # the gateway refuses a connection without a name only if the policy is strict
        self.assertTrue(self.try_bytes([b"SSH-2.0-x\r\n"]))
        self.assertTrue(any("(evil.example)" in text for text in self.lab.refusals()))

    def test_odd_spellings_of_an_sni_name_are_refused(self):
        self.start(network(self.rules))
        self.lab.resolve("good.example")
        good = client_hello("good.example")

        def spelled(name):
            self.assertEqual(len(name), len(b"good.example"))
            return good.replace(b"good.example", name)
        self.assertTrue(self.try_bytes([spelled(b"GOOD.eXample")]))
        for name in (b"good.exampl\0", b"\0ood.example", b"good\0example", b"evilgood.ex.", b"good.example"[1:] + b".",
                     b"g\xc3\xb6d.example", b"good .exampl", b"good..exampl"):
            self.assertFalse(self.try_bytes([spelled(name)]), name)

    def test_a_denied_sni_name_is_refused_under_a_wide_allow(self):
        self.start(network([rule("deny", {"domain": "evil.example"}), ALLOW_DNS, ALLOW_PUBLIC]))
        self.assertTrue(self.try_bytes([client_hello("good.example")]))
        self.assertFalse(self.try_bytes([client_hello("evil.example")]))

    def test_strict_refuses_connections_without_a_name(self):
        self.start(network(self.rules, strict=True))
        self.lab.resolve("good.example")
        self.assertTrue(self.try_bytes([client_hello("good.example")]))
        self.assertFalse(self.try_bytes([b"SSH-2.0-x\r\n"]))
        self.assertTrue(self.try_bytes([b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n"]))
        self.assertFalse(self.try_bytes([b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"]))
        self.assertFalse(self.try_bytes([b"GET / HTTP/1.1\r\nHost: good.example\r\nHost: evil.example\r\n\r\n"]))


class Ports(GatewayTest):
    def publish(self, guest_port, protocol="tcp", host_port=0, **kwargs):
        first = self.start(ports=[{"host_bind": "127.0.0.1", "host_port": host_port, "guest_port": guest_port,
                                   "protocol": protocol}], **kwargs)
        return first["ports"][0]["host_port"]

    def test_tcp(self):
        inner = Server(self.lab.inside, GUEST, 8000, echo)
        self.addCleanup(inner.close)
        port = self.publish(8000)
        self.assertGreater(port, 0)
        for _ in range(20):
            with self.lab.outside.socket() as s:
                s.connect(("127.0.0.1", port))
                s.sendall(b"hi")
                self.assertEqual(s.recv(10), b"hi")
        self.assertEqual(inner.seen[0][0], GATEWAY)

    def test_many_at_once(self):
        inner = Server(self.lab.inside, GUEST, 8000, echo)
        self.addCleanup(inner.close)
        port = self.publish(8000)
        socks = [self.lab.outside.socket() for _ in range(100)]
        for s in socks:
            s.connect(("127.0.0.1", port))
        for s in socks:
            s.sendall(b"x")
            self.assertEqual(s.recv(1), b"x")
            s.close()

    def test_udp(self):
        inner = self.lab.inside.socket(kind=socket.SOCK_DGRAM)
        inner.bind((GUEST, 8000))
        self.addCleanup(inner.close)
        port = self.publish(8000, "udp")
        with self.lab.outside.socket(kind=socket.SOCK_DGRAM) as s:
            s.sendto(b"hi", ("127.0.0.1", port))
            data, peer = inner.recvfrom(10)
            self.assertEqual(data, b"hi")
            inner.sendto(b"ho", peer)
            self.assertEqual(s.recv(10), b"ho")

    def test_ipv6(self):
        inner = Server(self.lab.inside, netlab.GUEST6, 8000, echo)
        self.addCleanup(inner.close)
        first = self.start(ports=[{"host_bind": "::1", "host_port": 0, "guest_port": 8000, "protocol": "tcp"}])
        with self.lab.outside.socket(socket.AF_INET6) as s:
            s.connect(("::1", first["ports"][0]["host_port"]))
            s.sendall(b"hi")
            self.assertEqual(s.recv(10), b"hi")

    def test_from_another_machine(self):
        inner = Server(self.lab.inside, GUEST, 8000, echo)
        self.addCleanup(inner.close)
        first = self.start(ports=[{"host_bind": "0.0.0.0", "host_port": 0, "guest_port": 8000, "protocol": "tcp"}])
        with self.lab.world.socket() as s:
            s.connect((netlab.HOST, first["ports"][0]["host_port"]))
            s.sendall(b"hi")
            self.assertEqual(s.recv(10), b"hi")
        self.assertEqual(inner.seen[0][0], "203.0.113.2")

    def test_a_port_without_a_listener_is_reset(self):
        port = self.publish(8000)
        with self.lab.outside.socket() as s:
            s.connect(("127.0.0.1", port))
            self.assertIn(self.ended(s), ("reset", "closed"))

    @staticmethod
    def ended(s):
        try:
            return "closed" if s.recv(1) == b"" else "data"
        except ConnectionResetError:
            return "reset"

    def test_ingress_rules(self):
        inner = Server(self.lab.inside, GUEST, 8000, hello)
        self.addCleanup(inner.close)
        port = self.publish(8000, net=network(ingress="deny"))
        with self.lab.outside.socket() as s:
            s.connect(("127.0.0.1", port))
            self.assertIn(self.ended(s), ("reset", "closed"))
        self.assertEqual(inner.seen, [])
        self.assertTrue(any("denied tcp from" in text for text in self.lab.refusals()))
        self.lab.ask(type="policy", network=network([rule("allow", {"group": "host"}, direction="ingress")],
                                                    ingress="deny"))
        with self.lab.outside.socket() as s:
            s.connect(("127.0.0.1", port))
            self.assertEqual(s.recv(10), b"hello\n")

    def test_conflicts_are_reported(self):
        taken = self.lab.outside.socket()
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        self.addCleanup(taken.close)
        port = taken.getsockname()[1]
        first = self.lab.start(ports=[{"host_bind": "127.0.0.1", "host_port": port, "guest_port": 80,
                                       "protocol": "tcp"}])
        self.assertEqual(first["type"], "error")
        self.assertIn(f"publish port {port}/tcp on 127.0.0.1: Address already in use", first["text"])
        self.assertEqual(self.lab.process.wait(5), 1)

    def test_a_privileged_port_is_bound_before_root_is_given_up(self):
        self.assertEqual(self.publish(80, host_port=81), 81)
        with open(f"/proc/{self.lab.process.pid}/status") as f:
            self.assertIn("Uid:\t65534\t65534\t65534\t65534", f.read())


class Seen(GatewayTest):
    def test_each_refusal_once_with_rule_and_remedy(self):
        self.start(network([rule("deny", {"cidr": "203.0.113.20/32"}), ALLOW_DNS, ALLOW_PUBLIC]))
        for _ in range(5):
            self.refused(PRIVATE, 22)
            self.refused(PUBLIC2, 443)
        self.assertEqual(self.lab.refusals(), [
            "denied tcp to 10.1.2.3:22: rule 'default egress deny'; to allow it: "
            "modify --net-rule-add allow@10.1.2.3:tcp:22",
            "denied tcp to 203.0.113.20:443: rule 'deny@203.0.113.20'; to allow it: "
            "modify --net-rule-add allow@203.0.113.20:tcp:443"])
        self.assertEqual(self.lab.counters()["denied"], 10)

    def test_live_change_holds_for_new_connections(self):
        self.server(PUBLIC, 80, echo)
        self.server(PRIVATE, 80)
        self.start()
        old = self.lab.connect(PUBLIC, 80)
        self.addCleanup(old.close)
        reply = self.lab.ask(type="policy", network=network([rule("allow", {"group": "private"})]))
        self.assertEqual(reply["type"], "policy")
        old.sendall(b"still")
        self.assertEqual(old.recv(10), b"still")
        self.refused(PUBLIC, 80)
        self.assertEqual(self.get(PRIVATE, 80), b"hello\n")
        reply = self.lab.ask(type="policy", network={"policy": {"default_egress": "perhaps", "default_ingress": "deny"}})
        self.assertEqual(reply["type"], "error")
        self.assertEqual(self.get(PRIVATE, 80), b"hello\n")  # the old policy stays in force

    def test_names_resolved_before_a_change_still_count(self):
        self.resolver({"good.example": [PUBLIC]})
        self.server(PUBLIC, 80)
        self.start()
        self.lab.resolve("good.example")
        self.lab.ask(type="policy", network=network([rule("allow", {"domain": "good.example"})]))
        self.assertEqual(self.get(PUBLIC, 80), b"hello\n")
        self.lab.ask(type="policy", network=network([rule("allow", {"domain": "other.example"})]))
        self.refused(PUBLIC, 80)

    def test_bytes_are_counted(self):
        self.server(PUBLIC, 80, lambda conn, peer: conn.sendall(b"x" * 1_000_000))
        self.start()
        self.assertEqual(len(self.get(PUBLIC, 80)), 1_000_000)
        counters = self.lab.counters()
        self.assertGreater(counters["rx_bytes"], 1_000_000)
        self.assertLess(counters["rx_bytes"], 1_100_000)
        self.assertEqual(counters["connections"], 1)


class Limits(GatewayTest):
    def test_max_connections(self):
        self.server(PUBLIC, 80, echo)
        self.start(network(max_connections=3))
        socks = [self.lab.connect(PUBLIC, 80) for _ in range(3)]
        self.refused(PUBLIC, 80)
        self.assertTrue(any("--max-connections" in text for text in self.lab.refusals()))
        socks.pop().close()
        eventually(lambda: self.lab.counters()["live"] == 2)
        socks.append(self.lab.connect(PUBLIC, 80))
        for s in socks:
            s.close()

    def timed(self, send_bytes, receive_bytes, rates):
        def both(conn, peer):
            got = 0
            while got < send_bytes:
                got += len(conn.recv(65536))
            conn.sendall(b"y" * receive_bytes)
        self.server(PUBLIC, 80, both)
        self.start(network(rates=rates))
        began = time.monotonic()
        with self.lab.connect(PUBLIC, 80, timeout=20) as s:
            s.sendall(b"x" * send_bytes)
            got = 0
            while part := s.recv(65536):
                got += len(part)
        self.assertEqual(got, receive_bytes)
        return time.monotonic() - began

    def test_egress_bandwidth(self):
        rate = {"amount": 1 << 20, "burst": 64 << 10, "interval_ms": 1000}
        self.assertTrue(0.8 < self.timed(1 << 20, 10, {"egress_bandwidth": rate}) < 3)

    def test_ingress_bandwidth(self):
        rate = {"amount": 1 << 20, "burst": 64 << 10, "interval_ms": 1000}
        self.assertTrue(0.8 < self.timed(10, 1 << 20, {"ingress_bandwidth": rate}) < 3)

    def test_egress_packets(self):
        rate = {"amount": 20, "burst": 5, "interval_ms": 1000}
        self.start(network(rates={"egress_ops": rate}))
        upstream = self.lab.world.socket(kind=socket.SOCK_DGRAM, timeout=0.05)
        upstream.bind((PUBLIC, 7000))
        self.addCleanup(upstream.close)
        got, end = 0, time.monotonic() + 1
        with self.lab.inside.socket(kind=socket.SOCK_DGRAM) as s:
            for _ in range(200):
                s.sendto(b"x", (PUBLIC, 7000))
            while time.monotonic() < end:
                with contextlib.suppress(TimeoutError):
                    upstream.recv(10)
                    got += 1
        self.assertTrue(15 <= got <= 40, got)


class Walls(GatewayTest):
    def status(self):
        with open(f"/proc/{self.lab.process.pid}/status") as f:
            return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)

    def test_confined_before_the_first_frame(self):
        self.start()
        status = self.status()
        with open(f"/proc/{self.lab.process.pid}/maps") as f:
            if "libasan" not in f.read():  # a build with sanitizers has no filter
                self.assertEqual(status["Seccomp"], "2")
        self.assertEqual(status["NoNewPrivs"], "1")
        for caps in ("CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"):
            self.assertEqual(int(status[caps], 16), 0, caps)
        self.assertEqual(status["Uid"], "65534\t65534\t65534\t65534")
        self.assertEqual(status["Groups"].strip(), "")
        self.assertLessEqual(len(os.listdir(f"/proc/{self.lab.process.pid}/fd")), 7)
        with open(f"/proc/{self.lab.process.pid}/limits") as f:  # a crash must start no handler on the host
            self.assertRegex(f.read(), r"(?m)^Max core file size +1 +1 +bytes")

    def test_an_idle_gateway_sleeps(self):
        self.server(PUBLIC, 80)
        self.start(ports=[{"host_port": 0, "guest_port": 80}])
        self.get(PUBLIC, 80)
        eventually(lambda: self.lab.counters()["sockets"] == 0)
        time.sleep(0.3)
        before = self.status()["voluntary_ctxt_switches"]
        time.sleep(2.5)
        self.assertLessEqual(int(self.status()["voluntary_ctxt_switches"]) - int(before), 2)

    def test_the_interface_is_silent(self):
        readable, _, _ = select.select([self.lab.link], [], [], 3)
        self.assertEqual(readable, [])

    def test_frames_sent_before_the_gateway_starts_are_not_lost(self):
        self.server(PUBLIC, 80)
        s = self.lab.inside.socket(timeout=10)
        self.addCleanup(s.close)
        s.setblocking(False)
        self.assertEqual(s.connect_ex((PUBLIC, 80)), errno.EINPROGRESS)
        # in a real sandbox, this frame makes the supervisor start the gateway
        self.assertTrue(select.select([self.lab.link], [], [], 2)[0])
        time.sleep(0.3)
        self.start()
        s.settimeout(0.5)
        self.assertEqual(s.recv(10), b"hello\n")

    def test_the_gateway_ends_with_the_supervisor(self):
        self.start()
        self.lab.control.close()
        self.assertEqual(self.lab.process.wait(5), 0)

    def test_bad_configuration(self):
        for net in ({"policy": {"default_egress": "x", "default_ingress": "deny"}}, {"max_connections": -1}):
            lab = Lab()
            self.addCleanup(lab.close)
            self.assertEqual(lab.start(net)["type"], "error")


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(payload, proto=17, src=GUEST, dst=PUBLIC, frag=0, ihl=5, options=b"", ttl=64):
    head = struct.pack(">BBHHHBBH4s4s", 0x40 | ihl, 0, 20 + len(options) + len(payload), 1, frag, ttl, proto, 0,
                       socket.inet_aton(src), socket.inet_aton(dst)) + options
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def udp(data=b"evil", sport=4444, dport=7000, src=GUEST, dst=PUBLIC):
    return struct.pack(">HHHH", sport, dport, 8 + len(data), 0) + data


def tcp(seq, ack, flags, data=b"", sport=4444, dport=80, urgent=0, src=GUEST, dst=PUBLIC, window=65535, options=b""):
    head = struct.pack(">HHIIBBHHH", sport, dport, seq, ack, (5 + len(options) // 4) << 4, flags, window, 0,
                       urgent) + options
    pseudo = socket.inet_aton(src) + socket.inet_aton(dst) + struct.pack(">HH", 6, len(head) + len(data))
    total = checksum(pseudo + head + data)
    return head[:16] + struct.pack(">H", total) + head[18:] + data


def ethernet(payload, kind=0x0800, src=GUEST_MAC, dst=GATEWAY_MAC):
    return mac(dst) + mac(src) + struct.pack(">H", kind) + payload


FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32


class Attacks(GatewayTest):
    """Root inside sends frames that it built itself."""
    trains = False

    def setUp(self):
        super().setUp()
        self.raw = self.lab.inside.do(socket.socket, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.raw.bind(("eth0", 3))
        self.raw.settimeout(2)
        self.addCleanup(self.raw.close)
        self.witness = self.lab.world.socket(kind=socket.SOCK_DGRAM, timeout=0.3)
        self.witness.bind((PUBLIC, 7000))
        self.addCleanup(self.witness.close)

    def nothing_arrived(self):
        with self.assertRaises(TimeoutError):
            self.fail(f"the server got {self.witness.recvfrom(2000)}")

    def arrives(self, s, data):
        s.sendto(data, (PUBLIC, 7000))
        with contextlib.suppress(TimeoutError):
            while self.witness.recv(2000) != data:
                pass
            return True
        return False

    def still_works(self):
        """Asserts that the gateway still works after the attack."""
        with contextlib.suppress(TimeoutError):
            while self.witness.recv(2000):  # discard packets of the attack that the policy allowed
                pass
        self.lab.inside.ip(f"address replace {GUEST}/30 dev eth0\nroute replace default via {GATEWAY} dev eth0\n"
                           f"neighbour replace {GATEWAY} lladdr {GATEWAY_MAC} nud permanent dev eth0\n")
        with self.lab.inside.socket(kind=socket.SOCK_DGRAM) as s:
            # while the link is full it drops packets, so the test sends the datagram again until it arrives
            eventually(lambda: self.arrives(s, b"fine") or self.lab.process.poll() is not None, within=20)
        self.assertIsNone(self.lab.process.poll())

    def test_forged_senders(self):
        self.start()
        self.raw.send(ethernet(ipv4(udp())))  # a correct packet, which shows that the witness works
        self.assertEqual(self.witness.recv(100), b"evil")
        for frame in (ethernet(ipv4(udp(), src="172.20.5.3")), ethernet(ipv4(udp(), src=PUBLIC)),
                      ethernet(ipv4(udp(), src="127.0.0.1")), ethernet(ipv4(udp()), src="02:00:00:00:00:03"),
                      ethernet(ipv4(udp()), dst="02:00:00:00:00:09"), ethernet(ipv4(udp()), dst="ff:ff:ff:ff:ff:ff")):
            self.raw.send(frame)
        self.nothing_arrived()
        self.assertEqual(self.lab.counters()["spoofed"], 6)
        self.still_works()

    def test_fragments_options_and_headers(self):
        self.start()
        whole = udp(b"e" * 64)
        bad = ethernet(ipv4(udp()))
        frames = {
            "fragment": [ethernet(ipv4(whole[:40], frag=0x2000)), ethernet(ipv4(whole[40:], frag=5)),
                         ethernet(ipv4(b"", frag=0x2000))],
            "options": [ethernet(ipv4(udp(), ihl=6, options=b"\x01\x01\x01\x00")),
                        ethernet(ipv4(udp(), ihl=7, options=b"\x83\x07\x04\x0a\x01\x02\x03\x00"))],
            "header": [bad[:24] + b"\xff\xff" + bad[26:], ethernet(ipv4(udp(), ttl=0)),
                       ethernet(ipv4(udp(), frag=0x8000)), ethernet(b"\x35" + ipv4(udp())[1:])],
            "protocol": [ethernet(ipv4(b"x" * 40, proto=132)), ethernet(ipv4(b"x" * 40, proto=47))],
            "type": [ethernet(b"x" * 60, kind=0x8100), ethernet(b"x" * 60, kind=0x88F8)],
            "short": [ethernet(ipv4(udp())[:19]), ethernet(ipv4(b"xx")),
                      ethernet(ipv4(struct.pack(">HHHH", 1, 7000, 400, 0) + b"x")), ethernet(b"")],
        }
        for group in frames.values():
            for frame in group:
                self.raw.send(frame)
        self.nothing_arrived()
        malformed = self.lab.counters()["malformed"]
        self.assertGreaterEqual(len(frames), 6)
        for what, group in frames.items():
            self.assertEqual(malformed[what], len(group), what)
        self.still_works()

    def test_oversized_frames(self):
        self.start()
        self.lab.inside.ip("link set eth0 mtu 65521\n")
        for size in (1473, 4000, 9000, 32768, 65000, 65471):
            self.raw.send(ethernet(ipv4(udp(b"x" * size))))
            self.raw.send(ethernet(ipv4(tcp(1, 0, SYN, options=b"\x01" * 40) + b"x" * min(size, 65000), proto=6)))
            self.raw.send(ethernet(b"x" * size, kind=0x0806))
        for claimed in (20, 60, 1500, 65535):  # the length in the header is not the length of the frame
            packet = ipv4(udp(b"x" * 2000))
            head = packet[:2] + struct.pack(">H", claimed) + packet[4:10] + b"\0\0" + packet[12:20]
            self.raw.send(ethernet(head[:10] + struct.pack(">H", checksum(head)) + head[12:] + packet[20:]))
        self.lab.inside.ip("link set eth0 mtu 1500\n")
        self.still_works()

    def test_datagrams_to_every_forbidden_address_are_dropped(self):
        self.start(network([], egress="allow"))
        for dst in ("127.0.0.1", "0.0.0.0", "224.0.0.251", "255.255.255.255", "172.20.5.0", "172.20.5.3", "240.0.0.1"):
            self.raw.send(ethernet(ipv4(udp(), dst=dst)))
        for port in (67, 69):
            self.raw.send(ethernet(ipv4(udp(dport=port, data=b"\0\1/etc/passwd\0octet\0"), dst=GATEWAY)))
        eventually(lambda: self.lab.counters()["dropped"] == 9)
        self.still_works()

    def handshake(self, isn=1000, sport=4444):
        self.raw.send(ethernet(ipv4(tcp(isn, 0, SYN, sport=sport), proto=6)))
        while True:
            frame = self.raw.recv(2000)
            ours = frame[12:14] == b"\x08\x00" and frame[23] == 6 and frame[26:30] == socket.inet_aton(PUBLIC)
            if ours and frame[36:38] == struct.pack(">H", sport):
                seq, ack = struct.unpack(">II", frame[38:46])
                self.assertEqual(frame[47] & (SYN | ACK), SYN | ACK)
                return isn + 1, seq + 1

    def test_cve_2026_9539_urgent_data(self):
        """CVE-2026-9539: an urgent pointer past the data made libslirp send the memory behind the data."""
        received = []

        def keep(conn, peer):
            conn.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
            while data := conn.recv(65536):
                received.append(data)
        self.server(PUBLIC, 80, keep)
        self.start()
        self.drop_kernel_resets()
        seq, ack = self.handshake()
        for urgent in (1, 5, 100, 65535):
            self.raw.send(ethernet(ipv4(tcp(seq, ack, ACK | PSH | URG, b"AAAA", urgent=urgent), proto=6)))
            seq += 4
        self.raw.send(ethernet(ipv4(tcp(seq, ack, ACK | PSH, b"end", urgent=9999), proto=6)))
        eventually(lambda: b"".join(received).endswith(b"end"))
        self.assertEqual(b"".join(received), b"AAAA" * 4 + b"end")
        self.raw.send(ethernet(ipv4(tcp(5000, 0, SYN | URG, sport=5555, urgent=7, dport=22, dst=PRIVATE), proto=6,
                                    dst=PRIVATE)))
        eventually(lambda: self.lab.counters()["denied"] == 1)
        self.still_works()

    def drop_kernel_resets(self):
        """The kernel in the namespace `inside` answers segments of unknown connections with RST. Removes the address of
        this namespace, so that no RST is sent."""
        self.lab.inside.ip(f"address del {GUEST}/30 dev eth0\n")

    def test_a_retransmitted_hello_with_other_bytes(self):
        """The gateway must judge exactly the bytes that it passes to the server."""
        self.resolver({"good.example": [PUBLIC]})
        received = []

        def keep(conn, peer):
            while data := conn.recv(65536):
                received.append(data)
        self.server(PUBLIC, 80, keep)
        self.start(network([rule("allow", {"domain": "good.example"})]))
        self.lab.resolve("good.example")
        self.drop_kernel_resets()
        good, evil = client_hello("good.example"), client_hello("evil.example")
        self.assertEqual(len(good), len(evil))

        def send(data, at=0, ack_offset=0, spoil=False):
            segment = tcp(seq + at, ack + ack_offset, ACK | PSH, data, sport=sport)
            if spoil:
                segment = segment[:16] + b"\xde\xad" + segment[18:]
            self.raw.send(ethernet(ipv4(segment, proto=6)))
            time.sleep(0.02)

        for sport, first in ((6001, {"spoil": True}), (6002, {"ack_offset": 1 << 20}), (6003, {"ack_offset": -5000})):
            received.clear()
            seq, ack = self.handshake(sport=sport)
            send(b"")            # completes the handshake
            # the gateway drops this segment if its checksum is wrong, and takes it otherwise
            send(good, **first)
            send(evil)           # the same sequence number, other bytes
            send(evil[50:], at=50)
            send(evil[:40])
            send(evil[40:], at=40)
            time.sleep(0.1)
            self.assertNotIn(b"evil", b"".join(received), first)
            # after the wrong checksum, the gateway has judged the bytes of `evil` and ended the connection; in the
            # other two rounds the connection still lives, and the server gets the bytes of `good`
            send(good)
            send(good[50:], at=50)
            eventually(lambda: "spoil" in first or b"".join(received) == good)
        # segments out of order: first the tail of one hello, then the head of the other
        seq, ack = self.handshake(sport=6004)
        sport = 6004
        received.clear()
        send(evil[100:], at=100)
        send(good[:100])
        send(good[100:], at=100)
        time.sleep(0.1)
        self.assertIn(b"".join(received), (b"", good, good[:100]))

    def test_arp(self):
        self.start()

        def arp(op, sender_mac, sender, target_mac, target, **kwargs):
            return ethernet(struct.pack(">HHBBH6s4s6s4s", 1, 0x0800, 6, 4, op, mac(sender_mac), socket.inet_aton(sender),
                                        mac(target_mac), socket.inet_aton(target)), kind=0x0806, **kwargs)
        zero, all_ones = "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"
        self.raw.send(arp(1, GUEST_MAC, GUEST, zero, GATEWAY, dst=all_ones))
        while True:
            frame = self.raw.recv(100)
            if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\2":
                break
        self.assertEqual(frame[22:28], mac(GATEWAY_MAC))
        for frame in (arp(2, "02:00:00:00:00:66", GUEST, GATEWAY_MAC, GATEWAY), arp(1, GUEST_MAC, GATEWAY, zero, GUEST),
                      arp(2, "02:00:00:00:00:66", GUEST, GATEWAY_MAC, GATEWAY, src="02:00:00:00:00:66"),
                      arp(1, "02:00:00:00:00:66", GUEST, zero, GUEST, dst=all_ones)):
            self.raw.send(frame)
        self.still_works()

    def test_echo_flood(self):
        self.start()
        data = b"x" * 48
        message = struct.pack(">BBHHH", 8, 0, 0, 7, 1) + data
        message = message[:2] + struct.pack(">H", checksum(message)) + message[4:]
        # the queue of the device drops frames while the gateway is busy: send until enough arrived
        for _ in range(40):
            for _ in range(500):
                self.raw.send(ethernet(ipv4(message, proto=1)))
            if self.lab.counters()["tx_packets"] >= 2500:
                break
        eventually(lambda: self.lab.counters()["tx_packets"] >= 2500)
        self.assertLess(self.lab.counters()["sockets"], 200)
        self.still_works()

    def test_syn_flood_stays_bounded(self):
        self.lab.outside.ip(netlab.BLACK_HOLE)
        self.start(network(max_connections=100))
        self.drop_kernel_resets()
        for i in range(3000):
            self.raw.send(ethernet(ipv4(tcp(i, 0, SYN, sport=1024 + i, dst="198.18.0.1"), proto=6, dst="198.18.0.1")))
            if i % 100 == 0:
                time.sleep(0.01)
        counters = self.lab.counters()
        self.assertLessEqual(counters["live"], 100)
        self.assertLessEqual(counters["sockets"], 100)

    def test_random_frames(self):
        self.server(PUBLIC, 80, echo)
        self.start(network([rule("deny", {"domain": "evil.example"}), ALLOW_DNS, ALLOW_PUBLIC], max_connections=10_000))
        rnd = random.Random(7)
        seeds = [ethernet(ipv4(udp())), ethernet(ipv4(tcp(1, 0, SYN), proto=6)), ethernet(ipv4(tcp(2, 9, ACK, b"data"), proto=6)),
                 ethernet(ipv4(udp(netlab.dns_query("a.example"), dport=53), dst=GATEWAY)),
                 ethernet(ipv4(tcp(1, 0, SYN, dport=53), proto=6, dst=PUBLIC))]
        for i in range(6000):
            frame = bytearray(rnd.choice(seeds))
            for _ in range(rnd.randrange(4)):
                frame[rnd.randrange(12, len(frame))] = rnd.randrange(256)
            # give most frames a correct header checksum, so that the gateway parses more of the frame
            if rnd.random() < 0.8 and frame[12:14] == b"\x08\x00":
                frame[24:26] = b"\0\0"
                frame[24:26] = struct.pack(">H", checksum(bytes(frame[14:34])))
            self.raw.send(bytes(frame[:rnd.randrange(14, len(frame) + 1) if rnd.random() < 0.1 else len(frame)]))
            if i % 200 == 0:
                time.sleep(0.01)
        eventually(lambda: self.lab.counters()["tx_packets"] > 3000)
        self.still_works()


if __name__ == "__main__":
    unittest.main()
