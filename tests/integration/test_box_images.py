"""Tests which backend cordon-box chooses, what each backend does with an image, and which network a session gets."""

import json
import shlex
import subprocess

from boxpeer import SECONDS, BoxFault, Peer, StdioTransport
from image_fixtures import ImageMixin
from netlab import METADATA, PRIVATE, PUBLIC
from test_box import PROGRAM, BoxTest
from test_network import CONNECT, NetworkTest

DEFAULT_IMAGE = "rockchin/langbot-sandbox:latest"
UNAVAILABLE = ("BoxBackendUnavailableError: LangBot Box backend unavailable. Install and start Docker or nsjail before "
               "using exec.")


class Images(ImageMixin, BoxTest):
    def peer(self, backend="cordon", **cordon):
        return self.server(config={"backend": backend, "cordon": cordon}).legacy()

    def test_a_session_on_an_image_from_an_archive(self):
        image, peer = self.load_busybox(), self.peer()
        got = peer.exec("a", "cat /etc/passwd; id -u; ls /usr/bin; echo kept > f", image=image)
        self.assertEqual((got["backend_name"], got["exit_code"]), ("cordon", 0), got)
        self.assertEqual(got["stdout"].split("\n"), ["root:x:0:0:root:/root:/bin/sh", "ann:x:1000:1000::/:/bin/sh", "0"])
        self.assertEqual(peer.exec("a", "cat f", image=image)["stdout"], "kept")
        info = peer.call("box_get_session", {"session_id": "a"})
        self.assertEqual((info["image"], info["backend_name"]), (image, "cordon"))
        self.assertEqual(peer.exec("b", "touch /new", image=image)["exit_code"], 1)
        self.assertEqual(peer.exec("c", "touch /new", image=image, read_only_rootfs=False)["exit_code"], 0)
        self.fails(f"BoxSessionConflictError: Box session a already exists with image={image}", peer.exec, "a", "true")

    def test_a_process_on_an_image(self):
        image, server = self.load_busybox(), self.server(config={"backend": "cordon"})
        peer = server.legacy()
        peer.call("box_create_session", {"session_id": "a", "image": image})
        peer.call("box_start_managed_process", {"session_id": "a", "spec": {
            "process_id": "p", "command": "/bin/busybox", "args": ["sh", "-c", "grep ann /etc/passwd; exec cat"]}})
        relay = server.relay("a", "p")
        # the user comes from the image: this machine has no user ann
        self.assertEqual(relay.read_message(), "ann:x:1000:1000::/:/bin/sh")
        relay.send_text("through busybox")
        self.assertEqual(relay.read_message(), "through busybox")

    def test_the_default_image_is_the_host_unless_configured(self):
        image, has_python = self.load_busybox(), "test -e /usr/bin/python3 && echo yes || echo no"
        self.assertEqual(self.peer().exec("a", has_python)["stdout"], "yes")
        peer = self.peer(image=image)
        self.assertEqual(peer.exec("a", has_python)["stdout"], "no")
        self.assertEqual(peer.call("box_get_session", {"session_id": "a"})["image"], DEFAULT_IMAGE)

    def test_nsjail_only_keeps_the_name_of_an_image(self):
        peer = self.peer("nsjail")
        got = peer.exec("a", "test -e /usr/bin/python3 && echo yes", image="no/such:image")
        self.assertEqual((got["stdout"], got["backend_name"]), ("yes", "nsjail"), got)
        self.assertEqual(peer.call("box_get_session", {"session_id": "a"})["image"], "no/such:image")
        self.fails("BoxSessionConflictError: Box session a already exists with image=no/such:image", peer.exec, "a",
                   "true", image="no/such:other")

    def test_unavailable_images_are_refused(self):
        peer = self.peer()
        for image in ("127.0.0.1:1/none:1", "No Image", "./rootfs", "/etc"):
            with self.assertRaises(BoxFault) as caught:
                peer.exec("a", "true", image=image)
            self.assertRegex(str(caught.exception), "^(BoxError: cordon backend error|BoxValidationError): ")
        self.assertEqual((self.sandboxes(), peer.call("box_get_sessions")["sessions"]), ([], []))
        self.assertEqual(peer.exec("a", "echo on")["stdout"], "on")


