"""Tests MCP servers in the way in which LangBot runs them. Each MCP server is a managed process of a shared session.
Our own clients, and clients that others wrote, reach the MCP servers through relays."""

import json
import os
import shutil
import subprocess

from boxpeer import CLOSE, PING, PONG, SECONDS
from harness import limits_of, unique_number
from test_box import INSTANCE, MESSAGE_MAX, BoxTest, placement

# An MCP server over stdio: JSON-RPC 2.0, one message on each line, with two tools and a notification.
SERVER = r'''
import json, os, sys
ballast = bytearray(int(os.environ.get("BALLAST_MB", "0")) << 20)
sys.stderr.write("server %s is up\n" % os.environ.get("NAME", "?"))
TOOLS = [{"name": "add", "description": "Adds two numbers",
          "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}},
         {"name": "name", "description": "Says which server this is", "inputSchema": {"type": "object"}}]
def answer(message):
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": os.environ.get("NAME", "?"), "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params["name"] == "add":
        text = str(params["arguments"]["a"] + params["arguments"]["b"])
        return {"content": [{"type": "text", "text": text}]}
    if method == "tools/call" and params["name"] == "name":
        return {"content": [{"type": "text", "text": os.environ.get("NAME", "?")}]}
    raise KeyError(method)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": message["method"]}}))
    else:
        try:
            reply = {"result": answer(message)}
        except KeyError as missing:
            reply = {"error": {"code": -32601, "message": "no method %s" % missing}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}))
    sys.stdout.flush()
'''


