#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The rest of the host's rules: each harmless one passes, each harmful one is
refused, and what the harmful ones can do is shown with packets."""
import contextlib
import ctypes
import os
import re
import socket
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import netns  # noqa: E402

SHOW = os.path.abspath("build/tests/foreign_show")
GUARD = os.path.abspath("build/tests/guard_load")
WORKLOAD = 61234
HERE, GRANTED, OTHER = "10.77.0.1", "10.77.0.2", "10.77.0.3"

# A policy of ours in miniature: one grant, the rest rejected.
OURS = f"""table inet ours {{
  chain output {{
    type filter hook output priority -150; policy accept
    meta skuid {WORKLOAD} ip daddr {GRANTED} tcp dport 80 accept
    meta skuid {WORKLOAD} reject with icmpx admin-prohibited
  }}
}}"""

HARMLESS = {
    "a table without rules": "table inet t { chain c { type filter hook output priority 0; } }",
    "a ban list": """table inet f2b {
        set banned { type ipv4_addr; flags timeout; elements = { 192.0.2.9 timeout 1h } }
        chain input { type filter hook input priority -1; ip saddr @banned counter drop; } }""",
    "a set that packets fill": """table inet t {
        set seen { type ipv4_addr; flags dynamic, timeout; timeout 1m; }
        chain c { type filter hook input priority 0; tcp dport 22 ct state new \
            add @seen { ip saddr limit rate 9/minute } accept; } }""",
    "an ordinary firewall": """table inet filter {
        counter hits { }
        chain input { type filter hook input priority 0; policy drop
            ct state established,related accept
            iifname lo accept
            meta l4proto icmp limit rate 5/second accept
            tcp dport { 22, 80 } counter name hits accept
            jump refused; }
        chain refused { log prefix "no: " reject with icmpx port-unreachable; } }""",
    "harm that our packets do not meet": """table ip nat { chain f {
        type filter hook forward priority 0; ip daddr 192.0.2.1 ip daddr set 192.0.2.2; } }""",
    "harm that nothing jumps to": "table ip t { chain c { meta mark set 1; } }",
    "quota and numgen": """table inet t { chain c { type filter hook output priority 5
        numgen random mod 2 0 quota over 1000 mbytes drop; } }""",
    "a reverse-path check": """table inet t { chain c { type filter hook prerouting priority raw
        fib saddr . iif oif missing counter drop; } }""",
    "an owner's socket": """table inet t { chain c { type filter hook input priority 5
        socket transparent 1 accept; } }""",
}

HARMFUL = {
    "masquerade": ("masq", """table ip t { chain c {
        type nat hook postrouting priority 100; masquerade; } }"""),
    "destination nat": ("nat", """table ip t { chain c {
        type nat hook output priority -100; dnat to 192.0.2.1; } }"""),
    "redirect": ("redir", """table inet t { chain c {
        type nat hook output priority -100; tcp dport 1 redirect; } }"""),
    "copy": ("dup", """table ip t { chain c {
        type filter hook output priority -400; dup to 192.0.2.1; } }"""),
    "no tracking": ("notrack", """table inet t { chain c {
        type filter hook output priority raw; notrack; } }"""),
    "a packet mark": ("meta set", """table inet t { chain c {
        type route hook output priority mangle; meta mark set 1; } }"""),
    "a connection mark": ("ct set", """table inet t { chain c {
        type filter hook output priority -160; ct mark set 0; } }"""),
    "a rewrite": ("payload set", """table ip t { chain c {
        type filter hook postrouting priority 0; ip ttl set 1; } }"""),
    "a transparent proxy": ("tproxy", """table ip t { chain c {
        type filter hook prerouting priority mangle; tcp dport 1 tproxy to :9 accept; } }"""),
    "a rewritten option": ("exthdr set", """table inet t { chain c {
        type filter hook output priority 0; tcp option maxseg size set 500; } }"""),
    "a proxy of handshakes": ("synproxy", """table ip t { chain c {
        type filter hook input priority 0; tcp dport 1 synproxy mss 1460 wscale 7; } }"""),
    "harm behind a jump": ("meta set", """table inet t { chain a { meta mark set 1; }
        chain b { jump a; } chain c { type filter hook output priority 0; jump b; } }"""),
    "harm on a device": ("fwd", """table netdev t { chain c {
        type filter hook egress device "lo" priority 0; fwd to "lo"; } }"""),
    "harm in a bridge": ("meta set", """table bridge t { chain c {
        type filter hook output priority 0; meta mark set 1; } }"""),
    "an object that is more than a count": ("objref", """table ip t {
        ct helper h { type "ftp" protocol tcp; }
        chain c { type filter hook output priority 0; tcp dport 21 ct helper set "h"; } }"""),
    "a map of objects": ("objref", """table ip t {
        ct helper h { type "ftp" protocol tcp; }
        chain c { type filter hook output priority 0
            ct helper set tcp dport map { 21 : "h" } } }"""),
}


def load(space, text):
    """Loads rules; nft wants a chain's and a table's end on lines of their own."""
    text = re.sub(r";?\s*\}\s*\}\s*$", "\n}\n}\n", text)
    space.nft(re.sub(r"\}\s+chain", "\n}\nchain", text))


def show(space, *accepted, cgroup="", own="ours", cgroups=None):
    """(exit status, {name: (digest, harm)}, digest of all, message)."""
    done = space.run([SHOW, own, cgroups or netns.cgroup_root(), cgroup, *accepted],
                     check=False)
    items, whole = {}, None
    for line in done.stdout.decode().splitlines():
        digest, rest = line.split(" ", 1)
        if digest == "digest":
            whole = rest
        else:
            name, harm = rest.split("|", 1)
            items[name] = (digest, harm)
    return done.returncode, items, whole, done.stderr.decode()


class TableTest(unittest.TestCase):
    def test_harmless(self):
        for name, text in HARMLESS.items():
            with self.subTest(name), netns.Namespace() as space:
                load(space, text)
                status, items, _, message = show(space)
                self.assertEqual((status, message), (0, ""))
                self.assertEqual(sum(n.startswith("nf_tables ") for n in items), 1)

    def test_harmful(self):
        for name, (expression, text) in HARMFUL.items():
            with self.subTest(name), netns.Namespace() as space:
                load(space, text)
                status, _, _, message = show(space)
                self.assertEqual(status, 1)
                self.assertIn(f'"{expression}" in chain', message)

    def test_ours_is_left_out_and_only_ours(self):
        with netns.Namespace() as space:
            _, before, _, _ = show(space)
            load(space, "table inet ours { chain c { type filter hook output priority 0; "
                      "meta mark set 1; } }")
            self.assertEqual(show(space)[1], before)
            load(space, "table ip ours { chain c { type filter hook output priority 0; "
                      "meta mark set 1; } }")
            self.assertEqual(show(space)[0], 1)

    def test_accepted_by_digest_until_it_changes(self):
        with netns.Namespace() as space:
            load(space, HARMFUL["masquerade"][1])
            digest = show(space)[1]["nf_tables ip t"][0]
            self.assertIn(digest, show(space)[3])
            self.assertEqual(show(space, digest)[0], 0)
            self.assertEqual(show(space, "0" * 64)[0], 1)
            space.nft("add rule ip t c counter")
            self.assertEqual(show(space, digest)[0], 1)

    def test_bans_come_and_go_and_the_digest_stays(self):
        with netns.Namespace() as space:
            load(space, HARMLESS["a ban list"])
            before = show(space)[2]
            space.nft("add element inet f2b banned { 192.0.2.77 timeout 10m }")
            self.assertEqual(show(space)[2], before)
            space.nft("add rule inet f2b input drop")
            self.assertNotEqual(show(space)[2], before)


class LegacyTest(unittest.TestCase):
    def test_rules_that_no_nft_listing_shows(self):
        for program, table in (("iptables-legacy", "ip_tables"),
                               ("ip6tables-legacy", "ip6_tables")):
            with self.subTest(program), netns.Namespace() as space:
                if not os.path.exists(f"/proc/{space.pid}/net/{table}_names"):
                    self.skipTest(f"this kernel has no legacy {table}")
                before = show(space)
                space.run([f"/usr/sbin/{program}", "-L"])
                self.assertEqual(show(space), before, "a table without rules")
                self.assertEqual(space.run(["/usr/sbin/nft", "list", "ruleset"]).stdout, b"")
                space.run([f"/usr/sbin/{program}", "-A", "OUTPUT", "-j", "ACCEPT"])
                status, _, _, message = show(space)
                self.assertEqual(status, 1)
                self.assertIn(f"legacy {table} filter: 1 rules", message)


class RoutingTest(unittest.TestCase):
    def check(self, rule, expected):
        with self.subTest(rule), netns.Namespace() as space:
            space.ip(*rule.split())
            status, _, _, message = show(space)
            self.assertEqual(status, 1 if expected else 0, message)
            if expected:
                self.assertIn(expected, message)

    def test_shared_selectors_are_harmless(self):
        for rule in ("rule add to 192.0.2.0/24 lookup 100",
                     "rule add not fwmark 51820 lookup 51820",
                     "rule add lookup main suppress_prefixlength 0",
                     "-6 rule add from 2001:db8::/32 lookup 9"):
            self.check(rule, None)

    def test_what_could_tell_the_workload_apart(self):
        self.check(f"rule add uidrange {WORKLOAD}-{WORKLOAD} lookup 9", "by user")
        self.check("rule add to 192.0.2.0/24 prohibit", "does not look a table up")
        self.check("-6 rule add blackhole", "does not look a table up")
        self.check("rule add ipproto tcp sport 1000 lookup 9", "not known")


# --- BPF: programs of two instructions, loaded with the system call itself ---------

SYS_BPF = 321
PROG_LOAD, PROG_ATTACH, LINK_CREATE = 5, 8, 28
SCHED_CLS, XDP, CGROUP_SKB, SK_LOOKUP, NETFILTER = 3, 6, 8, 30, 32
CGROUP_INET_EGRESS, ATTACH_XDP, ATTACH_SK_LOOKUP, ATTACH_NETFILTER, TCX_EGRESS = \
    1, 37, 36, 45, 47
_libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attr):
    attr = attr.ljust(160, b"\0")
    buffer = ctypes.create_string_buffer(attr, len(attr))
    result = _libc.syscall(SYS_BPF, command, buffer, len(attr))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"bpf command {command}: {os.strerror(error)}")
    return result


@contextlib.contextmanager
def program(kind, value, expected_attach=0):
    """A program that returns `value`: its descriptor."""
    code = struct.pack("<BBhi", 0xb7, 0, 0, value) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    held = ctypes.create_string_buffer(code, len(code))
    license = ctypes.create_string_buffer(b"GPL")
    # union bpf_attr of BPF_PROG_LOAD, linux/bpf.h: expected_attach_type at 68.
    attr = struct.pack("<IIQQIIQII16sII", kind, len(code) // 8, ctypes.addressof(held),
                       ctypes.addressof(license), 0, 0, 0, 0, 0, b"", 0,
                       expected_attach)
    fd = bpf(PROG_LOAD, attr)
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def link(program_fd, target, attach, extra=b""):
    fd = bpf(LINK_CREATE, struct.pack("<IIII", program_fd, target, attach, 0) + extra)
    try:
        yield
    finally:
        os.close(fd)


class DeviceTest(unittest.TestCase):
    def refused(self, space, expected, **options):
        status, _, _, message = show(space, **options)
        self.assertEqual(status, 1)
        self.assertIn(expected, message)

    def test_queues(self):
        with netns.Namespace() as space:
            space.run(["/usr/sbin/tc", "qdisc", "add", "dev", "lo", "clsact"])
            self.assertEqual(show(space)[0], 0, "a place for filters, and none there")
            space.run(["/usr/sbin/tc", "qdisc", "add", "dev", "lo", "root", "tbf",
                       "rate", "1gbit", "burst", "1mb", "latency", "1s"])
            self.assertEqual(show(space)[0], 0, "a queue that only queues")
            space.run(["/usr/sbin/tc", "qdisc", "replace", "dev", "lo", "root", "htb"])
            self.refused(space, "traffic control htb on lo")

    def test_filters_wherever_they_hang(self):
        for where in ("ingress", "egress", "root"):
            with self.subTest(where), netns.Namespace() as space:
                kind = ["clsact"] if where != "root" else ["root", "handle", "5:", "htb"]
                hook = where if where != "root" else "parent 5:"
                space.run(["/usr/sbin/tc", "qdisc", "add", "dev", "lo", *kind])
                space.run(["/usr/sbin/tc", "filter", "add", "dev", "lo", *hook.split(),
                           "protocol", "ip", "u32", "match", "u32", "0", "0",
                           "classid", "1:1"])
                self.refused(space, "traffic control ")

    def test_xdp(self):
        with netns.Namespace() as here, netns.Namespace() as there:
            name = netns.connect_pair(here, "10.1.1.1/24", there, "10.1.1.2/24")
            with here.entered(), program(XDP, 2, ATTACH_XDP) as loaded:
                with link(loaded, socket.if_nametoindex(name), ATTACH_XDP):
                    self.refused(here, f"XDP program on {name}")
            self.assertEqual(show(here)[0], 0)

    def test_tcx(self):
        with netns.Namespace() as space, space.entered():
            with program(SCHED_CLS, 0) as loaded:
                with link(loaded, socket.if_nametoindex("lo"), TCX_EGRESS):
                    self.refused(space, "BPF tcx egress on lo")
            self.assertEqual(show(space)[0], 0)

    def test_netfilter_link(self):
        with netns.Namespace() as space, space.entered():
            with program(NETFILTER, 1, ATTACH_NETFILTER) as loaded:
                # pf, hooknum, priority, flags: union bpf_attr, link_create.netfilter
                where = struct.pack("<IIiI", socket.AF_INET, 3, -50, 0)
                with link(loaded, 0, ATTACH_NETFILTER, where):
                    self.refused(space, "BPF link on a netfilter hook")

    def test_namespace(self):
        with netns.Namespace() as space, program(SK_LOOKUP, 1, ATTACH_SK_LOOKUP) as loaded:
            with link(loaded, space.fd, ATTACH_SK_LOOKUP):
                self.refused(space, "BPF sk_lookup on the network namespace")
            self.assertEqual(show(space)[0], 0)

    def test_cgroup_its_ancestors_and_its_place(self):
        with netns.Cgroup() as parent, netns.Namespace() as space:
            child = os.path.relpath(os.path.join(parent.path, "child"), netns.cgroup_root())
            os.mkdir(os.path.join(parent.path, "child"))
            try:
                self.assertEqual(show(space, cgroup=child)[0], 0)
                fd = os.open(parent.path, os.O_RDONLY)
                try:
                    with program(CGROUP_SKB, 1, CGROUP_INET_EGRESS) as loaded:
                        with link(loaded, fd, CGROUP_INET_EGRESS):
                            self.refused(space, "BPF egress on ", cgroup=child)
                            self.refused(space, "BPF egress on ",
                                         cgroup=child + "/not/made/yet")
                            self.assertEqual(show(space, cgroup="elsewhere")[0], 0)
                finally:
                    os.close(fd)
            finally:
                os.rmdir(os.path.join(parent.path, "child"))

    def test_what_cannot_be_read_is_no_verdict(self):
        with netns.Namespace() as space:
            status, _, _, message = show(space, cgroups="/nowhere/at/all")
            self.assertEqual(status, 4)
            self.assertIn("could not tell: /nowhere/at/all", message)


class DefeatTest(unittest.TestCase):
    """What harmful rules do to a policy like ours."""

    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.here = stack.enter_context(netns.Namespace())
        self.there = stack.enter_context(netns.Namespace())
        netns.connect_pair(self.here, f"{HERE}/24", self.there,
                           [f"{GRANTED}/24", f"{OTHER}/24"])
        self.stack = stack

    def as_workload(self, code):
        """Runs Python in the policy's namespace as the workload user."""
        return self.here.run(
            ["/usr/bin/python3", "-I", "-c", "import socket\n" + code],
            preexec_fn=lambda: (os.setgroups([]), os.setgid(WORKLOAD), os.setuid(WORKLOAD)),
            check=False)

    def reached(self, address):
        """Who answers when the workload user connects to its one grant."""
        with self.there.listen(address, 80) as server:
            server.settimeout(0)
            self.as_workload(f"s = socket.socket(); s.settimeout(5)\n"
                             f"s.connect(({GRANTED!r}, 80))")
            try:
                server.accept()[0].close()
                return True
            except BlockingIOError:
                return False

    def check_refused(self, expected):
        status, _, _, message = show(self.here)
        self.assertEqual(status, 1)
        self.assertIn(expected, message)

    def test_a_grant_leads_elsewhere(self):
        elsewhere = {
            '"nat"': f"""table ip t {{ chain c {{ type nat hook output priority -100
                ip daddr {GRANTED} dnat to {OTHER} }} }}""",
            '"payload set"': f"""table ip t {{
                chain c {{ type filter hook postrouting priority 400
                    ip daddr {GRANTED} ip daddr set {OTHER} }}
                chain d {{ type filter hook prerouting priority -400
                    ip saddr {OTHER} ip saddr set {GRANTED} }} }}""",
        }
        for expected, text in elsewhere.items():
            with self.subTest(expected):
                self.here.nft(OURS)
                self.assertFalse(self.reached(OTHER))
                load(self.here, text)
                self.assertTrue(self.reached(OTHER))
                self.check_refused(expected)
                self.here.nft("flush ruleset")

    def test_a_grant_leads_elsewhere_by_legacy_rules(self):
        if not os.path.exists(f"/proc/{self.here.pid}/net/ip_tables_names"):
            self.skipTest("this kernel has no legacy ip_tables")
        self.here.nft(OURS)
        self.here.run(["/usr/sbin/iptables-legacy", "-t", "nat", "-A", "OUTPUT", "-d",
                       GRANTED, "-j", "DNAT", "--to-destination", OTHER])
        self.assertTrue(self.reached(OTHER))
        self.check_refused("legacy ip_tables nat")

    def datagram_arrives(self):
        server = self.stack.enter_context(self.there.socket(kind=socket.SOCK_DGRAM))
        server.bind((OTHER, 0))
        server.setblocking(False)
        self.as_workload("s = socket.socket(type=socket.SOCK_DGRAM)\n"
                         f"s.connect(({OTHER!r}, {server.getsockname()[1]}))\n"
                         "s.send(b'x')")
        try:
            return server.recv(9) == b"x"
        except BlockingIOError:
            return False

    def test_a_copy_has_no_owner(self):
        self.assertTrue(self.datagram_arrives(), "without a policy")
        self.here.run([GUARD, "ours", f"{WORKLOAD}-{WORKLOAD}"])
        self.assertFalse(self.datagram_arrives())
        load(self.here, f"""table ip t {{ chain c {{ type filter hook output priority -400
            meta skuid {WORKLOAD} dup to {OTHER} }} }}""")
        self.assertTrue(self.datagram_arrives())
        self.check_refused('"dup"')

    def flow_goes_on(self, foreign):
        """Whether a marked flow carries data once the guard is loaded."""
        server = self.stack.enter_context(self.there.listen(GRANTED))
        mark = re.search(r"MARK_OURS (0x[0-9a-f]+)", open("policy/mark.h").read()).group(1)
        load(self.here, f"""table inet ours {{ chain c {{
            type filter hook output priority -150; ct mark set {mark} }} }}""")
        client = self.stack.enter_context(self.here.socket())
        client.connect(server.getsockname())
        accepted = self.stack.enter_context(server.accept()[0])
        self.here.run([GUARD, "ours", f"{WORKLOAD}-{WORKLOAD}"])
        if foreign:
            load(self.here, foreign)
        with contextlib.suppress(OSError):
            client.send(b"x")
        # One way or the other there is an answer: the data, or the reject that
        # ends the sender's flow with its next attempt.
        accepted.setblocking(False)
        try:
            return accepted.recv(9) == b"x"
        except BlockingIOError:
            return False

    def test_a_mark_that_is_taken_off(self):
        rules = {
            None: None,
            '"notrack"': """table inet t { chain c {
                type filter hook output priority raw; notrack; } }""",
            '"ct set"': """table inet t { chain c {
                type filter hook output priority -160; ct mark set 0; } }""",
        }
        for expected, text in rules.items():
            with self.subTest(expected):
                self.assertEqual(self.flow_goes_on(text), text is not None)
                if expected:
                    self.check_refused(expected)
                self.here.nft("flush ruleset")


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
