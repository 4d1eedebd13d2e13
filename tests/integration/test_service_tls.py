"""Tests `cordon tool` and `cordon service` with a Box server behind TLS: which servers they trust, and what other
servers get."""

import contextlib
import json
import os
import select
import signal
import socket
import ssl
import subprocess
import threading

from harness import PREFIX
from test_box import INSTANCE, TOKEN, Server
from test_service_endpoint import EndpointTest

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


class Authority:
    """A certificate authority of the test."""

    def __init__(self, directory, name):
        self.path = os.path.join(directory, name)
        openssl("req", "-x509", *KEY, "-keyout", f"{self.path}.key", "-out", f"{self.path}.pem", "-days", "2",
                "-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE")
        self.file = f"{self.path}.pem"

    def sign(self, names="DNS:localhost,IP:127.0.0.1", days=2, subject="server"):
        """Makes a certificate for these names. Returns a TLS context for a server with this certificate."""
        at = f"{self.path}.server"
        openssl("req", *KEY, "-keyout", f"{at}.key", "-out", f"{at}.csr", "-subj", f"/CN={subject}",
                "-addext", f"subjectAltName={names}")
        openssl("x509", "-req", "-in", f"{at}.csr", "-CA", self.file, "-CAkey", f"{self.path}.key", "-CAcreateserial",
                "-days", str(days), "-copy_extensions", "copy", "-out", f"{at}.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{at}.pem", f"{at}.key")
        return context