class Client:
    """An MCP client on a relay. Like LangBot's client, it parses each message as one JSON-RPC object."""

    def __init__(self, relay):
        self.relay, self.number, self.notes = relay, 0, []

    def send(self, method, **params):
        self.relay.send_text(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def call(self, method, **params):
        self.number += 1
        self.relay.send_text(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))
        while True:
            message = json.loads(self.relay.read_message())
            assert message["jsonrpc"] == "2.0", message
            if message.get("id") == self.number:
                return message
            self.notes.append(message)

    def tool(self, name, **arguments):
        return self.call("tools/call", name=name, arguments=arguments)["result"]["content"][0]["text"]

    def begin(self):
        info = self.call("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})["result"]
        self.send("notifications/initialized")
        return info


class McpTest(BoxTest):
    def setUp(self):
        super().setUp()
        self.box = self.server()
        self.peer = self.box.legacy()

    def session(self, name="mcp-shared", **spec):
        self.peer.call("box_create_session", {"session_id": name, "network": "off", "persistent": True,
                                              "read_only_rootfs": False, **spec})

    def start(self, process_id, session="mcp-shared", env=None, **spec):
        return self.peer.call("box_start_managed_process", {"session_id": session, "spec": {
            "process_id": process_id, "command": "python3", "args": ["-c", SERVER],
            "env": {"NAME": process_id, **(env or {})}, **spec}})

    def client(self, process_id, session="mcp-shared"):
        return Client(self.box.relay(session, process_id, ["Sec-WebSocket-Protocol: mcp"]))

    def info(self, process_id, session="mcp-shared"):
        return self.peer.call("box_get_managed_process", {"session_id": session, "process_id": process_id})


class Servers(McpTest):
    def test_a_whole_conversation(self):
        self.session()
        self.start("srv")
        client = self.client("srv")
        self.assertEqual(client.begin()["serverInfo"]["name"], "srv")
        self.assertEqual([t["name"] for t in client.call("tools/list")["result"]["tools"]], ["add", "name"])
        self.assertEqual(client.notes[0]["params"], {"data": "notifications/initialized"})
        self.assertEqual(client.tool("add", a=20, b=22), "42")
        self.assertEqual(client.call("no/such")["error"]["code"], -32601)
        self.assertEqual(self.info("srv")["stderr_preview"], "server srv is up")

    def test_a_client_can_reconnect(self):
        self.session()
        self.start("srv")
        first = self.client("srv")
        first.begin()
        first.relay.close()
        self.eventually(lambda: not self.info("srv")["attached"])
        again = self.client("srv")
        again.begin()  # before the answer, a notification that was meant for the first client may come
        self.assertEqual(again.tool("add", a=1, b=1), "2")

    def test_large_messages(self):
        self.session()
        self.start("srv")
        client = self.client("srv")
        client.begin()
        text = "ä" * 2_000_000
        self.assertEqual(client.call("x" + text)["error"]["message"], f"no method {'x' + text!r}")

    def test_five_servers_in_one_session_do_not_end_each_other(self):
        """Each server needs 60 MB. The session has a limit of 64 MB, which grows by 64 MB for each running server."""
        self.session(memory_mb=64, pids_limit=16)
        names = [f"srv-{i}" for i in range(5)]
        for name in names:
            self.start(name, env={"BALLAST_MB": "40"})
        clients = [self.client(name) for name in names]
        for name, client in zip(names, clients):
            self.assertEqual(client.begin()["serverInfo"]["name"], name)
        self.peer.call("box_stop_managed_process", {"session_id": "mcp-shared", "process_id": "srv-2"})
        self.assertEqual(clients[2].relay.close_code(), 1000)
        for i in (0, 1, 3, 4):
            self.assertEqual(clients[i].tool("name"), names[i])
            self.assertEqual(self.info(names[i])["status"], "running")
        got = self.peer.exec("mcp-shared", "echo beside them", memory_mb=64, pids_limit=16, persistent=True,
                             read_only_rootfs=False)
        self.assertEqual(got["stdout"], "beside them")

    def test_servers_that_others_wrote(self):
        """CORDON_TEST_MCP names a directory with node_modules, made by `npm install` of the three packages below."""
        source = os.environ.get("CORDON_TEST_MCP")
        if not source:
            self.not_run("CORDON_TEST_MCP names no directory with MCP servers")
        place = os.path.join(self.dir, "mcp")
        shutil.copytree(source, place, symlinks=True)
        self.session(host_path=place, host_path_mode="rw", memory_mb=1024, pids_limit=256)
        servers = {"everything": ("echo", {"message": "hello"}, "hello"),
                   "filesystem": ("list_directory", {"path": "/workspace/node_modules"}, "@modelcontextprotocol"),
                   "memory": ("read_graph", {}, "entities")}
        clients = {}
        for name in servers:
            self.start(name, command="node", args=[
                f"/workspace/node_modules/@modelcontextprotocol/server-{name}/dist/index.js",
                *(["/workspace"] if name == "filesystem" else [])])
            clients[name] = self.client(name)
        for name, (tool, arguments, said) in servers.items():
            clients[name].begin()
            self.assertIn(tool, [t["name"] for t in clients[name].call("tools/list")["result"]["tools"]])
            self.assertIn(said, clients[name].tool(tool, **arguments), name)

    def test_a_process_over_the_memory_limit_ends_alone(self):
        self.session(memory_mb=64)
        self.start("good")
        good = self.client("good")
        good.begin()
        name = self.peer.call("box_get_session", {"session_id": "mcp-shared"})["backend_session_id"]
        held = self.eventually(lambda: self.cordon("inspect", name, "--format", "json").json()["limits"]["memory"])
        if not held.startswith("cgroup"):
            self.not_run("no cgroup is delegated to this user")
        before = limits_of(self.home)["memory"]
        self.start("greedy", env={"BALLAST_MB": "600"})
        ended = self.eventually(lambda: self.info("greedy")["status"] == "exited" and self.info("greedy"), within=30)
        self.assertEqual(ended["exit_code"], 137, ended)
        self.assertEqual(good.tool("name"), "good")
        self.eventually(lambda: limits_of(self.home)["memory"] == before)

    def test_deleting_a_trial_session_leaves_other_sessions(self):
        """LangBot tries a configuration in a separate session and deletes that session."""
        self.session()
        self.start("live")
        live = self.client("live")
        live.begin()
        self.session("mcp-test-1")
        self.peer.call("box_start_managed_process", {"session_id": "mcp-test-1", "spec": {
            "process_id": "default", "command": "no-such-server"}})
        self.eventually(lambda: self.info("default", "mcp-test-1")["status"] == "exited")
        self.assertEqual(self.info("default", "mcp-test-1")["exit_code"], 127)
        self.peer.call("box_delete_session", {"session_id": "mcp-test-1"})
        self.assertEqual(live.tool("name"), "live")
        self.assertEqual(len(self.sandboxes()), 1)


class Processes(McpTest):
    """Tests rules of LangBot's protocol for processes and relays that test_box does not test."""

    def sh(self, script, process_id="p", **spec):
        return self.peer.call("box_start_managed_process", {"session_id": "mcp-shared", "spec": {
            "process_id": process_id, "command": "sh", "args": ["-c", script], **spec}})

    def test_directory_environment_and_quoting(self):
        self.session()
        self.peer.call("box_start_managed_process", {"session_id": "mcp-shared", "spec": {
            "process_id": "p", "command": "printf", "cwd": "/workspace/new dir",
            "args": ["%s\n", "a b", "$HOME `id`", "it's", "\\n"]}})
        relay = self.box.relay("mcp-shared", "p")
        self.assertEqual([relay.read_message() for _ in range(4)], ["a b", "$HOME `id`", "it's", "\\n"])
        self.sh("pwd; echo $X-$HOME-$PYTHONUNBUFFERED", "q", cwd="/workspace/new dir", env={"X": "1"})
        relay = self.box.relay("mcp-shared", "q")
        self.assertEqual([relay.read_message() for _ in range(2)], ["/workspace/new dir", "1-/home-1"])

    def test_validation(self):
        self.session()
        for spec in ({"command": " "}, {"command": "x", "cwd": "rel"}, {"command": "x", "args": [1]}, {},
                     {"command": "x", "env": {"a": 1}}):
            answer = self.peer.answer(self.peer.post("box_start_managed_process",
                                                     {"session_id": "mcp-shared", "spec": spec}))
            self.assertEqual(answer["code"], 1, spec)
            self.assertRegex(answer["message"], "^BoxValidationError: ", spec)

    def test_execs_do_not_wait_for_processes(self):
        self.session()
        self.start("srv")
        got = self.peer.exec("mcp-shared", "echo now", persistent=True, read_only_rootfs=False)
        self.assertEqual(got["stdout"], "now")

    def test_a_timeout_of_an_exec_also_ends_the_processes(self):
        self.session()
        self.start("srv")
        relay, slow = self.box.relay("mcp-shared", "srv"), unique_number()
        got = self.peer.exec("mcp-shared", f"sleep {slow}", timeout_sec=1, persistent=True, read_only_rootfs=False)
        self.assertEqual(got["status"], "timed_out")
        self.assertEqual(relay.close_code(), 1000)
        self.fails("BoxSessionNotFoundError: session mcp-shared not found", self.info, "srv")

    def test_deleting_a_session_stops_its_processes_together(self):
        """Two processes ignore SIGTERM. The server must wait 5 seconds for both together, not 5
        seconds for each: a third process gets its SIGTERM while the two processes still run."""
        shared = os.path.join(self.dir, "shared")
        os.mkdir(shared)
        self.session(host_path=shared)
        numbers = [unique_number() for _ in range(2)]
        for i, number in enumerate(numbers):
            self.sh(f"trap '' TERM; echo $$ > p{i}; sleep {number}; sleep {number}", f"p{i}")
        self.eventually(lambda: all(self.sleepers(n) for n in numbers))
        self.sh("trap 'kill -0 $(cat p0) && kill -0 $(cat p1) && echo together > how; exit' TERM; echo up > up; "
                "while :; do sleep 0.1; done", "p2")
        self.eventually(lambda: os.path.exists(os.path.join(shared, "up")))
        relay = self.box.relay("mcp-shared", "p0")
        self.peer.call("box_delete_session", {"session_id": "mcp-shared"})
        self.assertEqual(([self.sleepers(n) for n in numbers], self.sandboxes()), ([[], []], []))
        with open(os.path.join(shared, "how"), encoding="utf-8") as handle:
            self.assertEqual(handle.read(), "together\n")
        self.assertEqual(relay.close_code(), 1000)

    def test_a_stop_closes_input_and_sends_sigterm_first(self):
        """The first process ignores SIGTERM and ends at the end of its input. The second reads no input and ends at
        SIGTERM."""
        self.session()
        for script, how in (("trap '' TERM; echo up; cat; echo eof > /tmp/how", "eof"),
                            ("trap 'echo termed > /tmp/how; exit' TERM; echo up; while :; do sleep 0.1; done", "termed")):
            with self.subTest(how):
                self.sh(script)
                # after this message the shell has set its trap
                self.assertEqual(self.box.relay("mcp-shared", "p").read_message(), "up")
                self.peer.call("box_stop_managed_process", {"session_id": "mcp-shared", "process_id": "p"})
                got = self.peer.exec("mcp-shared", "cat /tmp/how; rm /tmp/how", persistent=True, read_only_rootfs=False)
                self.assertEqual(got["stdout"], how)

    def test_the_relay_answers_pings_while_nothing_is_printed(self):
        self.session()
        self.start("srv")
        relay = self.box.relay("mcp-shared", "srv")
        relay.send_frame(PING, b"there?")
        self.assertEqual(relay.read_frame(), (PONG, b"there?"))

    def test_a_message_over_the_limit_ends_only_the_relay(self):
        self.session()
        self.sh("cat")
        relay = self.box.relay("mcp-shared", "p")
        relay.send_frame(1, b"x" * (MESSAGE_MAX + 1))
        self.assertEqual(relay.close_code(), 1009)
        again = self.box.relay("mcp-shared", "p")
        again.send_text("alive")
        self.assertEqual(again.read_message(), "alive")

    def test_a_process_stays_when_its_client_disconnects(self):
        self.session()
        self.sh("cat")
        relay = self.box.relay("mcp-shared", "p")
        relay.send_frame(CLOSE, b"\x03\xe8")
        self.assertEqual(relay.close_code(), 1000)
        self.eventually(lambda: not self.info("p")["attached"])
        again = self.box.relay("mcp-shared", "p")
        again.send_text("still here")
        self.assertEqual((again.read_message(), self.info("p")["status"]), ("still here", "running"))

    def test_the_record_of_an_ended_process_is_forgotten(self):
        peer = self.server(env={"CORDON_BOX_TTL_SEC": "1"}, config={
            "limits": {"completed_process_retention_sec": 1}}).legacy()
        peer.call("box_create_session", {"session_id": "s", "persistent": True})
        asked = {"session_id": "s", "process_id": "p"}
        peer.call("box_start_managed_process", {"session_id": "s", "spec": {"process_id": "p", "command": "false"}})
        gone = "BoxManagedProcessNotFoundError: session s has no managed process with process_id=p"
        self.eventually(lambda: peer.answer(peer.post("box_get_managed_process", asked))["message"] == gone, 20)
        self.assertEqual(len(peer.call("box_get_sessions")["sessions"]), 1)

    def test_a_current_peer_s_relay(self):
        peer = self.box.current()
        peer.call("box_create_session", {"session_id": "mcp-shared"})
        peer.call("box_start_managed_process", {"session_id": "mcp-shared", "spec": {"process_id": "p", "command": "cat"}})
        headers = [f"X-LangBot-Instance-Id: {INSTANCE}", "X-LangBot-Workspace-Id: w-blue",
                   "X-LangBot-Placement-Generation: 1"]
        relay = self.box.relay(placement("w-blue", 1) + "-mcp-shared", "p", headers)
        relay.send_text("hello")
        self.assertEqual(relay.read_message(), "hello")


# --- clients that others wrote ---------------------------------------------------------------------

PYTHON_CLIENT = r'''
import asyncio, json, sys, websockets
port, script = sys.argv[1], sys.argv[2]
async def main():
    async with websockets.connect(f"ws://127.0.0.1:{port}/rpc/ws", max_size=1 << 24) as rpc:
        async def call(action, **data):
            await rpc.send(json.dumps({"seq_id": 7, "action": action, "data": data}))
            return json.loads(await rpc.recv())["data"]
        assert await call("__ping") == {}
        print((await call("box_exec", session_id="a", cmd="echo from python"))["stdout"])
        big = await call("box_exec", session_id="a", cmd="head -c 400000 /dev/zero | tr '\\0' x", env={"E": "y" * 100000})
        print(len(big["stdout"]))
        await call("box_start_managed_process", session_id="a", spec={"command": "python3", "args": ["-c", script]})
        await (await rpc.ping())
        url = f"ws://127.0.0.1:{port}/v1/sessions/a/managed-process/default/ws"
        async with websockets.connect(url, subprotocols=["mcp"]) as relay:
            await relay.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                         "params": {"name": "add", "arguments": {"a": 1, "b": 2}}}))
            print(relay.subprotocol, json.loads(await relay.recv())["result"]["content"][0]["text"])
asyncio.run(main())
'''

NODE_CLIENT = r'''
const WebSocket = require("/usr/share/nodejs/ws");
const [port, script] = process.argv.slice(2);
const rpc = new WebSocket(`ws://127.0.0.1:${port}/rpc/ws`);
let take;
rpc.on("message", (text) => take(JSON.parse(text).data));
const call = (action, data) => new Promise((done) => {
	take = done;
	rpc.send(JSON.stringify({ seq_id: 7, action, data }));
});
rpc.on("open", async () => {
	await call("__ping", {});
	console.log((await call("box_exec", { session_id: "a", cmd: "echo from node" })).stdout);
	const cmd = "head -c 400000 /dev/zero | tr '\\0' x";
	console.log((await call("box_exec", { session_id: "a", cmd, env: { E: "y".repeat(100000) } })).stdout.length);
	await call("box_start_managed_process", { session_id: "a", spec: { command: "python3", args: ["-c", script] } });
	const relay = new WebSocket(`ws://127.0.0.1:${port}/v1/sessions/a/managed-process/default/ws`, ["mcp"]);
	relay.on("open", () => relay.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call",
		params: { name: "add", arguments: { a: 1, b: 2 } } })));
	relay.on("message", (text) => {
		console.log(relay.protocol, JSON.parse(text).result.content[0].text);
		relay.close();
		relay.on("close", () => rpc.close());
	});
});
'''


class Foreign(BoxTest):
    """Tests the server with two WebSocket clients that we did not write: Debian's
    python3-websockets and node-ws."""

    def talk(self, argv, script, needs):
        if not os.path.exists(needs):
            self.not_run(f"'{needs}' is not installed")
        port = str(self.server().port)
        got = subprocess.run([*argv, script, port, SERVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                             timeout=3 * SECONDS)
        self.assertEqual(got.returncode, 0, got.stderr.decode())
        return got.stdout.decode().splitlines()

    def test_websockets_of_python(self):
        said = self.talk(["/usr/bin/python3", "-c"], PYTHON_CLIENT, "/usr/lib/python3/dist-packages/websockets")
        self.assertEqual(said, ["from python", "400000", "mcp 3"])

    def test_ws_of_node(self):
        path = os.path.join(self.dir, "client.js")
        with open(path, "w") as handle:
            handle.write(NODE_CLIENT)
        said = self.talk(["/usr/bin/node"], path, "/usr/share/nodejs/ws")
        self.assertEqual(said, ["from node", "400000", "mcp 3"])
