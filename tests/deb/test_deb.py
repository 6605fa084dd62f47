#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian packages: built without a network, clean for lintian, the same programs as
everywhere else; then installed, upgraded, removed and purged on a booted host."""
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/lab"))

from labtest import Lab, lab  # noqa: E402

REVISION = "0123456789abcdef0123456789abcdef01234567"
NEXT = "0.1.0+next"
UNITS = ("netproof-guard.service", "netproof-proxy.service", "netproof-worker.service")
# What a purge leaves of all that was made: the accounts, and what evidence needs.
LEFT = {"/etc/netproof", "/etc/netproof/profile.json", "/var/lib/netproof-evidence",
        "/var/lib/netproof-evidence/" + "0" * 64}
# What dpkg, systemd and the tools of accounts keep for themselves.
OTHERS = re.compile(r"/var/lib/(dpkg|systemd|ucf)/|/var/(log|cache)/|/run/|"
                    r"/etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$|"
                    r"/etc/(\.pwd\.lock|\.updated|sysusers\.d)$|/var/tmp/systemd-private-")


def run(*command, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **more)


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def version():
    with open(os.path.join(TOP, "debian/changelog"), encoding="utf-8") as log:
        return re.match(r"netproof \((.*?)\) ", log.readline()).group(1)


class Packages:
    """Both packages, of this version and of a next one, in a folder that a lab sees."""

    def __init__(self, folder):
        self.folder = folder
        # A network namespace of its own, with not even a loopback: nothing is fetched.
        done = run("unshare", "--net", "make", "--silent", "deb", f"DEB_OUT={folder}",
                   f"BUILD={folder}/build", f"SOURCE_REVISION={REVISION}", cwd=TOP,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"})
        assert done.returncode == 0, done.stdout
        architecture = run("dpkg", "--print-architecture").stdout.strip()
        self.first = [f"{folder}/{name}_{version()}_{architecture}.deb"
                      for name in ("netproof-agent", "netproof")]
        self.changes = f"{folder}/netproof_{version()}_{architecture}.changes"
        self.next = [self.remade(path) for path in self.first]

    def remade(self, path):
        """The same package under a higher version, with another default site."""
        tree, made = path + ".tree", path.replace(f"_{version()}_", f"_{NEXT}_")
        subprocess.run(["dpkg-deb", "--raw-extract", path, tree], check=True)
        control = tree + "/DEBIAN/control"
        with open(control, encoding="utf-8") as file:
            text = file.read()
        with open(control, "w", encoding="utf-8") as file:
            file.write(text.replace(f"Version: {version()}", f"Version: {NEXT}")
                       .replace(f"(= {version()})", f"(= {NEXT})"))
        site = tree + "/etc/netproof/site.json"
        if os.path.exists(site):
            with open(site, "a", encoding="utf-8") as file:
                file.write("\n")
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, made], check=True,
                       stdout=subprocess.DEVNULL)
        shutil.rmtree(tree)
        return made


packages = None


def setUpModule():
    global packages
    os.makedirs(os.path.join(TOP, "build"), exist_ok=True)
    folder = tempfile.mkdtemp(prefix="deb-", dir=os.path.join(TOP, "build"))
    unittest.addModuleCleanup(shutil.rmtree, folder)
    packages = Packages(folder)


class Built(unittest.TestCase):
    def test_lintian(self):
        done = run("lintian", "--allow-root", "--fail-on", "error,warning", packages.changes)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_every_override_says_why(self):
        for name in os.listdir(os.path.join(TOP, "debian")):
            if name.endswith(".lintian-overrides"):
                with open(os.path.join(TOP, "debian", name), encoding="utf-8") as file:
                    lines = file.read().splitlines()
                for above, line in zip([""] + lines, lines):
                    self.assertTrue(line.startswith("#") or above.startswith("#"), line)

    def test_version(self):
        with open(os.path.join(TOP, "common/version.h"), encoding="utf-8") as file:
            self.assertIn(f'#define NETPROOF_VERSION "{version()}"', file.read())

    def test_files(self):
        """Together what `make install` puts in place, but for Debian's own places."""
        with open(os.path.join(TOP, "tests/install/files"), encoding="utf-8") as file:
            wanted = {line.split()[1] for line in file if not line.startswith(("#", "d"))}
        wanted = {path.replace("/usr/lib/systemd/system/", "/lib/systemd/system/")
                  .replace("/zsh/site-functions/", "/zsh/vendor-completions/")
                  for path in wanted} - {"/usr/share/doc/netproof/COPYING"}
        found = {}
        for path in packages.first:
            name = os.path.basename(path).split("_")[0]
            for line in run("dpkg-deb", "--contents", path).stdout.splitlines():
                mode, owner, _, _, _, file = line.split()[:6]
                self.assertEqual(owner, "root/root", line)
                if mode[0] != "d":
                    found[re.sub(r"^\.|\.gz$", "", file)] = name
        own = {path for path in found if re.search(
            r"/doc/netproof(-agent)?/(copyright|changelog)$|/lintian/overrides/", path)}
        self.assertEqual(set(found) - own, wanted)
        programs = {path: name for path, name in found.items() if "/usr/lib/netproof/" in path}
        self.assertEqual({path for path, name in programs.items() if name == "netproof-agent"},
                         {f"/usr/lib/netproof/net-{n}" for n in ("agent", "once", "probe")})

    def test_programs_are_the_releases(self):
        """Built at another path, with Debian's tools: the same bytes."""
        folder = tempfile.mkdtemp(prefix="netproof-deb-")
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run(["make", "--silent", "release", f"RELEASE_OUT={folder}/release",
                        f"SOURCE_REVISION={REVISION}"], cwd=TOP, check=True,
                       stdout=subprocess.DEVNULL)
        for path in packages.first:
            subprocess.run(["dpkg-deb", "--extract", path, folder], check=True)
        with open(f"{folder}/usr/lib/netproof/release.json", encoding="utf-8") as file:
            digests = json.load(file)["programs"]
        for name, digest in digests.items():
            self.assertEqual(sha256(f"{folder}/usr/lib/netproof/{name}"), digest, name)
        for name in os.listdir(f"{folder}/release"):
            self.assertEqual(sha256(f"{folder}/usr/lib/netproof/{name}"),
                             sha256(f"{folder}/release/{name}"), name)