class Proxy(threading.Thread):
    """Accepts TLS connections, one after the other, and passes their decrypted bytes on to a plain port."""

    def __init__(self, test, context, port):
        super().__init__(daemon=True)
        self.context, self.target, self.plain, self.names, self.failures = context, port, b"", [], []
        context.sni_callback = lambda sock, name, _: self.names.append(name)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()
        test.addCleanup(self.end)

    def end(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.join(20)

    def run(self):
        while True:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            with raw:
                try:
                    with self.context.wrap_socket(raw, server_side=True) as sock:
                        self.serve(sock)
                except (OSError, ValueError) as error:
                    self.failures.append(error)

    def serve(self, sock):
        with socket.create_connection(("127.0.0.1", self.target)) as server:
            while True:
                ready = [sock] if sock.pending() else select.select([sock, server], [], [])[0]
                for source in ready:
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is sock:
                        self.plain += data
                    (server if source is sock else sock).sendall(data)


class TlsTest(EndpointTest):
    modes = ("user",)

    def setUp(self):
        super().setUp()
        self.authority = Authority(self.dir, "authority")
        self.trusting = {"SSL_CERT_FILE": self.authority.file}

    def error(self, runtime, env=None, **service):
        got = self.status(*self.write(runtime, service={"connect_timeout_sec": 5, **service}), env=env)
        self.assertFalse(got["available"])
        return got["connector_error"]


class Trusted(TlsTest):
    modes = ("root", "user")

    def setUp(self):
        super().setUp()
        self.box = Server(self)
        self.proxy = Proxy(self, self.authority.sign(), self.box.port)

    def test_calls_go_through_tls(self):
        for url, name in (("wss://localhost", "localhost"), ("https://127.0.0.1", None)):
            with self.subTest(url):
                options = self.write({"endpoint": f"{url}:{self.proxy.port}/ignored"})
                got = self.call("tool", *options, "exec", '{"command": "echo hi; echo kept > /tmp/x"}', env=self.trusting)
                self.assertEqual(got["stdout"], "hi")
                self.assertEqual(self.proxy.names.pop(), name)  # for an address, a client sends no server name
        sessions = self.call("service", "sessions", *options, env=self.trusting)
        self.assertEqual(len(sessions), 1)

    def test_long_messages_pass_in_both_directions(self):
        options = self.write({"endpoint": f"wss://localhost:{self.proxy.port}"})
        text = "x" * 700000
        line = json.dumps({"command": f"printf %s {text} | wc -c; head -c 400000 /dev/zero | tr '\\0' y"})
        got = self.call("tool", *options, "--output-limit", "500000", "exec", "-", stdin=line.encode(), env=self.trusting)
        self.assertEqual(got["stdout"], "700000\n" + "y" * 400000)

    def test_a_server_that_ends_fails_the_call(self):
        options = self.write({"endpoint": f"wss://localhost:{self.proxy.port}"})
        call = self.spawn("tool", *options, "exec", '{"command": "sleep 600"}', env=self.trusting)
        path = os.path.join(self.home, "sandboxes")
        self.eventually(lambda: os.path.isdir(path) and os.listdir(path), 20)
        self.box.stop()
        got = self.finish(call)
        self.assertEqual((got.code, json.loads(got.out)["error_type"]), (1, "BoxError"))


class Strangers(TlsTest):
    """A server gets nothing if the client does not accept its certificate or its version of TLS."""

    def setUp(self):
        super().setUp()
        self.stub_port = int(self.stub("socket")["endpoint"].split(":")[2].split("/")[0])

    def refused(self, context, env, url="wss://localhost"):
        """Makes a call whose token the server must not see. Returns the error of the call."""
        proxy = Proxy(self, context, self.stub_port)
        env = {**env, "LANGBOT_BOX_CONTROL_TOKEN": TOKEN}
        error = self.error({"endpoint": f"{url}:{proxy.port}"}, env, instance_id=INSTANCE)
        self.assertEqual((proxy.plain, self.log()), (b"", []))
        return error

    def test_an_unknown_authority(self):
        other = Authority(self.dir, "other")
        for context, env in ((other.sign(), self.trusting), (self.authority.sign(), {})):
            self.assertRegex(self.refused(context, env), "^the Box runtime at localhost:.* cannot be trusted: no authority"
                             " that this machine knows has signed its certificate; .* in SSL_CERT_FILE$")

    def test_a_certificate_that_signs_itself(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.authority.file, f"{self.authority.path}.key")
        self.assertIn("no authority", self.refused(context, {}))
        self.assertIn("another host", self.refused(context, self.trusting))

    def test_another_name(self):
        for names, url in (("DNS:other.example", "wss://localhost"), ("DNS:localhost", "wss://127.0.0.1"),
                           ("IP:127.0.0.1", "wss://localhost"), ("IP:127.0.0.2", "wss://127.0.0.1"),
                           ("DNS:local*", "wss://localhost"), ("DNS:127.0.0.1", "wss://127.0.0.1")):
            with self.subTest(names=names, url=url):
                self.assertRegex(self.refused(self.authority.sign(names), self.trusting, url),
                                 "cannot be trusted: its certificate belongs to another host$")

    def test_a_person_whose_name_is_that_of_the_host(self):
        context = self.authority.sign("email:someone@example.com", subject="localhost")
        self.assertRegex(self.refused(context, self.trusting), "its certificate belongs to another host$")

    def test_an_expired_certificate(self):
        self.assertRegex(self.refused(self.authority.sign(days=-1), self.trusting),
                         "cannot be trusted: its certificate has expired$")

    def test_an_old_version(self):
        context = self.authority.sign()
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        weak = os.path.join(self.dir, "openssl.cnf")  # this configuration allows old versions
        with open(weak, "w", encoding="utf-8") as handle:
            handle.write("openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\n"
                         "MinProtocol = TLSv1\nCipherString = ALL:@SECLEVEL=0\n")
        self.assertIn("the TLS handshake with the server at localhost",
                      self.refused(context, {**self.trusting, "OPENSSL_CONF": weak}))

    def test_authorities_that_cannot_be_read(self):
        empty = os.path.join(self.dir, "empty.pem")
        open(empty, "w", encoding="utf-8").close()
        for path in ("/nonexistent/ca.pem", empty):
            self.assertEqual(self.refused(self.authority.sign(), {"SSL_CERT_FILE": path}),
                             f"SSL_CERT_FILE: '{path}' has no readable certificates")

    def test_no_failure_is_tried_again(self):
        proxy = Proxy(self, self.authority.sign("DNS:other"), self.stub_port)
        options = self.write({"endpoint": f"wss://localhost:{proxy.port}"}, service={"reconnect_delay_ms": 10})
        got = self.call("tool", *options, "exec", '{"command": "x"}', env=self.trusting, code=1)
        self.assertIn("another host", got["error"])
        self.assertEqual(len(proxy.names), 1)


class NoTls(TlsTest):
    """Servers that do not finish the handshake."""

    def answer(self, *chunks):
        """Starts a server that reads the greeting, sends CHUNKS and keeps the connection open.
        Without CHUNKS, the server closes the connection. Returns the section `runtime` that leads
        to this server."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    sock, _ = listener.accept()
                    self.addCleanup(sock.close)
                    sock.recv(65536)
                    for chunk in chunks:
                        sock.sendall(chunk)
                    if not chunks:
                        sock.close()
        threading.Thread(target=serve, daemon=True).start()
        return {"endpoint": f"wss://127.0.0.1:{listener.getsockname()[1]}"}

    def test_a_plain_server(self):
        box = Server(self)
        self.assertRegex(self.error({"endpoint": f"wss://127.0.0.1:{box.port}"}), "does not speak TLS; use ws://$")
        self.assertRegex(self.error(self.answer(b"HTTP/1.1 400 Bad Request\r\n\r\n")), "does not speak TLS; use ws://$")
        self.assertRegex(self.error(self.answer(b"SSH-2.0-OpenSSH_9.2\r\n")), "use ws://$")

    def test_a_tls_server_behind_a_plain_address(self):
        proxy = Proxy(self, self.authority.sign(), 1)
        error = self.error({"endpoint": f"ws://127.0.0.1:{proxy.port}"}, self.trusting)
        self.assertRegex(error, "Disconnected|is no Box runtime")

    def test_a_server_that_closes(self):
        self.assertIn("closed the connection during the TLS handshake", self.error(self.answer()))

    def test_a_server_that_stops(self):
        for chunks in ((b"\x16\x03\x03\x40\x00",), (b"\x16",)):
            self.assertIn("in time", self.error(self.answer(*chunks), connect_timeout_sec=1))

    def test_a_server_that_sends_garbage(self):
        for chunks in ((b"\x16\x03\x03\x00\x05\x02\x00\x00\x01\xff",), (os.urandom(65536),), (b"\x15\x03\x03\x00\x02\x02\x28",)):
            self.assertRegex(self.error(self.answer(*chunks), connect_timeout_sec=1), "TLS|in time")

    def test_a_signal_ends_the_handshake(self):
        runtime = self.answer(b"\x16")
        call = self.spawn("tool", *self.write(runtime), "exec", '{"command": "x"}')
        self.eventually(lambda: self.is_connected(call))
        call.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(call).code, 128 + signal.SIGTERM)

    def is_connected(self, call):
        try:
            links = [os.readlink(f"/proc/{call.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{call.pid}/fd")]
        except OSError:
            return False
        return any(link.startswith("socket:") for link in links) and any("signalfd" in link for link in links)


class Libraries(TlsTest):
    def test_only_the_programs_that_need_tls_link_it(self):
        linked = set()
        for directory in ("bin", "libexec/cordon"):
            for name in os.listdir(os.path.join(PREFIX, directory)):
                got = subprocess.run(["readelf", "-d", os.path.join(PREFIX, directory, name)], capture_output=True, text=True)
                if "[libssl." in got.stdout or "[libcurl" in got.stdout:
                    linked.add(name)
        self.assertEqual(linked, {"cordon-tool", "cordon-image"})
