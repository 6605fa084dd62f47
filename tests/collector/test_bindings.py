#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each binding of a collection broken, one at a time: what is said, and that all is as it was.

Beside test_refusals.py, which breaks each binding in its plainest way: here are the other
ways, and after every one the host is compared with what it was, line by line.
"""
import json
import unittest

import collectlib
import labtest
from collectlib import ETC, STORE
from test_refusals import Sabotage, canonical

ZEROS = "0" * 64
LISTENER = """
import socket, sys, time
with socket.create_server((sys.argv[1], int(sys.argv[2]))):
    print("ready", flush=True)
    time.sleep(600)
"""
# A socket made by one uid and kept by another: the kernel remembers who made it.
KEEPER = """
import os, socket, sys, time
family, kind = {"tcp": (socket.AF_INET, socket.SOCK_STREAM),
                "udp6": (socket.AF_INET6, socket.SOCK_DGRAM)}[sys.argv[3]]
os.seteuid(int(sys.argv[2])); kept = socket.socket(family, kind); os.seteuid(0)
os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
time.sleep(600)
"""


class Row:
    """One binding: `act` breaks it and returns what mends it; all `words` must be said."""

    def __init__(self, name, act, *words, engine=True):
        self.name, self.act, self.words, self.engine = name, act, words, engine


class Breaker(Sabotage):
    def unit_line(self, line, restart=False):
        return self.drop_in(self.host.site["worker_unit"], f"[Service]\\n{line}\\n", restart)

    def edit(self, path, change):
        """A document changed where it lies, put back afterwards."""
        self.sh(f"cp -p {path} /run/edited")
        document = json.loads(self.host.run("/usr/bin/cat", path).stdout)
        change(document)
        self.host.write(path, canonical(document))
        return lambda: self.sh(f"mv /run/edited {path}")

    def other_runner(self):
        path = f"{ETC}/release.json"
        undo = self.edit(path, lambda d: d["programs"].update({"net-probe": "1" * 64}))
        self.config()
        return undo

    def altered_preflight(self):
        text = canonical(self.good)
        self.host.write(f"{STORE}/{ZEROS}", text, "400")
        self.host.configure(ZEROS)
        return lambda: self.sh(f"rm -f {STORE}/{ZEROS}")

    def former_shape(self):
        """As version 3 had it: no counterpart of the kernel's own form."""
        document = json.loads(json.dumps(self.good))
        for key in ("guard_kernel_sha256", "nft_foreign_sha256"):
            del document[key]
        document.update(schema="netproof.preflight.v3", nft_snapshot_sha256=ZEROS)
        return self.keep(document)

    def candidates(self, *endpoints):
        self.profile(lambda p: p.update(candidate_tcp=list(endpoints)))

    def keeper(self, holder, maker, kind):
        undo = self.service("/usr/bin/python3", "-c", KEEPER, str(holder), str(maker), kind)
        self.sh(f"until grep -q '^Uid:.{holder}' /proc/$(systemctl show -P MainPID sabotage)/status"
                "; do sleep 0.05; done")
        return undo

    def other_listener(self):
        """The reviewed proxy runs, but another process has its endpoint."""
        site = self.host.site
        address, port = site["proxy"]["address"], site["proxy"]["port"]
        mend = self.drop_in(site["proxy_unit"], "[Service]\\nExecStart=\\nExecStart="
                            f"{site['install_dir']}/net-proxy {address} 3999\\n", True)
        end = self.service("/usr/bin/python3", "-c", LISTENER, address, str(port))
        self.sh(f"until ss -Hltn 'sport = :{port}' | grep -q .; do sleep 0.05; done")
        return lambda: (end(), mend())

    def engine_ctl(self, *words):
        self.host.run("/bin/sh", "-c", "XDG_RUNTIME_DIR=/run/user/$(id -u) exec systemctl --user "
                      + " ".join(words), user=self.host.site["workload_user"])

    def stop_engine(self):
        unit = self.host.site["engine_unit"]
        self.engine_ctl("stop", unit)
        return lambda: self.engine_ctl("start", unit)

    def stop_guard(self):
        guard = self.host.site["guard_unit"]
        self.sh(f"systemctl stop {guard}")
        return lambda: (self.sh(f"systemctl start {guard} {self.host.site['proxy_unit']}"),
                        labtest.lab("engine", "--name", self.host.lab.name))

    def stop_manager(self, uid):
        unit = f"user@{uid}.service"
        self.sh(f"systemctl stop {unit}")
        return lambda: (self.sh(f"systemctl start {unit}"),
                        labtest.lab("engine", "--name", self.host.lab.name))

    def unit_before(self, name):
        """A preflight of a host whose unit was made otherwise."""
        units = json.loads(json.dumps(self.good["units"]))
        units[name]["unit_sha256"] = ZEROS
        return self.forged(units=units)

    def without_image(self):
        reference = self.host.release["candidate_image"]["reference"]
        self.host.docker("tag", reference, "kept:1")
        self.host.docker("rmi", reference)
        return lambda: (self.host.docker("tag", "kept:1", reference),
                        self.host.docker("rmi", "kept:1"))

    def running_container(self):
        self.host.docker("run", "--detach", "--name", "stray", "--network", "none", "--entrypoint",
                         "/stray", "--volume", f"{self.host.program('net-probe')}:/stray:ro",
                         self.host.release["candidate_image"]["id"], "net-agent", "--unix",
                         "/tmp/s", check=False)
        return lambda: self.host.docker("rm", "--force", "stray")