class Host(Lab):
    def dpkg(self, *words, check=True):
        """Without a terminal, a changed configuration is kept."""
        return self.run("env", "DEBIAN_FRONTEND=noninteractive", "dpkg", "--force-confdef",
                        "--force-confold", *words, check=check)

    def installed(self):
        said = self.run("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Abbrev}\n",
                        "netproof*", check=False).stdout
        # The last column: what was asked for, and what is.
        return {words[0]: words[1] for words in map(str.split, said.splitlines())
                if words[-1][1] == "i"}

    def changes(self):
        """Paths that this host added to the machine's file tree, and those it removed:
        what lies in the upper half of its overlay. (The lower half is the machine's,
        where others may be installing something meanwhile.)"""
        upper = os.path.join(f"/proc/{self.facts['world_pid']}/root",
                             f"run/netproof-lab/{self.name}/store/upper")
        added, removed = set(), set()
        for folder, folders, files in os.walk(upper):
            for name in folders + files:
                path = os.path.join(folder, name)
                status, path = os.lstat(path), path[len(upper):]
                if OTHERS.search(path):
                    continue
                if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
                    removed.add(path)
                elif not os.path.lexists(path):
                    added.add(path)
        return added, removed

    def left(self, before):
        """What was added and what was removed since `before`."""
        return tuple(now - then for now, then in zip(self.changes(), before))

    def states(self):
        return {unit: self.run("systemctl", "is-active", unit, check=False).stdout.strip()
                for unit in UNITS}

    def has_table(self):
        return self.run("nft", "list", "table", "inet", "netproof",
                        check=False).returncode == 0

    def sh(self, script, check=True):
        return self.run("sh", "-c", script, check=check)


