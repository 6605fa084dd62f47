#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole collections in a lab: what a host that enforces must come out as."""
import json
import subprocess
import unittest

import collectlib
from collectlib import ETC, STORE

ACTIVE = ("candidate", "control", "daemon", "daemon_subordinate", "executor", "sibling",
          "worker")


JOURNAL_UNITS = ("systemd-journald.socket", "systemd-journald-dev-log.socket",
                 "systemd-journald-audit.socket", "systemd-journald.service")


class Collected:
    """The outcome of one collection, with the record it left."""

    def __init__(self, word, router_namespace, endpoints=1, window=20, **profile):
        with collectlib.Host(word, router_namespace, endpoints) as host:
            # Without a journal a collection is what it is with one.
            self.has_journal = word != "col-host"
            if not self.has_journal:
                host.run("/usr/bin/systemctl", "stop", *JOURNAL_UNITS)
            host.prepare(window, **profile)
            self.shown = None
            self.done = host.collect("--progress", "json") if self.has_journal \
                else self.collect_at_a_terminal(host)
            self.events = [json.loads(line) for line in self.done.stderr.splitlines()
                           if line.startswith("{")]
            self.result = json.loads(self.done.stdout) if self.done.stdout else {}
            self.record = host.record(self.result["record_sha256"]) if self.result else None
            self.entries = host.lab.logs("-o", "json", "SYSLOG_IDENTIFIER=net-collector"
                                         ).splitlines() if self.has_journal else []
            self.left = host.leftovers()
            self.post = host.preflight()
            self.verified = host.verify(self.result.get("record_sha256", ""), self.post)
            self.by_credential = self.verify_by_credential(host) if word == "col-rootless" else None

    def collect_at_a_terminal(self, host):
        """Somebody watches: the progress for people, then the result."""
        self.shown = collectlib.on_terminal(
            host.lab, [host.program("net-collector"), "network", "--config",
                       f"{ETC}/collection.json", "--confirm", collectlib.PHRASE], 3, TERM="xterm")
        lines = self.shown.splitlines(keepends=True)
        return subprocess.CompletedProcess([], 3, lines[-1], "".join(lines[:-1]))

    def verify_by_credential(self, host):
        """The same verdict by a service of another user's, whose profile is a credential that
        is encrypted where it lies; the plain one is gone."""
        unit = f"[Service]\\nType=oneshot\\nUser=judge\\n" \
               f"LoadCredentialEncrypted=profile:{ETC}/profile.cred\\n" \
               f"ExecStart={host.program('net-verify')} record {self.result['record_sha256']} " \
               f"--store /var/lib/judged --profile %%d/profile --site {ETC}/site.json " \
               f"--release {ETC}/release.json --post {self.post} --format json\\n"
        # As systemd does at boot where it is not in a container.
        host.run("/bin/sh", "-ec", "mount --make-rshared /; useradd --system judge; "
                 f"cp -R {STORE} /var/lib/judged; chown -R judge /var/lib/judged; "
                 f"systemd-creds --with-key=host --name=profile encrypt {host.site['profile']} "
                 f"{ETC}/profile.cred 2>/dev/null; rm {host.site['profile']}; "
                 f"printf '{unit}' >/etc/systemd/system/judge.service; systemctl daemon-reload")
        done = host.run("/usr/bin/systemctl", "start", "judge.service", check=False)
        return done.returncode, host.lab.logs("-o", "cat", "-u", "judge.service")

    def probes(self):
        return [probe for phase in self.record["phases"] for probe in phase["probes"]]

    def bad(self):
        return {p["id"]: p["observed"] for p in self.probes()
                if not (p["matched"] and p["conclusive"])}


# Each lab waits most of its time for the window to end: all at once.
CASES = {
    "rootless": ("rootless-netns", 1, {}),
    "host": ("host", 1, {}),
    "many": ("rootless-netns", 32, {"trusted_dns": [{"address": "192.0.2.53", "port": 53}]}),
}
OUTCOMES = {}


def setUpModule():  # pylint: disable=invalid-name
    OUTCOMES.update(collectlib.side_by_side({
        name: lambda name=name, case=case: Collected(f"col-{name}", case[0], case[1], **case[2])
        for name, case in CASES.items()}))


