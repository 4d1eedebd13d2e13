"""Measures the network: throughput, connections, the cost of rules, and the cost of an unused network.

The servers are in network namespaces (tests/integration/netlab.py). A virtual cable connects these namespaces to the
"host", the namespace in which cordon and the other programs run. No packet can reach a real network."""
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import netlab  # noqa: E402

PORT = 5000
GUEST_NET = "172.21.7"  # the network of the bridge
RULES = 200  # the gateway compares each connection with all of these rules
DENIED = "10.255.255.1"  # a connection to this address starts the gateway


class Refused(Exception):
    """A program or network cannot be measured on this machine. The text says why."""


class Place:
    """A place where a client runs. PREFIX is the command that runs the program `transfer` there, without the
    program's arguments."""

    def __init__(self, name, prefix=(), budget=None, error=None, remark=""):
        self.name, self.prefix, self.budget = name, list(prefix), budget
        self.error, self.remark, self.samples = error, remark, []


class Lab:
    """The namespaces, a server in the namespace `world`, and clients behind each kind of network."""

    def __init__(self, bench, who):
        self.bench, self.who, self.processes, self.boxes = bench, who, [], []
        self.program = bench.work / "transfer"
        error = None if self.program.exists() else bench.compile(self.program, bench.base_sources)
        if error:
            raise Refused(error)
        self.net = netlab.World()
        self.net.outside.ip("route add default via 203.0.113.2\n")
        server = self.popen(self.net.world, [str(self.program), "serve", netlab.PUBLIC, str(PORT)],
                            stdout=subprocess.PIPE)
        if server.stdout.readline() != b"ready\n":
            raise Refused("the server does not start")

    def popen(self, namespace, argv, **kwargs):
        process = subprocess.Popen(argv, preexec_fn=namespace.enter, env=self.who.env, cwd=self.who.dir,
                                   **{"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **kwargs})
        self.processes.append(process)
        return process

    def on_host(self, *argv):
        """Runs a command on the "host" to its end."""
        done = self.net.outside.run(*argv, check=False, env=self.who.env, timeout=60)
        if done.returncode != 0:
            raise Refused(f"{os.path.basename(argv[0])}: {done.stderr.strip()[-160:]}")
        return done.stdout

    def close(self):
        for name in self.boxes:
            self.net.outside.run(self.bench.cordon, "rm", "-f", "-q", name, check=False, env=self.who.env)
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        self.net.close()

    # --- the kinds of networks ------------------------------------------------------------------

    def cordon(self, name, *options):
        box = f"net{len(self.boxes)}"
        self.on_host(self.bench.cordon, "create", "-q", "-n", box, "-v", f"{self.bench.work}:/bench:ro", *options, "host")
        self.boxes.append(box)
        return Place(name, [self.bench.cordon, "exec", box, "--", "/bench/transfer"])

    def empty(self):
        """Returns the pid of a process in an empty network namespace."""
        process = self.popen(self.net.outside, ["/usr/bin/unshare", "--net", "/bin/sh", "-c", "echo; exec sleep 100000"],
                             stdout=subprocess.PIPE)
        process.stdout.readline()
        return process.pid

    def inside(self, pid):
        return ["/usr/bin/nsenter", f"--net=/proc/{pid}/ns/net", str(self.program)]

    def slirp(self, mtu):
        path, pid = self.who.find("slirp4netns"), self.empty()
        if not path:
            raise Refused("not installed")
        read, write = os.pipe()
        process = self.popen(self.net.outside, [path, "--configure", f"--mtu={mtu}", f"--ready-fd={write}", str(pid), "tap0"],
                             pass_fds=(write,), stdout=subprocess.DEVNULL)
        os.close(write)
        with open(read, "rb") as ready:
            if ready.read(1) != b"1":
                raise Refused(f"it ended with status {process.wait()}")
        return self.inside(pid)

    def pasta(self):
        path = self.who.find("pasta")
        if not path:
            raise Refused("not installed")
        # If root runs pasta, pasta cannot join an existing namespace. So pasta makes a namespace and runs a command
        # there. setpriv makes this command end with pasta.
        process = self.popen(self.net.outside, [path, "--config-net", "--runas", "0", "--foreground", "--",
                                                "/usr/bin/setpriv", "--pdeathsig", "KILL", "/bin/sh", "-c",
                                                "echo ready; exec sleep 100000"], stdout=subprocess.PIPE)
        if process.stdout.readline() != b"ready\n":
            raise Refused(f"it ended with status {process.wait()}")
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return self.inside(children[0])

    def bridge(self):
        pid = self.empty()
        self.net.outside.sysctl("ipv4/ip_forward", 1)
        self.net.outside.ip(f"link add br0 type bridge\naddress add {GUEST_NET}.1/24 dev br0\nlink set br0 up\n"
                            f"link add port0 type veth peer name eth0 netns {pid}\nlink set port0 master br0 up\n")
        self.net.world.ip(f"route add {GUEST_NET}.0/24 via {netlab.HOST}\n")
        subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", "ip", "-batch", "-"], check=True, text=True,
                       input=f"address add {GUEST_NET}.2/24 dev eth0\nlink set eth0 up\nroute add default via {GUEST_NET}.1\n")
        return self.inside(pid)

    def places(self):
        """Returns a place for each program, first the place of cordon."""
        found = [self.cordon("cordon")]
        for name, make, budget, remark in (("slirp4netns", lambda: self.slirp(1500), 1.0, "MTU 1500, as ours"),
                                           ("slirp4netns, large MTU", lambda: self.slirp(65520), None, "MTU 65520"),
                                           ("pasta", self.pasta, None, "MTU 65520"),
                                           ("veth and bridge", self.bridge, None, "the kernel's, needs root")):
            try:
                found.append(Place(name, make(), budget, remark=remark))
            except Refused as error:
                found.append(Place(name, error=str(error)))
        return found

    # --- measuring ------------------------------------------------------------------------------

    def sample(self, place, *args):
        if place.error:
            return
        done = self.net.outside.run(*place.prefix, *args, check=False, env=self.who.env, timeout=120)
        if done.returncode != 0:
            place.error = f"status {done.returncode}: {done.stderr.strip()[-160:]}"
        else:
            place.samples.append(int(done.stdout))


def rows(bench, who):
    if bench.cordon is None:
        print(f"\nnetwork, as {who.name}\n  not measured: {bench.ours('').error}")
        return
    if who.privileged:
        try:
            lab = Lab(bench, who)
        except (Refused, OSError) as error:
            print(f"\nnetwork, as {who.name}\n  not measured: {error}")
            return
        try:
            row_speed(bench, who, lab)
            row_rules(bench, who, lab)
        except Refused as error:
            print(f"\nnetwork, as {who.name}\n  not measured: {error}")
        finally:
            lab.close()
    row_create(bench, who)
    row_memory(bench, who)


def judge(bench, row, who, places, amount, unit):
    """Prints AMOUNT divided by the median time of each place. More is better."""
    print(f"\n{row}, as {who.name}")
    rates = {p.name: amount / (statistics.median(p.samples) / 1e9) for p in places if not p.error and p.samples}
    for place in places:
        if place.error:
            print(f"  {place.name:<22} not measured: {place.error}")
            continue
        line = f"  {place.name:<22} {rates[place.name]:9.1f} {unit}  n {len(place.samples):>4}"
        if place is not places[0] and places[0].name in rates:
            ratio = rates[places[0].name] / rates[place.name]
            line += f"  cordon is {ratio:6.3f} x"
            if place.budget:
                line += bench.note(row, who, place.name, ratio, place.budget, at_least=True)
        print(line + (f"  ({place.remark})" if place.remark else ""))
        bench.results.append({"row": row, "as": who.name, "peer": place.name, "median": rates[place.name],
                              "n": len(place.samples), "unit": unit})
    sys.stdout.flush()


def row_speed(bench, who, lab):
    """Measures the throughput of one connection each way, and short connections one after the other."""
    rounds = 3 if bench.args.quick else 10
    mib = 64 if bench.args.quick else 256
    connections = 300 if bench.args.quick else 1000
    places = lab.places()
    for row, verb, count, amount, unit in (
            ("TCP to the sandbox, one connection", "get", mib << 20, mib, "MiB/s"),
            ("TCP from the sandbox, one connection", "put", mib << 20, mib, "MiB/s"),
            ("TCP connections, one after the other", "connect", connections, connections, "/s   ")):
        for place in places:
            place.samples = []
        for _ in range(rounds):
            for place in places:
                lab.sample(place, verb, netlab.PUBLIC, str(PORT), str(count))
        judge(bench, row, who, places, amount, unit)


def row_rules(bench, who, lab):
    """Reports how much time the rules take for each new connection. This cost has no budget."""
    tokens = ",".join(f"deny@11.{i}.0.0/16:tcp:443" for i in range(RULES))
    places = [lab.cordon(f"{RULES} rules", "--net-rule", tokens), lab.cordon("no rules", "--net", "all")]
    rounds, connections = (5, 300) if bench.args.quick else (15, 1000)
    for _ in range(rounds):
        for place in places:
            lab.sample(place, "connect", netlab.PUBLIC, str(PORT), str(connections))
    row = "policy, per new connection"
    print(f"\n{row}, as {who.name}")
    for place in places:
        if place.error:
            print(f"  {place.name:<22} not measured: {place.error}")
            return
    cost = [statistics.median(p.samples) / connections / 1000 for p in places]
    for place, us in zip(places, cost):
        print(f"  {place.name:<22} {us:9.2f} us")
    print(f"  {cost[0] / cost[1]:.3f} x, {cost[0] - cost[1]:+.2f} us")
    bench.results.append({"row": row, "as": who.name, "rules": cost[0], "none": cost[1], "unit": "us"})


def row_create(bench, who):
    """Measures how much longer `create` takes with a network that is never used."""
    rounds = 30 if bench.args.quick else 150
    peers = [bench.ours("cordon create", "create", "-q", "-n", "with{n}", "host"),
             bench.ours("… without network", "create", "-q", "--no-net", "-n", "without{n}", "host")]
    peers[1].budget = 1.5
    try:
        samples, _, _ = bench.measure(who, peers, 300, rounds=rounds)
        bench.judge("create with the default network, to the first possible exec", who, peers, samples)
    finally:
        for prefix in ("with", "without"):
            remove(bench, who, [f"{prefix}{i}" for i in ["try", *range(rounds)]])


def remove(bench, who, names):
    for start in range(0, len(names), 50):
        who.run([bench.cordon, "rm", "-f", "-q", *names[start:start + 50]], timeout=120)


def row_memory(bench, who):
    n = 100 if bench.args.quick else 200
    row = f"memory per idle sandbox, {n} of them"

    def start(options, command):
        def make(count):
            for i in range(count):
                code, err = who.run([bench.cordon, "create", "-n", f"idle{i}", *options, "host"])
                if code == 0 and command:
                    who.run([bench.cordon, "exec", f"idle{i}", "--", *command])
                if code != 0:
                    return f"create: status {code}: {err.strip()[-160:]}"
            return None
        return make

    def stop(count):
        remove(bench, who, [f"idle{i}" for i in range(count)])

    knock = ["bash", "-c", f"exec 3<>/dev/tcp/{DENIED}/80"]
    print(f"\n{row}, as {who.name}")
    used = {}
    for name, options, command in (("without network", ["--no-net"], None), ("with, never used", [], None),
                                   ("after its first packet", [], knock)):
        used[name], error = bench.per_sandbox(n, start(options, command), stop)
        print(f"  {name:<22} " + (f"{used[name]:9.1f} KiB" if error is None else f"not measured: {error}"))
        if error:
            return
    more = used["with, never used"] - used["without network"]
    if used["without network"] <= 0 or more <= 0:
        print("  not judged: other work moves more memory than this")
    else:
        print(f"  the unused network costs {more:.1f} KiB{bench.note(row, who, 'KiB more', more, 150)}")
    bench.results.append({"row": row, "as": who.name, "unit": "KiB", **used})
