"""A real Docker engine loads what cordon saves, and cordon loads what the engine saves."""

import http.client
import json
import socket

from engines import start_dockerd
from harness import CordonTest
from image_fixtures import ImageMixin


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class DockerEngine(ImageMixin, CordonTest):
    modes = ("root",)
    timeout = 180

    def setUp(self):
        super().setUp()
        self.socket = start_dockerd(self, self.path("engine"))
        self.eventually(lambda: self.ask("GET", "/_ping")[1] == b"OK", within=60)

    def ask(self, method, path, body=None):
        try:
            connection = UnixConnection(self.socket)
            connection.request(method, path, body, {"Content-Type": "application/x-tar"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError as exc:
            return 0, str(exc).encode()

    def test_images_go_to_docker_and_back(self):
        layout = self.busybox_layout()
        layout.copy("bb", f"oci-archive:{self.path('a.tar')}:some/bb:1")
        self.ok("load", "--input", self.path("a.tar"))
        self.ok("save", "--output", self.path("s.tar"), "some/bb:1")
        with open(self.path("s.tar"), "rb") as handle:
            status, body = self.ask("POST", "/v1.41/images/load", handle.read())
        self.assertIn(b"Loaded image: some/bb:1", body)
        shown = self.inspect("some/bb:1")
        theirs = json.loads(self.ask("GET", "/v1.41/images/some/bb:1/json")[1])
        self.assertEqual(theirs["Id"], shown["config"]["digest"])
        self.assertEqual(theirs["RootFS"]["Layers"], [l["diff_id"] for l in shown["layers"]])
        status, body = self.ask("GET", "/v1.41/images/some/bb:1/get")
        self.assertEqual(status, 200)
        self.ok("remove", "some/bb:1")
        self.ok("load", stdin=body)
        back = self.inspect("some/bb:1")
        self.assertEqual(back["config"], shown["config"])
        self.assertEqual([l["diff_id"] for l in back["layers"]],
                         [l["diff_id"] for l in shown["layers"]])