def documents(b):
    site = b.host.site
    host, profile = b.good["host"], site["profile"]
    config = f"{ETC}/collection.json"
    return [
        Row("preflight of another machine",
            lambda: b.forged(host={**host, "machine_id_sha256": ZEROS}),
            "preflight ", "is another machine's", "take a new one"),
        Row("preflight of another boot",
            lambda: b.forged(host={**host, "boot_id": "00000000-0000-4000-8000-000000000000"}),
            "preflight ", "is another boot's", "take a new one"),
        Row("altered preflight", b.altered_preflight, ZEROS),
        Row("other foreign rules in the preflight", lambda: b.forged(nft_foreign_sha256=ZEROS),
            "foreign rules", "not as in the preflight", "take a new preflight"),
        *(Row(f"another {name} unit in the preflight", lambda name=name: b.unit_before(name),
              site[f"{name}_unit"], "not made as in the preflight", "take a new preflight")
          for name in ("worker", "guard", "proxy", "engine")),
        Row("preflight of version 3", b.former_shape, "nft_snapshot_sha256: unknown key"),
        Row("no configuration", lambda: b.do(f"mv {config} /run/kept", f"mv /run/kept {config}"),
            "collection.json"),
        Row("configuration for others to write",
            lambda: b.do(f"chmod 666 {config}", f"chmod 600 {config}"), "collection.json"),
        Row("configuration through a link",
            lambda: b.do(f"mv {config} {config}.real; ln -s {config}.real {config}",
                         f"mv {config}.real {config}"), "collection.json"),
        Row("store for others to read", lambda: b.do(f"chmod 755 {STORE}", f"chmod 700 {STORE}"),
            STORE),
        Row("site for others to write", lambda: b.do(f"chmod 666 {ETC}/site.json",
                                                     f"chmod 644 {ETC}/site.json"), "site.json"),
        Row("targets of another release", lambda: b.edit(
            f"{ETC}/targets.json", lambda d: d["timeouts"].update(connect_ms=1501)),
            "targets.json", "is not the release's", "install the release again"),
        Row("release of another runner", b.other_runner, "net-probe", "is not the release's",
            "install the release again"),
        Row("no installed profile", lambda: b.do(f"mv {profile} /run/kept",
                                                 f"mv /run/kept {profile}"), profile),
        Row("profile from the future", lambda: b.aged(-100, 100), "issued_at_unix", "future"),
        Row("expired profile", lambda: b.aged(30, 20), "expires_at_unix", "passed"),
        Row("old profile", lambda: b.aged(61, 100), profile, "more than 60", "issue a new one"),
        Row("window too short", lambda: b.aged(0, 19), profile, "a window of 19 s",
            "issue a new one"),
        Row("router for candidate", lambda: b.candidates(site["router"]), "candidate_tcp",
            "not exactly the site's proxy"),
        Row("router and proxy for candidates",
            lambda: b.candidates(site["router"], site["proxy"]), "candidate_tcp",
            "not exactly the site's proxy"),
    ]


