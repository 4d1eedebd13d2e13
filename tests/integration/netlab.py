"""A little internet in network namespaces, for tests of the gateway.

There are three namespaces. `inside` has the sandbox's end of the link. `outside` is the host, where
the gateway runs. `world` is connected to the host by a cable. The servers in `world` have addresses
that look public, private or special, but exist only in this namespace. No route leads out of the
namespaces, so no packet can reach a real network. To make a socket in a namespace, one thread of
the test enters the namespace.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import threading
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x2, 0x1000, 0x4000
TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6 = 1, 2, 4
libc = ctypes.CDLL(None, use_errno=True)

PUBLIC, PUBLIC2, PUBLIC6 = "203.0.113.10", "203.0.113.20", "2001:db8:1::10"
PRIVATE, METADATA, RESOLVER, RESOLVER2 = "10.1.2.3", "169.254.169.254", "198.51.100.53", "198.51.100.54"
HOST, HOST6 = "203.0.113.1", "2001:db8::1"  # the host's own addresses, which are public too
GATEWAY, GUEST = "172.20.5.1", "172.20.5.2"
GATEWAY6, GUEST6 = "fd42:6d73:62:7::1", "fd42:6d73:62:7::2"
GATEWAY_MAC, GUEST_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"

PREFIX = os.environ.get("CORDON_TEST_PREFIX", "")
PROGRAM = os.environ.get("CORDON_TEST_GATEWAY") or os.path.join(PREFIX, "libexec", "cordon", "cordon-gateway")


def check(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), what)


# the kernel sends packets to 198.18.0.0/15, but no machine answers them
BLACK_HOLE = """link add hole type veth peer name nowhere
link set nowhere up
link set hole arp off up
route add 198.18.0.0/15 dev hole
"""


def receive_exactly(s, n):
    data = b""
    while len(data) < n:
        part = s.recv(n - len(data))
        if not part:
            raise ConnectionError("closed early")
        data += part
    return data


class Namespace:
    """A network namespace, kept alive by a descriptor."""

    def __init__(self):
        def make():
            check(libc.unshare(CLONE_NEWNET), "unshare")
            return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.fd = in_thread(make)

    def close(self):
        os.close(self.fd)

    def enter(self):
        check(libc.setns(self.fd, CLONE_NEWNET), "setns")

    def do(self, what, *args, **kwargs):
        """Calls WHAT in this namespace."""
        def call():
            self.enter()
            return what(*args, **kwargs)
        return in_thread(call)

    def run(self, *argv, timeout=20, check=True, **kwargs):
        return subprocess.run(argv, preexec_fn=self.enter, timeout=timeout, check=check,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)

    def popen(self, *argv, **kwargs):
        return subprocess.Popen(argv, preexec_fn=self.enter, **kwargs)

    def ip(self, commands):
        self.run("ip", "-batch", "-", input=commands)

    def sysctl(self, path, value):
        def write():
            with open("/proc/sys/net/" + path, "w") as f:
                f.write(str(value))
        self.do(write)

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_STREAM, timeout=5):
        s = self.do(socket.socket, family, kind)
        s.settimeout(timeout)
        return s


def in_thread(what):
    result = []

    def body():
        try:
            result.append((what(), None))
        except BaseException as exc:  # in_thread() raises it again in the caller's thread
            result.append((None, exc))
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    value, exc = result[0]
    if exc:
        raise exc
    return value


def eventually(what, within=5, every=0.02):
    end = time.monotonic() + within
    while True:
        value = what()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {within} s")
        time.sleep(every)


# ---------------------------------------------------------------------------------------------
# a DNS resolver whose answers the test chooses


def dns_name(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label) + b"\0"


def dns_query(name, qtype=1, ident=0x1234, raw_name=None, edns=None):
    question = (raw_name if raw_name is not None else dns_name(name)) + struct.pack(">HH", qtype, 1)
    opt = b"" if edns is None else b"\0" + struct.pack(">HHIH", 41, edns, 0, 0)
    return struct.pack(">HHHHHH", ident, 0x0100, 1, 0, 0, 1 if opt else 0) + question + opt


def dns_parse_question(msg):
    labels, at = [], 12
    while msg[at]:
        labels.append(msg[at + 1:at + 1 + msg[at]].decode("latin1"))
        at += 1 + msg[at]
    return ".".join(labels), struct.unpack(">H", msg[at + 1:at + 3])[0], at + 5


def dns_answer(query, addresses, rcode=0, ttl=60, truncated=False):
    name, qtype, end = dns_parse_question(query)
    records = []
    for a in addresses:
        family = socket.AF_INET6 if ":" in a else socket.AF_INET
        rtype = 28 if family == socket.AF_INET6 else 1
        if rtype == qtype or qtype == 255:
            data = socket.inet_pton(family, a)
            records.append(b"\xc0\x0c" + struct.pack(">HHIH", rtype, 1, ttl, len(data)) + data)
    flags = 0x8180 | rcode | (0x0200 if truncated else 0)
    if truncated:
        records = []
    return (query[:2] + struct.pack(">HHHHH", flags, 1, len(records), 0, 0) + query[12:end] + b"".join(records))


class Resolver:
    """A resolver for UDP and TCP, which answers from a table and records the questions."""

    def __init__(self, ns, address, port=53, table=None):
        self.table = dict(table or {})
        self.asked, self.ignored, self.silent, self.truncate, self.ttl = [], 0, False, False, 60
        self.udp = ns.do(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((address, port))
        self.tcp = ns.do(socket.socket)
        self.tcp.bind((address, port))
        self.tcp.listen(64)
        self.threads = [threading.Thread(target=t, daemon=True) for t in (self.serve_udp, self.serve_tcp)]
        for t in self.threads:
            t.start()

    def close(self):
        for s in (self.udp, self.tcp):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
            s.close()

    def answer(self, query, how):
        name, qtype, _ = dns_parse_question(query)
        self.asked.append((name.lower(), qtype, how))
        addresses = self.table.get(name.lower())
        if addresses is None:
            return dns_answer(query, [], rcode=3)
        return dns_answer(query, addresses, ttl=self.ttl, truncated=self.truncate and how == "udp")

    def serve_udp(self):
        while True:
            try:
                query, peer = self.udp.recvfrom(4096)
                if query and self.silent:
                    self.ignored += 1
                elif query:
                    self.udp.sendto(self.answer(query, "udp"), peer)
            except OSError:
                return

    def serve_tcp(self):
        while True:
            try:
                conn, _ = self.tcp.accept()
            except OSError:
                return
            with conn:
                head = conn.recv(2, socket.MSG_WAITALL)
                if len(head) == 2:
                    query = conn.recv(struct.unpack(">H", head)[0], socket.MSG_WAITALL)
                    reply = self.answer(query, "tcp")
                    conn.sendall(struct.pack(">H", len(reply)) + reply)


class Server:
    """A TCP server; each connection is served by HANDLER(conn, peer) in a thread."""

    def __init__(self, ns, address, port, handler):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.handler, self.seen = handler, []
        self.listener = ns.do(socket.socket, family)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((address, port))
        self.listener.listen(512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.loop, daemon=True).start()

    def loop(self):
        while True:
            try:
                conn, peer = self.listener.accept()
            except OSError:
                return
            self.seen.append(peer)
            threading.Thread(target=self.serve, args=(conn, peer), daemon=True).start()

    def serve(self, conn, peer):
        with conn, contextlib.suppress(OSError):
            self.handler(conn, peer)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def echo(conn, peer):
    while data := conn.recv(65536):
        conn.sendall(data)


def hello(conn, peer):
    conn.sendall(b"hello\n")


# ---------------------------------------------------------------------------------------------
# the gateway


def rule(action, destination, direction="egress", ports=(), protocols=()):
    return {"action": action, "destination": destination, "direction": direction,
            "ports": [{"start": a, "end": b} for a, b in ports], "protocols": list(protocols)}


ALLOW_DNS = rule("allow", {"group": "host"}, ports=[(53, 53)], protocols=["udp", "tcp"])
ALLOW_PUBLIC = rule("allow", {"group": "public"})


def network(rules=(ALLOW_DNS, ALLOW_PUBLIC), egress="deny", ingress="allow", nameservers=(RESOLVER,), **more):
    dns = {"nameservers": list(nameservers), "query_timeout_ms": more.pop("timeout_ms", 2000),
           "rebind_protection": more.pop("rebind_protection", True)}
    return {"policy": {"default_egress": egress, "default_ingress": ingress, "rules": list(rules)},
            "dns": dns, "interface": {}, **more}


LEASE = {"gateway_ipv4": GATEWAY, "gateway_ipv6": GATEWAY6, "gateway_mac": GATEWAY_MAC,
         "guest_ipv4": GUEST, "guest_ipv6": GUEST6, "guest_mac": GUEST_MAC}


class Lab:
    """The namespaces, the cables between them and, once started, the gateway."""

    def __init__(self, link="tap", trains=True, v6_route=True):
        self.outside, self.inside, self.world = Namespace(), Namespace(), Namespace()
        self.process, self.denied = None, []
        self.lay_cable(v6_route)
        self.outside.sysctl("ipv4/ping_group_range", "0 2147483647")
        self.link = self.inside.do(self.make_tap, trains) if link == "tap" else self.inside.do(self.make_veth, trains)
        self.configure_inside()

    def lay_cable(self, v6_route):
        def make():
            subprocess.run(["ip", "link", "add", "up0", "type", "veth", "peer", "name", "host0",
                            "netns", f"/proc/{os.getpid()}/fd/{self.world.fd}"], check=True)
        self.outside.do(make)
        self.world.ip("link set lo up\nlink set host0 up\n" + "".join(
            f"address add {a} dev lo\n" for a in (PUBLIC, PUBLIC2, PRIVATE, METADATA, RESOLVER, RESOLVER2))
            + f"address add {PUBLIC6} dev lo nodad\naddress add 2001:db8::2/64 dev host0 nodad\n"
            + "address add 203.0.113.2/24 dev host0\n")
        self.outside.ip(f"link set lo up\nlink set up0 up\naddress add {HOST}/24 dev up0\n"
                        f"address add {HOST6}/64 dev up0 nodad\n" + "".join(
                            f"route add {a} via 203.0.113.2\n"
                            for a in (PUBLIC, PUBLIC2, PRIVATE, METADATA, RESOLVER, RESOLVER2))
                        + (f"route add 2000::/3 via 2001:db8::2\n" if v6_route else ""))

    @staticmethod
    def make_tap(trains):
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        flags = IFF_TAP | IFF_NO_PI | (IFF_VNET_HDR if trains else 0)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"eth0", flags))
        if trains:
            fcntl.ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)
        return fd

    @staticmethod
    def make_veth(trains):
        PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 15, 23
        subprocess.run(["ip", "link", "add", "eth0", "type", "veth", "peer", "name", "gw0"], check=True)
        subprocess.run(["sysctl", "-qw", "net.ipv6.conf.gw0.disable_ipv6=1"], check=True)
        subprocess.run(["ip", "link", "set", "gw0", "arp", "off", "up"], check=True)
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        s.setsockopt(263, PACKET_IGNORE_OUTGOING, 1)
        s.setsockopt(263, PACKET_VNET_HDR, int(trains))
        s.bind(("gw0", 3))
        return s.detach()

    def configure_inside(self):
        for key, value in (("accept_dad", 0), ("accept_ra", 0), ("router_solicitations", 0), ("addr_gen_mode", 1)):
            self.inside.sysctl(f"ipv6/conf/eth0/{key}", value)
        self.inside.ip(f"""link set lo up
