#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A collection that is disturbed while it runs, or whose host lets something through.

Each row acts when the collector tells of a phase or of a probe, says how the collection
must end, and what must be told. After each, nothing may be left: no container, network,
unit, folder, process, journal or rule, and no record unless one is expected.
"""
import contextlib
import json
import subprocess
import threading
import unittest

import collectlib
from collectlib import ETC, STORE

END_SECONDS = 120


class Run:
    """One collection, followed line by line; `act` is called at the awaited event."""

    def __init__(self, host, at, act, window=20):
        self.host = host
        self.events = []
        self.told = []
        self.acted = False
        host.prepare(window)
        self.before = set(host.run("/bin/ls", STORE).stdout.split())
        command = [collectlib.labtest.LAB, "exec", "--name", host.lab.name, "--",
                   host.program("net-collector"), "network", "--config",
                   f"{ETC}/collection.json", "--confirm", collectlib.PHRASE, "--progress", "json"]
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        timer = threading.Timer(END_SECONDS, child.kill)
        timer.start()
        try:
            for line in child.stderr:
                self.follow(line, at, act)
            self.stdout = child.stdout.read()
            self.status = child.wait()
        finally:
            timer.cancel()
            child.kill()
            child.wait()
            child.stderr.close()
            child.stdout.close()
        self.text = "".join(self.told)

    def follow(self, line, at, act):
        if not line.startswith("{"):
            self.told.append(line)
            return
        event = json.loads(line)
        self.events.append(event)
        if not self.acted and at in (event.get("phase"), event.get("id"), event.get("step")):
            self.acted = True
            act(self.host)

    def observed(self):
        return {e["id"]: e["observed"] for e in self.events if e["event"] == "probe"}

    def bad(self):
        return {e["id"] for e in self.events if e["event"] == "probe"
                and not (e["matched"] and e["conclusive"])}

    def record_names(self):
        now = set(self.host.run("/bin/ls", STORE).stdout.split())
        return [name for name in now - self.before
                if "netproof.record" in self.host.run("/usr/bin/cat", f"{STORE}/{name}").stdout]


def sh(script):
    return lambda host: host.run("/bin/sh", "-ec", script.format(
        lib=host.site["install_dir"], table=host.site["table"], worker=host.site["worker_unit"]))


def signalled(name):
    """To the collector alone, found by its program's name inside the lab."""
    return sh(f"kill -{name} $(pidof net-collector | tr ' ' '\\n' | sort -n | head -1)")


# The agent of a position, by its cgroup's word or its uid; then what is done to it.
FIND = """
for p in /proc/[0-9]*; do
  case $(readlink $p/exe) in */net-probe) ;; *) continue ;; esac
  {condition} && echo ${{p#/proc/}}
done
"""
AGENTS = {
    "worker": "grep -q netproof-worker.service $p/cgroup",
    "daemon": "grep -q daemon-agent $p/cgroup && grep -q '^Uid:.*99' $p/status",
    "daemon_subordinate": "grep -q daemon-agent $p/cgroup && ! grep -q '^Uid:.*99' $p/status",
    "candidate": "grep -q '^Uid:.*265531' $p/status",
    "control": "grep -q '^Uid:.0' $p/status && [ $(grep -c : $p/cgroup) -gt 0 ]",
}


def to_agent(position, action):
    script = FIND.format(condition=AGENTS[position])
    return lambda host: host.run("/bin/sh", "-ec", f"for a in $({script}); do {action}; done")


# Still a probe agent that works, but not the reviewed file.
TAMPER = sh("cp -p {lib}/net-probe /run/kept; cp -p {lib}/net-probe /run/other; "
            "printf x >>/run/other; mv /run/other {lib}/net-probe")
PUT_BACK = sh("mv /run/kept {lib}/net-probe")

# Name, when, what, exit status, what is said.
DISTURBED = [
    ("SIGTERM in active", "active", signalled("TERM"), 4, "interrupted by SIGTERM"),
    ("SIGINT in stop_rollback", "stop_rollback", signalled("INT"), 4, "interrupted by SIGINT"),
    ("SIGHUP in expiry", "expiry", signalled("HUP"), 4, "interrupted by SIGHUP"),
    ("the worker's agent dies", "executor agent measured", to_agent("worker", "kill -9 $a"), 1,
     "worker agent: "),
    ("the candidate's agent dies", "executor agent measured", to_agent("candidate", "kill -9 $a"),
     1, "candidate"),
    ("the daemon's agent hangs", "executor agent measured", to_agent("daemon", "kill -STOP $a"),
     1, "daemon agent: gave no answer in time"),
    ("a rule more in the table", "candidate.router.connect",
     sh("nft add rule inet {table} scoped_output counter"), 1, "ruleset differs"),
    ("what JSON does not show", "candidate.router.connect",
     sh("nft add set inet {table} quiet '{{ type ipv4_addr; flags dynamic; }}'"), 1,
     "ruleset differs"),
    ("a foreign rule that marks", "candidate.router.connect",
     sh("nft 'table ip evil {{ chain o {{ type route hook output priority 0; meta mark set 1; "
        "}}; }}'"), 1, "nf_tables ip evil"),
    ("another agent in a service", "worker agent measured", TAMPER, 1,
     "agent: runs a program with digest"),
    ("another agent in a container", "daemon_subordinate agent measured", TAMPER, 1,
     "agent: runs a program with digest"),
    # Seconds before the stop: by then the file is another for certain.
    ("another net-once", "candidate.router.connect", TAMPER, 1, "net-once: process"),
    ("a program that is no agent", "candidate.router.connect",
     sh("cp -p {lib}/net-probe /run/kept; cp /usr/bin/sleep /run/other; "
        "mv /run/other {lib}/net-probe"), 1, "has not run net-once"),
    ("the worker is stopped by hand", "candidate.router.connect",
     sh("systemctl stop {worker}"), 1, "worker"),
]
REPAIRS = {
    "a foreign rule that marks": sh("nft delete table ip evil"),
    "another agent in a service": PUT_BACK,
    "another agent in a container": PUT_BACK,
    "another net-once": PUT_BACK,
    "a program that is no agent": PUT_BACK,
}


