"""Measures the Box server: commands and creations, with one session and with a thousand sessions, and relays.

A client in C (boxed.c) does the measuring. For commands and creations, it does two things in turn: it sends a request
to the server, and it does the same work without the server. It does so for a few seconds with one session and then for
a few seconds with a thousand sessions. For relays, one run of the client reads from a relay, and the next run reads the
same output from a pipe."""
# The module socket imports encodings.idna when it first looks up a host. At that time the effective
# user may be a temporary user who cannot read Python's files. So encodings.idna is imported here
# already.
import encodings.idna
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))

CROWD = 1000
AT_ONCE = 100  # requests of Server.crowd() that are in flight at the same time
RELAY_BYTES = 1 << 30
LINE_BYTES = (65536, 4096, 256)  # each size includes the newline; only the first size has a budget
EXEC_BUDGET, CREATE_BUDGET, CROWD_BUDGET, RELAY_BUDGET = 1.5, 1.3, 1.5, 0.3


class Failed(Exception):
    """The reason why a measurement failed."""


class Server:
    """A running Box server (cordon-box), started as the user WHO, and a peer that is connected to it."""

    def __init__(self, bench, who):
        from boxpeer import Peer, WebSocketTransport  # a module of the integration tests

        who.env["LANGBOT_BOX_CONFIG"] = json.dumps({"limits": {"max_sessions": CROWD + 10}})
        program = pathlib.Path(bench.cordon).parents[1] / "libexec/cordon/cordon-box"
        self.process = who.popen([str(program), "--ws-control-port", "0"], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        found = re.search(r"port (\d+)", line)
        if not found:
            raise Failed(line.strip() or "cordon-box did not start")
        self.port = found.group(1)
        if who.uid is None:
            self.peer = Peer(WebSocketTransport(int(self.port)))
        else:  # on loopback the server serves only programs of its own user
            own = os.geteuid()
            os.seteuid(who.uid)
            try:
                self.peer = Peer(WebSocketTransport(int(self.port)))
            finally:
                os.seteuid(own)
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.reader = next(pid for pid in children.read_text().split()
                           if "--serve" in pathlib.Path(f"/proc/{pid}/cmdline").read_text())

    def memory(self, key):
        """Returns the memory, in KiB, of the server's process that reads what peers send."""
        text = pathlib.Path(f"/proc/{self.reader}/status").read_text()
        return int(re.search(rf"^{key}:\s+(\d+)", text, re.M).group(1))

    def crowd(self, action):
        """Makes the same request for every session."""
        for first in range(0, CROWD, AT_ONCE):
            asked = [self.peer.post(action, {"session_id": f"crowd-{i}"}) for i in range(first, first + AT_ONCE)]
            for number in asked:
                answer = self.peer.answer(number, 300)
                if answer["code"]:
                    raise Failed(answer["message"])

    def stop(self):
        self.peer.close()
        self.process.terminate()
        self.process.wait(120)
        self.process.stderr.close()


def boxed(bench, who, *words):
    """Runs the program boxed with the arguments WORDS. boxed.c says what its output means.

    Returns a dict and a number. The dict has a list for each index in the output: the times in milliseconds. The number
    is the last field of the last line: how many bytes the relay or the pipe carried."""
    process = who.popen([str(bench.boxed), *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True)
    out, err = process.communicate()
    if process.returncode != 0:
        raise Failed(f"boxed {words[0]}: {err.strip()[-160:]}")
    samples, size = {}, 0
    for line in out.splitlines():
        index, ns, _, _, size = map(int, line.split())
        samples.setdefault(index, []).append(ns / 1e6)
    return samples, size


def judged(bench, who, title, peers, samples):
    """Prints a row. SAMPLES is a dict like that of boxed(): the times of PEERS[i] have the index i. PEERS[0] is
    the server."""
    bench.judge(title, who, peers, {peer.name: samples.get(i, []) for i, peer in enumerate(peers)})


def latency(bench, who, server, turns):
    """Measures exec and create with one session and with a thousand sessions."""
    seconds = max(2, bench.args.seconds // (4 * turns))
    sandbox = server.peer.call("box_create_session", {"session_id": "one"})["backend_session_id"]
    samples = {(what, crowd): {} for what in ("exec", "create") for crowd in (1, CROWD)}
    idle = []
    for _ in range(turns):
        for crowd in (1, CROWD):
            if crowd > 1:
                before = server.memory("VmRSS")
                server.crowd("box_create_session")
                idle.append((server.memory("VmRSS") - before) * 1024 / CROWD)
            for what, words in (("exec", (server.port, "one", sandbox, seconds)),
                                ("create", (server.port, seconds, bench.cordon))):
                for index, values in boxed(bench, who, what, *words)[0].items():
                    samples[what, crowd].setdefault(index, []).extend(values)
        server.crowd("box_delete_session")
    for crowd in (1, CROWD):
        shown = "one session" if crowd == 1 else f"{crowd} live sessions"
        peers = [bench.Peer("cordon-box", []), bench.Peer("kept connection", [], budget=EXEC_BUDGET if crowd == 1 else None)]
        judged(bench, who, f"exec of a line through the Box server, {shown}", peers, samples["exec", crowd])
        row, made = f"box_create_session, {shown}", samples["create", crowd]
        judged(bench, who, row, [bench.Peer(name, []) for name in ("cordon-box", "cordon create", "cordon's start")], made)
        ours, create, start = (statistics.median(made[i]) for i in range(3))
        ratio = ours / (create - start)
        print(f"  {ratio:.3f} x create without its program's start"
              + (bench.note(row, who, "create without its program's start", ratio, CREATE_BUDGET) if crowd == 1 else ""))
    for what in ("exec", "create"):
        row = f"{what} at {CROWD} live sessions"
        ratio = statistics.median(samples[what, CROWD][0]) / statistics.median(samples[what, 1][0])
        print(f"\n{row}, as {who.name}\n  {ratio:.3f} x at one{bench.note(row, who, 'at one', ratio, CROWD_BUDGET)}")
    print(f"\nmemory of the Box server, as {who.name}\n  {statistics.median(idle):.0f} bytes for each idle session")


def relays(bench, who, server, rounds):
    """Measures how long the output of a process takes through its relay, and how long the output of the same command
    takes through a pipe. Each round measures both."""
    for judge, length in zip((True, False, False), LINE_BYTES):
        command = ["sh", "-c", f"yes $(head -c {length - 1} /dev/zero | tr '\\0' x) | head -c {RELAY_BYTES}"]
        ours, bare = [], []
        for i in range(rounds):
            server.peer.call("box_start_managed_process", {"session_id": "one", "spec": {
                "process_id": f"p{i}", "command": command[0], "args": command[1:]}})
            before = server.memory("VmRSS")
            for words, times in ((("relay", server.port, "one", f"p{i}"), ours), (("pipe", *command), bare)):
                samples, size = boxed(bench, who, *words)
                times += samples[0]
                if size != RELAY_BYTES:
                    raise Failed(f"{words[0]} gave {size} bytes")
            grown = server.memory("VmRSS") - before
        row = f"{RELAY_BYTES >> 20} MiB through a relay, lines of {length} bytes"
        judged(bench, who, row, [bench.Peer("relay", []), bench.Peer("bare pipe", [])], {0: ours, 1: bare})
        ratio = statistics.median(bare) / statistics.median(ours)
        print(f"  throughput {ratio:.3f} x bare pipe"
              + (bench.note(row, who, "bare pipe", ratio, RELAY_BUDGET, True) if judge else "")
              + f"; the server grew by {grown} KiB, its peak is {server.memory('VmHWM')} KiB")


def rows(bench, who):
    if bench.cordon is None:
        return
    if bench.boxed_error:
        print(f"\nthe Box server, as {who.name}\n  not measured: {bench.boxed_error}")
        return
    server = None
    try:
        server = Server(bench, who)
        latency(bench, who, server, 1 if bench.args.quick else 3)
        relays(bench, who, server, 1 if bench.args.quick else 3)
    except (Failed, OSError, AssertionError) as error:
        print(f"\nthe Box server, as {who.name}\n  not measured: {error}")
        bench.missed.append(f"the Box server, as {who.name}: not measured: {error}")
    finally:
        if server:
            server.stop()
        who.env.pop("LANGBOT_BOX_CONFIG", None)
