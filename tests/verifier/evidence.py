# SPDX-License-Identifier: GPL-2.0-or-later
"""A whole case on disk: a store with a record and both preflights, and the pinned
files, all of which fit together; and ways to change any of it consistently.

The documents are samples (tests/formats/samples.py) bound to a real profile and the
shipped site: no host was collected for them.
"""
import atexit
import copy
import hashlib
import hmac
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "formats"))
import samples  # noqa: E402

VERIFY = os.environ.get("NET_VERIFY", "build/bin/net-verify")
POLICY = "build/bin/net-policy"
KEY = "5a" * 32


def profile(trusted, dns=0):
    return {"schema": "netproof.connectivity.v2", "issued_at_unix": samples.START - 30,
            "expires_at_unix": samples.START + 50,
            "trusted_tcp": [{"address": f"192.0.2.{i + 1}", "port": 443}
                            for i in range(trusted)],
            "trusted_dns": [{"address": f"192.0.2.{i + 100}", "port": 53}
                            for i in range(dns)],
            "trusted_loopback_tcp": False, "candidate_tcp": [], "label_key": KEY}


def endpoint_digest(address, port, role):
    text = samples.canonical({"address": address, "port": port, "role": role})
    return hmac.new(bytes.fromhex(KEY), text, hashlib.sha256).hexdigest()


class Case:
    """Documents as values; write() puts them on disk with every digest that binds
    them made anew, so that a change is as consistent as a forger could make it."""

    def __init__(self, trusted=1, site="netproof", dns=0):
        with open(f"fixtures/sites/{site}.json", encoding="utf-8") as file:
            self.site_text = file.read()
        self.site = json.loads(self.site_text)
        self.profile = profile(trusted, dns)
        self.profile["candidate_tcp"] = self._candidates()
        self.release = samples.release()
        self.pre = samples.preflight()
        self.post = samples.preflight()
        self.post["checked_at_unix"] = samples.START + 90
        self.record = samples.record(trusted)
        self._fit()
        self.rebind()

    def _candidates(self):
        both = self.site["router_namespace"] == "host"
        return [dict(self.site[name]) for name in (("router", "proxy") if both
                                                   else ("proxy",))]

    def profile_bytes(self):
        return json.dumps(self.profile, indent=1).encode()

    def _fit(self):
        """Binds the samples to this site, profile and release."""
        site, record = self.site, self.record
        units = {"worker": site["worker_unit"], "guard": site["guard_unit"],
                 "proxy": site["proxy_unit"], "engine": site["engine_unit"]}
        for preflight in (self.pre, self.post):
            preflight["site_sha256"] = samples.digest(self.site_text)
            preflight["guard_kernel_sha256"] = samples.digest("deny kernel")
            preflight["nft_ruleset_semantic_sha256"] = samples.digest("deny ruleset")
            preflight["daemon"]["socket"] = site["engine"]["socket"]
            preflight["daemon_sha256"] = samples.digest(
                samples.canonical(preflight["daemon"]))
            for key, name in units.items():
                preflight["units"][key]["name"] = name
                preflight["units"][key]["unit_sha256"] = samples.digest("unit " + name)
        record["site_sha256"] = self.pre["site_sha256"]
        worker = "system.slice/" + site["worker_unit"]
        record["network_binding"].update(
            worker_cgroup=worker, nft_table=site["table"],
            worker_unit_sha256=self.pre["units"]["worker"]["unit_sha256"],
            refusing_proxy_unit=site["proxy_unit"])
        for document in (record["preconditions"], record["residue"]):
            document["daemon_sha256"] = self.pre["daemon_sha256"]
        if site["router_namespace"] == "rootless-netns":
            record["not_covered"].append("router_kernel_enforcement")
        trusted = [endpoint_digest(e["address"], e["port"], "trusted_tcp")
                   for e in self.profile["trusted_tcp"]]
        dns = [endpoint_digest(e["address"], e["port"], "trusted_dns")
               for e in self.profile["trusted_dns"]]
        own = {name: endpoint_digest(site[name]["address"], site[name]["port"], name)
               for name in ("router", "proxy")}
        record["endpoints"] = (
            [{"role": "trusted_tcp", "endpoint_sha256": d} for d in trusted]
            + [{"role": "trusted_dns", "endpoint_sha256": d} for d in dns]
            + [{"role": name, "endpoint_sha256": own[name]} for name in ("router", "proxy")])
        counts = self._count_rules()
        record["network_binding"].update(scoped_output_rules=counts[0],
                                         scoped_input_rules=counts[1])
        entries = {entry["id"]: entry for entry in samples.catalog()["probes"]}
        for phase in record["phases"]:
            seen = {}
            for agent in phase["agents"]:
                if agent["position"] == "worker":
                    agent["cgroup"] = worker
            for probe in phase["probes"]:
                number = seen.get(probe["id"], 0)
                seen[probe["id"]] = number + 1
                target = entries[probe["id"]]["target"]
                if dns and entries[probe["id"]]["expect"] == "dns_grant":
                    probe.update(expect="connected", observed="connected", basis="outcome")
                    del probe["evidence"]["control"]
                if target == "trusted_tcp":
                    probe["endpoint_sha256"] = trusted[number]
                elif target in own:
                    probe["endpoint_sha256"] = own[target]

    def _count_rules(self):
        """The rules that the compiler writes, counted in its own text."""
        with Folder() as folder:
            self.write(folder)
            text = subprocess.run(
                [POLICY, "compile", "--profile", os.path.join(folder, "profile.json"),
                 "--site", os.path.join(folder, "site.json"), "--uid", "1500", "--now",
                 str(samples.START)], capture_output=True, text=True, check=True).stdout
        return [sum(line.startswith("add rule") and f" {chain} " in line
                    for line in text.splitlines())
                for chain in ("scoped_output", "scoped_input")]

    def copy(self):
        return copy.deepcopy(self)

    def rebind(self):
        """What a forger who changed something would make anew: the digests by which
        the documents name each other and themselves."""
        release = samples.digest(samples.canonical(self.release))
        for preflight in (self.pre, self.post):
            preflight["release_sha256"] = release
        self.record["release"]["release_sha256"] = release
        self.record["inputs"]["profile_sha256"] = samples.digest(self.profile_bytes())
        self.record["pre_collection_preflight_sha256"] = samples.digest(
            samples.canonical(self.pre))

    def write(self, folder):
        store = os.path.join(folder, "store")
        if os.path.exists(store):
            shutil.rmtree(store)
        os.mkdir(store, 0o700)
        names = {name: put(store, samples.canonical(value)) for name, value in
                 (("pre", self.pre), ("post", self.post), ("record", self.record))}
        for name, data in (("profile", self.profile_bytes()),
                           ("site", self.site_text.encode()),
                           ("release", samples.canonical(self.release))):
            path = os.path.join(folder, name + ".json")
            with open(path, "wb") as file:
                file.write(data)
            os.chmod(path, 0o600)
        return names


