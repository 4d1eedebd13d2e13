"""Tests --trust-host-cas: the sandbox trusts the CAs of the host in addition to the CAs of its image."""

import os

from harness import CordonTest

PLACES = ("etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/cert.pem")


def host_bundle():
    for place in PLACES:
        try:
            with open("/" + place) as handle:
                return handle.read()
        except OSError:
            pass
    return None


class HostCas(CordonTest):
    own_home = True

    def setUp(self):
        super().setUp()
        self.host = host_bundle()
        if not self.host:
            self.not_run("this host has no root certificates")

    def bundle(self, box, place):
        got = box.exec("cat", "/" + place)
        self.assertEqual(got.code, 0, got)
        return got.text

    def test_the_hosts_cas_are_added_to_the_images_bundle(self):
        for place in PLACES:
            with self.subTest(place=place):
                root = self.make_root()
                path = os.path.join(root, place)
                os.makedirs(os.path.dirname(path))
                with open(path, "w") as handle:
                    handle.write("the image's own")
                box = self.create("--trust-host-cas", image=root)
                self.assertEqual(self.bundle(box, place), "the image's own\n" + self.host)
                self.assertEqual(box.exec("cat", "/.msb/tls/host-cas.pem").text, self.host)
                self.assertIs(box.inspect()["config"]["network"]["trust_host_cas"], True)
                self.assertEqual(box.remove("-f").code, 0)
                with open(path) as handle:
                    self.assertEqual(handle.read(), "the image's own")  # the file is unchanged

    def test_a_root_without_a_bundle_gets_the_hosts_cas(self):
        root = self.make_root()
        before = sorted(os.listdir(os.path.join(root, "etc")))
        box = self.create("--trust-host-cas", image=root)
        self.assertEqual(self.bundle(box, PLACES[0]), self.host)
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(self.bundle(box, PLACES[0]), self.host)  # a second start does not add the CAs again
        self.assertEqual(box.remove("-f").code, 0)
        self.assertEqual(sorted(os.listdir(os.path.join(root, "etc"))), before)

    def test_a_read_only_root_has_the_hosts_cas(self):
        box = self.create("--trust-host-cas", "--read-only", image=self.make_root())
        self.assertEqual(self.bundle(box, PLACES[0]), self.host)
        self.assertEqual(self.bundle(box, ".msb/tls/host-cas.pem"), self.host)

    def test_without_the_flag_nothing_is_added(self):
        box = self.create(image=self.make_root())
        self.assertEqual(box.exec("ls", "/" + PLACES[0]).code, 2)
        self.assertEqual(box.exec("ls", "/.msb/tls").code, 2)
        self.assertIs(box.inspect()["config"]["network"]["trust_host_cas"], False)

    def test_a_configuration_file_adds_them_to_the_image_host(self):
        with open(os.path.join(self.dir, "net.yaml"), "w") as handle:
            handle.write("trust_host_cas: true\n")
        box = self.create("--net-conf", os.path.join(self.dir, "net.yaml"))
        self.assertEqual(self.bundle(box, ".msb/tls/host-cas.pem"), self.host)
        self.assertIs(box.inspect()["config"]["network"]["trust_host_cas"], True)

    def test_the_flag_is_refused_for_tenants(self):
        got = self.cordon("create", "--trust-host-cas", "--deployment-profile", "multi-tenant", "host")
        self.assertEqual((got.code, got.out), (1, b""))
        self.assertIn("--trust-host-cas", got.errtext)