# What net-site(8) tells an operator, with the proxy's address, which is the network's.
IN_SERVICE = """set -e
ip address replace 10.203.0.1/32 dev lo
net-site check /etc/netproof/site.json
net-site render --site /etc/netproof/site.json --out /run/netproof-etc
cp -R /run/netproof-etc/. /etc/
rm -r /run/netproof-etc
systemd-sysusers && systemd-tmpfiles --create
usermod --add-subuids 200000-265535 --add-subgids 200000-265535 netproof
systemctl daemon-reload
systemctl enable --now netproof-guard netproof-proxy
loginctl enable-linger netproof
"""
OUT_OF_SERVICE = """set -e
loginctl disable-linger netproof
systemctl --global disable docker.service
systemctl disable --now netproof-proxy netproof-guard
net-site render --site /etc/netproof/site.json --out /run/netproof-out |
    (cd /etc && xargs rm -f)
rm -r /run/netproof-out
systemctl daemon-reload
"""
# A changed site, a profile for it, and a store with an object.
EVIDENCE = """set -e
sed -i 's/org.netproof.run/org.example.run/' /etc/netproof/site.json
net-collector init --only endpoints --trusted 198.51.100.1:443
net-collector init --only collection
net-policy issue --site /etc/netproof/site.json --endpoints /etc/netproof/endpoints.json \
    --window 200 --out /etc/netproof/profile.json
mkdir -m 700 /var/lib/netproof-evidence
echo object >/var/lib/netproof-evidence/{0:064d}
""".format(0)


