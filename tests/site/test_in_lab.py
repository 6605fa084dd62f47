#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The rendered units under the real systemd: what their directives do and do not, how
the guard fares when the firewall service is handled, who reaches the agent's folder."""
import json
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/lab"))

from labtest import Lab  # noqa: E402

SITE = os.path.join(TOP, "fixtures/sites/netproof.json")
SOCKETS = os.path.join(TOP, "tests/site/sockets.py")
ON_HOST = "/etc/netproof/site.json"
GUARD, WORKER, PROXY = (f"netproof-{kind}.service" for kind in ("guard", "worker", "proxy"))
ANSWER = "HTTP/1.1 403 Forbidden"
ASK = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 20) as s:
    s.sendall(b"CONNECT a.example:443 HTTP/1.1\\r\\n\\r\\n")
    print(s.makefile().readline().strip())
"""
# Reaches for another process of its own uid: each line is what it was told.
REACH = """
import ctypes, errno, os, sys
pid, folder = int(sys.argv[1]), sys.argv[2]
libc = ctypes.CDLL(None, use_errno=True)
def told(call):
    try:
        call()
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]
def attach():
    if libc.ptrace(16, pid, 0, 0) != 0: # PTRACE_ATTACH
        raise OSError(ctypes.get_errno(), "")
print(os.getuid(), told(lambda: os.listdir(folder)), told(lambda: os.stat(folder + "/agent")),
      told(attach), told(lambda: open(f"/proc/{pid}/mem", "rb")),
      told(lambda: os.readlink(f"/proc/{pid}/fd/0")), told(lambda: os.kill(pid, 0)))
"""


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(f"site-{cls.__name__.lower()}", "--install", "--site", SITE)
        cls.lab.__enter__()
        cls.addClassCleanup(cls.lab.__exit__)

    def run_inside(self, *command, **more):
        return self.lab.run(*command, **more).stdout

    def python(self, text, *arguments, **more):
        return self.run_inside("/usr/bin/python3", "-c", text, *arguments, **more)

    def shell(self, text, **more):
        return self.run_inside("/bin/sh", "-ec", text, **more)

    def property(self, unit, name):
        return self.run_inside("systemctl", "show", "--value", "-p", name, unit).strip()

    def wait(self, condition):
        for _ in range(300):
            if condition():
                return
            self.run_inside("sleep", "0.1")
        self.fail("never true")

    def counted(self):
        """Packets that the guard's reject of the subjects has counted."""
        listing = json.loads(self.run_inside("nft", "-j", "list", "chain", "inet",
                                             "netproof", "output"))
        rule = next(o["rule"] for o in listing["nftables"] if "rule" in o)
        return next(e["counter"]["packets"] for e in rule["expr"] if "counter" in e)

    def held(self):
        """An attempt of the workload user's is rejected, and by the guard."""
        before = self.counted()
        done = self.lab.run("/usr/bin/python3", "-c", ASK,
                            *map(str, self.lab.target("trusted-1")), user="netproof",
                            check=False)
        self.assertIn("No route to host", done.stderr)
        self.assertGreater(self.counted(), before)


class Boot(Case):
    def test_no_ordering_cycle_and_early(self):
        log = self.lab.logs("-o", "cat", "--no-pager")
        self.assertNotIn("cycle", log)
        for unit in (GUARD, "netproof-worker.service", "netproof-proxy.service"):
            self.assertNotIn("Unknown key", log, unit)
        times = [int(self.property(unit, "ActiveEnterTimestampMonotonic"))
                 for unit in (GUARD, "sysinit.target")]
        self.assertGreater(times[0], 0)
        self.assertLess(times[0], times[1])
        before = self.property(GUARD, "Before").split()
        self.assertIn("network-pre.target", before)
        self.held()

    def test_its_status_is_what_it_loaded(self):
        self.run_inside("systemctl", "reload", GUARD)
        self.assertRegex(self.property(GUARD, "StatusText"),
                         r"^Everything of netproof is rejected: table inet netproof, 65537 uids$")

    def test_the_slice_and_the_manager_require_it(self):
        uid = self.run_inside("id", "-u", "netproof").strip()
        for unit in (f"user@{uid}.service", f"user-{uid}.slice"):
            self.assertIn(GUARD, self.property(unit, "Requires").split())
            self.assertIn(GUARD, self.property(unit, "After").split())


