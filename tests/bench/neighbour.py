"""Measures how long an exec takes while another sandbox uses as much as it can.

There are two sandboxes with the default limits: the calm sandbox and the bomber. A bomb is a program in the bomber that
uses as much of one resource as it can. For each bomb, an exec in the calm sandbox is measured in turns without and with
the bomb, and the medians are compared. If no cgroup limits the bomber, as in the sandboxes of an ordinary
user, the ratio is shown but not compared with the budget."""
import os
import statistics
import time

BUDGET = 2
TURNS = 3
BOMBS = {
    "fork bomb": "f() { f | f & }; f; sleep 600",
    "memory bomb": "while :; do head -c 2g /dev/zero | tail; done",
    "IO bomb": "while :; do dd if=/dev/zero of=/var/tmp/f bs=1M count=512 conv=fsync; rm /var/tmp/f; done",
    "CPU hogs": "for i in 1 2 3 4; do while :; do :; done & done; wait",
}


def limited(bench, who, name):
    """Returns true if a cgroup limits the sandbox's CPUs. Without such a limit a bomb uses all CPUs of the machine."""
    process = who.popen([bench.cordon, "inspect", name], stdout=-1, text=True)
    return any("CPUs:" in line and "cgroup" in line for line in process.communicate()[0].splitlines())


def exec_times(bench, who, name, seconds):
    peer = bench.ours("exec", "exec", name, "--", "true")
    samples, _, _ = bench.measure(who, [peer], seconds)
    if peer.error:
        raise RuntimeError(peer.error)
    return samples[peer.name]


def one_bomb(bench, who, calm, bomber, script, seconds):
    """Returns the times of the calm sandbox without and with the bomb, measured in turns."""
    quiet, loud = [], []
    for _ in range(TURNS):
        quiet += exec_times(bench, who, calm, seconds)
        bomb = who.popen([bench.cordon, "exec", bomber, "--", "sh", "-c", script], stdin=-3, stdout=-3,
                         stderr=-3)
        try:
            time.sleep(0.5)  # time for the bomb to grow
            if bomb.poll() is not None:
                raise RuntimeError(f"the bomb ended with status {bomb.returncode}")
            loud += exec_times(bench, who, calm, seconds)
        finally:
            bomb.kill()
            bomb.wait()
            who.run([bench.cordon, "restart", "-f", bomber])
    return quiet, loud


def row(bench, who):
    if bench.cordon is None:
        return
    title = "exec next to a bomb in another sandbox, to exit, one at a time"
    print(f"\n{title}, as {who.name}")
    calm, bomber = f"calm-{os.getpid()}", f"bomber-{os.getpid()}"
    seconds = max(1, bench.args.seconds // (2 * TURNS * len(BOMBS)))
    try:
        for name in (calm, bomber):
            code, err = who.run([bench.cordon, "create", "-n", name, "--no-net", "host"])
            if code != 0:
                print(f"  not measured: create: status {code}: {err.strip()}")
                return
        judged = limited(bench, who, bomber)
        for what, script in BOMBS.items():
            try:
                quiet, loud = one_bomb(bench, who, calm, bomber, script, seconds)
            except RuntimeError as error:
                print(f"  {what:<22} not measured: {error}")
                continue
            alone, beside = statistics.median(quiet), statistics.median(loud)
            line = f"  {what:<22} {beside:9.3f} ms  quiet {alone:9.3f} ms  n {len(loud):>4}  {beside / alone:.3f} x"
            if judged:
                line += bench.note(f"exec next to a {what}", who, "quiet", beside / alone, BUDGET)
            print(line if judged else line + "  (not judged: no cgroup limits the bomber)")
            bench.results.append({"row": title, "as": who.name, "bomb": what, "median": beside,
                                  "quiet": alone, "n": len(loud), "unit": "ms"})
    finally:
        who.run([bench.cordon, "rm", "-f", calm, bomber], timeout=120)