def unit_rows(b):
    site = b.host.site
    worker, proxy = site["worker_unit"], site["proxy_unit"]
    again = "render the site again with net-site"
    folder = f"/etc/systemd/system/{proxy}.d"
    post = "ExecStopPost=\\nExecStopPost=/bin/true"
    return [
        Row("worker of another user", lambda: b.unit_line("User=nobody"), worker, "User", again),
        Row("worker of another group", lambda: b.unit_line("Group=nogroup"), worker, "Group",
            again),
        Row("worker in another slice", lambda: b.unit_line("Slice=user.slice"), worker, "Slice",
            again),
        Row("worker with a stop of its own", lambda: b.unit_line("ExecStop=/bin/true"), worker,
            "ExecStop is not", again),
        Row("worker that does not revoke", lambda: b.unit_line(post), worker,
            "ExecStopPost is not", again),
        Row("worker with one more start", lambda: b.unit_line("ExecStartPre=/bin/true"), worker,
            "ExecStartPre is not", again),
        Row("worker with a start after", lambda: b.unit_line("ExecStartPost=/bin/true"), worker,
            "ExecStartPost is not", again),
        Row("worker with a condition", lambda: b.unit_line("ExecCondition=/bin/true"), worker,
            "ExecCondition is not", again),
        Row("worker that reloads", lambda: b.unit_line("ExecReload=/bin/true"), worker,
            "ExecReload is not", again),
        Row("proxy's files newer than what runs", lambda: b.do(
            f"mkdir -p {folder}; printf '[Service]\\nNice=1\\n' >{folder}/late.conf",
            f"rm -r {folder}; systemctl daemon-reload"), proxy, "daemon-reload"),
        Row("another process at the proxy's endpoint", b.other_listener, proxy,
            "another process listens", "end that one"),
        Row("proxy in another cgroup", b.other_cgroup, proxy, "'elsewhere'", "systemctl restart"),
    ]


def host_rows(b):
    site = b.host.site
    table, user = site["table"], site["workload_user"]
    uid = int(b.host.run("/usr/bin/id", "-u", user).stdout)
    first = int(b.host.run("/bin/grep", f"^{user}:", "/etc/subuid").stdout.split(":")[1])
    revoke = f"{site['install_dir']}/net-policy revoke --site {ETC}/site.json"
    state = "/var/lib/netproof-collector"
    return [
        Row("no subordinate uids", lambda: b.do(
            "cp -p /etc/subuid /run/kept; : >/etc/subuid", "mv /run/kept /etc/subuid"), table),
        Row("subordinate uids from elsewhere", lambda: b.do(
            "cp -p /etc/nsswitch.conf /run/kept; echo 'subid: sss' >>/etc/nsswitch.conf",
            "mv /run/kept /etc/nsswitch.conf"), "nsswitch.conf", "subid"),
        Row("root's socket in a subordinate uid", lambda: b.keeper(first, 0, "tcp"), "process ",
            "holds a socket of uid 0", "end it"),
        Row("another user's socket, UDP over IPv6", lambda: b.keeper(uid, 65534, "udp6"),
            "process ", "holds a socket of uid 65534", "end it"),
        Row("a redirect before ours", lambda: b.do(
            "nft 'table ip evil { chain o { type nat hook output priority -100; "
            "tcp dport 443 redirect to :80; }; }'", "nft delete table ip evil"),
            "nf_tables ip evil", "remove it"),
        Row("a harmless rule since the preflight", lambda: b.do(
            "nft 'table ip extra { chain i { type filter hook input priority 0; counter; }; }'",
            "nft delete table ip extra"), "foreign rules", "not as in the preflight",
            "take a new preflight"),
        Row("a rule more in the guard", lambda: b.do(
            f"nft insert rule inet {table} output accept", revoke), table, "differs",
            "net-policy diff"),
        Row("folder for others to write", lambda: b.do(f"chmod 777 {state}", f"chmod 700 {state}"),
            state),
        Row("an empty journal", lambda: b.do(f": >{state}/journal; chmod 600 {state}/journal",
                                             f"rm {state}/journal"), "journal",
            "net-collector recover"),
    ]