link set eth0 address {GUEST_MAC} mtu 1500 arp off up
address add {GUEST}/30 dev eth0
address add {GUEST6}/64 dev eth0 nodad
neighbour replace {GATEWAY} lladdr {GATEWAY_MAC} nud permanent dev eth0
neighbour replace {GATEWAY6} lladdr {GATEWAY_MAC} nud permanent dev eth0
route add default via {GATEWAY} dev eth0
route add default via {GATEWAY6} dev eth0
""")

    def start(self, net=None, ports=(), ids=(65534, 65534), **more):
        """Starts the gateway and returns its first message. MORE has further members of the configuration."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        config = {"type": "config", "lease": LEASE, "network": net or network(), "ports": list(ports), **more}
        if ids and os.geteuid() == 0:
            config["uid"], config["gid"] = ids
        os.set_inheritable(self.link, True)
        os.set_inheritable(theirs.fileno(), True)
        refusals = os.memfd_create("refusals", 0)
        os.ftruncate(refusals, 1 << 16)
        fds = (self.link, theirs.fileno(), refusals)
        self.process = self.outside.popen(PROGRAM, *map(str, fds), pass_fds=fds, stdin=subprocess.DEVNULL)
        os.close(refusals)
        theirs.close()
        self.control = ours
        ours.settimeout(10)
        ours.send(json.dumps(config).encode())
        return self.receive()

    def receive(self):
        return json.loads(self.control.recv(1 << 20) or b'{"type": "gone"}')

    def ask(self, **message):
        """Sends a message to the gateway and returns the answer. Keeps refusals that arrive before the answer."""
        self.control.send(json.dumps(message).encode())
        while (reply := self.receive())["type"] == "denied":
            self.denied.append(reply["text"])
        return reply

    def counters(self):
        return self.ask(type="counters")

    def refusals(self):
        self.counters()
        return self.denied

    def stop(self):
        if self.process and self.process.poll() is None:
            with contextlib.suppress(OSError):
                self.control.send(b'{"type":"quit"}')
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode if self.process else None

    def close(self):
        self.stop()
        if self.process:
            self.control.close()
        os.close(self.link)
        for ns in (self.inside, self.outside, self.world):
            ns.close()

    def connect(self, address, port, timeout=5):
        s = self.inside.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, timeout=timeout)
        try:
            s.connect((address, port))
        except BaseException:
            s.close()
            raise
        return s

    def resolve(self, name, qtype=1, server=GATEWAY, tcp=False, timeout=5, **kwargs):
        """Sends one question from inside; returns (rcode, addresses, truncated)."""
        query = dns_query(name, qtype, **kwargs)
        if tcp:
            with self.connect(server, 53, timeout) as s:
                s.sendall(struct.pack(">H", len(query)) + query)
                reply = receive_exactly(s, struct.unpack(">H", receive_exactly(s, 2))[0])
        else:
            family = socket.AF_INET6 if ":" in server else socket.AF_INET
            with self.inside.socket(family, socket.SOCK_DGRAM, timeout) as s:
                s.connect((server, 53))
                s.send(query)
                reply = s.recv(65536)
        return parse_reply(reply)


class World(Lab):
    """A lab with the namespaces `outside` and `world` only, for tests with a real sandbox and its gateway."""

    def __init__(self):
        self.outside, self.world = Namespace(), Namespace()
        self.lay_cable(v6_route=True)
        self.outside.sysctl("ipv4/ping_group_range", "0 2147483647")

    def close(self):
        self.outside.close()
        self.world.close()


def parse_reply(reply):
    flags, _, answers = struct.unpack(">HHH", reply[2:8])
    found = []
    if answers or len(reply) > 12:
        at = 12
        if struct.unpack(">H", reply[4:6])[0]:
            _, _, at = dns_parse_question(reply)
        for _ in range(answers):
            rtype, _, _, n = struct.unpack(">HHIH", reply[at + 2:at + 12])
            data = reply[at + 12:at + 12 + n]
            at += 12 + n
            if rtype in (1, 28):
                found.append(socket.inet_ntop(socket.AF_INET if rtype == 1 else socket.AF_INET6, data))
    return flags & 15, found, bool(flags & 0x0200)
