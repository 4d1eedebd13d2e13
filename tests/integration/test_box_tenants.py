"""Tests replayed generations and forged ids. No Workspace may reach the sessions of another Workspace. A request of an
older generation may not reach the sessions of a newer one, and a newer generation does not see the sessions of an older
one."""

from boxpeer import BoxFault
from harness import unique_number
from test_box import INSTANCE, BoxTest, placement

STALE = "PermissionError: Stale Box placement generation"
OTHER = "PermissionError: Box action context does not match the trusted instance"


def headers(workspace="w-blue", generation=1, instance=INSTANCE):
    return [f"X-LangBot-Instance-Id: {instance}", f"X-LangBot-Workspace-Id: {workspace}",
            f"X-LangBot-Placement-Generation: {generation}"]


class Replays(BoxTest):
    modes = ("user",)

    def test_an_old_generation_stays_out_on_every_connection(self):
        """The server refuses an old generation on a new connection, with every action, and after the peer of the newest
        generation has disconnected."""
        server = self.server()
        old, new = server.current(generation=3), server.current(generation=7)
        old.exec("a", "true")
        new.exec("a", "echo new > /tmp/who")
        new.close()
        for generation in (1, 3, 6):
            for action, data in (("box_status", {}), ("box_get_sessions", {}), ("box_list_skills", {}),
                                 ("box_exec", {"session_id": "a", "cmd": "true"}),
                                 ("box_create_session", {"session_id": "a"}), ("box_get_session", {"session_id": "a"}),
                                 ("box_delete_session", {"session_id": "a"}),
                                 ("box_start_managed_process", {"session_id": "a", "spec": {"command": "cat"}}),
                                 ("box_stop_managed_process", {"session_id": "a"})):
                self.fails(STALE, server.current(generation=generation).call, action, data)
        again = server.current(generation=7)
        self.assertEqual(again.exec("a", "cat /tmp/who")["stdout"], "new")
        self.assertEqual(len(self.sandboxes()), 1)

    def test_one_connection_may_raise_the_generation_but_not_lower_it(self):
        peer = self.server().current(generation=1)
        peer.exec("a", "true")
        for generation, works in ((2, True), (1, False), (2, True), ((1 << 63) - 1, True), (2, False)):
            peer.context["placement_generation"] = generation
            if works:
                self.assertEqual(peer.call("box_get_sessions"), {"sessions": []})
            else:
                self.fails(STALE, peer.call, "box_get_sessions")
        self.assertEqual(self.sandboxes(), [])

    def test_a_generation_is_a_positive_integer(self):
        server = self.server()
        peer = server.current(generation=1)
        peer.exec("a", "true")
        for bad in (0, -1, 1.5, 1 << 63, 1 << 64, 10 ** 30, None, "", "x", [], {}, [2]):
            peer.context["placement_generation"] = bad
            with self.subTest(bad), self.assertRaises(BoxFault) as caught:
                peer.call("box_get_sessions")
            self.assertRegex(str(caught.exception), "^ValidationError: context.placement_generation must be ")
        for bad in ("0", "-1", "01", "+1", "1x", "", "1.0", "9" * 40, "1 1"):
            with self.subTest(bad):
                self.refused(401, server.relay, placement("w-blue", 1) + "-a", headers=headers(generation=bad))
        peer.context["placement_generation"] = 1
        self.assertEqual(len(peer.call("box_get_sessions")["sessions"]), 1)

    def test_workspaces_have_generations_of_their_own(self):
        server = self.server()
        blue, red = server.current("w-blue", 1), server.current("w-red", 9)
        red.exec("a", "true")
        self.assertEqual(blue.exec("a", "echo here")["stdout"], "here")
        server.current("w-red", 10).call("box_status")
        self.assertEqual([s["session_id"] for s in blue.call("box_get_sessions")["sessions"]], ["a"])

    def test_a_context_of_another_instance_raises_no_generation(self):
        server = self.server()
        peer = server.current(generation=2)
        peer.exec("a", "true")
        forged = {"instance_uuid": "inst-8", "workspace_uuid": "w-blue", "placement_generation": 99}
        for action in ("box_status", "box_get_sessions", "box_init", "box_shutdown", "__ping"):
            self.fails(OTHER, peer.call, action, context=forged)
        self.assertEqual(len(peer.call("box_get_sessions")["sessions"]), 1)

    def test_an_exec_of_a_replaced_generation_answers_nothing_else(self):
        """No peer gets the result of an exec of the old generation, whether this exec runs or waits when the newer
        generation comes."""
        server, slow = self.server(), unique_number()
        old = server.current(generation=1)
        old.exec("a", "true")
        asked = [old.post("box_exec", {"session_id": "a", "cmd": f"echo secret; sleep {slow}", "timeout_sec": 1000})
                 for _ in range(3)]  # one exec runs, two execs wait
        self.eventually(lambda: self.sleepers(slow))
        server.current(generation=2).call("box_status")
        self.assertEqual([old.answer(n)["message"] for n in asked], [STALE] * 3)
        self.eventually(lambda: not self.sleepers(slow))