class Firewall(Case):
    """nftables.service starts, stops, restarts, reloads; each flushes every table."""

    def test_the_guard_is_back_each_time(self):
        uid = self.run_inside("id", "-u", "netproof").strip()
        manager = f"user@{uid}.service"
        for action, has_theirs in (("start", True), ("reload", True), ("restart", True),
                                   ("stop", False)):
            with self.subTest(action):
                self.run_inside("systemctl", action, "nftables.service")
                # The rules first: they are back before systemd has done all the rest.
                tables = self.run_inside("nft", "list", "tables").splitlines()
                self.assertIn("table inet netproof", tables)
                self.assertEqual("table inet filter" in tables, has_theirs)
                self.settle()
                self.held()
        # With the firewall stopped nothing that requires the guard runs, and what is
        # started again brings the guard along.
        self.assertEqual(self.property(GUARD, "ActiveState"), "inactive")
        self.assertEqual(self.property(manager, "ActiveState"), "inactive")
        self.run_inside("systemctl", "start", manager)
        self.assertEqual(self.property(GUARD, "ActiveState"), "active")

    def test_a_window_does_not_outlive_a_reload(self):
        issue(self)
        self.run_inside("systemctl", "start", "nftables.service")
        self.settle()
        self.addCleanup(self.run_inside, "systemctl", "stop", WORKER)
        self.run_inside("systemctl", "start", WORKER)
        self.assertIn("@worker", self.run_inside("nft", "list", "ruleset"))
        self.run_inside("systemctl", "reload", "nftables.service")
        self.assertNotIn("@worker", self.run_inside("nft", "list", "ruleset"))
        self.held()

    def settle(self):
        """Until systemd has no job left."""
        self.wait(lambda: not self.run_inside("systemctl", "list-jobs", "--no-legend"))


def issue(case):
    address, port = case.lab.target("trusted-1")
    endpoints = {"schema": "netproof.endpoints.v1", "trusted_dns": [],
                 "trusted_loopback_tcp": False,
                 "trusted_tcp": [{"address": address, "port": port}]}
    case.run_inside("/bin/sh", "-ec", """
        rm -f /etc/netproof/profile.json
        printf %s "$1" >/etc/netproof/endpoints.json
        /usr/lib/netproof/net-policy issue --site /etc/netproof/site.json --window 280 \
            --endpoints /etc/netproof/endpoints.json --out /etc/netproof/profile.json
        """, "sh", json.dumps(endpoints))


class OtherFirewall(Case):
    """A firewall service that conflicts with nftables.service and starts late, as
    firewalld's does (a stand-in for it: the unit's dependencies are what matters)."""

    UNIT = """[Unit]
Before=network-pre.target
Wants=network-pre.target
After=dbus.service
Conflicts=iptables.service nftables.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
"""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        options = []
        for place, text in (("late-firewall.service", cls.UNIT),
                            ("multi-user.target.d/late.conf",
                             "[Unit]\nWants=late-firewall.service\n")):
            path = os.path.join(folder.name, os.path.basename(place))
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            options += ["--file", f"{path}:/etc/systemd/system/{place}"]
        cls.lab = Lab(f"site-{cls.__name__.lower()}", "--install", "--site", SITE, *options)
        cls.lab.__enter__()
        cls.addClassCleanup(cls.lab.__exit__)

    def test_the_guard_stands_at_boot_and_after_its_restart(self):
        uid = self.run_inside("id", "-u", "netproof").strip()
        log = self.lab.logs("-o", "cat", "--no-pager")
        for word in ("cycle", "contradicts", "conflicting jobs"):
            self.assertNotIn(word, log)
        for _ in range(2):
            for unit in ("late-firewall.service", GUARD, f"user@{uid}.service"):
                self.assertEqual(self.property(unit, "ActiveState"), "active", unit)
            self.held()
            self.run_inside("systemctl", "restart", "late-firewall.service")


