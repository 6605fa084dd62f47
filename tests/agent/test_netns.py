#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The namespaces the tests rest on: apart from the machine and from each other,
connected where they should be, and gone with their test."""
import os
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import netns  # noqa: E402


class NamespaceTest(unittest.TestCase):
    def test_is_apart_and_comes_back(self):
        own = os.readlink("/proc/thread-self/ns/net")
        with netns.Namespace() as space:
            with space.entered():
                inside = os.readlink("/proc/thread-self/ns/net")
            self.assertEqual(own, os.readlink("/proc/thread-self/ns/net"))
            self.assertNotEqual(own, inside)
            listed = space.run(["/bin/readlink", "/proc/self/ns/net"]).stdout
            self.assertEqual(inside, listed.decode().strip())

    def test_pair_carries_both_families_and_the_capture_sees_it(self):
        with netns.Namespace() as left, netns.Namespace() as right:
            name = netns.connect_pair(left, ["10.9.0.1/24", "fd00:9::1/64"],
                                      right, ["10.9.0.2/24", "fd00:9::2/64"])
            with left.capture(name) as capture:
                for address in ("10.9.0.2", "fd00:9::2"):
                    with right.listen(address) as listener:
                        with left.entered():
                            client = socket.create_connection(
                                (address, listener.getsockname()[1]))
                        server, _ = listener.accept()
                        client.sendall(b"twelve bytes")
                        self.assertEqual(server.recv(64), b"twelve bytes")
                        client.close()
                        self.assertEqual(server.recv(64), b"")
                        server.close()
            payloads = [p for _, _, _, p in capture.tcp_segments() if p]
            self.assertEqual(payloads, [b"twelve bytes"] * 2)

    def test_rules_stay_inside(self):
        with netns.Namespace() as space, netns.Namespace() as other:
            space.nft("table inet apart { chain c { }; }")
            listing = [n.run([netns.NFT, "list", "tables"]).stdout for n in (space, other)]
            self.assertEqual(listing, [b"table inet apart\n", b""])

    def test_failing_command_says_why(self):
        with netns.Namespace() as space:
            with self.assertRaisesRegex(RuntimeError, "syntax error"):
                space.nft("no such statement")

    def test_nothing_outlives_a_killed_test(self):
        script = ("import sys; sys.path.insert(0, %r); import netns, os, signal\n"
                  "space = netns.Namespace()\n"
                  "child = space.popen(['/bin/sleep', '600'])\n"
                  "print(space.pid, child.pid, flush=True)\n"
                  "os.kill(os.getpid(), signal.SIGKILL)\n"
                  % os.path.dirname(netns.__file__))
        done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, -signal.SIGKILL)
        for pid in map(int, done.stdout.split()):
            try:
                fd = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            # Readable once the process has ended; a hang fails by the row's limit.
            netns.select.select([fd], [], [])
            os.close(fd)

    def test_cgroup_is_removed_with_its_processes(self):
        with netns.Cgroup() as group:
            child = subprocess.Popen(["/bin/sleep", "600"], preexec_fn=group.add)
            with open(os.path.join(group.path, "cgroup.procs")) as procs:
                self.assertEqual(int(procs.read()), child.pid)
        self.assertEqual(child.wait(), -signal.SIGKILL)
        self.assertFalse(os.path.exists(group.path))


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
