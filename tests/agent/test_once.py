#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""net-once: plan, gate and report."""
import hashlib
import json
import os
import select
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import client  # noqa: E402
from client import netns  # noqa: E402

SCHEMA = "netproof.plan.v1"
NOBODY = 65534


def attempt(port, op="connect", address="127.0.0.1", timeout_ms=5000):
    return dict(op=op, address=address, port=port, timeout_ms=timeout_ms)


class OnceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.plan, self.report, self.gate = (os.path.join(folder.name, name) for name in
                                             ("plan.json", "report.json", "gate"))
        self.space = netns.Namespace()
        self.addCleanup(self.space.close)

    def write_plan(self, requests):
        data = requests
        if not isinstance(requests, bytes):
            data = json.dumps({"schema": SCHEMA, "requests": requests}).encode()
        with open(self.plan, "wb") as file:
            file.write(data)
        os.chmod(self.plan, 0o600)

    def command(self, *extra):
        return [client.PROBE, "net-once", "--plan", self.plan, "--report", self.report,
                *extra]

    def run_once(self, *extra, **options):
        done = self.space.run(self.command(*extra), check=False, **options)
        return done.returncode, done.stderr.decode()

    def read_report(self):
        with open(self.report, "rb") as file:
            return json.loads(file.read())

    def test_report_says_what_happened(self):
        self.space.nft("table inet t { chain c { type filter hook output priority 0; "
                       "tcp dport 9 drop; }; }")
        with self.space.listen("127.0.0.1") as listener:
            port = listener.getsockname()[1]
            self.write_plan([attempt(port), attempt(port, "handshake"),
                             attempt(9, timeout_ms=200), attempt(10),
                             attempt(10, "handshake"), attempt(port, address="::1")])
            self.assertEqual(self.run_once(), (0, ""))
        report = self.read_report()
        self.assertEqual([r["outcome"] for r in report["responses"]],
                         ["connected", "handshake_completed", "timeout", "refused",
                          "handshake_failed", "refused"])
        self.assertEqual([r["op"] for r in report["responses"]],
                         ["connect", "handshake", "connect", "connect", "handshake",
                          "connect"])
        with open(client.PROBE, "rb") as program:
            digest = hashlib.sha256(program.read()).hexdigest()
        self.assertEqual({k: v for k, v in report.items() if k not in
                          ("responses", "pid")},
                         {"schema": "netproof.report.v1", "uid": 0, "gid": 0,
                          "probe_runner_sha256": digest})
        status = os.stat(self.report)
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o600)
        # Canonical, and nothing behind it.
        with open(self.report, "rb") as file:
            data = file.read()
        self.assertEqual(data, json.dumps(report, sort_keys=True,
                                          separators=(",", ":")).encode())

    def test_64_denials_cost_one_timeout(self):
        self.space.nft("table inet t { chain c { type filter hook output priority 0; "
                       "tcp dport 9 drop; }; }")
        self.write_plan([attempt(9, timeout_ms=300)] * 64)
        self.assertEqual(self.run_once(), (0, ""))
        responses = self.read_report()["responses"]
        self.assertEqual({r["outcome"] for r in responses}, {"timeout"})
        self.assertLess(sum(r["elapsed_us"] for r in responses), 64 * 2 * 300000)

    def test_mode_does_not_depend_on_the_umask(self):
        self.write_plan([attempt(10)])
        for mask in (0, 0o777):
            self.assertEqual(self.run_once(preexec_fn=lambda m=mask: os.umask(m)),
                             (0, ""))
            self.assertEqual(stat.S_IMODE(os.stat(self.report).st_mode), 0o600)
            os.unlink(self.report)

    def test_no_plan_is_nothing_to_do(self):
        self.assertEqual(self.run_once(), (0, ""))
        self.assertEqual(os.listdir(self.folder), [])
        # Nor is the gate looked at.
        self.assertEqual(self.run_once("--gate", self.gate), (0, ""))

    def test_report_is_synced_before_it_is_done(self):
        self.write_plan([attempt(10)])
        trace = os.path.join(self.folder, "trace")
        subprocess.run(["/usr/bin/strace", "-o", trace, "-e", "trace=write,fsync",
                        *self.command()], check=True)
        with open(trace) as file:
            calls = [line.split("(")[0] for line in file if "(" in line]
        self.assertEqual(calls[-2:], ["write", "fsync"])

    def test_existing_report_is_kept(self):
        self.write_plan([attempt(10)])
        for make in (lambda: open(self.report, "w").close(),
                     lambda: os.symlink("/nonexistent", self.report),
                     lambda: os.mkdir(self.report)):
            make()
            before = os.lstat(self.report)
            self.assertEqual(self.run_once(), (1, f"net-probe: refused: {self.report}: "
                                                  "already exists\n"))
            self.assertEqual(os.lstat(self.report), before)
            (os.rmdir if os.path.isdir(self.report) else os.unlink)(self.report)

    BAD_PLANS = (
        (b"", "not strict JSON"),
        (b"{}", "schema: missing"),
        (b'{"schema":"netproof.plan.v2","requests":[]}', 'schema: not "netproof.plan'),
        (b'{"schema":"netproof.plan.v1","requests":[]}', "requests: not 1 to 64 items"),
        (b'{"schema":"netproof.plan.v1","requests":{}}', "requests: not an array"),
        (b'{"schema":"netproof.plan.v1","requests":[1]}', "requests[0]: not an object"),
        ([attempt(10)] * 65, "requests: not 1 to 64 items"),
        ([attempt(10), attempt(0)], "requests[1].port: not from 1 to 65535"),
        ([attempt(10), dict(op="hello")], "requests[1]: hello: a plan holds connect"),
        ([dict(op="exit")], "requests[0]: exit: a plan holds connect"),
        ([dict(op="x")], "requests[0].op: not an op"),
        ([dict(attempt(10), x=1)], "requests[0].x: unknown key"),
        (b'{"schema":"netproof.plan.v1","requests":[],"requests":[]}', "not strict JSON"),
        (b" " * 65537, "larger than 65536 bytes"),
    )

    def test_bad_plan_is_refused_and_leaves_nothing(self):
        for plan, wanted in self.BAD_PLANS:
            with self.subTest(wanted=wanted):
                self.write_plan(plan)
                status, error = self.run_once()
                self.assertEqual(status, 1)
                self.assertTrue(error.startswith(f"net-probe: refused: {self.plan}: "),
                                error)
                self.assertIn(wanted, error)
                self.assertEqual(os.listdir(self.folder), ["plan.json"])

    def test_plan_of_exactly_64_kib(self):
        text = json.dumps({"schema": SCHEMA, "requests": [attempt(10)]}).encode()
        self.write_plan(text + b" " * (65536 - len(text)))
        self.assertEqual(self.run_once(), (0, ""))

    def test_plan_that_others_could_have_written_is_refused(self):
        self.write_plan([attempt(10)])
        for change, wanted in ((lambda: os.chmod(self.plan, 0o620), "writable by group"),
                               (lambda: os.chmod(self.plan, 0o602), "writable by group"),
                               (lambda: os.chown(self.plan, 1234, 0), "owned by uid 1234")
                               ):
            os.chmod(self.plan, 0o600)
            change()
            status, error = self.run_once()
            self.assertEqual(status, 1)
            self.assertIn(wanted, error)
            self.assertFalse(os.path.exists(self.report))
            os.chown(self.plan, 0, 0)

    def test_plan_that_is_no_file_is_refused_at_once(self):
        for make, remove, wanted in (
                (lambda: os.mkfifo(self.plan), os.unlink, "not a regular file"),
                (lambda: os.mkdir(self.plan), os.rmdir, "not a regular file"),
                (lambda: os.symlink("/etc/hostname", self.plan), os.unlink, "link")):
            make()
            status, error = self.run_once()
            self.assertEqual(status, 1)
            self.assertIn(wanted, error)
            remove(self.plan)

    def test_report_into_a_full_disk_is_no_report(self):
        """A file system without room: the report fails and is taken away."""
        self.write_plan([attempt(10)] * 64)
        disk = os.path.join(self.folder, "disk")
        os.mkdir(disk)
        self.report = os.path.join(disk, "report.json")
        script = (f"mount -t tmpfs -o size=4k,mode=755 none {disk} && "
                  f"{' '.join(self.command())}; status=$?; ls {disk}; exit $status")
        done = subprocess.run(["/usr/bin/unshare", "--mount", "/bin/sh", "-c", script],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("cannot be written: No space left", done.stderr)
        self.assertEqual(done.stdout, "")

    def start_gated(self):
        os.mkfifo(self.gate)
        os.chmod(self.gate, 0o622)
        child = self.space.popen(self.command("--gate", self.gate),
                                 stderr=subprocess.PIPE)
        self.addCleanup(child.stderr.close)
        # Opens as soon as the reader is there.
        return child, os.open(self.gate, os.O_WRONLY)

    def test_gate_holds_until_it_is_opened(self):
        with self.space.listen("127.0.0.1") as listener:
            self.write_plan([attempt(listener.getsockname()[1])])
            child, gate = self.start_gated()
            # The report is there to be found before the gate opens, and is empty.
            while not os.path.exists(self.report):
                client.yield_processor()
            self.assertEqual(select.select([listener], [], [], 0.3)[0], [])
            self.assertEqual(os.stat(self.report).st_size, 0)
            self.assertIsNone(child.poll())
            os.write(gate, b"1")
            self.assertEqual(select.select([listener], [], [])[0], [listener])
            while os.stat(self.report).st_size == 0:
                client.yield_processor()
            # Then it can be read through the process, until the second byte.
            inode = os.stat(self.report).st_ino
            links = [os.path.join(f"/proc/{child.pid}/fd", name)
                     for name in os.listdir(f"/proc/{child.pid}/fd")]
            link = next(path for path in links if os.stat(path).st_ino == inode)
            with open(link, "rb") as file:
                self.assertEqual(json.loads(file.read())["pid"], child.pid)
            with self.assertRaises(subprocess.TimeoutExpired):
                child.wait(0.3)
            os.write(gate, b"1")
            self.assertEqual(child.wait(), 0)
            os.close(gate)

    def test_a_writer_that_goes_away_after_the_report_ends_it(self):
        with self.space.listen("127.0.0.1") as listener:
            self.write_plan([attempt(listener.getsockname()[1])])
            child, gate = self.start_gated()
            os.write(gate, b"1")
            while not os.path.exists(self.report) or os.stat(self.report).st_size == 0:
                client.yield_processor()
            os.close(gate)
            self.assertEqual(child.wait(), 0)
            self.assertTrue(os.path.exists(self.report))

    def gate_ends_with(self, status, wanted, act):
        self.write_plan([attempt(10)])
        child, gate = self.start_gated()
        act(child, gate)
        self.assertEqual(child.wait(), status)
        self.assertIn(wanted, child.stderr.read().decode())
        self.assertFalse(os.path.exists(self.report))
        return gate

    def test_another_byte_is_refused(self):
        os.close(self.gate_ends_with(1, "something else than '1'",
                                     lambda child, gate: os.write(gate, b"0")))

    def test_writer_that_goes_away_ends_it(self):
        self.gate_ends_with(4, "its writer went away",
                            lambda child, gate: os.close(gate))

    def test_signal_at_the_gate(self):
        os.close(self.gate_ends_with(4, "stopped by a signal", lambda child, gate:
                                     child.send_signal(signal.SIGTERM)))

    def test_signal_during_the_plan(self):
        self.space.nft("table inet t { chain c { type filter hook output priority 0; "
                       "tcp dport 9 counter drop; }; }")
        self.write_plan([attempt(9, timeout_ms=120000)])
        child = self.space.popen(self.command(), stderr=subprocess.PIPE)
        while b"packets 0" in self.space.run([netns.NFT, "list", "ruleset"]).stdout:
            pass
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(), 4)
        child.stderr.close()
        self.assertFalse(os.path.exists(self.report))

    def test_gate_that_is_no_fifo(self):
        self.write_plan([attempt(10)])
        for make, wanted in ((lambda: None, "No such file"),
                             (lambda: open(self.gate, "w").close(), "not a FIFO")):
            make()
            status, error = self.run_once("--gate", self.gate)
            self.assertEqual(status, 1)
            self.assertIn(wanted, error)
            self.assertFalse(os.path.exists(self.report))

    def test_as_another_user_with_a_plan_of_roots(self):
        self.write_plan([attempt(10)])
        os.chmod(self.plan, 0o644)
        os.chown(self.folder, NOBODY, NOBODY)
        os.chmod(self.folder, 0o755)
        binary = os.open(client.PROBE, os.O_PATH)

        def change_user():
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

        done = self.space.run([f"/proc/self/fd/{binary}", *self.command()[1:]],
                              check=False, pass_fds=[binary], preexec_fn=change_user)
        os.close(binary)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        report = self.read_report()
        self.assertEqual((report["uid"], report["gid"]), (NOBODY, NOBODY))
        self.assertEqual(os.stat(self.report).st_uid, NOBODY)


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
