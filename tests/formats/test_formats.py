#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every format: its sample comes back byte for byte, and the published schema and the
decoder give the same verdict on every key and every leaf changed in many ways."""
import copy
import json
import re
import subprocess
import unittest

import samples
import schema

TOOL = "build/tests/format_tool"
ABSENT = object()


def read(name, data):
    """What the decoder makes of `data`: its bytes again, or the one line of refusal."""
    result = subprocess.run([TOOL, name], input=data, capture_output=True, check=False)
    if result.returncode == 0:
        return result.stdout, None
    return None, result.stderr.decode()


def published(name):
    with open(f"docs/formats/{name}.schema.json", encoding="utf-8") as file:
        return json.load(file)


def places(value, path=()):
    """Every place in a document: the first and the last item stand for an array's."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], path + (key,))
    elif isinstance(value, list):
        for index in sorted({0, len(value) - 1} if value else ()):
            yield from places(value[index], path + (index,))


def at(document, path):
    for step in path:
        document = document[step]
    return document


def changed(document, path, value):
    if not path:
        return value
    result = copy.deepcopy(document)
    holder = at(result, path[:-1])
    if value is ABSENT:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return result


def mutations(value):
    """Values of every kind in place of `value`: right ones and wrong ones."""
    yield ABSENT
    yield from (0, 1, -1, 3, 70000, 999999999999999, 1000000000000000, True, False, None,
                "", "x", [], {}, "connected", "name=rootless", "/", "/a/b", "/a/../b",
                "a" * 64, "A" * 64, "a" * 65, "worker", "192.0.2.1", "x\ny", 'a"b', "\u00e9")
    if isinstance(value, dict):
        yield {**value, "extra": 0}
        yield {**value, "Schema": 0}
    elif isinstance(value, list):
        yield value + value
        yield value[::-1]
        yield value[:-1]
        yield value * 130
    elif isinstance(value, str):
        yield value + "x"
        yield value[:-1]
        yield value.upper()
        yield value * 20
    elif isinstance(value, int) and not isinstance(value, bool):
        yield value + 1


# What a schema cannot say, and what the decoder says of it.
BEYOND_SCHEMA = re.compile(
    r"not the digest of daemon|not sorted, or twice| is twice$|not canonical"
    r"|public\.address: not a canonical IPv4 address that is not private"
    r"|ipv6\.address: not a canonical IPv6|proxy_authority: not |larger than|"
    r"not after issued_at_unix|also in trusted_tcp|the same (?:as|endpoint as router)|"
    r"null or a float|not ASCII text|not an integer from 0 below|upper-case letter")


def shorten(record):
    """One probe of every kind of evidence, and two phases: every key is left."""
    record["phases"] = [record["phases"][0], record["phases"][2]]
    for phase in record["phases"]:
        kinds = {tuple(probe["evidence"]): probe for probe in phase["probes"]}
        phase["probes"] = list(kinds.values())
    both = {}
    for phase in record["phases"]:
        for probe in phase["probes"]:
            both.update(probe["evidence"])
    both.update(listener_gone={"reached_before": 1, "listening_now": 0},
                no_route={"family": "ipv6", "supported": True, "routes": 0})
    record["phases"][0]["probes"][0]["evidence"] = both


