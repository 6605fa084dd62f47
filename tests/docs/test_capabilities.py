#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/capabilities.md: with the capabilities that a row names net-policy's command works,
without any one of them it cannot tell; the agent and the proxy keep none.

Runs itself in a network namespace of its own."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

import programs

PAGE = os.path.join(programs.TOP, "docs/capabilities.md")
SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
SECONDS = 120


def rows():
    """{command: its capabilities} of the last table."""
    with open(PAGE, encoding="utf-8") as page:
        table = page.read().partition("| command | needs | step |")[2]
    found = {}
    for command, needs in re.findall(r"^\| `([a-z-]+)` \| ([^|]*) \|", table, re.M):
        found[command] = set(re.findall(r"`CAP_([A-Z_]+)`", needs))
    return found


def capabilities(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        found = dict(line.split(":\t", 1) for line in status.read().splitlines())
    return {name: int(found[name], 16) for name in SETS}


class Policy(unittest.TestCase):
    def setUp(self):
        # Below /run: a site file must be protected, and /tmp is everybody's.
        self.folder = tempfile.mkdtemp(prefix="netproof-capabilities-", dir="/run")
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(os.path.join(programs.TOP, "fixtures/sites/netproof.json"),
                    self.path("site.json"))
        self.write("subuid", "netproof:200000:65536\n")
        self.write("endpoints.json", json.dumps({
            "schema": "netproof.endpoints.v1", "trusted_loopback_tcp": False,
            "trusted_dns": [], "trusted_tcp": [{"address": "198.51.100.1", "port": 443}]}))
        for name in os.listdir(self.folder):
            os.chmod(self.path(name), 0o644)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def status(self, kept, program, *words):
        bounding = ",".join(["-all", *(f"+{name.lower()}" for name in sorted(kept))])
        return subprocess.run(["setpriv", "--bounding-set", bounding, "--inh-caps", "-all",
                               os.path.join(programs.BIN, program), *words],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=SECONDS).returncode

    def arguments(self, command):
        site = ("--site", self.path("site.json"))
        user = ("--uid", "990", "--subuid", self.path("subuid"))
        return {"issue": (*site, "--endpoints", self.path("endpoints.json"), "--window", "200",
                          "--out", self.path("profile.json")),
                "validate": ("--profile", self.path("profile.json")),
                "compile": (*site, *user, "--profile", self.path("profile.json")),
                "guard": (*site, *user), "revoke": (*site, *user), "show": site,
                "kernel-form": ("--table", "netproof"), "diff": (*site, *user, "--guard"),
                }[command]

    def test_each_row(self):
        """In the page's order: a profile is there before it is read, a table, too."""
        found = rows()
        self.assertGreater(len(found), 5)
        self.assertLess(set(found), set(programs.commands("net-policy")))
        for command, needs in found.items():
            words = (command, *self.arguments(command))
            with self.subTest(command):
                for missing in needs:
                    self.assertEqual(self.status(needs - {missing}, "net-policy", *words), 4,
                                     missing)
                self.assertEqual(self.status(needs, "net-policy", *words), 0)

    def test_site(self):
        self.assertEqual(self.status((), "net-site", "check", self.path("site.json")), 0)
        self.assertEqual(self.status((), "net-site", "render", "--site", self.path("site.json"),
                                     "--uid", "990", "--out", self.path("out")), 0)


class Kept(unittest.TestCase):
    def start(self, *command, **more):
        child = subprocess.Popen([os.path.join(programs.BIN, command[0]), *command[1:]],
                                 text=True, **more)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def test_agent(self):
        agent = self.start("net-agent", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        agent.stdin.write('{"op":"hello"}\n')
        agent.stdin.flush()
        self.assertIn("probe_runner_sha256", agent.stdout.readline())
        self.assertEqual(capabilities(agent.pid), dict.fromkeys(SETS, 0))
        agent.stdin.close()
        agent.stdout.close()

    def test_proxy(self):
        """Its socket is passed to it: what connects waits until it serves."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]

            def pass_listener():
                os.dup2(listener.fileno(), 3)
                os.set_inheritable(3, True)
                os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
            command = [os.path.join(programs.BIN, "net-proxy"), "127.0.0.1", str(port)]
            pid = os.fork()
            if pid == 0:
                pass_listener()
                os.execv(command[0], command)
            self.addCleanup(os.waitpid, pid, 0)
            self.addCleanup(os.kill, pid, 9)
            with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
                connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
                self.assertIn(b" 403 ", connection.recv(4096))
            self.assertEqual(capabilities(pid), dict.fromkeys(SETS, 0))


if __name__ == "__main__":
    if os.environ.get("NETPROOF_IN_NAMESPACE") != "1":
        os.environ["NETPROOF_IN_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    unittest.main()
