#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""net-site: what it renders, what systemd says about that, and what it refuses.

Works in a folder of its own below /run: a site file must be protected, and /tmp is
everybody's. "--write-golden" renders the golden files anew, to be read and committed.
"""
import json
import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NET_SITE = os.path.join(TOP, os.environ.get("BUILD", "build"), "bin/net-site")
GOLDEN = os.path.join(TOP, "fixtures/units")
SITES = os.path.join(TOP, "fixtures/sites")
NAMES = ("netproof", "ditto-coding-hosted")
UID = "990"
PROGRAMS = ("net-policy", "net-probe", "net-proxy")
# Which directives would make a socket call fail for another cause than the policy.
MISLEADING = ("IPAddressAllow", "IPAddressDeny", "SocketBindAllow", "SocketBindDeny",
              "RestrictAddressFamilies", "RestrictNetworkInterfaces", "PrivateNetwork",
              "IPIngressFilterPath", "IPEgressFilterPath", "NetworkNamespacePath")
EXPOSURE = {"guard": 2.0, "proxy": 2.0, "worker": 1.8}


def run(*arguments, **options):
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120, check=False, **options)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def tree(folder):
    return {os.path.relpath(os.path.join(base, name), folder):
            read(os.path.join(base, name))
            for base, _, names in os.walk(folder) for name in names}


def directives(text):
    """The settings of a unit, without comments; continued lines joined."""
    kept = "\n".join(l for l in text.splitlines() if not l.startswith("#"))
    return [tuple(line.split("=", 1)) for line in
            kept.replace("\\\n", " ").splitlines() if "=" in line]


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="netproof-site-", dir="/run")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def site(self, base="netproof", **changes):
        site = json.loads(read(os.path.join(SITES, base + ".json")))
        for key, value in changes.items():
            if isinstance(value, dict):
                site[key].update(value)
            else:
                site[key] = value
        path = self.path(base + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(site, file)
        os.chmod(path, 0o644)
        return path

    def render(self, site, *more, out=None):
        return run(NET_SITE, "render", "--site", site, "--out", out or self.path("out"),
                   *more)

    def refused(self, result, *texts):
        self.assertEqual(result.returncode, 1, result)
        self.assertTrue(result.stderr.startswith("net-site: refused: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertEqual(result.stdout, "")
        for text in texts:
            self.assertIn(text, result.stderr)

    def leaves_nothing(self, *expected):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(expected))


class Rendered(Case):
    def test_golden(self):
        for name in NAMES:
            with self.subTest(name):
                result = self.render(self.site(name), "--uid", UID, "--site-path",
                                     f"/etc/{name}/site.json", out=self.path(name))
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                files = tree(self.path(name))
                self.assertEqual(sorted(result.stdout.splitlines()), sorted(files))
                self.assertEqual(files, tree(os.path.join(GOLDEN, name)))

    def test_modes_do_not_depend_on_the_umask(self):
        result = run("/bin/sh", "-c", 'umask 077; exec "$@"', "sh", NET_SITE, "render",
                     "--site", self.site(), "--out", self.path("out"), "--uid", UID)
        self.assertEqual(result.returncode, 0, result)
        for base, _, names in os.walk(self.path("out")):
            self.assertEqual(stat.S_IMODE(os.stat(base).st_mode), 0o755, base)
            for name in names:
                status = os.stat(os.path.join(base, name))
                self.assertEqual(stat.S_IMODE(status.st_mode), 0o644, name)

    def test_nothing_is_left_to_fill_in(self):
        for name in NAMES:
            for path, text in tree(os.path.join(GOLDEN, name)).items():
                self.assertIsNone(re.search(r"@[a-z_]+@", text), path)
                self.assertNotIn("@", path.replace("user@990.service.d", ""))

    def test_an_empty_folder_is_filled_and_another_refused(self):
        site = self.site()
        os.mkdir(self.path("out"))
        self.assertEqual(self.render(site, "--uid", UID).returncode, 0)
        before = tree(self.path("out"))
        self.refused(self.render(site, "--uid", "991"), "out: not empty")
        self.assertEqual(tree(self.path("out")), before)
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        self.refused(self.render(site, "--uid", UID, out=self.path("file")),
                     "not a directory")
        self.leaves_nothing("netproof.json", "out", "file")

    def test_the_environment_failing_is_no_refusal(self):
        result = self.render(self.site(), "--uid", UID, out=self.path("no/such/out"))
        self.assertEqual(result.returncode, 4, result)
        self.assertIn("could not tell", result.stderr)
        self.leaves_nothing("netproof.json")

    def test_a_full_disk_leaves_nothing(self):
        os.mkdir(self.path("small"))
        script = ('mount -t tmpfs -o size=8k,nr_inodes=9 none "$1" && shift && "$@"; '
                  's=$?; ls -A "${0}"; exit $s')
        result = run("unshare", "-m", "/bin/sh", "-c", script, self.path("small"),
                     self.path("small"), NET_SITE, "render", "--site", self.site(),
                     "--out", self.path("small/out"), "--uid", UID)
        self.assertEqual((result.returncode, result.stdout), (4, ""), result)
        self.assertIn("small/out: ", result.stderr)


class SystemdsView(Case):
    """The rendered units as systemd reads them, the programs at their places."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        for program in PROGRAMS:
            shutil.copy("/bin/true", self.path("bin", program))
        self.units = {}
        for name in NAMES:
            site = self.site(name, install_dir=self.path("bin"))
            result = self.render(site, "--uid", UID, out=self.path(name))
            self.assertEqual(result.returncode, 0, result)
            values = json.loads(read(site))
            for kind in ("guard", "worker", "proxy"):
                self.units[name, kind] = self.path(name, "systemd/system",
                                                   values[kind + "_unit"])
            self.units[name, "engine"] = self.path(name, "systemd/user",
                                                   values["engine_unit"])

    def test_verify_is_clean(self):
        environment = dict(os.environ, XDG_RUNTIME_DIR=self.folder)
        for (name, kind), unit in self.units.items():
            with self.subTest(unit):
                manager = "--user" if kind == "engine" else "--system"
                # The other units of the site are found beside it. No manual page is
                # installed here.
                environment["SYSTEMD_UNIT_PATH"] = os.path.dirname(unit) + ":"
                result = run("systemd-analyze", "verify", manager, "--man=no", unit,
                             env=environment)
                self.assertEqual((result.returncode, result.stdout, result.stderr),
                                 (0, "", ""))

    def test_exposure_and_a_reason_for_each_rest(self):
        for (name, kind), unit in self.units.items():
            if kind == "engine":
                continue  # a user manager's unit: nothing of this applies to it
            with self.subTest(unit):
                result = run("systemd-analyze", "security", "--offline=true",
                             "--no-pager", unit)
                overall = re.search(r"Overall exposure level for \S+: ([\d.]+)",
                                    result.stdout)
                self.assertIsNotNone(overall, result)
                self.assertLessEqual(float(overall.group(1)), EXPOSURE[kind])
                reasons = [l for l in read(unit).splitlines() if l.startswith("#")]
                for item in re.findall(r"^✗ ([A-Za-z]+)=", result.stdout, re.M):
                    self.assertTrue(any(item + "=" in line for line in reasons),
                                    f"{kind}: no reason for {item}=")

    def test_no_directive_that_looks_like_the_policy(self):
        for (name, kind), unit in self.units.items():
            if kind in ("worker", "engine"):
                keys = {key for key, _ in directives(read(unit))}
                self.assertFalse(keys & set(MISLEADING), unit)
                self.assertNotIn("SystemCallErrorNumber", keys)

    def test_worker(self):
        for name in NAMES:
            unit = directives(read(self.units[name, "worker"]))
            values = dict(unit)
            self.assertEqual(values["Slice"], "system.slice")
            self.assertNotIn("Delegate", values)  # level 2 is the unit itself
            self.assertEqual(values["Restart"], "no")
            self.assertEqual(values["BindsTo"], self.guard(name))
            self.assertIn(self.guard(name), values["After"].split())
            self.assertGreater(int(values["TimeoutStopSec"]), 3 * 120)
            post = [value for key, value in unit if key == "ExecStopPost"]
            self.assertEqual([p.split()[:2] for p in post],
                             [["+" + self.path("bin/net-policy"), "revoke"],
                              [self.path("bin/net-probe"), "net-once"]])
            self.assertEqual(values["ExecStartPre"].split()[:4],
                             ["+" + self.path("bin/net-policy"), "install", "--mode",
                              "network_enforcement"])

    def guard(self, name):
        return os.path.basename(self.units[name, "guard"])

    def test_what_holds_the_user_requires_the_guard(self):
        for name in NAMES:
            for unit in (f"user@{UID}.service.d", f"user-{UID}.slice.d"):
                text = read(self.path(name, "systemd/system", unit, f"10-{name}.conf"))
                self.assertEqual(dict(directives(text)), {
                    "Requires": self.guard(name), "After": self.guard(name)})

    def test_accounts_and_folders(self):
        for name in NAMES:
            root = self.path(name + "-root")
            os.makedirs(root + "/etc")
            for command in (("systemd-sysusers", f"--root={root}"),
                            ("systemd-tmpfiles", f"--root={root}", "--create")):
                kind = command[0].removeprefix("systemd-") + ".d"
                result = run(*command, self.path(name, kind, name + ".conf"))
                self.assertEqual(result.returncode, 0, result)
            passwd = {l.split(":")[0]: l.split(":")
                      for l in read(root + "/etc/passwd").splitlines()}
            groups = {l.split(":")[0]: int(l.split(":")[2])
                      for l in read(root + "/etc/group").splitlines()}
            self.assertEqual(passwd[name][2], UID)
            self.assertEqual(passwd[name][5], "/var/lib/" + name)
            self.assertIn(name + "-proxy", passwd)
            self.assertEqual(
                {path: self.owner(root + path) for path in
                 (f"/run/{name}-worker", f"/run/{name}", f"/var/lib/{name}",
                  f"/etc/{name}/docker-client")},
                {f"/run/{name}-worker": (0o750, 0, groups[name + "-worker"]),
                 f"/run/{name}": (0o700, int(UID), 0),
                 f"/var/lib/{name}": (0o700, int(UID), 0),
                 f"/etc/{name}/docker-client": (0o755, 0, 0)})

    @staticmethod
    def owner(path):
        status = os.stat(path)
        return stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid


class Refused(Case):
    def test_command_lines(self):
        for arguments, text in (
                ((), "a command is missing"), (("render",), "--site is missing"),
                (("check",), "FILE missing"), (("check", "a", "b"), "one operand too"),
                (("render", "--site", "/x"), "--out is missing"),
                (("draw",), "is not a command")):
            result = run(NET_SITE, *arguments)
            self.assertEqual(result.returncode, 2, result)
            self.assertIn(text, result.stderr)
        for uid in ("0", "-1", "x", "4294967295", "01"):
            result = self.render(self.site(), "--uid", uid)
            self.assertEqual(result.returncode, 2, result)
            self.assertIn("is not a uid", result.stderr)
        for path in ("etc/site.json", "/etc//site.json"):
            result = self.render(self.site(), "--uid", UID, "--site-path", path)
            self.assertEqual(result.returncode, 2, result)
        self.refused(self.render(self.site(), "--uid", UID, "--site-path", "/etc/a b"),
                     "the units need a path of")
        self.leaves_nothing("netproof.json")

    def test_site_file(self):
        for changes, text in (
                ({"install_dir": "/opt/a b"}, "install_dir: a path of letters"),
                ({"install_dir": "/opt/%n"}, "install_dir: a path of letters"),
                ({"engine": {"socket": "/run/docker.sock"}}, "engine.socket: its folder"),
                ({"engine": {"kind": "podman"}}, "podman"),
                ({"name": "n" * 40}, "name: too long"),
                ({"workload_user": "root"}, "uid 0"),
                ({"runtime_dir": "/run/" + "r" * 100}, "runtime_dir: too long"),
                ({"engine": {"socket": "/run/netproof-worker/s"}}, "must lie apart")):
            with self.subTest(text):
                site = self.site(**changes)
                self.refused(run(NET_SITE, "check", site), text)
                self.refused(self.render(site, "--uid", UID), text)
        self.leaves_nothing("netproof.json")

    def test_the_uid_is_the_accounts(self):
        user = pwd.getpwnam("daemon")
        site = self.site(workload_user=user.pw_name)
        self.refused(self.render(site, "--uid", str(user.pw_uid + 1)),
                     f"--uid: daemon has uid {user.pw_uid}")
        self.assertEqual(self.render(site).returncode, 0)
        self.assertIn(f"systemd/system/user@{user.pw_uid}.service.d/10-netproof.conf",
                      tree(self.path("out")))
        site = self.site(workload_user="no-such-account")
        self.refused(self.render(site, out=self.path("o2")), "there is no such account")

    def test_a_site_file_that_others_may_change(self):
        site = self.site()
        os.chmod(site, 0o664)
        self.refused(run(NET_SITE, "check", site), "writable by group or others")
        os.chmod(site, 0o644)
        os.symlink(site, self.path("link.json"))
        self.refused(run(NET_SITE, "check", self.path("link.json")), "symbolic link")
        self.refused(run(NET_SITE, "check", self.path("none.json")), "does not exist")

    def test_runner_that_others_may_change(self):
        site = self.site(install_dir=self.path("bin"))
        os.mkdir(self.path("bin"), 0o755)
        self.assertEqual(self.check(site)["runner"], "absent")
        runner = self.path("bin/net-probe")
        shutil.copy("/bin/true", runner)
        self.assertEqual(self.check(site)["runner"], "present")
        for mode, text in ((0o777, "writable by"), (0o644, "not executable")):
            os.chmod(runner, mode)
            self.refused(run(NET_SITE, "check", site), "bin/net-probe: ", text)
            self.refused(self.render(site, "--uid", UID), "bin/net-probe: ", text)
        os.chmod(runner, 0o755)
        os.chmod(self.path("bin"), 0o777)
        self.refused(run(NET_SITE, "check", site), "bin: writable by")
        os.chmod(self.path("bin"), 0o755)
        os.rename(runner, self.path("bin/other"))
        os.symlink("other", runner)
        self.refused(run(NET_SITE, "check", site), "net-probe: a symbolic link")

    def test_a_way_that_others_may_change(self):
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o777)
        os.mkdir(self.path("real"))
        os.symlink("real", self.path("link"))
        for folder, text in (("open", "writable by"), ("link", "symbolic link")):
            for key in ("install_dir", "profile"):
                site = self.site(**{key: self.path(folder, "not/there/yet")})
                self.refused(run(NET_SITE, "check", site), folder + ": ", text)

    def test_profile(self):
        path = self.path("profile.json")
        site = self.site(profile=path)
        good = {
            "schema": "netproof.connectivity.v2", "issued_at_unix": 1700000000,
            "expires_at_unix": 1700000280, "trusted_dns": [],
            "trusted_tcp": [{"address": "198.51.100.1", "port": 443}],
            "trusted_loopback_tcp": False, "label_key": "5" * 64,
            "candidate_tcp": [{"address": "10.203.0.1", "port": 8443},
                              {"address": "10.203.0.1", "port": 3128}]}
        self.install(path, good)
        # That its time is over is no fault of the site: the next one replaces it.
        self.assertEqual(self.check(site)["profile"], "present")
        for changes, text in (
                ({"schema": "netproof.connectivity.v1"}, "profile.json: schema: "),
                ({"expires_at_unix": 1700000281}, "more than 280 s"),
                ({"candidate_tcp": good["candidate_tcp"][:1]}, "candidate_tcp"),
                ({"label_key": "5"}, "profile.json: label_key: ")):
            with self.subTest(text):
                self.install(path, dict(good, **changes))
                self.refused(run(NET_SITE, "check", site), text)
                self.refused(self.render(site, "--uid", UID), text)
        self.install(path, good)
        os.chmod(path, 0o644)
        self.refused(run(NET_SITE, "check", site), "profile.json: open to group or")

    @staticmethod
    def install(path, value):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        os.chmod(path, 0o600)

    def check(self, site):
        result = run(NET_SITE, "check", site)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_what_check_says(self):
        site = self.site()
        said = self.check(site)
        digest = run("sha256sum", site).stdout.split()[0]
        self.assertEqual(said, {
            "schema": "netproof.site_check.v1", "site_sha256": digest,
            "name": "netproof", "account": "absent", "runner": "absent",
            "profile": "absent"})


def write_golden():
    for name in NAMES:
        with tempfile.TemporaryDirectory(dir="/run") as folder:
            site = os.path.join(folder, "site.json")
            shutil.copy(os.path.join(SITES, name + ".json"), site)
            shutil.rmtree(os.path.join(GOLDEN, name), ignore_errors=True)
            os.makedirs(GOLDEN, exist_ok=True)
            subprocess.run([NET_SITE, "render", "--site", site, "--uid", UID,
                            "--site-path", f"/etc/{name}/site.json", "--out",
                            os.path.join(GOLDEN, name)], check=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write-golden"]:
        write_golden()
    else:
        unittest.main()
