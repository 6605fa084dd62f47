#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make demo`, as README tells people to run it: what it prints, keeps, and leaves behind."""
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests", "collector"))
import collectlib  # noqa: E402
import labtest  # noqa: E402

DEMO = os.path.join(HERE, "demo")
NOBODY = 65534
PHASES = ("active", "stop_rollback", "expiry", "failed_start")
KEPT = ["catalog.json", "profile.json", "release.json", "review.txt", "site.json", "store",
        "targets.json"]
# Where a release, a site or a collector's state would be, had one touched the machine.
PLACES = (collectlib.ETC, collectlib.STORE, "/usr/lib/netproof", "/run/netproof",
          "/run/netproof-daemon-agent*", "/etc/systemd/system/netproof-*", "/var/lib/netproof-collector",
          "/var/lib/netproof-demo", f"{TOP}/tests/*/__pycache__")


def machine():
    """What a demonstration could have left outside its own folder."""
    found = {path for place in PLACES for path in glob.glob(place)}
    # Of other labs on this machine, nothing is in this process's own namespaces.
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        found |= {line for line in mounts if "netproof" in line}
    return found | set(os.listdir("/sys/class/net"))


class Demonstration:
    """One run of the demo, in its own folder, with its own place for temporary files."""

    def __init__(self, word, command, owner=0, until=None):
        self.folder = os.path.join(ROOM, word)
        self.temporary = os.path.join(ROOM, word + ".tmp")
        os.mkdir(self.temporary)
        if owner:
            os.mkdir(self.folder)
            os.chown(self.folder, owner, owner)
        child = subprocess.Popen(
            [argument.format(folder=self.folder) for argument in command], cwd=TOP, text=True,
            env={**os.environ, "TMPDIR": self.temporary}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        with child:
            lines = []
            for line in child.stdout:
                lines.append(line)
                if until and until in line:
                    child.send_signal(signal.SIGTERM)
        self.status = child.returncode
        self.text = "".join(lines)
        self.lab = re.search(r"throwaway host \((\S+)\)", self.text)
        self.left = labtest.wait_without_traces(self.lab[1]) if self.lab else []

    def made(self):
        """The one folder of this run."""
        found = os.listdir(self.folder)
        assert len(found) == 1, found
        return os.path.join(self.folder, found[0])

    def rows(self):
        """The table: each probe's row by its name."""
        rows = [line.split() for line in self.text.splitlines() if line.startswith("  ")]
        return {row[1]: row for row in rows if len(row) == 6 and row[0] in PHASES}

    def command(self):
        """The printed command, as a shell takes it."""
        return re.search(r"^    (/\S+/net-verify record (?:.*\\\n)+.*)$", self.text, re.M)[1]


def can_run_as(uid):
    program = os.path.join(TOP, os.environ.get("BUILD", "build"), "bin", "net-verify")
    with contextlib.suppress(OSError):
        return subprocess.run([program, "--version"], user=uid, check=False,
                              stdout=subprocess.DEVNULL).returncode == 0
    return False


# A checkout in a home of root's is closed to everyone else: its folders are root's, too.
OWNER = NOBODY if can_run_as(NOBODY) else 0
RUNS = {
    "whole": (["make", "--silent", "demo", "DEMO_FOLDER={folder}"], {}),
    "unmatched": ([DEMO, "--folder", "{folder}", "--router-namespace", "host", "--window", "20"],
                  {"owner": OWNER}),
    "refused": ([DEMO, "--folder", "{folder}", "--window", "19"], {}),
    "ended": ([DEMO, "--folder", "{folder}"], {"until": "phase active"}),
}
OUTCOMES = {}
ROOM = ""
BEFORE = set()


def setUpModule():  # pylint: disable=invalid-name
    global ROOM, BEFORE  # pylint: disable=global-statement
    # Not in /tmp, which others can change: net-verify takes no evidence from there.
    ROOM = tempfile.mkdtemp(prefix="test-demo-", dir="/var/lib")
    os.chmod(ROOM, 0o755)
    unittest.addModuleCleanup(shutil.rmtree, ROOM)
    # Built once: four builds at the same time in one folder would disturb each other.
    subprocess.run(["make", "--silent", "all"], cwd=TOP, check=True)
    BEFORE = machine()
    OUTCOMES.update(collectlib.side_by_side({
        word: lambda word=word, run=run: Demonstration(word, run[0], **run[1])
        for word, run in RUNS.items()}))


class Demo(unittest.TestCase):
    maxDiff = None

    def outcome(self, word, status):
        found = OUTCOMES[word]
        if isinstance(found, BaseException):
            raise found
        self.assertEqual(found.status, status, found.text)
        self.assertTrue(found.lab, found.text)
        self.assertEqual(found.left, [])
        self.assertEqual(os.listdir(found.temporary), [])
        self.assertNotIn("Traceback", found.text)
        return found

    def judge(self, demo, status):
        done = subprocess.run(["/bin/sh", "-c", demo.command()], capture_output=True, text=True,
                              user=os.stat(demo.made()).st_uid, cwd="/", env={}, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def test_a_whole_demonstration(self):
        demo = self.outcome("whole", 0)
        rows = demo.rows()
        self.assertEqual(len(rows), 35, demo.text)
        self.assertEqual({row[0] for row in rows.values()}, set(PHASES))
        self.assertEqual({row[5] for row in rows.values()}, {"yes"})
        self.assertEqual(rows["candidate.public"][2:5:2], ["denied", "control"])
        self.assertEqual(rows["worker.trusted.handshake"][2:5],
                         ["handshake_completed", "handshake_completed", "outcome"])
        self.assertIn(": verified\n", demo.text)
        self.assertIn("35 of 35 probes matched and conclusive, observed at these times",
                      demo.text)
        self.assertNotIn("enforced", demo.text)
        places = [demo.text.index(f"phase {phase}") for phase in PHASES]
        self.assertEqual(places, sorted(places))

    def test_what_stays_is_the_store_and_what_it_is_judged_by(self):
        demo = self.outcome("whole", 0)
        made = demo.made()
        self.assertIn(made, demo.text)
        self.assertEqual(sorted(os.listdir(made)), KEPT)
        self.assertEqual(len(os.listdir(f"{made}/store")), 3)
        self.assertEqual(os.stat(made).st_mode & 0o777, 0o700)
        self.assertEqual(machine() - BEFORE, set())

    def test_the_printed_command_judges_the_record_again(self):
        demo = self.outcome("whole", 0)
        with open(f"{demo.made()}/review.txt", encoding="utf-8") as review:
            self.assertEqual(self.judge(demo, 0), review.read())
        # And it can say no: another profile's key is not the one of the record.
        profile = f"{demo.made()}/profile.json"
        with open(profile, encoding="utf-8") as source:
            text = source.read()
        with open(profile, "w", encoding="utf-8") as sink:
            sink.write(re.sub(r'("label_key":")(.)', lambda m: m[1] + "10"[m[2] == "1"], text))
        try:
            self.judge(demo, 1)
        finally:
            with open(profile, "w", encoding="utf-8") as sink:
                sink.write(text)

    def test_what_is_not_as_expected_is_the_exit_status(self):
        demo = self.outcome("unmatched", 3)
        bad = {name: row[3] for name, row in demo.rows().items() if row[5] != "yes"}
        self.assertEqual(bad, {"candidate.router.source": "host_address"})
        self.assertEqual(demo.rows()["candidate.router.source"][5], "NO")
        self.assertIn("34 of 35 probes", demo.text)
        self.assertIn("exit status 3", demo.text)
        self.assertEqual(os.stat(demo.made()).st_uid, OWNER)
        self.assertEqual({os.stat(path).st_uid for path in glob.glob(f"{demo.made()}/*")},
                         {OWNER})
        self.judge(demo, 3)

    def test_a_failure_tells_what_failed_and_where_the_journal_is(self):
        demo = self.outcome("refused", 1)
        self.assertIn("demo: failed while collecting", demo.text)
        self.assertIn("net-collector: refused: ", demo.text)
        self.assertIn("a window of 19 s", demo.text)
        journal = re.search(r"^demo: exit status 1 \(refused\); .* journal: (\S+)$", demo.text,
                            re.M)[1]
        self.assertEqual(os.path.dirname(journal), demo.made())
        with open(journal, encoding="utf-8") as text:
            self.assertIn("systemd", text.read())

    def test_ended_in_the_middle_nothing_stays(self):
        demo = self.outcome("ended", 4)
        self.assertIn("interrupted", demo.text)
        self.assertFalse(os.path.exists(demo.folder))

    def test_a_place_that_others_can_change_is_refused_first(self):
        folder = os.path.join(ROOM, "open")
        os.mkdir(folder)
        os.chmod(folder, 0o1777)
        done = subprocess.run([DEMO, "--folder", f"{folder}/x"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"refused: {folder}/x: others can change", done.stderr)
        self.assertEqual(os.listdir(folder), [])

    def test_not_as_root_it_says_so(self):
        if not OWNER:
            self.assertFalse(can_run_as(NOBODY))
            return
        done = subprocess.run([DEMO], capture_output=True, text=True, user=NOBODY, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("not root", done.stderr)


if __name__ == "__main__":
    unittest.main()
