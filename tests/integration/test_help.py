"""Tests the topics of `cordon help`. Tests of the command line itself are in vectors.txt."""

import re
import shlex

from harness import MSB, CordonTest


class Topics(CordonTest):
    modes = ("user",)

    def topics(self):
        got = self.cordon("help")
        self.assertEqual(got.code, 0, got)
        listed = got.text.split("\nTopics, ", 1)[1].splitlines()[1:]
        return [line.split()[0] for line in listed]

    def test_every_topic_is_listed_and_printed(self):
        names = self.topics()
        self.assertIn("project", names)
        for name in names:
            got = self.cordon("help", name)
            self.assertEqual(got.code, 0, got)
            self.assertTrue(got.text.startswith(name + ": "), got)
            for line in got.text.splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_no_topic_has_the_name_of_a_command(self):
        for name in self.topics():
            got = self.cordon(name, "--help")
            self.assertEqual(got.code, 2, got)

    def test_the_commands_of_topics_are_understood(self):
        seen = 0
        for name in self.topics():
            for line in self.cordon("help", name).text.splitlines():
                if not line.startswith("    cordon "):
                    continue
                words = shlex.split(re.split(r"\s{3,}", line.strip())[0])[1:]
                at = words.index("--") if "--" in words else len(words)
                got = self.cordon(*words[:at], "--help", *words[at:])
                self.assertEqual(got.code, 0, got)
                seen += 1
        self.assertGreater(seen, 15)

    def test_called_as_msb_there_are_no_topics(self):
        self.assertNotIn("Topics", self.cordon("help", program=MSB).text)
        self.assertEqual(self.cordon("help", "project", program=MSB).code, 2)

    def test_an_unknown_topic(self):
        got = self.cordon("help", "nosuch")
        self.assertEqual(got.code, 2, got)
        self.assertIn("unknown command or topic 'nosuch'", got.errtext)