class Worker(Case):
    def test_the_users_other_processes_do_not_reach_it(self):
        issue(self)
        self.run_inside("systemctl", "start", WORKER)
        self.addCleanup(self.run_inside, "systemctl", "stop", WORKER)
        pid = self.property(WORKER, "MainPID")
        uid = self.run_inside("id", "-u", "netproof").strip()
        said = self.python(REACH, pid, "/run/netproof-worker", user="netproof").split()
        # The last: it is one of its own uid, which it may signal.
        self.assertEqual(said, [uid, "EACCES", "EACCES", "EPERM", "EACCES", "EACCES",
                                "done"])

    def test_what_protects_it_before_it_protects_itself(self):
        """Another program in its place, which leaves itself dumpable: the group holds."""
        self.drop_in("ExecStart=/bin/sleep infinity")
        self.run_inside("systemctl", "start", WORKER)
        pid = self.property(WORKER, "MainPID")
        said = self.python(REACH, pid, "/run/netproof-worker", user="netproof").split()
        self.assertEqual(said[1:6], ["EACCES", "EACCES", "EPERM", "EACCES", "EACCES"])
        # As the unit would be without the group: reached at once.
        self.run_inside("systemctl", "stop", WORKER)
        self.drop_in("ExecStart=/bin/sleep infinity", "Group=")
        self.run_inside("systemctl", "start", WORKER)
        pid = self.property(WORKER, "MainPID")
        said = self.python(REACH, pid, "/run/netproof-worker", user="netproof").split()
        self.assertEqual(said[3], "done")

    def test_its_directives_change_no_answer_of_a_socket_call(self):
        """Every family, connections and listeners, in the unit and as the same user
        outside of it, with no guard in the way: answer for answer the same. And the
        comparison sees a directive that does change one."""
        self.run_inside("nft", "delete", "table", "inet", "netproof")
        self.addCleanup(self.run_inside, "/usr/lib/netproof/net-policy", "revoke",
                        "--site", ON_HOST)
        outside = json.loads(self.run_inside(
            "setpriv", "--reuid=netproof", "--regid=netproof-worker", "--clear-groups",
            "--bounding-set=-all", "--no-new-privs", SOCKETS))
        self.assertGreater(len(outside), 50)
        self.assertGreater(len(set(outside.values())), 4)
        self.assertEqual(self.answers_inside(), outside)
        self.assertNotEqual(self.answers_inside("RestrictAddressFamilies=AF_INET"), outside)

    def answers_inside(self, *directives):
        said = "/run/netproof-sockets.json"
        self.drop_in("Type=oneshot", f"ExecStart={SOCKETS}",
                     f"StandardOutput=truncate:{said}", *directives)
        self.run_inside("systemctl", "start", WORKER)
        return json.loads(self.run_inside("cat", said))

    def drop_in(self, *lines):
        """Another program in the unit, and nothing before or after it."""
        text = "\n".join(("[Service]", "ExecStartPre=", "ExecStopPost=", "ExecStart=") +
                         lines) + "\n"
        folder = f"/run/systemd/system/{WORKER}.d"
        self.run_inside("/bin/sh", "-ec", 'mkdir -p "$1"; printf %s "$2" >"$1/test.conf"; '
                        "systemctl daemon-reload", "sh", folder, text)

        def undo():
            self.shell(f"systemctl stop {WORKER}; rm -rf {folder}; systemctl daemon-reload")
        self.addCleanup(undo)


class Proxy(Case):
    ADDRESS = ("10.203.0.1", "3128")

    def ask(self):
        return self.python(ASK, *self.ADDRESS).strip()

    def test_it_answers_as_a_user_of_its_own(self):
        self.assertEqual(self.ask(), ANSWER)
        pid = self.property(PROXY, "MainPID")
        uid = self.run_inside("id", "-u", "netproof-proxy").strip()
        status = self.run_inside("cat", f"/proc/{pid}/status")
        self.assertIn(f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n", status)
        self.assertEqual(self.run_inside("cat", f"/proc/{pid}/cgroup").splitlines()[-1],
                         f"0::/system.slice/{PROXY}")

    def test_the_manager_knows_how_it_is(self):
        """Started means that it listens; while it serves it says so, and one that has
        stopped is replaced."""
        folder = f"/run/systemd/system/{PROXY}.d"
        self.shell(f"mkdir -p {folder}; printf '[Service]\\nWatchdogSec=8\\n' "
                   f">{folder}/short.conf; systemctl daemon-reload; systemctl restart {PROXY}")
        self.addCleanup(self.shell, f"rm -r {folder}; systemctl daemon-reload; "
                        f"systemctl restart {PROXY}")
        self.assertEqual(self.ask(), ANSWER)
        self.assertEqual(self.property(PROXY, "StatusText"), "Refusing on 10.203.0.1 port 3128")
        first = int(self.property(PROXY, "WatchdogTimestampMonotonic"))
        self.wait(lambda: int(self.property(PROXY, "WatchdogTimestampMonotonic")) > first)
        pid = self.property(PROXY, "MainPID")
        self.run_inside("kill", "-STOP", pid)
        self.wait(lambda: self.property(PROXY, "MainPID") not in (pid, "0"))
        self.wait(lambda: self.property(PROXY, "ActiveState") == "active")
        self.assertEqual(self.ask(), ANSWER)
        self.assertIn("watchdog", self.lab.logs("-u", PROXY).lower())

    def test_it_comes_back_with_its_address(self):
        device = json.loads(self.run_inside("ip", "-j", "address", "show", "to",
                                            self.ADDRESS[0]))[0]["ifname"]
        change = f"ip address %s {self.ADDRESS[0]}/32 dev {device}"
        self.shell(f"{change % 'del'}; systemctl restart --no-block {PROXY}")
        self.wait(lambda: int(self.property(PROXY, "NRestarts")) > 0)
        self.assertIn("not an address of this host", self.lab.logs("-u", PROXY))
        self.shell(change % "add")
        self.wait(lambda: self.property(PROXY, "ActiveState") == "active")
        self.wait(lambda: self.lab.run("/usr/bin/python3", "-c", ASK, *self.ADDRESS,
                                       check=False).stdout.strip() == ANSWER)


if __name__ == "__main__":
    unittest.main()