class Installed(unittest.TestCase):
    """One host's life, in order: each step stands on the one before."""

    def test_life(self):
        with Host("deb") as host:
            self.host = host
            self.before = host.changes()
            for step in (self.install, self.reboot, self.serve, self.refuse_while_collecting,
                         self.upgrade, self.refuse_removal, self.remove, self.purge,
                         self.agent_alone):
                with self.subTest(step.__name__):
                    step()

    def install(self):
        self.host.dpkg("-i", *packages.first)
        self.assertEqual(self.host.installed(),
                         {"netproof": version(), "netproof-agent": version()})
        self.nothing_runs()
        self.assertEqual(self.host.run("dpkg", "--verify", "netproof", "netproof-agent").stdout, "")
        account = self.host.run("getent", "passwd", "netproof").stdout.strip().split(":")
        self.assertEqual(account[5:], ["/var/lib/netproof", "/usr/sbin/nologin"])
        self.assertEqual(self.host.run("getent", "group", "netproof-worker").returncode, 0)
        modes = self.host.run("stat", "-c", "%n %a %U %G", "/run/netproof-worker",
                              "/run/netproof", "/var/lib/netproof", "/etc/netproof",
                              "/etc/netproof/docker-client").stdout
        self.assertEqual(modes.splitlines(), [
            "/run/netproof-worker 750 root netproof-worker", "/run/netproof 700 netproof root",
            "/var/lib/netproof 700 netproof root", "/etc/netproof 755 root root",
            "/etc/netproof/docker-client 755 root root"])
        check = json.loads(self.host.run("net-site", "check", "/etc/netproof/site.json").stdout)
        self.assertEqual((check["account"], check["runner"]), ("present", "present"))
        self.assertIn("/usr/lib/netproof/net-probe", self.host.left(self.before)[0])

    def nothing_runs(self):
        self.assertEqual(self.host.states(), dict.fromkeys(UNITS, "inactive"))
        self.assertEqual(self.host.sh("ls -l /proc/[0-9]*/exe 2>/dev/null | "
                                      "grep /usr/lib/netproof", check=False).stdout, "")
        self.assertEqual(self.host.run("find", "/etc/systemd", "-name", "*netproof*").stdout, "")
        self.assertFalse(self.host.has_table())

    def reboot(self):
        lab("reboot", "--name", self.host.name)
        self.nothing_runs()

    def serve(self):
        self.host.sh(EVIDENCE)
        self.host.sh(IN_SERVICE)
        self.assertEqual(self.host.states(), dict(zip(UNITS, ("active", "active", "inactive"))))
        self.assertTrue(self.host.has_table())

    def refuse_while_collecting(self):
        """The lock is held by somebody: nothing is replaced."""
        for command, name in ((f"dpkg -i {' '.join(packages.next)}", "netproof-agent"),
                              (f"dpkg -i {packages.next[0]}", "netproof-agent"),
                              ("dpkg -r netproof", "netproof")):
            done = self.host.sh("mkdir -p -m 700 /var/lib/netproof-collector; "
                                f"exec 9>/var/lib/netproof-collector/lock; flock 9; {command}",
                                check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"{name}: refused: a collection is running", done.stderr)
            self.assertEqual(self.host.installed(),
                             {"netproof": version(), "netproof-agent": version()})
        self.assertEqual(self.host.run("dpkg", "--verify", "netproof-agent").stdout, "")

    def upgrade(self):
        def running():
            return self.host.run("systemctl", "show", "-p", "InvocationID,MainPID,ActiveState",
                                 *UNITS).stdout
        before = running()
        site = self.host.run("cat", "/etc/netproof/site.json").stdout
        self.assertIn("org.example.run", site)
        # As if a later version rendered this unit otherwise.
        guard = "/etc/systemd/system/netproof-guard.service"
        self.host.sh(f"echo '# older' >>{guard}")
        done = self.host.dpkg("-i", *packages.next)
        self.assertEqual(self.host.installed(), {"netproof": NEXT, "netproof-agent": NEXT})
        self.assertEqual(self.host.run("cat", "/etc/netproof/site.json").stdout, site)
        self.assertEqual(running(), before)
        self.assertTrue(self.host.has_table())
        self.assertIn(f"netproof: {guard} differs from what net-site renders now", done.stdout)
        self.assertEqual(done.stdout.count("differs from"), 1)
        self.assertIn("netproof: netproof-proxy.service runs the former version", done.stdout)
        self.host.run("systemctl", "restart", "netproof-proxy")
        again = self.host.run("/var/lib/dpkg/info/netproof.postinst", "configure", version())
        self.assertIn("differs from what net-site renders now", again.stdout)
        self.assertNotIn("runs the former version", again.stdout)

    def refuse_removal(self):
        for what in ("-r", "-P"):
            done = self.host.dpkg(what, "netproof", check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("netproof: refused: a site is in service", done.stderr)
            self.assertIn("/etc/systemd/system/nftables.service.d/10-netproof.conf", done.stderr)
            self.assertEqual(self.host.installed()["netproof"], NEXT)
        self.assertEqual(self.host.states(), dict(zip(UNITS, ("active", "active", "inactive"))))

    def remove(self):
        self.host.sh("sed -i '/^# older$/d' /etc/systemd/system/netproof-guard.service")
        self.host.sh(OUT_OF_SERVICE)
        self.host.sh("touch /var/lib/netproof-collector/journal")
        done = self.host.dpkg("-r", "netproof", check=False)
        self.assertIn("refused: a collection was cut short: net-collector recover", done.stderr)
        self.host.sh("rm /var/lib/netproof-collector/journal")
        self.host.dpkg("-r", "netproof", "netproof-agent")
        self.assertEqual(self.host.installed(), {})
        self.assertEqual(self.host.sh("ls /usr/lib/netproof /usr/sbin/net-* /usr/bin/net-* "
                                      "2>/dev/null", check=False).stdout, "")
        self.assertIn("org.example.run", self.host.run("cat", "/etc/netproof/site.json").stdout)
        self.assertTrue(self.host.has_table(), "the guard must outlive the package")

    def purge(self):
        self.host.dpkg("-P", "netproof", "netproof-agent")
        self.assertEqual(self.host.left(self.before), (LEFT, set()))
        self.assertEqual(self.host.run("getent", "passwd", "netproof").returncode, 0)
        self.assertEqual(self.host.sh("ls -d /run/netproof*", check=False).stdout, "")

    def agent_alone(self):
        self.host.dpkg("-i", packages.first[0])
        said = self.host.sh("""echo '{"op":"hello"}' | net-agent""").stdout
        self.assertEqual(json.loads(said)["op"], "hello")
        self.assertEqual(json.loads(said)["probe_runner_sha256"],
                         self.host.run("sha256sum", "/usr/lib/netproof/net-probe")
                         .stdout.split()[0])
        self.host.dpkg("-P", "netproof-agent")
        self.assertEqual(self.host.left(self.before), (LEFT, set()))


if __name__ == "__main__":
    unittest.main(failfast=True)