class Collect(unittest.TestCase):
    def outcome(self, name):
        if isinstance(OUTCOMES[name], BaseException):
            raise OUTCOMES[name]
        return OUTCOMES[name]

    def check_whole(self, outcome, count):
        self.assertEqual(outcome.result["probes"], count)
        self.assertEqual(len(outcome.probes()), count)
        self.assertIs(outcome.result["approval_generated"], False)
        self.assertEqual([p["phase"] for p in outcome.record["phases"]],
                         ["active", "stop_rollback", "expiry", "failed_start"])
        self.assertEqual(tuple(sorted(a["position"] for a in
                                      outcome.record["phases"][0]["agents"])), ACTIVE)
        self.assertEqual(outcome.left, [])

    def test_router_in_the_engine_all_is_well(self):
        outcome = self.outcome("rootless")
        self.assertEqual(outcome.bad(), {}, outcome.done.stderr)
        self.assertEqual(outcome.done.returncode, 0, outcome.done.stderr)
        self.check_whole(outcome, 35)
        self.assertIn("router_kernel_enforcement", outcome.record["not_covered"])
        self.assertEqual(outcome.verified.returncode, 0, outcome.verified.stdout)

    def test_the_profile_can_be_a_credential(self):
        status, told = self.outcome("rootless").by_credential
        self.assertEqual(status, 0, told)
        self.assertIn('"judgement":"verified"', told)

    def test_router_on_the_host_shows_the_hosts_address_alone(self):
        outcome = self.outcome("host")
        self.assertEqual(outcome.bad(), {"candidate.router.source": "host_address"},
                         outcome.done.stderr)
        self.assertEqual(outcome.done.returncode, 3, outcome.done.stderr)
        self.check_whole(outcome, 35)
        self.assertNotIn("router_kernel_enforcement", outcome.record["not_covered"])

    def test_progress_is_coloured_for_a_person(self):
        shown = self.outcome("host").shown
        for words in ("\x1b[1mnet-collector: phase active\x1b[0m\n", "\x1b[32m, ok (",
                      "observed host_address, basis ", "\x1b[1;31m, not matched ("):
            self.assertIn(words, shown)
        self.assertNotIn("\x1b", self.outcome("rootless").done.stderr)

    def test_thirty_two_endpoints_and_dns(self):
        outcome = self.outcome("many")
        self.assertEqual(outcome.bad(), {}, outcome.done.stderr)
        self.assertEqual(outcome.done.returncode, 0, outcome.done.stderr)
        self.check_whole(outcome, 35 + 31 * 7)
        dns = next(p for p in outcome.probes() if p["id"] == "worker.dns")
        self.assertEqual((dns["expect"], dns["observed"]), ("connected", "connected"))

    def test_nothing_in_a_record_is_an_address(self):
        for name in CASES:
            text = json.dumps(self.outcome(name).record)
            for address in ("198.51.100.", "10.203.0.", "10.204.0.", "192.0.2.", "203.0.113.",
                            "192.168.", "172."):
                self.assertNotIn(address, text)

    def test_progress_tells_phases_and_probes(self):
        events = self.outcome("rootless").events
        self.assertEqual([e["phase"] for e in events if e["event"] == "phase"],
                         ["active", "stop_rollback", "expiry", "failed_start"])
        probes = [e for e in events if e["event"] == "probe"]
        self.assertEqual([e["done"] for e in probes], list(range(1, 36)))
        self.assertEqual({e["all"] for e in probes}, {35})

    def test_the_journal_tells_the_same(self):
        """Structured entries: every phase and probe, with the collection's id."""
        for name in ("rootless", "many"):
            outcome = self.outcome(name)
            entries = [json.loads(line) for line in outcome.entries]
            self.assertEqual(len({e["NETPROOF_COLLECTION_ID"] for e in entries}), 1)
            self.assertTrue(all(len(e["MESSAGE_ID"]) == 32 and "MESSAGE" in e for e in entries))
            told = [(e["NETPROOF_PHASE"], e["NETPROOF_PROBE"], e["NETPROOF_OUTCOME"])
                    for e in entries if "NETPROOF_PROBE" in e]
            last = entries[-1]
            # The journal may be behind; then the last entry says by how many.
            self.assertEqual(len(told) + int(last["NETPROOF_DROPPED"]) >= len(outcome.probes()),
                             True)
            recorded = {(phase["phase"], probe["id"], "ok") for phase in
                        outcome.record["phases"] for probe in phase["probes"]}
            self.assertTrue(set(told) <= recorded)
            self.assertGreater(len(told), 20)
            self.assertEqual(last["NETPROOF_RECORD_SHA256"], outcome.result["record_sha256"])
            self.assertEqual(last["NETPROOF_OUTCOME"], "ok")
            text = "".join(outcome.entries)
            for address in ("198.51.100.", "10.203.0.", "10.204.0.", "203.0.113."):
                self.assertNotIn(address, text)


if __name__ == "__main__":
    unittest.main()