class Formats(unittest.TestCase):
    def test_samples_come_back(self):
        for name, make in samples.ALL.items():
            document = samples.canonical(make())
            again, refusal = read(name, document)
            self.assertIsNone(refusal)
            self.assertEqual(again, document, name)
            self.assertTrue(schema.valid(published(name), json.loads(document)), name)

    def test_kept_forms_have_one_layout(self):
        for name, make in samples.ALL.items():
            for loose in (json.dumps(make(), indent=1).encode(),
                          samples.canonical(make()) + b"\n",
                          json.dumps(dict(sorted(make().items(), reverse=True)),
                                     separators=(",", ":")).encode()):
                again, refusal = read(name, loose)
                if name in samples.KEPT:
                    self.assertIn("not canonical JSON", refusal)
                else:
                    self.assertEqual(again, samples.canonical(make()), name)

    def test_schema_and_decoder_agree(self):
        """Every place of every sample, changed in about thirty ways."""
        count = 0
        for name, make in samples.ALL.items():
            document, rules = make(), published(name)
            if name == "record":
                shorten(document)
            jobs = [(path, value) for path in places(document) if path
                    for value in mutations(at(document, path))]
            seen = set()
            for path, value in jobs:
                if isinstance(path[-1], int) and value is ABSENT:
                    value = "x"
                mutant = changed(document, path, value)
                data = samples.canonical(mutant)
                if data in seen:
                    continue
                seen.add(data)
                wanted = schema.valid(rules, mutant)
                again, refusal = self.verdicts(name, data)
                count += 1
                if wanted and refusal and BEYOND_SCHEMA.search(refusal.strip()):
                    continue
                self.assertEqual(wanted, again, f"{name} {path} {value!r}: {refusal}")
                if refusal:
                    self.assertNotIn("\n", refusal.strip())
        print(f"{count} changed documents")

    def verdicts(self, name, data):
        if not hasattr(self, "servers"):
            self.servers = {}
        if name not in self.servers:
            self.servers[name] = subprocess.Popen(
                [TOOL, "--serve", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(self.stop, self.servers[name])
        server = self.servers[name]
        server.stdin.write(len(data).to_bytes(4, "little") + data)
        server.stdin.flush()
        line = server.stdout.readline().decode().rstrip("\n")
        return (True, None) if line == "same" else (False, line)

    @staticmethod
    def stop(server):
        server.stdin.close()
        server.stdout.close()
        server.wait()

    def test_what_is_said(self):
        """A refusal names the document, the place and what was expected."""
        names = "connected handshake_completed proxy_refused container_address"
        cases = (
            ("collection", ("store",), "/a/../b", "store: not a clean absolute path"),
            ("collection", ("site",), "site.json", "site: not a clean absolute path"),
            ("collection", ("boot_id",), "x", "boot_id: not a boot id in the kernel's "
                                              "dashed form"),
            ("collection", ("profile",), ABSENT, "profile: missing"),
            ("collection", ("mode",), 1, "mode: unknown key"),
            ("collection", ("release_sha256",), "A" * 64,
             "release_sha256: not 64 lower-case hexadecimal digits"),
            ("targets", ("public", "address"), "10.0.0.1",
             "public.address: not a canonical IPv4 address that is not private, loopback or "
             "special"),
            ("targets", ("public", "address"), "127.0.0.1", "public.address: not a canonical"),
            ("targets", ("public", "address"), "01.1.1.1", "public.address: not a canonical"),
            ("targets", ("ipv6", "address"), "fe80::1",
             "ipv6.address: not a canonical IPv6 address in 2000::/3"),
            ("targets", ("ipv6", "address"), "2606:4700:0::1", "ipv6.address: not a canonical"),
            ("targets", ("dns_name",), "localhost",
             "dns_name: not a lower-case name of two labels or more"),
            ("targets", ("proxy_authority",), "example.com",
             'proxy_authority: not "name:port" with a lower-case name of two labels or more'),
            ("targets", ("proxy_authority",), "example.com:65536", "proxy_authority: not "),
            ("targets", ("timeouts", "dns_ms"), 120001, "timeouts.dns_ms: not from 1 to 120000"),
            ("targets", ("sibling_port",), 80, "sibling_port: not from 1024 to 65535"),
            ("release", ("programs", "net-probe"), ABSENT, "programs.net-probe: missing"),
            ("release", ("programs", "net-x"), "", "programs.net-x: unknown key"),
            ("release", ("source_revision",), "main",
             "source_revision: not a git commit's full name"),
            ("release", ("candidate_image", "id"), "a" * 64,
             'candidate_image.id: not "sha256:" and 64 lower-case hexadecimal digits'),
            ("preflight", ("containers",), 1, "containers: not from 0 to 0"),
            ("preflight", ("daemon_sha256",), "0" * 64,
             "daemon_sha256: not the digest of daemon, which is "),
            ("preflight", ("host", "kernel"), "6.1\u00e9", "host.kernel: not ASCII text"),
            ("record", ("kind",), "Network",
             "kind: none of: network_enforcement resource preexec cleanup"),
            ("record", ("phases", 0, "probes", 0, "expect"), "allowed",
             "phases[0].probes[0].expect: none of: " + names),
            ("record", ("phases", 1, "probes", 0, "matched"), 1,
             "phases[1].probes[0].matched: neither true nor false"),
            ("record", ("phases", 0, "probes", 0, "evidence", "elapsed_us"), -1,
             "phases[0].probes[0].evidence.elapsed_us: not an integer from 0 below 10^15"),
            ("record", ("residue", "boot_id"), None, "residue.boot_id: null or a float"),
            ("record", ("started_at_unix",), 10 ** 15,
             "started_at_unix: not an integer from 0 below 10^15"),
            ("catalog", ("probes", 0, "bases"), [], "probes[0].bases: not 1 to 8 items"),
            ("catalog", ("probes", 2, "id"), "Worker.dns",
             "probes[2].id: not a probe's name of lower-case letters, digits, '_' and '.'"))
        for name, path, value, said in cases:
            document = changed(samples.ALL[name](), path, value)
            again, refusal = read(name, samples.canonical(document))
            self.assertIsNone(again, said)
            self.assertTrue(refusal.startswith(f"format_tool: refused: {name}: {said}"),
                            f"{refusal} instead of {said}")

    def test_a_preflight_of_another_version_is_unknown(self):
        old = samples.preflight()
        old["schema"] = "netproof.preflight.v3"
        self.assertEqual(
            read("preflight", samples.canonical(old))[1],
            'format_tool: refused: preflight: schema: not "netproof.preflight.v4"\n')
        former = samples.preflight()
        former["nft_snapshot_sha256"] = samples.digest("snapshot")
        self.assertEqual(
            read("preflight", samples.canonical(former))[1],
            "format_tool: refused: preflight: nft_snapshot_sha256: unknown key\n")

    def test_a_rootful_engine_is_refused(self):
        for change, reason in (
                ({"security_options": ["name=cgroupns", "name=seccomp"]},
                 "security_options: without name=rootless: the engine is not rootless"),
                ({"cgroup_driver": "cgroupfs"}, "cgroup_driver: cgroupfs, not systemd"),
                ({"cgroup_version": "1"}, "cgroup_version: 1, not 2"),
                ({"security_options": ["name=rootless", "name=seccomp,profile=/etc/mine"]},
                 "security_options[1]: 'name=seccomp,profile=/etc/mine': a failed probe could "
                 "mean that profile, not the policy; start the engine with its own"),
                ({"security_options": ["name=rootless", "name=cgroupns"]},
                 "security_options[1]: not sorted, or twice"),
                ({"security_options": ["name=rootless", "name=rootless"]},
                 "security_options[1]: not sorted, or twice")):
            document = samples.preflight()
            document["daemon"].update(change)
            document["daemon_sha256"] = samples.digest(samples.canonical(document["daemon"]))
            self.assertEqual(read("preflight", samples.canonical(document))[1],
                             f"format_tool: refused: preflight: daemon: {reason}\n")

    def test_a_record_of_32_endpoints_fits(self):
        data = samples.canonical(samples.record(trusted=32))
        self.assertLess(len(data), 256 * 1024)
        self.assertEqual(read("record", data), (data, None))
        print(f"a record: {len(samples.canonical(samples.record()))} bytes with 1 trusted "
              f"endpoint, {len(data)} with 32")

    def test_a_record_has_no_address(self):
        data = samples.canonical(samples.record()).decode()
        self.assertIsNone(re.search(r"\b\d{1,3}(\.\d{1,3}){3}\b(?!\.scope)", data))

    def test_a_record_beyond_the_limit_is_refused(self):
        document = samples.record()
        document["phases"][0]["probes"] *= 30
        self.assertIn("larger than", read("record", samples.canonical(document))[1]
                      .replace("more than", "larger than"))


if __name__ == "__main__":
    unittest.main()