def put(store, data):
    name = hashlib.sha256(data).hexdigest()
    path = os.path.join(store, name)
    if not os.path.exists(path):
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, 0o400)
    return name


class Folder:
    """A folder whose path the verifier's rules for protected files accept: every
    ancestor of it is root's or ours, and nobody else's to write. /tmp is not."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="netproof-verify-", dir="/var/lib")
        # Removed on any exit, also where no __exit__ is reached; SIGTERM is one.
        atexit.register(self.__exit__)
        return self.path

    def __exit__(self, *error):
        atexit.unregister(self.__exit__)
        shutil.rmtree(self.path)


def interrupt(*_):
    """unittest takes any other exception for a failed test, and goes on."""
    raise KeyboardInterrupt


signal.signal(signal.SIGTERM, interrupt)


def arguments(folder, post):
    return ["--store", os.path.join(folder, "store"),
            "--profile", os.path.join(folder, "profile.json"),
            "--site", os.path.join(folder, "site.json"),
            "--release", os.path.join(folder, "release.json"), "--post", post]


def verify(folder, records, post, *options):
    records = [records] if isinstance(records, str) else records
    return subprocess.run([VERIFY, "record", *arguments(folder, post), *options, *records],
                          capture_output=True, text=True, check=False)


def review(folder, record, post):
    """(exit status, the review, codes found)."""
    done = verify(folder, record, post, "--format", "json")
    value = json.loads(done.stdout) if done.stdout else None
    codes = {finding["code"] for finding in value["findings"]} if value else set()
    return done.returncode, value, codes
