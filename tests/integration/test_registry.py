"""Tests pulls from Debian's docker-registry (plain, with a password, with tokens) and from a registry that
misbehaves. Also tests logins to registries, settings for registries, and what a terminal shows of a pull."""

import base64
import crypt
import gzip
import hashlib
import json
import os
import signal
import socket
import termios
import threading
import time

from harness import CordonTest, Terminal, below
from image_fixtures import (OCI, FakeRegistry, ImageMixin, Layer, RealRegistry,
                            TokenServer, make_certificate, missing, run, sha256)


def tar_bytes(path, name="f", data=b"x"):
    with open(Layer(path).add(name, data).close(), "rb") as handle:
        return handle.read()


class Real(ImageMixin, CordonTest):
    modes = ("root", "user")  # privileges make no difference to a registry

    def setUp(self):
        super().setUp()
        lacking = missing("docker-registry", "openssl")
        if lacking:
            self.not_run(f"{lacking} is not installed")

    def push(self, layout, tag, registry, name, *options):
        layout.copy(tag, f"docker://{registry.host}/{name}", *options)

    def test_plain_http_only_with_insecure(self):
        layout, registry = self.busybox_layout(), RealRegistry(self)
        self.push(layout, "bb", registry, "bb:1", "--dest-tls-verify=false")
        ref = f"{registry.host}/bb:1"
        got = self.refused("pull", ref, says="SSL connect error")
        self.assertIn("'cordon pull --insecure', or \"insecure\" of registries.hosts", got.errtext)
        got = self.ok("pull", "--insecure", ref)
        self.assertRegex(got.errtext, rf"^   ✓ Pulled       {ref}( \(\d+\.\ds\))?\n$")
        got = self.ok("pull", "--insecure", ref)
        self.assertEqual(got.errtext, f"   ✓ Pulled       {ref} (already cached)\n")
        registry.proc.kill()  # a cached image needs no registry
        self.ok("pull", ref)
        self.assertEqual(self.references(), [ref])
        digest = json.loads(run("skopeo", "inspect", f"oci:{layout.path}:bb").stdout)["Digest"]
        self.assertEqual(self.inspect(ref)["digest"], digest)

    def test_pull_updates_a_moved_tag(self):
        layout, registry = self.busybox_layout(), RealRegistry(self)
        self.push(layout, "bb", registry, "x", "--dest-tls-verify=false")
        ref = f"{registry.host}/x"
        self.ok("pull", "--insecure", ref)
        first = self.inspect(ref)["digest"]
        layout.image("two", [self.path("bb.tar"),
                             Layer(self.path("more.tar")).add("more", b"x").close()])
        self.push(layout, "two", registry, "x", "--dest-tls-verify=false")
        self.ok("pull", "--insecure", ref)
        self.assertEqual(self.inspect(ref)["digest"], first)
        self.ok("pull", "--insecure", "--update", ref)
        self.assertNotEqual(self.inspect(ref)["digest"], first)
        self.ok("pull", "--insecure", f"{registry.host}/x@{first}")
        self.assertEqual(self.inspect(f"{registry.host}/x@{first}")["digest"], first)

    def damaged_blob(self):
        """Pulls an image and damages its layer in the store. Returns the reference and the path of the blob."""
        layout, registry = self.busybox_layout(), RealRegistry(self)
        self.push(layout, "bb", registry, "x", "--dest-tls-verify=false")
        ref = f"{registry.host}/x"
        self.ok("pull", "--insecure", ref)
        blob = os.path.join(self.home, "cache/blobs/sha256",
                            self.inspect(ref)["layers"][0]["blob_digest"].split(":")[1])
        with open(blob, "r+b") as handle:
            handle.seek(5000)
            handle.write(b"damage")
        got = self.image("save", "--output", self.path("s.tar"), ref)
        self.assertIn("damaged", got.errtext)
        return ref, blob

    def test_pull_force_repairs_the_store(self):
        ref, _ = self.damaged_blob()
        self.ok("pull", "--insecure", "--force", ref)
        self.ok("save", "--output", self.path("s.tar"), ref)

    def test_pull_force_fetches_a_blob_that_it_cannot_read(self):
        ref, blob = self.damaged_blob()
        os.chmod(blob, 0)
        self.ok("pull", "--insecure", "--force", ref)
        self.ok("save", "--output", self.path("s.tar"), ref)

    def test_pull_force_fails_if_a_damaged_blob_stays(self):
        if os.geteuid() == 0:
            return  # root may remove files from every directory
        ref, blob = self.damaged_blob()
        os.chmod(os.path.dirname(blob), 0o500)
        got = self.refused("pull", "--insecure", "--force", ref, says="remove the damaged blob")
        os.chmod(os.path.dirname(blob), 0o700)
        self.assertIn("Permission denied", got.errtext)
        self.ok("pull", "--insecure", "--force", ref)
        self.ok("save", "--output", self.path("s.tar"), ref)

    def test_tls_with_password(self):
        layout = self.busybox_layout()
        key, cert = make_certificate(self.dir)
        with open(self.path("htpasswd"), "w") as handle:
            handle.write("ann:" + crypt.crypt("secret", crypt.mksalt(crypt.METHOD_BLOWFISH,
                                                                     rounds=16)) + "\n")
        registry = RealRegistry(self, tls=(key, cert), auth={"htpasswd": {
            "realm": "test", "path": self.path("htpasswd")}})
        self.push(layout, "bb", registry, "bb", "--dest-tls-verify=false",
                  "--dest-creds=ann:secret")
        ref = f"{registry.host}/bb"
        got = self.refused("pull", ref, says="certificate")
        self.assertIn("--ca-certs", got.errtext)
        self.refused("pull", "--ca-certs", self.path("nosuch"), ref, says="--ca-certs")
        got = self.refused("pull", "--ca-certs", cert, ref, says="wants a login")
        self.assertIn("registry login", got.errtext)
        self.ok("login", registry.host, "--no-check", "--username", "ann", stdin=b"wrong\n")
        got = self.refused("pull", "--ca-certs", cert, ref, says="needs another login")
        self.assertNotIn("wrong", got.errtext)
        self.ok("login", registry.host, "--no-check", "--username", "ann", stdin=b"secret\n")
        self.ok("pull", "--ca-certs", cert, ref)
        self.ok("logout", registry.host)
        self.ok("remove", ref)
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            json.dump({"registries": {"ca_certs": cert, "hosts": {registry.host: {
                "auth": {"username": "ann", "password_env": "REGISTRY_PASSWORD"}}}}}, handle)
        self.refused("pull", ref, says="REGISTRY_PASSWORD, which is not set")
        self.ok("pull", ref, env={"REGISTRY_PASSWORD": "secret"})

    def test_login_of_a_configuration_file(self):
        """The login in `registry` of --conf is valid for this command only. The command uses this login instead of a
        stored login, and does not send this login to mirrors."""
        asked = []

        def answer(h, kind, name, n):
            asked.append(h.headers.get("Authorization"))
            if asked[-1] != "Basic " + base64.b64encode(b"ann:given").decode():
                h.reply(401, b"", WWW_Authenticate='Basic realm="x"')
                return True
            return False

        fake = FakeRegistry(self, answer)
        mirror = FakeRegistry(self, lambda h, kind, name, n: asked.append(
            ("mirror", h.headers.get("Authorization"))) or h.reply(404, b"") or True)
        fake.image("latest", [tar_bytes(self.path("l.tar"))])
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            json.dump({"registries": {"hosts": {fake.host: {
                "insecure": True, "mirrors": ["http://" + mirror.host]}}}}, handle)
        self.ok("login", fake.host, "--no-check", "--username", "bob", stdin=b"stored\n")
        with open(self.path("box.yaml"), "w") as handle:
            handle.write(f"image: {fake.host}/x\nregistry: {{username: ann, password_env: PULL_WORD}}\n")
        got = self.cordon("create", "-n", "x", "--conf", self.path("box.yaml"))
        self.assertEqual(got.code, 1, got)
        self.assertIn("PULL_WORD, which is not set", got.errtext)
        self.assertEqual(self.names(), [])
        box = self.box("x")
        with self.claiming(box):
            got = self.cordon("create", "-n", "x", "--conf", self.path("box.yaml"),
                              env={"PULL_WORD": "given"})
        self.assertEqual(got.code, 0, got)
        self.assertNotIn("given", got.errtext)
        self.assertEqual({a for a in asked if isinstance(a, tuple)}, {("mirror", None)})
        record = json.dumps(box.inspect())
        self.assertNotIn("given", record)
        self.assertNotIn("ann", record)

    def test_bearer_token(self):
        layout = self.busybox_layout()
        key, cert = make_certificate(self.dir)
        tokens = TokenServer(self, key, cert)
        registry = RealRegistry(self, auth={"token": {
            "realm": f"http://localhost:{tokens.server_port}/token", "service": "test",
            "issuer": "test", "rootcertbundle": cert}})
        for name in ("public/bb", "private/bb"):
            self.push(layout, "bb", registry, name, "--dest-tls-verify=false",
                      "--dest-creds=ann:secret")
        tokens.asked.clear()
        self.ok("pull", "--insecure", f"{registry.host}/public/bb")
        self.assertEqual(tokens.asked, [("repository:public/bb:pull", False)])
        self.refused("pull", "--insecure", f"{registry.host}/private/bb", says="gives no access")
        os.mkdir(self.path(".docker"))
        with open(self.path(".docker/config.json"), "w") as handle:
            json.dump({"auths": {f"http://{registry.host}/v2/": {
                "auth": base64.b64encode(b"ann:secret").decode()}}}, handle)
        self.ok("pull", "--insecure", f"{registry.host}/private/bb")

    def test_zstd_and_platforms(self):
        layout = self.busybox_layout()
        layout.image("arm", [Layer(self.path("arm.tar")).add("arm", b"x").close()])
        run("umoci", "config", "--image", f"{layout.path}:arm", "--architecture", "arm64")
        registry = RealRegistry(self)
        self.push(layout, "bb", registry, "z", "--dest-tls-verify=false",
                  "--dest-compress-format=zstd")
        self.ok("pull", "--insecure", f"{registry.host}/z")
        self.assertTrue(self.inspect(f"{registry.host}/z")["layers"][0]["media_type"]
                        .endswith("zstd"))
        self.push(layout, "arm", registry, "arm", "--dest-tls-verify=false")
        self.refused("pull", "--insecure", f"{registry.host}/arm", says="linux/arm64")


    def test_docker_manifests(self):
        """Pulls an image with a schema 2 manifest, as Docker pushes it, and an image that a list of such manifests
        names."""
        layout, registry = self.busybox_layout(), RealRegistry(self)
        self.push(layout, "bb", registry, "d", "--dest-tls-verify=false", "--format=v2s2")
        ref = f"{registry.host}/d"
        self.ok("pull", "--insecure", ref)
        self.assertEqual(self.inspect(ref)["layers"][0]["media_type"],
                         "application/vnd.docker.image.rootfs.diff.tar.gzip")
        fake = FakeRegistry(self)
        docker = "application/vnd.docker.distribution.manifest."
        layer = tar_bytes(self.path("l.tar"))
        digest = fake.image("one", [layer], mediaType=docker + "v2+json", layers=[
            {"mediaType": "application/vnd.docker.image.rootfs.diff.tar", **fake.put(layer)}])
        fake.manifests["list"] = json.dumps({
            "schemaVersion": 2, "mediaType": docker + "list.v2+json", "manifests": [
                {"mediaType": docker + "v2+json", "digest": digest, "size": len(fake.manifests[digest]),
                 "platform": {"os": "linux", "architecture": "amd64"}}]}).encode()
        self.ok("pull", "--insecure", f"{fake.host}/x:list")
        self.assertEqual(self.inspect(f"{fake.host}/x:list")["digest"], digest)