def engine_rows(b):
    site = b.host.site
    socket, guard, user = site["engine"]["socket"], site["guard_unit"], site["workload_user"]
    uid = b.host.run("/usr/bin/id", "-u", user).stdout.strip()
    return [
        Row("running container", b.running_container, "containers are there ('stray')",
            "remove them"),
        Row("internal network", lambda: b.host.docker("network", "create", "--internal", "stray")
            and (lambda: b.host.docker("network", "rm", "stray")), "jobs are there ('stray')",
            "remove them"),
        Row("no image", b.without_image, "has no image", "docker load"),
        Row("rootful engine", b.rootful, socket, "served by uid 0", "as the workload user",
            engine=False),
        Row("engine down", b.stop_engine, site["engine_unit"], "not active",
            "as the workload user", engine=False),
        Row("user manager down", lambda: b.stop_manager(uid), f"user@{uid}.service",
            "is inactive, not active: the workload user's manager",
            f"systemctl start user@{uid}.service", engine=False),
        # The workload user's manager goes with the guard, and the engine with that.
        Row("guard inactive", b.stop_guard, guard, "not active", f"systemctl start {guard}",
            engine=False),
    ]


class Bindings(unittest.TestCase):
    maxDiff = 4000

    def refused(self, host, row):
        before = host.look(row.engine)
        done = host.collect()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue(done.stderr.startswith("net-collector: refused: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in row.words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertGreater(len(before), 20)
        self.assertEqual(host.look(row.engine), before)

    def unbroken(self, b):
        b.config()
        b.host.issue()
        before = b.host.look()
        done = b.host.collect("--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(json.loads(done.stdout)["dry_run"])
        self.assertEqual(b.host.look(), before)
        self.assertEqual(b.host.leftovers(), [])

    def each(self, word, *groups, **more):
        with collectlib.Host(word, **more) as host:
            b = Breaker(host)
            b.refresh()
            b.config()
            # The very first one makes the collector's lock.
            self.assertEqual(host.collect(phrase=collectlib.PHRASE).returncode, 1)
            self.unbroken(b)
            for row in [row for group in groups for row in group(b)]:
                with self.subTest(row.name):
                    b.config()
                    host.issue()
                    mend = row.act()
                    try:
                        self.refused(host, row)
                    finally:
                        if mend:
                            mend()
            # What was mended is whole: no row was refused for a former one's sake.
            b.refresh()
            self.unbroken(b)

    def test_on_one_host(self):
        self.each("bind", documents, unit_rows, host_rows, engine_rows)

    def test_candidates_of_a_host_router(self):
        def rows(b):
            router, proxy = b.host.site["router"], b.host.site["proxy"]
            other = {**proxy, "port": 9999}
            names = "not exactly the site's router and proxy"
            return [Row("proxy alone", lambda: b.candidates(proxy), "candidate_tcp", names),
                    Row("router alone", lambda: b.candidates(router), "candidate_tcp", names),
                    Row("another for the router", lambda: b.candidates(other, proxy),
                        "candidate_tcp", names)]
        self.each("bindhost", rows, router_namespace="host")


if __name__ == "__main__":
    unittest.main()
