#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""net-collector init and doctor on a host with nothing but the programs: the lines that doctor
prints, followed one by one and to the letter, lead to a collection that passes its dry run;
and whatever of it is undone, its remedy is what doctor names first."""
import json
import os
import re
import subprocess
import sys
import unittest

import collectlib
import labtest
from collectlib import ETC, STORE

sys.path.insert(0, os.path.join(labtest.TOP, "tests", "lib"))
import terminal  # noqa: E402

LIB = "/usr/lib/netproof"
CONFIG = f"{ETC}/collection.json"
TRUSTED = "198.51.100.1:443"
DOCUMENTS = ("release.json", "targets.json", "catalog.json", "candidate-image.tar")
# The way from nothing, in order: what the command of each line begins with or contains.
WAY = ("net-collector init", "net-site render", "systemd-sysusers", "usermod --add-subuids",
       "systemctl enable --now netproof-guard.service", "ip address add 10.203.0.1/32 dev lo",
       "systemctl restart netproof-proxy.service", "loginctl enable-linger netproof",
       "systemctl --user restart docker.service", "docker --host", f"mkdir -m 700 {STORE}", "net-preflight --config", "net-policy issue")


class Fresh:
    """A booted host with the programs and the release's documents in place."""

    def __enter__(self):
        self.lab = labtest.Lab("doctor")
        self.lab.__enter__()
        try:
            folder, self.release = collectlib.shared_release(None)
            self.folder = os.path.join(folder, "bin")
            self.install()
        except BaseException:
            self.lab.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.lab.__exit__()

    def install(self):
        names = [*self.release["programs"], *DOCUMENTS]
        with subprocess.Popen(["tar", "-C", self.folder, "-c", *names],
                              stdout=subprocess.PIPE) as pack:
            subprocess.run([labtest.LAB, "exec", "--name", self.lab.name, "--", "/bin/sh", "-ec",
                            # The engine's data must not lie on the lab's overlay.
                            f"mkdir -p {LIB} /var/lib/netproof; "
                            "mount -t tmpfs -o mode=700 engine /var/lib/netproof; "
                            f"tar -C {LIB} --no-same-owner -x"],
                           stdin=pack.stdout, check=True)
            pack.stdout.close()

    def sh(self, script, check=True):
        return self.lab.run("/bin/sh", "-ec", script, check=check)

    def collector(self, *arguments):
        return self.lab.run(f"{LIB}/net-collector", *arguments, check=False)

    def doctor(self):
        return self.collector("doctor", "--trusted", TRUSTED)

    def dry_run(self):
        return self.collector("network", "--config", CONFIG, "--confirm", collectlib.PHRASE,
                              "--dry-run")

    def look(self):
        """What doctor must leave as it is."""
        return self.sh("find /etc /run /var/lib/netproof* /usr/lib/netproof -xdev -printf "
                       "'%p %y %s %T@ %C@ %m %U\\n' 2>/dev/null | grep -v ' /run/systemd\\|journal' "
                       "| sort; nft --stateless list ruleset; ip address; "
                       "systemctl list-units --all --plain --no-legend 'netproof*' 'user@*'",
                       check=False).stdout


