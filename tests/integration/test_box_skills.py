"""Tests skills of cordon-box, as LangBot sees them. The files test_skills and test_skill_zips test the
skill worker (cordon-skills) itself."""

import base64
import hashlib
import io
import os
import signal
import zipfile

from boxpeer import BoxFault
from harness import all_processes
from test_box import INSTANCE, BoxTest

CHUNK_BYTES = 16384


def namespace(workspace):
    return "ws-" + hashlib.sha256(f"{INSTANCE}\0{workspace}".encode()).hexdigest()[:24]


def upload(peer, key, data):
    """Sends a file in pieces, as LangBot does."""
    pieces = [data[at:at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)] or [b""]
    for index, piece in enumerate(pieces):
        peer.call("__file_chunk", {"file_key": key, "file_length": len(data), "chunk_index": index,
                                   "chunk_amount": len(pieces), "chunk_size": len(piece),
                                   "chunk_base64": base64.b64encode(piece).decode()})


class SkillsOfBox(BoxTest):
    def setUp(self):
        super().setUp()
        self.base = os.path.realpath(self.dir)
        self.root = os.path.join(self.base, "srv", "skills")
        self.running = self.server(config={"local": {"host_root": os.path.join(self.base, "srv")}},
                                   env={"LANGBOT_BOX_TRUSTED_INSTANCE_UUID": INSTANCE,
                                        "LANGBOT_BOX_ALLOW_LEGACY_CLIENTS": "1"})

    def workers(self):
        return [p for p in all_processes().values() if p.ppid == self.running.proc.pid and p.comm == "cordon-skills"]

    def names(self, peer):
        return sorted(skill["name"] for skill in peer.call("box_list_skills")["skills"])

    def upload(self, peer, key, data):
        upload(peer, key, data)

    def archive(self, size=0):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as made:
            made.writestr("kit/pdf/SKILL.md", "---\nname: pdf\n---\nbody")
            made.writestr("kit/pdf/noise", os.urandom(size))
        return out.getvalue()

    def test_a_skill_from_its_creation_to_its_end(self):
        peer = self.running.current()
        place = os.path.join(self.root, "tenants", namespace("w-blue"), "csv")
        self.assertEqual(self.names(peer), [])
        made = peer.call("box_create_skill", {"skill": {"name": "csv", "instructions": "Use it"}})["skill"]
        self.assertEqual((made["name"], made["package_root"]), ("csv", place))
        self.assertEqual(peer.call("box_get_skill", {"name": "csv"})["skill"], made)
        peer.call("box_write_skill_file", {"name": "csv", "path": "a/b.txt", "content": "héllo"})
        self.assertEqual(peer.call("box_read_skill_file", {"name": "csv", "path": "a/b.txt"})["content"], "héllo")
        with open(os.path.join(place, "a/b.txt"), encoding="utf-8") as handle:
            self.assertEqual(handle.read(), "héllo")
        self.fails("BoxValidationError: path must stay within the skill package root", peer.call,
                   "box_read_skill_file", {"name": "csv", "path": "../x"})
        self.fails("KeyError: 'name'", peer.call, "box_get_skill")
        self.assertEqual(peer.call("box_delete_skill", {"name": "csv"}), {"deleted": "csv"})
        self.assertEqual(self.names(peer), [])
        self.assertEqual(len(self.workers()), 1)

    def test_an_uploaded_archive(self):
        peer = self.running.current()
        data = self.archive(3 * CHUNK_BYTES)
        ask = {"file_key": "k.zip", "filename": "kit.zip"}
        self.upload(peer, "k.zip", data)
        seen, = peer.call("box_preview_skill_zip", ask)["skills"]
        self.assertEqual((seen["name"], seen["source_path"]), ("pdf", "pdf"))
        self.fails("BoxValidationError: Uploaded file was not found", peer.call, "box_install_skill_zip", ask)
        self.fails("BoxValidationError: 'file_key'", peer.call, "box_install_skill_zip")
        self.upload(peer, "k.zip", data)
        made, = peer.call("box_install_skill_zip", ask)["skills"]
        self.assertEqual(made["package_root"], seen["package_root"])
        self.assertEqual(self.names(peer), ["pdf"])
        peer.close()
        self.eventually(lambda: self.running.health()["memory_held_bytes"] == 0, message=self.running.health)

    def test_an_upload_belongs_to_its_connection(self):
        self.upload(self.running.current(), "k.zip", self.archive())
        self.fails("BoxValidationError: Uploaded file was not found", self.running.current().call,
                   "box_preview_skill_zip", {"file_key": "k.zip"})

    def test_each_tenant_has_its_own_root(self):
        blue, red = self.running.current("w-blue"), self.running.current("w-red")
        blue.call("box_create_skill", {"skill": {"name": "one"}})
        red.call("box_create_skill", {"skill": {"name": "two"}})
        self.assertEqual((self.names(blue), self.names(red)), (["one"], ["two"]))
        self.assertEqual(sorted(os.listdir(os.path.join(self.root, "tenants"))),
                         sorted([namespace("w-blue"), namespace("w-red")]))

    def test_box_init_can_change_the_root(self):
        peer = self.running.current()
        peer.call("box_create_skill", {"skill": {"name": "one"}})
        peer.call("box_init", {"local": {"host_root": self.base, "skills_root": "elsewhere"}})
        self.assertEqual(self.names(peer), [])
        self.assertTrue(os.path.isdir(os.path.join(self.base, "elsewhere", "tenants", namespace("w-blue"))))
        self.eventually(lambda: len(self.workers()) == 1)

    def test_a_killed_worker_fails_one_operation(self):
        peer = self.running.current()
        self.names(peer)
        worker, = self.workers()
        os.kill(worker.pid, signal.SIGSTOP)
        number, second = peer.post("box_list_skills"), peer.post("box_list_skills")
        peer.call("__ping")  # the answer to this ping shows that the server has read both requests
        os.kill(worker.pid, signal.SIGKILL)
        self.assertEqual(peer.answer(number)["message"],
                         "BoxError: the skill worker (cordon-skills) ended before it answered")
        self.assertEqual(peer.answer(second)["code"], 0)
        self.assertEqual(self.names(peer), [])

    def test_a_killed_worker_fails_a_write_with_a_validation_error(self):
        peer = self.running.current()
        self.names(peer)
        worker, = self.workers()
        os.kill(worker.pid, signal.SIGSTOP)
        number = peer.post("box_create_skill", {"skill": {"name": "one"}})
        peer.call("__ping")  # the answer to this ping shows that the server has read the request
        os.kill(worker.pid, signal.SIGKILL)
        self.assertEqual(peer.answer(number)["message"],
                         "BoxValidationError: the skill worker (cordon-skills) ended before it answered")


class LegacySkills(BoxTest):
    def test_legacy_peers_use_the_root_itself_and_can_import(self):
        base = os.path.realpath(self.dir)
        peer = self.server(config={"local": {"host_root": base}}).legacy()
        made = peer.call("box_create_skill", {"skill": {"name": "one"}})["skill"]
        self.assertEqual(made["package_root"], os.path.join(base, "skills", "one"))
        os.mkdir(os.path.join(base, "outside"))
        with open(os.path.join(base, "outside", "SKILL.md"), "w", encoding="utf-8") as handle:
            handle.write("---\nname: brought\n---\nbody")
        source = os.path.join(base, "outside")
        self.assertEqual(peer.call("box_scan_skill_directory", {"path": source})["name"], "brought")
        peer.call("box_create_skill", {"skill": {"name": "brought", "package_root": source}})
        names = sorted(skill["name"] for skill in peer.call("box_list_skills")["skills"])
        self.assertEqual(names, ["brought", "one"])
        with self.assertRaises(BoxFault):
            peer.call("box_scan_skill_directory", {"path": os.path.join(base, "nowhere")})
