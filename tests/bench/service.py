"""Measures the Box service. Runs calls of `cordon tool` in turn with calls of `cordon exec` that do
the same work. Then runs calls of `cordon tool` over a WebSocket in turn with the same calls without
a server.

For the first comparison, the workspace has 10 000 files in 100 directories, with 40 lines of text
each. Every call is a program of its own, as a model's host runs it. The sandbox is already running
when a call begins."""
import json
import os
import subprocess

import box

DIRECTORIES, FILES, LINES = 100, 100, 40
EXEC_BUDGET, FILES_BUDGET, SOCKET_BUDGET = 2, 1.2, 1.5
SESSION = ("--session", "bench")


def make_tree(who):
    work = who.dir / "service-work"
    text = "".join(f"line {i} of a file that a model reads, as long as a line of code\n" for i in range(LINES))
    for i in range(DIRECTORIES):
        (work / f"d{i}").mkdir(parents=True)
        for k in range(FILES):
            (work / f"d{i}" / f"f{k}").write_text(text + ("needle\n" if i == k == 50 else ""))
    for top, names, files in os.walk(work):
        if who.uid is not None:
            for name in (".", *files):
                os.chown(os.path.join(top, name), who.uid, who.gid)
    return work


def tool(bench, options, name, **parameters):
    return [bench.cordon, "tool", *options, *SESSION, name, json.dumps(parameters)]


def output(who, argv):
    process = who.popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.communicate(timeout=120)
    if process.returncode != 0:
        raise box.Failed(f"{argv[1:3]}: {(err or out).strip()[-160:]}")
    return out


def compare(bench, who, title, ours, theirs, budget):
    peers = [bench.Peer(*ours), bench.Peer(*theirs, budget=budget)]
    samples, _, _ = bench.measure(who, peers, bench.args.seconds)
    bench.judge(title, who, peers, samples)


def in_process(bench, who, work):
    options = ("--workspace", str(work))
    output(who, tool(bench, options, "exec", command="true"))
    names = output(who, [bench.cordon, "list", "--quiet"]).split()
    name = next(n for n in names if n.startswith("box-"))

    def inside(line):
        return ("cordon exec", [bench.cordon, "exec", name, "--", "sh", "-lc", line])

    compare(bench, who, "tool exec of a line, warm", ("cordon tool exec", tool(bench, options, "exec", command="true")),
            inside("cd /workspace; true"), EXEC_BUDGET)
    compare(bench, who, "tool read in a tree of 10 000 files",
            ("cordon tool read", tool(bench, options, "read", path="d50/f50")), inside("cat /workspace/d50/f50"),
            FILES_BUDGET)
    compare(bench, who, "tool grep in a tree of 10 000 files",
            ("cordon tool grep", tool(bench, options, "grep", pattern="ne+dle")),
            inside("grep -rE 'ne+dle' /workspace"), FILES_BUDGET)


def over_a_socket(bench, who, server):
    config = who.dir / "service.json"
    config.write_text(json.dumps({"box": {"runtime": {"endpoint": f"ws://127.0.0.1:{server.port}"}}}))
    if who.uid is not None:
        os.chown(config, who.uid, who.gid)
    ours = tool(bench, ("--config", str(config)), "exec", command="true")
    theirs = tool(bench, (), "exec", command="true")
    for argv in (ours, theirs):
        output(who, argv)
    compare(bench, who, "tool exec of a line over the WebSocket of cordon-box", ("over a WebSocket", ours),
            ("in process", theirs), SOCKET_BUDGET)


def rows(bench, who):
    if bench.cordon is None:
        return
    server = None
    try:
        in_process(bench, who, make_tree(who))
        output(who, [bench.cordon, "service", "cleanup"])
        server = box.Server(bench, who)
        over_a_socket(bench, who, server)
    except (box.Failed, OSError, AssertionError, StopIteration, subprocess.TimeoutExpired) as error:
        print(f"\nthe Box service, as {who.name}\n  not measured: {error!r}")
        bench.missed.append(f"the Box service, as {who.name}: not measured: {error!r}")
    finally:
        if server:
            server.stop()
        who.env.pop("LANGBOT_BOX_CONFIG", None)
        who.run([bench.cordon, "service", "cleanup"])