class Doctor(unittest.TestCase):
    maxDiff = 4000

    def first(self, host):
        """The first line, and its command."""
        done = host.doctor()
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        line = done.stdout.splitlines()[0]
        return line, line.split("  # ")[0]

    def follow(self, host, limit=20):
        """Does what the first line says until there is none; the lines."""
        lines = []
        while True:
            done = host.doctor()
            if done.returncode == 0:
                self.assertEqual(done.stdout, "")
                return lines
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            line = done.stdout.splitlines()[0]
            self.assertNotIn(line, lines[-1:], "the same line again: it mended nothing")
            lines.append(line)
            self.assertLess(len(lines), limit, lines)
            mended = host.sh(line, check=False)
            self.assertEqual(mended.returncode, 0, f"{line}\n{mended.stdout}{mended.stderr}")

    def passes(self, host):
        done = host.dry_run()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(json.loads(done.stdout)["dry_run"])

    def the_way_from_nothing(self, host):
        lines = self.follow(host)
        for wanted, line in zip(WAY, lines):
            self.assertIn(wanted, line)
        self.assertEqual(len(lines), len(WAY), lines)
        self.passes(host)

    def nothing_is_changed(self, host):
        before = host.look()
        self.assertGreater(len(before.splitlines()), 100)
        host.doctor()
        self.assertEqual(host.look().splitlines(), before.splitlines())

    def each_step_undone(self, host):
        uid = host.sh("id -u netproof").stdout.strip()
        user = f"XDG_RUNTIME_DIR=/run/user/{uid} runuser -u netproof -- "
        docker = (f"{user} docker --host unix:///run/netproof/docker.sock "
                  f"--config {ETC}/docker-client ")
        reference = host.release["candidate_image"]["reference"]
        site = json.loads(host.sh(f"cat {ETC}/site.json").stdout)
        journal = "/var/lib/netproof-collector/journal"
        # In the order of the checks: what a line did not mend would be first again.
        rows = [
            ("no configuration", f"rm {CONFIG}", "init --out /etc/netproof --only collection"),
            ("a torn configuration", f"echo '{{' >{CONFIG}",
             f"mv -n {CONFIG} {CONFIG}.aside-"),
            ("no site", f"rm {ETC}/site.json", "init --out /etc/netproof --only site"),
            ("no endpoints", f"rm {ETC}/endpoints.json",
             f"init --out /etc/netproof --only endpoints --trusted {TRUSTED}"),
            ("units not installed", "rm -r /etc/systemd/system/netproof-*; systemctl daemon-reload",
             "net-site render"),
            ("a unit's file changed", "echo '# x' >>/etc/systemd/system/netproof-proxy.service",
             "systemctl daemon-reload && systemctl try-restart netproof-proxy.service"),
            ("no user", f"systemctl stop user@{uid}.service netproof-proxy.service; "
             "loginctl disable-linger netproof; sed -i '/^netproof:/d' /etc/passwd /etc/shadow",
             "systemd-sysusers /etc/sysusers.d/netproof.conf"),
            ("no subordinate uids", "sed -i '/^netproof:/d' /etc/subuid /etc/subgid",
             "usermod --add-subuids"),
            ("no folder", f"rmdir {site['engine']['client_config']}",
             "systemd-tmpfiles --create /etc/tmpfiles.d/netproof.conf"),
            ("guard inactive", "systemctl stop netproof-guard.service",
             "systemctl enable --now netproof-guard.service"),
            ("no address", "ip address del 10.203.0.1/32 dev lo",
             "ip address add 10.203.0.1/32 dev lo"),
            ("proxy down", "systemctl stop netproof-proxy.service",
             "systemctl restart netproof-proxy.service"),
            ("no manager", f"systemctl stop user@{uid}.service; loginctl disable-linger netproof",
             "loginctl enable-linger netproof"),
            ("engine down", f"{user} systemctl --user stop docker.service",
             "systemctl --user restart docker.service"),
            ("journal left", f"mkdir -p -m 700 $(dirname {journal}); "
             f"echo '{{\"kind\":\"site\",\"name\":\"{ETC}/site.json\"}}' >{journal}; "
             f"chmod 600 {journal}", "net-collector recover"),
            ("worker failed", f"mv {ETC}/profile.json /run/kept; "
             "systemctl start netproof-worker.service || :; "
             f"mv /run/kept {ETC}/profile.json",
             "systemctl reset-failed netproof-worker.service"),
            ("a container left", f"{docker} create --name stray {reference} /x",
             "rm --force stray"),
            ("a network left", f"{docker} network create stray", "network rm stray"),
            ("image missing", f"{docker} rmi {reference}", f"load --quiet <{LIB}/candidate-image"),
            ("guard's rules gone", "nft flush chain inet netproof output",
             "net-policy revoke --site"),
            ("store open to others", f"chmod 755 {STORE}", f"chmod 700 {STORE}"),
            ("no store", f"mv {STORE} /var/lib/evidence-before", f"mkdir -m 700 {STORE}"),
            ("preflight missing", f"rm -f {STORE}/*", "net-preflight --config"),
            ("another boot's", "sed -i 's/\"boot_id\": \"......../\"boot_id\": \"00000000/' "
             + CONFIG, "net-preflight --config"),
            ("profile absent", f"rm -f {ETC}/profile.json", "net-policy issue"),
        ]
        for name, undo, wanted in rows:
            with self.subTest(name):
                host.sh(undo)
                line, command = self.first(host)
                self.assertIn(wanted, command)
                self.assertRegex(line, r"  # .")
                mended = host.sh(line, check=False)
                self.assertEqual(mended.returncode, 0, f"{line}\n{mended.stderr}")

    def what_ages(self, host):
        """Documents that were good once, without a look at the clock: they are made older."""
        self.follow(host)
        old = json.loads(host.sh(f"cat {ETC}/profile.json").stdout)
        old["issued_at_unix"] -= 1000
        old["expires_at_unix"] -= 1000
        host.sh(f"printf %s '{json.dumps(old)}' >{ETC}/profile.json")
        line, command = self.first(host)
        self.assertIn(f"mv -n {ETC}/profile.json", command)
        self.assertIn("net-policy issue", command)
        self.assertRegex(line, r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
        config = json.loads(host.sh(f"cat {CONFIG}").stdout)
        kept = f"{STORE}/{config['pre_collection_preflight_sha256']}"
        stale = json.loads(host.sh(f"cat {kept}").stdout)
        stale["checked_at_unix"] -= 901
        text = json.dumps(stale, sort_keys=True, separators=(",", ":"))
        sha256 = host.sh(f"printf %s '{text}' >/run/stale; sha256sum </run/stale").stdout[:64]
        config["pre_collection_preflight_sha256"] = sha256
        host.sh(f"cp /run/stale {STORE}/{sha256}; chmod 400 {STORE}/{sha256}; "
                f"printf %s '{json.dumps(config)}' >{CONFIG}")
        line, command = self.first(host)
        self.assertIn("net-preflight --config", command)
        self.assertIn("more than 900", line)

    def by_hand(self, host):
        """What no command can know is a comment that says what to do."""
        host.sh("nft 'table ip evil { chain o { type route hook output priority 0; "
                "meta mark set 1; }; }'")
        line, _ = self.first(host)
        self.assertRegex(line, r"^# by hand: nf_tables ip evil.*remove it")
        host.sh("nft delete table ip evil")

    def what_is_said(self, host):
        """Colours for a terminal alone; init overwrites nothing; who is not root is told."""
        host.sh(f"rm -f {ETC}/profile.json")
        plain = host.doctor()
        command = [f"{LIB}/net-collector", "doctor", "--trusted", TRUSTED]
        shown = collectlib.on_terminal(host.lab, command, TERM="xterm")
        self.assertIn("\x1b[2m  # ", shown)
        words = terminal.plain(shown.encode()).decode()
        self.assertEqual(words, plain.stdout + plain.stderr)
        self.assertEqual(collectlib.on_terminal(host.lab, command, NO_COLOR="1"), words)
        before = host.sh(f"sha256sum {ETC}/*.json").stdout
        for part in ("site", "endpoints", "collection"):
            done = host.collector("init", "--trusted", TRUSTED, "--only", part)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{ETC}/{part}.json: exists", done.stderr)
        self.assertEqual(host.sh(f"sha256sum {ETC}/*.json").stdout, before)
        for words in (("doctor",), ("init", "--trusted", TRUSTED)):
            done = host.lab.run(f"{LIB}/net-collector", *words, user="nobody", check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("not root", done.stderr)

    def init_says(self, host):
        """Before anything is there: what init finds, and what it asks for by option."""
        done = host.collector("init")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--trusted", done.stderr)
        for words in (["--trusted", "example.org:443"], ["--trusted", "198.51.100.1"],
                      ["--trusted", "198.51.100.1:0"], ["--trusted", TRUSTED, "--dns", "x"],
                      ["--trusted", TRUSTED, "--only", "sites"],
                      ["--trusted", TRUSTED, "--out", "relative"],
                      ["--trusted", TRUSTED, "--router-namespace", "elsewhere"]):
            done = host.collector("init", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(words[-2], done.stderr)
        for words in (["--trusted", "224.0.0.1:443"], ["--trusted", TRUSTED + "," + TRUSTED],
                      ["--trusted", TRUSTED, "--name", "Upper"]):
            self.assertEqual(host.collector("init", *words).returncode, 1, words)
        done = host.collector("init", "--trusted", TRUSTED, "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("10.203.0.1:3128", "rootless-netns", "netproof-worker.service", LIB,
                     "subordinate", TRUSTED):
            self.assertIn(word, done.stdout)
        self.assertEqual(host.sh(f"ls {ETC} 2>/dev/null || :").stdout, "")

    def collisions(self, host):
        """What is taken is not taken again: an address by a route, a port by a listener, a
        range by an account."""
        host.sh("ip route add 10.203.0.0/24 dev lo; "
                "printf 'other:100000:65536\\nanother:200000:10\\n' >>/etc/subuid; "
                "systemd-run --quiet --unit=taker --property=Type=notify /usr/bin/python3 -c "
                "\"import socket, subprocess, time; s = socket.create_server(('', 3128)); "
                "subprocess.run(['systemd-notify', '--ready']); time.sleep(600)\" ")
        done = host.collector("init", "--trusted", TRUSTED, "--dry-run")
        host.sh("ip route del 10.203.0.0/24 dev lo; systemctl stop taker; "
                "sed -i '/^other:/d; /^another:/d' /etc/subuid")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("10.203.1.1:3129", done.stdout)
        first, last = map(int, re.search(r"(\d+)-(\d+) \(free\)", done.stdout).groups())
        self.assertEqual(last - first, 65535)
        for start, count in ((100000, 65536), (200000, 10)):
            self.assertFalse(start <= last and first <= start + count - 1)

    def written_files_pass(self, host):
        done = host.sh(f"{LIB}/net-site check {ETC}/site.json")
        self.assertEqual(json.loads(done.stdout)["runner"], "present")

    def test_from_nothing_to_a_collection(self):
        with Fresh() as host:
            self.init_says(host)
            self.collisions(host)
            self.the_way_from_nothing(host)
            self.written_files_pass(host)
            self.nothing_is_changed(host)
            self.each_step_undone(host)
            self.by_hand(host)
            self.what_is_said(host)
            self.what_ages(host)
            self.follow(host)
            self.passes(host)


if __name__ == "__main__":
    unittest.main()