class Selection(BoxTest):
    modes = ("user",)

    def test_names(self):
        for backend, name in (("", "nsjail"), ("local", "nsjail"), ("nsjail", "nsjail"), ("cordon", "cordon"),
                              ("docker", None), ("e2b", None), ("other", None)):
            with self.subTest(backend=backend):
                peer = self.server(config={"backend": backend}).legacy()
                self.assertEqual(peer.call("box_get_backend_info"), {"name": name, "available": name is not None})
                if name:
                    self.assertEqual(peer.exec("a", "true")["backend_name"], name)
                else:
                    self.fails(UNAVAILABLE, peer.exec, "a", "true")

    def test_an_init_changes_the_backend_only_without_sessions(self):
        peer = self.server().legacy()
        info = lambda: peer.call("box_get_backend_info")["name"]
        self.assertEqual(info(), "nsjail")
        peer.call("box_init", {"backend": "cordon"})
        self.assertEqual(info(), "cordon")
        peer.exec("a", "true")
        peer.call("box_init", {"backend": "nsjail"})
        self.assertEqual((info(), peer.exec("a", "true")["backend_name"]), ("cordon", "cordon"))
        peer.call("box_delete_session", {"session_id": "a"})
        peer.call("box_init", {"backend": "nsjail"})
        self.assertEqual((info(), peer.exec("a", "true")["backend_name"]), ("nsjail", "nsjail"))


class Network(NetworkTest):
    """The server runs on a host that is a network namespace of the test."""

    def peer(self, **cordon):
        config = json.dumps({"cordon": cordon})
        proc = self.spawn("--ws-control-port", "0", "-s", program=PROGRAM, stdin=subprocess.PIPE,
                          env={"LANGBOT_BOX_CONFIG": config})
        peer = Peer(StdioTransport(proc))

        def end():
            peer.close()
            self.assertEqual(proc.wait(SECONDS), 0)

        self.addCleanup(end)
        return peer

    def reaches(self, peer, session, address, port=80, network="on"):
        line = shlex.join(["python3", "-c", CONNECT, address, str(port)])
        got = peer.exec(session, line, network=network)
        self.assertEqual(got["exit_code"], 0, got)
        return got["stdout"]

    def test_the_network_is_public_by_default_and_can_be_off(self):
        self.server(PUBLIC, 80)
        inner = [self.server(PRIVATE, 80), self.server(METADATA, 80), self.server("127.0.0.1", 80)]
        peer = self.peer()
        self.assertEqual(self.reaches(peer, "on", PUBLIC), "got hello")
        for address in (PRIVATE, METADATA):
            self.assertEqual(self.reaches(peer, "on", address), "ConnectionRefusedError", address)
        self.assertEqual(self.reaches(peer, "off", PUBLIC, network="off"), "OSError")
        got = peer.exec("off", "tail -n +3 /proc/net/dev | cut -d: -f1")
        self.assertEqual(got["stdout"].split(), ["lo"])
        self.assertEqual([s.seen for s in inner], [[]] * 3)

    def test_a_configured_policy(self):
        self.server(PUBLIC, 80)
        self.server(PRIVATE, 80)
        peer = self.peer(net=["private"])
        self.assertEqual(self.reaches(peer, "a", PRIVATE), "got hello")
        self.assertEqual(self.reaches(peer, "a", PUBLIC), "ConnectionRefusedError")
        both = self.peer(net="public, private")
        self.assertEqual((self.reaches(both, "a", PRIVATE), self.reaches(both, "a", PUBLIC)), ("got hello",) * 2)

    def test_a_bad_policy_is_named(self):
        peer = self.peer(net=["no such profile"])
        with self.assertRaises(BoxFault) as caught:
            peer.exec("a", "true", network="on")
        self.assertRegex(str(caught.exception), "box.cordon.net: ")
        self.assertEqual(peer.exec("a", "echo off")["stdout"], "off")