class Killed(CordonTest):
    def test_the_downloader_ends_with_a_killed_create(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            proc = self.spawn("create", "-n", "x", f"127.0.0.1:{silent.getsockname()[1]}/x")
            silent.settimeout(10)
            held, _ = silent.accept()  # the server never answers
            proc.kill()
            proc.wait()
            self.eventually(lambda: not [p for p in below([os.getpid()]) if p.state != "Z"
                                         and p.comm.startswith("cordon")])
            held.close()


class Prompt(CordonTest):
    modes = ("user",)

    def prompt(self):
        term = self.terminal("registry", "login", "reg.example", "--username", "ann", "--no-check")
        term.expect("Password: ")
        self.eventually(lambda: not term.attributes()[3] & termios.ECHO)
        return term

    def test_the_password_is_not_echoed(self):
        term = self.prompt()
        term.send("secret\n")
        self.assertEqual(term.wait(), 0)
        self.assertNotIn(b"secret", term.seen)
        self.assertTrue(term.restored())

    def test_an_interrupted_prompt_restores_the_terminal(self):
        term = self.prompt()
        term.send(b"\x03")
        self.assertEqual(term.wait(), -signal.SIGINT)
        self.assertTrue(term.restored())


class Logins(ImageMixin, CordonTest):
    modes = ("root", "user")  # privileges make no difference to a registry

    def test_list_shows_logins(self):
        self.assertEqual(self.ok("registries").text, "No registries configured.\n")
        self.ok("login", "https://reg.example:5000/", "--username", "ann", "--no-check", stdin=b"s3cr3t")
        self.ok("login", "docker.io", "--username", "bob", "--no-check", stdin=b"s3cr3t\n")
        got = self.ok("registries")
        self.assertEqual(got.text.split(), ["REGISTRY", "USERNAME", "SOURCE", "docker.io", "bob",
                                            "login", "reg.example:5000", "ann", "login"])
        stored = os.path.join(self.home, "secrets/registries.json")
        self.assertEqual(os.stat(stored).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(os.path.dirname(stored)).st_mode & 0o777, 0o700)
        self.ok("logout", "docker.io")
        got = self.ok("logout", "docker.io")
        self.assertTrue(got.errtext.startswith("warn: "))
        self.assertNotIn("docker.io", self.ok("registries").text)

    def test_bad_logins_are_refused(self):
        for data in (b"", b"\n"):
            self.refused("login", "h.example", "--username", "a", stdin=data,
                         says="password is empty")
        self.refused("login", "h.example", "--username", "a:b", stdin=b"x",
                     says="--username")
        self.refused("login", "bad host", "--username", "a", stdin=b"x",
                     says="bad registry host")

    def test_login_tries_the_password(self):
        right = "Basic " + base64.b64encode(b"ann:secret").decode()
        fake = FakeRegistry(self, lambda h, *a: h.reply(200 if h.headers.get("Authorization") == right else 401, b"{}",
                                                        WWW_Authenticate='Basic realm="x"') or True)
        stored = os.path.join(self.home, "secrets/registries.json")
        got = self.refused("login", fake.host, "--insecure", "--username", "ann", stdin=b"wrong",
                           says="refuses the password of 'ann'")
        self.assertNotIn("wrong", got.errtext)
        self.assertFalse(os.path.exists(stored))
        self.ok("login", fake.host, "--insecure", "--username", "ann", stdin=b"secret")
        self.assertTrue(os.path.exists(stored))
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            self.refused("login", f"localhost:{closed.getsockname()[1]}", "--insecure", "--username", "ann",
                         stdin=b"x", says="connect")

    def test_a_credential_helper_is_asked(self):
        """The client writes the host to the stdin of a Docker credential helper, and uses the login that the helper
        returns. The password must not be shown."""
        fake = FakeRegistry(self, lambda h, kind, name, n: (
            h.headers.get("Authorization") != "Basic " +
            base64.b64encode(b"ann:from-helper").decode()) and
            (h.reply(401, b"", WWW_Authenticate='Basic realm="x"') or True))
        fake.image("latest", [tar_bytes(self.path("l.tar"))])
        os.makedirs(self.path("bin"))
        with open(self.path("bin/docker-credential-test"), "w") as handle:
            handle.write("#!/bin/sh\nread -r host || [ \"$host\" ]\n"
                         "echo \"$1 $host $(\"$MSB_PATH\" --version)\" > "
                         f"{self.path('asked')}\n"
                         "echo '{\"Username\":\"ann\",\"Secret\":\"from-helper\"}'\n")
        os.chmod(self.path("bin/docker-credential-test"), 0o755)
        os.mkdir(self.path(".docker"))
        with open(self.path(".docker/config.json"), "w") as handle:
            json.dump({"credHelpers": {fake.host: "test"}}, handle)
        got = self.cordon("pull", "--insecure", f"{fake.host}/x",
                          env={"PATH": self.path("bin") + ":/usr/bin:/bin"})
        self.assertEqual(got.code, 0, got)
        self.assertNotIn("from-helper", got.errtext)
        with open(self.path("asked")) as handle:
            self.assertRegex(handle.read(), rf"^get {fake.host} msb \d+\.\d+\.\d+\n$")


class Misbehaving(ImageMixin, CordonTest):
    modes = ("root", "user")  # privileges make no difference to a registry

    def layer(self, n=300000):
        return tar_bytes(self.path("l.tar"), data=os.urandom(n))

    def test_temporary_errors_are_retried(self):
        def answer(h, kind, name, n):
            if n == 1:
                code = 503 if kind == "manifests" else 429
                h.reply(code, b"later", Retry_After="1")
                return True
            if n == 2:
                h.reply(500, b"oops")
                return True
            return False

        fake = FakeRegistry(self, answer)
        fake.image("latest", [self.layer()])
        got = self.ok("pull", "--insecure", f"{fake.host}/x", timeout=60)
        self.assertGreater(got.seconds, 1)

    def test_permanent_errors_are_reported_at_once(self):
        for code, says in ((403, "forbids"), (404, "not found"), (418, "answers 418"),
                           (401, "does not say how to log in")):
            with self.subTest(code):
                fake = FakeRegistry(self, lambda h, *a: h.reply(code) or True)
                self.refused("pull", "--insecure", f"{fake.host}/x", says=says)
                self.assertEqual(len(fake.requests), 1)
        fake = FakeRegistry(self, lambda h, *a: h.reply(429, Retry_After="3600") or True)
        got = self.refused("pull", "--insecure", f"{fake.host}/x", says="too many requests")
        self.assertLess(got.seconds, 10)
        fake = FakeRegistry(self, lambda h, *a: h.reply(503) or True)
        self.refused("pull", "--insecure", f"{fake.host}/x", says="answers 503")
        self.assertEqual(len(fake.requests), 5)

    def test_what_is_missing_is_named(self):
        def answer(code):
            return json.dumps({"errors": [{"code": code, "message": "m"}]}).encode()
        for code, says in (("NAME_UNKNOWN", "the repository 'a/x' was not found on"),
                           ("MANIFEST_UNKNOWN", "the tag 'v9' was not found in the repository 'a/x' of"),
                           ("OTHER", "'a/x:v9' was not found on")):
            fake = FakeRegistry(self, lambda h, *a: h.reply(404, answer(code)) or True)
            got = self.refused("pull", "--insecure", f"{fake.host}/a/x:v9", says=says)
            self.assertIn(fake.host, got.errtext)

    def test_a_silent_registry_is_given_up(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()  # the kernel accepts connections, and nobody answers
            host = f"localhost:{silent.getsockname()[1]}"
            self.refused("pull", "--insecure", f"{host}/x", says=f"'{host}' does not answer", timeout=60)

    def test_a_failed_pull_leaves_nothing(self):
        fake = FakeRegistry(self)
        whole = self.layer()
        second = self.layer()
        fake.image("latest", [whole, second])
        del fake.blobs["sha256:" + hashlib.sha256(second).hexdigest()]
        self.refused("pull", "--insecure", f"{fake.host}/x", says="not found")
        left = [os.path.join(d, f) for d, _, files in os.walk(os.path.join(self.home, "cache")) for f in files
                if f not in ("lock",)]
        self.assertEqual(left, [])

    def test_a_cut_transfer_is_resumed(self):
        """The client continues a broken transfer with a Range request."""
        def answer(h, kind, name, n):
            data = fake.blobs.get(name)
            if kind == "blobs" and n <= 2 and len(data) > 100000:
                start = 0
                if "Range" in h.headers:
                    start = int(h.headers["Range"].split("=")[1].split("-")[0])
                h.reply(206 if start else 200, data[start:start + 70000],
                        Content_Length=str(len(data) - start))
                h.close_connection = True
                return True
            return False

        fake = FakeRegistry(self, answer)
        fake.image("latest", [self.layer()])
        self.ok("pull", "--insecure", f"{fake.host}/x")
        ranges = [r[2].get("Range") for r in fake.asked_for("blobs") if r[2].get("Range")]
        self.assertEqual(ranges, ["bytes=70000-", "bytes=140000-"])

    def test_server_without_ranges(self):
        def answer(h, kind, name, n):
            if kind == "blobs":
                data = fake.blobs[name]
                cut = 70000 if n == 1 and len(data) > 100000 else len(data)
                h.reply(200, data[:cut], Content_Length=str(len(data)))
                h.close_connection = True
                return True
            return False

        fake = FakeRegistry(self, answer)
        fake.image("latest", [self.layer()])
        self.ok("pull", "--insecure", f"{fake.host}/x")

    def test_killed_pull_is_resumed(self):
        hold = threading.Event()
        self.addCleanup(hold.set)

        def answer(h, kind, name, n):
            data = fake.blobs.get(name)
            if kind == "blobs" and n == 1 and len(data) > 100000:
                h.send_response(200)
                h.send_header("Content-Length", str(len(data)))
                h.end_headers()
                h.wfile.write(data[:200000])
                h.wfile.flush()
                hold.wait(20)
                h.close_connection = True
                return True
            return False

        fake = FakeRegistry(self, answer)
        fake.image("latest", [self.layer()])
        program = self.image("list").argv[0]
        proc = self.spawn("--home", self.home, "pull", "--insecure", f"{fake.host}/x",
                          program=program)
        tmp = os.path.join(self.home, "cache/tmp")

        def part():
            sizes = [os.stat(os.path.join(tmp, n)).st_size for n in os.listdir(tmp)
                     if n.endswith(".part")] if os.path.isdir(tmp) else []
            return max(sizes, default=0) >= 200000

        self.eventually(part)
        proc.kill()
        self.finish(proc)
        hold.set()
        self.assertEqual(self.references(), [])
        self.ok("pull", "--insecure", f"{fake.host}/x")
        self.assertIn("bytes=200000-", [r[2].get("Range") for r in fake.asked_for("blobs")])

    def test_two_pulls_share_the_work(self):
        def answer(h, kind, name, n):
            if kind == "blobs":
                time.sleep(0.3)
            return False

        fake = FakeRegistry(self, answer)
        fake.image("latest", [self.layer(), self.layer(200000)])
        program = self.image("list").argv[0]
        procs = [self.spawn("--home", self.home, "pull", "--insecure", f"{fake.host}/x",
                            program=program) for _ in range(3)]
        for proc in procs:
            got = self.finish(proc)
            self.assertEqual(got.code, 0, got)
        self.assertEqual(len(fake.asked_for("blobs")), 3)

    def test_layers_are_pulled_in_parallel(self):
        """The registry sends each of two layers only after both have been requested."""
        both = threading.Barrier(2)

        def answer(h, kind, name, n):
            if kind == "blobs" and len(fake.blobs[name]) > 100000:
                both.wait(20)
            return False

        fake = FakeRegistry(self, answer)
        fake.image("latest", [self.layer(), self.layer(200000)])
        self.ok("pull", "--insecure", f"{fake.host}/x")
        self.assertFalse(both.broken)

    def test_wrong_content(self):
        fake = FakeRegistry(self)
        fake.image("latest", [self.layer()])
        digest, data = max(fake.blobs.items(), key=lambda item: len(item[1]))
        for name, body, says in (
                ("changed", data[:-1] + b"!", "arrived with the digest"),
                ("longer", data + b"x", "longer than"), ("shorter", data[:-5], "bytes instead of")):
            with self.subTest(name):
                fake.blobs[digest] = body
                self.forget_parts()
                got = self.refused("pull", "--insecure", f"{fake.host}/x", says=says, timeout=60)
                self.assertIn(digest, got.errtext)
                self.assertFalse(os.path.exists(os.path.join(
                    self.home, "cache/blobs/sha256", digest.split(":")[1])))
        fake.blobs[digest] = data
        self.ok("pull", "--insecure", f"{fake.host}/x")

    def forget_parts(self):
        tmp = os.path.join(self.home, "cache/tmp")
        for name in os.listdir(tmp) if os.path.isdir(tmp) else ():
            if name.endswith(".part"):
                os.unlink(os.path.join(tmp, name))

    def test_wrong_manifest_for_a_digest(self):
        fake = FakeRegistry(self)
        digest = fake.image("latest", [self.layer()])
        fake.manifests[digest] = fake.manifests[digest] + b" "
        self.refused("pull", "--insecure", f"{fake.host}/x@{digest}", says="arrived with the digest")

    def test_missing_blob(self):
        fake = FakeRegistry(self)
        fake.image("latest", [self.layer()])
        digest = max(fake.blobs, key=lambda d: len(fake.blobs[d]))
        del fake.blobs[digest]
        got = self.refused("pull", "--insecure", f"{fake.host}/x", says="not found")
        self.assertIn(digest, got.errtext)

    def test_redirects(self):
        elsewhere = FakeRegistry(self)

        def answer(h, kind, name, n):
            if kind == "blobs":
                h.reply(307, Location=f"http://{elsewhere.host}/v2/x/blobs/{name}")
                return True
            return False

        fake = FakeRegistry(self, answer)
        fake.image("latest", [self.layer()])
        elsewhere.blobs = fake.blobs
        self.ok("login", fake.host, "--no-check", "--username", "ann", stdin=b"secret")
        self.ok("pull", "--insecure", f"{fake.host}/x")
        self.assertEqual([r for r in elsewhere.requests if "Authorization" in r[2]], [])
        loop = FakeRegistry(self, lambda h, kind, name, n: h.reply(
            302, Location=f"/v2/x/{kind}/{name}") or True)
        self.refused("pull", "--insecure", f"{loop.host}/x", says="redirect")
        self.assertLessEqual(len(loop.requests), 12)

    def test_bad_manifests_are_refused(self):
        fake = FakeRegistry(self)
        layer = self.layer(100)
        for name, change, says in (
                ("foreign", {"layers": [{"mediaType": OCI + "layer.nondistributable.v1.tar",
                                         **fake.put(layer)}]}, "foreign"),
                ("unknown", {"layers": [{"mediaType": "text/plain", **fake.put(layer)}]},
                 "unknown media type"),
                ("artifact", {"config": {"mediaType": "application/x.helm", **fake.put(b"{}")}},
                 "not a container image"),
                ("both", {"manifests": []}, "at once"),
                ("old", {"schemaVersion": 1}, "schema 1"),
                ("count", {"layers": []}, "0 layers"),
                ("many", {"layers": [{"mediaType": OCI + "layer.v1.tar", **fake.put(layer)}] * 300},
                 "more than 256")):
            with self.subTest(name):
                fake.image(name, [layer], **change)
                self.refused("pull", "--insecure", f"{fake.host}/x:{name}", says=says)
        for name, data, says in (
                ("html", b"<html>", "manifest"), ("empty", b"", "manifest"),
                ("huge", b" " * (5 << 20), "larger than"), ("deep", b"[" * 100000, "manifest")):
            with self.subTest(name):
                fake.manifests[name] = data
                self.refused("pull", "--insecure", f"{fake.host}/x:{name}", says=says)

    def test_indexes(self):
        fake = FakeRegistry(self)
        good = fake.image("good", [self.layer(100)])

        def index(tag, *items):
            data = json.dumps({"schemaVersion": 2, "mediaType": OCI + "index.v1+json",
                               "manifests": items}).encode()
            fake.manifests[tag] = fake.manifests["sha256:" + sha256(data)] = data
            return "sha256:" + sha256(data)

        def item(digest, system, machine):
            return {"mediaType": OCI + "manifest.v1+json", "digest": digest, "size": 1,
                    "platform": {"os": system, "architecture": machine}}

        first = index("multi", item("sha256:" + "1" * 64, "linux", "arm64"),
                      item(good, "linux", "amd64"))
        self.ok("pull", "--insecure", f"{fake.host}/x:multi")
        self.assertEqual(self.inspect(f"{fake.host}/x:multi")["digest"], good)
        index("others", item(good, "linux", "arm64"), item(good, "windows", "amd64"))
        self.refused("pull", "--insecure", f"{fake.host}/x:others",
                     says="no image for linux/amd64, only for linux/arm64, windows/amd64")
        index("nested", item(first, "linux", "amd64"))
        self.refused("pull", "--insecure", f"{fake.host}/x:nested", says="another index")

    def test_gzip_layers(self):
        fake = FakeRegistry(self)
        fake.image("latest", [gzip.compress(self.layer())])
        self.ok("pull", "--insecure", f"{fake.host}/x")

    def test_a_closed_port_is_reported(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            ref = f"localhost:{s.getsockname()[1]}/x"
            got = self.refused("pull", "--insecure", ref, says="connect")
            self.assertIn("✗ Pulling", got.errtext)
            self.assertEqual(got.out, b"")

    def test_bad_references(self):
        for ref in ("UPPER", "a:b:c", "", "a b", "x@sha256:1", "-x"):
            got = self.image("pull", "--", ref)
            self.assertEqual(got.code, 1, got)
            self.assertIn("invalid image reference", got.errtext)


class Settings(ImageMixin, CordonTest):
    modes = ("root", "user")  # privileges make no difference to a registry

    def configure(self, **hosts):
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            json.dump({"registries": {"hosts": hosts}}, handle)

    def test_insecure_host(self):
        fake = FakeRegistry(self)
        fake.image("latest", [tar_bytes(self.path("l.tar"))])
        self.configure(**{fake.host: {"insecure": True}})
        self.ok("pull", f"{fake.host}/x")

    def test_mirrors_come_first(self):
        mirror = FakeRegistry(self)
        mirror.image("latest", [tar_bytes(self.path("l.tar"))])
        broken = FakeRegistry(self, lambda h, *a: h.reply(404) or True)
        self.configure(**{"registry.invalid": {
            "mirrors": [f"http://{broken.host}", f"http://{mirror.host}"]}})
        self.ok("pull", "registry.invalid/some/x")
        self.assertEqual(self.references(), ["registry.invalid/some/x"])
        self.assertTrue(broken.requests)

    def test_mirror_that_lacks_a_blob(self):
        origin = FakeRegistry(self)
        origin.image("latest", [tar_bytes(self.path("l.tar"))])
        mirror = FakeRegistry(self)
        mirror.manifests = origin.manifests
        self.configure(**{origin.host: {"insecure": True, "mirrors": [f"http://{mirror.host}"]}})
        self.ok("pull", f"{origin.host}/x")

    def test_a_bad_configuration_file_is_refused(self):
        with open(os.path.join(self.home, "config.json"), "w") as handle:
            handle.write("{")
        self.refused("pull", "localhost/x", says="config.json")

    def test_proxy(self):
        fake = FakeRegistry(self)
        fake.image("latest", [tar_bytes(self.path("l.tar"))])
        self.ok("pull", "--insecure", "registry.invalid/x",
                env={"http_proxy": f"http://{fake.host}"})
        self.assertTrue(fake.requests)


class OnTerminal(ImageMixin, CordonTest):
    modes = ("root", "user")  # privileges make no difference to a registry

    def test_progress_leaves_no_trace(self):
        def answer(h, kind, name, n):
            if kind == "blobs" and len(fake.blobs[name]) > 100000:
                data = fake.blobs[name]
                h.send_response(200)
                h.send_header("Content-Length", str(len(data)))
                h.end_headers()
                for i in range(0, len(data), 100000):
                    h.wfile.write(data[i:i + 100000])
                    time.sleep(0.1)
                return True
            return False

        fake = FakeRegistry(self, answer)
        digests = [fake.put(tar_bytes(self.path("l.tar"), name, os.urandom(600000)))["digest"] for name in "ab"]
        fake.image("latest", [fake.blobs[d] for d in digests])
        program = self.image("list").argv[0]
        term = Terminal(self, [program, "--home", self.home, "pull", "--insecure",
                               f"{fake.host}/x"], self.environment())
        term.expect(rf"(?s){digests[0][7:19]} .*/ 0\.6 MiB.*{digests[1][7:19]} .*/ 0\.6 MiB.*"
                    r"total .*/ 1\.2 MiB  \d+\.\d MiB/s  \d+s")
        term.expect(r"\x1b\[J   ✓ Pulled")
        self.assertEqual(term.wait(), 0)
