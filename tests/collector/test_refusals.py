#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each binding of a collection broken, one at a time, on one host: the message, no record,
nothing started and nothing left."""
import hashlib
import json
import unittest

import collectlib
from collectlib import ETC, STORE

SITE = f"{ETC}/site.json"
HOLDER = """
import os, socket, sys, time
kept = socket.socket()
os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[1]))
print("ready", flush=True)
time.sleep(600)
"""
ROOTFUL = """
import socket, sys, time
with socket.socket(socket.AF_UNIX) as s:
    s.bind(sys.argv[1]); s.listen()
    time.sleep(600)
"""


def canonical(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


class Sabotage:
    """A host, and what is done to it: each returns what undoes it, or None."""

    def __init__(self, host):
        self.host = host
        self.preflight = None
        self.good = None

    def refresh(self):
        self.preflight = self.host.preflight()
        self.good = json.loads(self.host.run("/usr/bin/cat", f"{STORE}/{self.preflight}").stdout)

    def config(self, **changes):
        self.host.configure(self.preflight, **changes)

    def sh(self, script):
        return self.host.run("/bin/sh", "-ec", script)

    def keep(self, document):
        """A forged preflight, kept as the store keeps them."""
        text = canonical(document)
        name = hashlib.sha256(text.encode()).hexdigest()
        self.host.write(f"{STORE}/{name}", text, "400")
        self.host.configure(name)
        return lambda: self.sh(f"rm -f {STORE}/{name}")

    def forged(self, **changes):
        document = json.loads(json.dumps(self.good))
        document.update(changes)
        return self.keep(document)

    def forged_kernel(self):
        return self.forged(host={**self.good["host"], "kernel": "5.0.0"})

    def forged_daemon(self):
        daemon = {**self.good["daemon"], "id": "another"}
        return self.forged(daemon=daemon,
                           daemon_sha256=hashlib.sha256(canonical(daemon).encode()).hexdigest())

    def profile(self, change):
        path = self.host.site["profile"]
        document = json.loads(self.host.run("/usr/bin/cat", path).stdout)
        change(document)
        self.host.write(path, canonical(document))

    def aged(self, issued, window):
        def change(profile):
            profile["issued_at_unix"] -= issued
            profile["expires_at_unix"] = profile["issued_at_unix"] + window
        self.profile(change)

    def another_candidate(self):
        def change(profile):
            profile["candidate_tcp"] = [{"address": "10.203.0.1", "port": 9999}]
        self.profile(change)

    def another_profile(self):
        path = f"{ETC}/other.json"
        self.sh(f"cp -p {self.host.site['profile']} {path}")
        self.host.issue()
        self.config(profile=path)

    def drop_in(self, unit, text, restart=False):
        folder = f"/etc/systemd/system/{unit}.d"
        then = f"systemctl restart {unit}" if restart else ":"
        self.sh(f"mkdir -p {folder}; printf '{text}' >{folder}/sabotage.conf; "
                f"systemctl daemon-reload; {then}")
        return lambda: self.sh(f"rm -r {folder}; systemctl daemon-reload; {then}")

    def do(self, script, undo=":"):
        self.sh(script)
        return lambda: self.sh(undo)

    def service(self, program, *arguments):
        """Something that goes on beside the collection."""
        self.host.run("/usr/bin/systemd-run", "--quiet", "--unit=sabotage", "--collect", "--",
                      program, *arguments)
        return lambda: self.sh("systemctl stop sabotage.service 2>/dev/null || :")

    def foreign_socket(self):
        user = self.host.site["workload_user"]
        uid = self.host.run("/usr/bin/id", "-u", user).stdout.strip()
        undo = self.service("/usr/bin/python3", "-c", HOLDER, uid, uid)
        self.sh("until grep -q '^Uid:.*" + uid + "' /proc/$(systemctl show -P MainPID sabotage)"
                "/status; do sleep 0.05; done")
        return undo

    def rootful(self):
        socket = self.host.site["engine"]["socket"]
        self.sh(f"mv {socket} {socket}.away")
        undo = self.service("/usr/bin/python3", "-c", ROOTFUL, socket)
        self.sh(f"until [ -S {socket} ]; do sleep 0.05; done")
        return lambda: (undo(), self.sh(f"rm -f {socket}; mv {socket}.away {socket}"))

    def lock(self):
        undo = self.service("/usr/bin/flock", "/var/lib/netproof-collector/lock", "sleep", "600")
        self.sh("until ! flock -n /var/lib/netproof-collector/lock true; do sleep 0.05; done")
        return undo

    def other_cgroup(self):
        unit = self.host.site["proxy_unit"]
        self.sh(f"mkdir -p /sys/fs/cgroup/elsewhere; "
                f"systemctl show -P MainPID {unit} >/sys/fs/cgroup/elsewhere/cgroup.procs")
        return lambda: self.sh(f"systemctl restart {unit}; "
                               "until rmdir /sys/fs/cgroup/elsewhere; do sleep 0.1; done")


def cases(s):
    """Name, what is done, what must be said. Order: from harmless to what stops the engine."""
    site = s.host.site
    worker, proxy, guard = site["worker_unit"], site["proxy_unit"], site["guard_unit"]
    lib, table = site["install_dir"], site["table"]
    zeros = "0" * 64
    return [
        ("other machine", lambda: s.config(machine_id_sha256=zeros), "another machine's"),
        ("other boot", lambda: s.config(boot_id="00000000-0000-4000-8000-000000000000"),
         "another boot's"),
        ("other kernel", s.forged_kernel, "under kernel 5.0.0"),
        ("other release", lambda: s.config(release_sha256=zeros), "is not the release that"),
        ("no such preflight", lambda: s.host.configure(zeros), zeros),
        ("stale preflight", lambda: s.forged(checked_at_unix=s.good["checked_at_unix"] - 901),
         "more than 900"),
        ("preflight from the future",
         lambda: s.forged(checked_at_unix=s.good["checked_at_unix"] + 900), "from the future"),
        ("another release's preflight", lambda: s.forged(release_sha256=zeros),
         "of another release"),
        ("another site's preflight", lambda: s.forged(site_sha256=zeros), "of another site"),
        ("another guard's preflight", lambda: s.forged(guard_kernel_sha256=zeros),
         "is not the preflight's"),
        ("another engine's preflight", s.forged_daemon, "not the one of the preflight"),
        ("version 3 preflight", lambda: s.forged(schema="netproof.preflight.v3"), "schema"),
        ("former preflight key", lambda: s.forged(nft_snapshot_sha256=zeros), "unknown key"),
        ("another profile", s.another_profile, "is not the installed profile"),
        ("old profile", lambda: s.aged(61, 100), "more than 60"),
        ("short window", lambda: s.aged(0, 19), "window of 19 s"),
        ("long window", lambda: s.aged(0, 281), "window of 281 s"),
        ("other candidates", s.another_candidate, "candidate_tcp"),
        ("readable profile", lambda: s.do(f"chmod 644 {site['profile']}"), "profile.json"),
        ("tampered runner", lambda: s.do(f"cp -p {lib}/net-probe /run/kept; "
                                         f"printf x >>{lib}/net-probe",
                                         f"mv /run/kept {lib}/net-probe"),
         "net-probe: is not the release's"),
        ("tampered net-policy", lambda: s.do(f"cp -p {lib}/net-policy /run/kept; "
                                             f"printf x >>{lib}/net-policy",
                                             f"mv /run/kept {lib}/net-policy"),
         "net-policy: is not the release's"),
        ("worker active", lambda: s.do(f"systemctl start {worker}", f"systemctl stop {worker}"),
         "is active, not inactive"),
        ("worker failed", lambda: s.do(
            f"mv {site['profile']} /run/kept; systemctl start {worker} || :; "
            f"mv /run/kept {site['profile']}", f"systemctl reset-failed {worker}"),
         "is failed, not inactive"),
        ("worker of another mode", lambda: s.drop_in(
            worker, "[Service]\\nExecStartPre=\\nExecStartPre=+/bin/true\\n"),
         "ExecStartPre is not that of mode network_enforcement"),
        ("worker of another runner", lambda: s.drop_in(
            worker, "[Service]\\nExecStart=\\nExecStart=/usr/bin/sleep 600\\n"),
         "ExecStart is not that of mode network_enforcement"),
        ("worker that restarts", lambda: s.drop_in(worker, "[Service]\\nRestart=always\\n"),
         'its Restart is "always"'),
        ("proxy down", lambda: s.do(f"systemctl stop {proxy}", f"systemctl start {proxy}"),
         "is inactive, not active"),
        ("proxy elsewhere", s.other_cgroup, "is in the cgroup 'elsewhere'"),
        ("another program for the proxy", lambda: s.drop_in(
            proxy, "[Service]\\nType=exec\\nExecStart=\\n"
                   "ExecStart=/usr/bin/sleep 600\\n", True),
         "runs another program"),
        ("proxy on another port", lambda: s.drop_in(
            proxy, f"[Service]\\nExecStart=\\nExecStart={lib}/net-proxy "
                   f"{site['proxy']['address']} 3999\\n", True),
         "nothing listens on the site's proxy"),
        ("stray container", lambda: s.host.docker("create", "--name", "stray",
                                                  s.host.release["candidate_image"]["id"], "/x")
         and (lambda: s.host.docker("rm", "stray")), "containers are there ('stray')"),
        ("job network", lambda: s.host.docker("network", "create", "stray")
         and (lambda: s.host.docker("network", "rm", "stray")), "jobs are there ('stray')"),
        ("another collection", s.lock, "busy"),
        ("journal", lambda: s.do("printf x >/var/lib/netproof-collector/journal",
                                 "rm /var/lib/netproof-collector/journal"),
         "net-collector recover"),
        ("foreign rule", lambda: s.do(
            "nft 'table ip evil { chain o { type route hook output priority 0; "
            "meta mark set 1; }; }'", "nft delete table ip evil"), "nf_tables ip evil"),
        ("foreign socket", s.foreign_socket, "holds a socket of uid 0"),
        ("ruleset without the guard", lambda: s.do(
            f"nft flush chain inet {table} output", f"{lib}/net-policy revoke --site {SITE}"),
         "ruleset differs"),
        ("no table", lambda: s.do(
            f"nft delete table inet {table}", f"{lib}/net-policy revoke --site {SITE}"),
         table),
        ("rootful engine", s.rootful, "rootful"),
        ("guard inactive", lambda: s.do(f"systemctl stop {guard}"), "is inactive, not active"),
    ]


class Refusals(unittest.TestCase):
    def check(self, host, done, message):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue(done.stderr.startswith("net-collector: refused: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stdout, "")
        state = host.run("/usr/bin/systemctl", "show", "-P", "InvocationID",
                         host.site["worker_unit"]).stdout
        return state

    def test_each_binding(self):
        with collectlib.Host("refuse") as host:
            sabotage = Sabotage(host)
            sabotage.refresh()
            sabotage.config()
            host.issue()
            for phrase in ("yes", "collect native network enforcement evidence"):
                self.check(host, host.collect(phrase=phrase), "is not the phrase")
            alone = host.run(host.program("net-collector"), "network", "--config", "/nowhere",
                             "--confirm", collectlib.PHRASE, user=host.site["workload_user"],
                             check=False)
            self.check(host, alone, "not root")
            all_cases = cases(sabotage)
            for name, act, message in all_cases:
                with self.subTest(name):
                    sabotage.config()
                    host.issue()
                    undo = act()
                    before = host.run("/bin/ls", STORE).stdout
                    try:
                        self.check(host, host.collect(), message)
                        self.assertEqual(host.run("/bin/ls", STORE).stdout, before)
                    finally:
                        if undo:
                            undo()
            self.assertEqual(len(all_cases), 40)

    def test_a_dry_run_starts_nothing(self):
        with collectlib.Host("dry") as host:
            host.prepare()
            done = host.collect("--dry-run", check=True)
            plan = json.loads(done.stdout)
            self.assertTrue(plan["dry_run"])
            self.assertEqual(sum(p["times"] for p in plan["plan"]), plan["probes"])
            self.assertEqual(host.leftovers(), [])
            again = host.collect("--dry-run")
            self.assertEqual(again.returncode, 0, again.stderr)


if __name__ == "__main__":
    unittest.main()