class During(unittest.TestCase):
    def check_end(self, host, run, status, message):
        self.assertTrue(run.acted, run.text)
        self.assertEqual(run.status, status, run.text)
        self.assertIn(message, run.text)
        self.assertEqual(run.record_names(), [])

    @contextlib.contextmanager
    def naming(self, name):
        """subTest() is for one thread alone."""
        try:
            yield
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error

    def test_disturbed(self):
        halves = collectlib.side_by_side({
            "even": lambda: self.disturb("even", DISTURBED[::2]),
            "odd": lambda: self.disturb("odd", DISTURBED[1::2])})
        for outcome in halves.values():
            if isinstance(outcome, BaseException):
                raise outcome

    def disturb(self, word, rows):
        with collectlib.Host(f"dur-{word}") as host:
            for name, at, act, status, message in rows:
                with self.naming(name):
                    try:
                        run = Run(host, at, act)
                    finally:
                        REPAIRS.get(name, lambda _: None)(host)
                    self.check_end(host, run, status, message)
                    self.assertEqual(host.leftovers(), [])
                    if act is TAMPER:
                        self.assertIn("not the probe runner", run.text)

    def test_killed_in_every_phase_and_recovered(self):
        with collectlib.Host("killed") as host:
            for phase in ("active", "executor agent measured", "stop_rollback", "expiry"):
                with self.subTest(phase):
                    run = Run(host, phase, signalled("KILL"))
                    self.assertTrue(run.acted)
                    host.prepare_profile()
                    again = host.collect()
                    self.assertEqual(again.returncode, 1, again.stderr)
                    self.assertIn("net-collector recover", again.stderr)
                    done = host.run(host.program("net-collector"), "recover", check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertTrue(json.loads(done.stdout)["recovered"])
                    self.assertEqual(host.leftovers(), [])
            idle = host.run(host.program("net-collector"), "recover")
            self.assertFalse(json.loads(idle.stdout)["recovered"])

    # In the engine's own network namespace, which no rule of the policy reaches.
    OPEN = """
engine=$(pgrep -x dockerd | head -1)
nsenter -t $engine -n iptables -I DOCKER-USER -j ACCEPT
systemd-run --quiet --unit=sabotage --collect -- nsenter -t $engine -n /usr/bin/python3 -c '
import socket, time
with socket.create_server(("0.0.0.0", 2375)): time.sleep(600)'
until nsenter -t $engine -n ss -Htln | grep -q :2375; do sleep 0.05; done
"""
    CLOSE = """
nsenter -t $(pgrep -x dockerd | head -1) -n iptables -D DOCKER-USER -j ACCEPT
systemctl stop sabotage
"""
    LEAKS = {"candidate.sibling_attempt", "candidate.docker_api"}

    def test_leaks_are_told_and_outrank_what_comes_after(self):
        with collectlib.Host("leaky") as host:
            host.run("/bin/sh", "-ec", self.OPEN)
            run = Run(host, "stop_rollback", signalled("TERM"))
            self.assertEqual(run.bad(), self.LEAKS, run.text)
            self.assertEqual({run.observed()[leak] for leak in self.LEAKS}, {"connected"})
            self.assertEqual(run.status, 1, run.text)
            for leak in self.LEAKS:
                self.assertIn(leak, run.text)
            whole = Run(host, "never", None)
            self.assertEqual(whole.bad(), self.LEAKS, whole.text)
            self.assertEqual(whole.status, 3, whole.text)
            self.assertEqual(len(whole.record_names()), 1)
            host.run("/bin/sh", "-ec", self.CLOSE)
            self.assertEqual(host.leftovers(), [])

    def test_the_world_gone_is_never_a_pass(self):
        with collectlib.Host("gone") as host:
            run = Run(host, "executor agent measured",
                      lambda h: h.lab.world("ip", "link", "set", "lan0", "down"))
            self.assertEqual(run.status, 3, run.text)
            result = json.loads(run.stdout)
            self.assertLess(result["good"], result["probes"])
            self.assertIn("candidate.public", run.bad())
            self.assertIn("worker.trusted.after_stop", run.bad())
            self.assertEqual(len(run.record_names()), 1)
            self.assertEqual(host.leftovers(), [])


if __name__ == "__main__":
    unittest.main()