class Relays(BoxTest):
    modes = ("user",)

    def serve(self, generation, **kwargs):
        server = self.server(**kwargs)
        peer = server.current(generation=generation)
        peer.call("box_create_session", {"session_id": "a"})
        peer.call("box_start_managed_process", {"session_id": "a", "spec": {"command": "cat"}})
        return server, peer

    def test_replayed_and_forged_headers(self):
        """The path names a session. The headers must name the tenant of this session and the tenant's newest
        generation."""
        server, _ = self.serve(10)
        server.current("w-red", 10).exec("a", "true")
        own = placement("w-blue", 10) + "-a"
        server.relay(own, headers=headers(generation=10))
        for session, sent in ((own, headers(generation=9)), (own, headers(generation=11)), (own, headers(generation=1)),
                              (own, headers("w-red", 10)), (own, headers("w-blu", 10)), (own, headers("", 10)),
                              (own, headers("x" * 257, 10)), (own, headers(generation=10, instance="inst-8")),
                              (own, headers(generation=10)[:2]), (own, headers(generation=10)[1:]),
                              (own, headers(generation=10) + ["X-LangBot-Placement-Generation: 10"]),
                              (own, headers(generation=10) + ["Origin: http://127.0.0.1"]),
                              (placement("w-blue", 1) + "-a", headers(generation=10)),
                              (placement("w-blue", 1) + "0-a", headers(generation=1)),
                              (placement("w-red", 10) + "-a", headers(generation=10)),
                              (placement("w-blue", 10) + "-", headers(generation=10)),
                              (placement("w-blue", 10), headers(generation=10)), ("a", headers(generation=10))):
            with self.subTest(session=session, sent=sent):
                self.refused(401, server.relay, session, headers=sent)

    def test_a_relay_raises_no_generation(self):
        """Only an RPC raises the generation of a Workspace. If a relay did so, a handshake that is refused could end
        the sessions of the Workspace."""
        server, peer = self.serve(1)
        self.refused(401, server.relay, placement("w-blue", 5) + "-a", headers=headers(generation=5))
        self.assertEqual(len(peer.call("box_get_sessions")["sessions"]), 1)

    def test_a_legacy_peer_finds_no_session_of_a_workspace(self):
        server, _ = self.serve(1, env={"LANGBOT_BOX_ALLOW_LEGACY_CLIENTS": "1"})
        legacy = server.legacy()
        for session in ("a", placement("w-blue", 1) + "-a"):
            self.fails(f"BoxSessionNotFoundError: session {session} not found", legacy.call, "box_get_session",
                       {"session_id": session})
            self.refused(400, server.relay, session)


class Ids(BoxTest):
    modes = ("user",)

    def test_a_forged_physical_id_names_a_session_of_the_caller(self):
        server = self.server()
        red, blue = server.current("w-red"), server.current("w-blue")
        red.exec("a", "echo red > /tmp/who")
        forged = placement("w-red", 1) + "-a"
        got = blue.exec(forged, "cat /tmp/who 2>/dev/null || echo own")
        self.assertEqual((got["session_id"], got["stdout"]), (forged, "own"))
        self.assertEqual(blue.call("box_delete_session", {"session_id": forged}), {"deleted": forged})
        self.assertEqual(red.exec("a", "cat /tmp/who")["stdout"], "red")

    def test_ids_that_are_cleaned_to_the_same_id_are_one_session(self):
        peer = self.server().current()
        peer.exec("a b", "echo one > /tmp/who")
        for same in ("a-b", "a::b", " a b ", "-a b-", "a\u2028b"):
            self.assertEqual(peer.call("box_get_session", {"session_id": same})["session_id"], "a-b", same)
        self.assertEqual(len(peer.call("box_get_sessions")["sessions"]), 1)
