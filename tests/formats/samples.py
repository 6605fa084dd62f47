# SPDX-License-Identifier: GPL-2.0-or-later
"""Sample documents of every format, whole and well formed, for tests."""
import hashlib
import json


def canonical(value):
    """RFC 8785 for what is kept: ASCII, no floats, so sorted keys are all of it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def digest(text):
    data = text if isinstance(text, bytes) else text.encode()
    return hashlib.sha256(data).hexdigest()


PROGRAMS = ("net-collector", "net-policy", "net-preflight", "net-probe", "net-proxy",
            "net-site", "net-verify")
BOOT = "6a1f0c1e-52f5-4b7e-9d0c-1f2e3d4c5b6a"
IMAGE = "sha256:" + digest("image")
START = 1_800_000_000


def host():
    return {"machine_id_sha256": digest("machine"), "boot_id": BOOT, "kernel": "6.1.0-18"}


def programs():
    return {name: digest(name) for name in PROGRAMS}


def release(root="."):
    with open(f"{root}/fixtures/catalog.json", "rb") as file:
        catalog_sha256 = digest(file.read())
    with open(f"{root}/fixtures/network/targets.json", "rb") as file:
        targets_sha256 = digest(file.read())
    return {"schema": "netproof.release.v1", "version": "0.1.0",
            "source_revision": "0123456789abcdef0123456789abcdef01234567",
            "programs": programs(), "catalog_sha256": catalog_sha256,
            "targets_sha256": targets_sha256,
            "candidate_image": {"reference": "netproof-candidate:0.1.0", "id": IMAGE}}


def targets(root="."):
    with open(f"{root}/fixtures/network/targets.json", "rb") as file:
        return json.load(file)


def catalog(root="."):
    with open(f"{root}/fixtures/catalog.json", "rb") as file:
        return json.load(file)


def collection():
    return {"schema": "netproof.collection.v1", "site": "/etc/netproof/site.json",
            "release": "/usr/lib/netproof/release.json", "release_sha256": digest("release"),
            "profile": "/etc/netproof/profile.json", "store": "/var/lib/netproof/store",
            "machine_id_sha256": digest("machine"), "boot_id": BOOT,
            "pre_collection_preflight_sha256": digest("preflight")}


def daemon():
    return {"id": "4e1c2d0a-7a0b-4d7e-8a53-0f7c9d5b1a2e", "version": "20.10.24+dfsg1",
            "root_dir": "/var/lib/netproof/.local/docker", "storage_driver": "overlay2",
            "cgroup_driver": "systemd", "cgroup_version": "2", "default_runtime": "runc",
            "security_options": ["name=cgroupns", "name=rootless",
                                 "name=seccomp,profile=default"],
            "socket": "/run/netproof/docker.sock"}


def unit(name, active, sub):
    return {"name": name, "active_state": active, "sub_state": sub,
            "unit_sha256": digest("unit " + name)}


def preflight(root="."):
    whole = release(root)
    return {"schema": "netproof.preflight.v4", "host": host(), "site_sha256": digest("site"),
            "release_sha256": digest(canonical(whole)), "programs": programs(),
            "catalog_sha256": whole["catalog_sha256"],
            "targets_sha256": whole["targets_sha256"], "candidate_image_id": IMAGE,
            "daemon": daemon(), "daemon_sha256": digest(canonical(daemon())),
            "units": {"worker": unit("netproof-worker.service", "inactive", "dead"),
                      "guard": unit("netproof-guard.service", "active", "exited"),
                      "proxy": unit("netproof-proxy.service", "active", "running"),
                      "engine": unit("docker.service", "active", "running")},
            "containers": 0, "job_networks": 0,
            "nft_ruleset_semantic_sha256": digest("semantic"),
            "guard_kernel_sha256": digest("guard kernel"),
            "nft_foreign_sha256": digest("foreign"), "checked_at_unix": START - 60}


def exchange(at):
    return {"outcome": "connected", "elapsed_us": 900, "at_unix": at}


# What an all-well host shows for each expectation, and the numbers by basis.
SHOWN = {"connected": "connected", "handshake_completed": "handshake_completed",
         "proxy_refused": "proxy_refused", "container_address": "container_address",
         "identity_exact": "identity_exact", "only_loopback": "only_loopback",
         "denied": "unreachable", "cut": "timeout", "dns_grant": "unreachable"}


def evidence(entry, at):
    basis = entry["bases"][0]
    if entry["expect"] == "dns_grant":
        basis = "control"
    numbers = {"elapsed_us": 1200, "at_unix": at}
    if basis == "control":
        numbers["control"] = {"held": entry["op"] == "check", "before": exchange(at - 1),
                              "after": exchange(at + 1)}
    elif basis == "deny_counter":
        numbers["deny_counter"] = {"packets_before": 3, "packets_after": 7, "in_flight": 1}
    elif basis == "listener":
        numbers["listener"] = {"reached_before": 1, "reached_after": 1, "accepted": 2,
                               "alive_before": exchange(at - 1),
                               "alive_after": exchange(at + 1)}
    elif basis == "refusal":
        numbers["refusal"] = {"service_sha256": digest("net-proxy")}
    if entry["expect"] == "identity_exact":
        uid = 65532 if entry["op"] == "hello" else 165531
        numbers["identity"] = {"uid": uid, "gid": uid, "expected_uid": uid,
                               "expected_gid": uid}
    if entry["expect"] == "only_loopback":
        numbers["interfaces"] = {"loopback": 1, "others": 0}
    return numbers, basis


def probe(entry, endpoint, at):
    numbers, basis = evidence(entry, at)
    expect = "denied" if entry["expect"] == "dns_grant" else entry["expect"]
    value = {"id": entry["id"], "expect": expect, "observed": SHOWN[entry["expect"]],
             "matched": True, "basis": basis, "evidence": numbers, "conclusive": True}
    if endpoint:
        value["endpoint_sha256"] = endpoint
    return value


def comparison(cause, at, generation, state):
    return {"cause": cause, "at_unix": at, "generation": generation, "state": state,
            "ruleset_sha256": digest(state + " ruleset"),
            "kernel_sha256": digest(("deny" if state == "deny" else "scoped") + " kernel"),
            "foreign_sha256": digest("foreign"),
            "timed_elements": 4 if state == "scoped" else 0}


DAEMON = "user.slice/user-1500.slice/user@1500.service"


def container(name):
    return f"{DAEMON}/user.slice/docker-{digest(name)}.scope"


# position, uid, gid, cgroup
AGENTS = (("control", 0, 0, "system.slice"), ("worker", 1500, 1501, "system.slice"),
          ("daemon", 1500, 1500, DAEMON + "/app.slice/agent.service"),
          ("daemon_subordinate", 100000, 1500, DAEMON + "/app.slice/agent.service"),
          ("candidate", 165531, 165531, container("candidate")),
          ("sibling", 165531, 165531, container("sibling")),
          ("executor", 110000, 110000, container("executor")))


def agent(number, position, uid, gid, cgroup, phase):
    is_once = position == "worker" and phase in ("stop_rollback", "failed_start")
    return {"position": position, "program": "net-once" if is_once else "net-agent",
            "pid": 4242 + number, "before_sha256": digest("net-probe"),
            "after_sha256": digest("net-probe"), "end_sha256": digest("net-probe"),
            "uid": uid, "gid": gid, "cgroup": cgroup, "no_new_privs": True, "seccomp": 2,
            "capabilities": 0}


STATES = {"active": ("scoped", "scoped"), "stop_rollback": ("deny", "deny"),
          "expiry": ("scoped", "expired"), "failed_start": ("deny", "deny")}


def record(trusted=1, root="."):
    """An all-well record: as a collection in the router namespace `host` would be if
    every probe matched."""
    endpoints = [{"role": "trusted_tcp", "endpoint_sha256": digest(f"trusted {i}")}
                 for i in range(trusted)]
    endpoints += [{"role": role, "endpoint_sha256": digest(role)}
                  for role in ("router", "proxy")]
    named = {"router": digest("router"), "proxy": digest("proxy")}
    phases = []
    for number, name in enumerate(STATES):
        begin = START + 20 * number
        at = begin + (14 if name == "expiry" else 5)  # after the window's end
        probes = []
        for entry in catalog(root)["probes"]:
            if entry["phase"] != name:
                continue
            for i in range(trusted if entry["per_endpoint"] else 1):
                endpoint = (endpoints[i]["endpoint_sha256"] if entry["per_endpoint"]
                            else named.get(entry["target"]))
                probes.append(probe(entry, endpoint, at))
        # One counter: what it rose by for one probe it did not rise by for another.
        counters = [p["evidence"]["deny_counter"] for p in probes
                    if "deny_counter" in p["evidence"]]
        for i, counter in enumerate(counters):
            counter.update(packets_before=3 + 4 * i, packets_after=7 + 4 * i)
        states = STATES[name]
        phases.append({
            "phase": name, "started_at_unix": begin, "completed_at_unix": begin + 15,
            "comparisons": [comparison("begin", begin + 1, 100 + number, states[0]),
                            comparison("end", begin + 14, 100 + number, states[1])],
            "agents": [agent(i, *row, name) for i, row in enumerate(AGENTS)], "probes": probes})
    whole = release(root)
    return {
        "schema": "netproof.record.v1", "kind": "network_enforcement",
        "coverage": "same_boot",
        "not_covered": ["daemon_restart_recovery", "production_worker", "reboot_recovery"],
        "catalog_sha256": whole["catalog_sha256"], "site_sha256": digest("site"),
        "host": host(),
        "release": {"release_sha256": digest(canonical(whole)), "version": "0.1.0",
                    "source_revision": whole["source_revision"],
                    "probe_runner_sha256": digest("net-probe"),
                    "targets_sha256": whole["targets_sha256"], "candidate_image_id": IMAGE},
        "tools": {"collector_sha256": digest("net-collector"),
                  "engine_client_sha256": digest("docker"), "libnftables": "1.0.6",
                  "systemd": "252.39-1~deb12u1"},
        "pre_collection_preflight_sha256": digest(canonical(preflight(root))),
        "inputs": {"config_sha256": digest("config"), "profile_sha256": digest("profile"),
                   "issued_at_unix": START - 30, "expires_at_unix": START + 50},
        "endpoints": endpoints,
        "network_binding": {
            "worker_cgroup": "system.slice/netproof-worker.service", "nft_table": "netproof",
            "scoped_ruleset_sha256": digest("scoped ruleset"),
            "deny_ruleset_sha256": digest("deny ruleset"),
            "scoped_kernel_sha256": digest("scoped kernel"),
            "deny_kernel_sha256": digest("deny kernel"), "foreign_sha256": digest("foreign"),
            "scoped_output_rules": 9, "scoped_input_rules": 3,
            "worker_unit_sha256": digest("unit netproof-worker.service"),
            "refusing_proxy_unit": "netproof-proxy.service",
            "refusing_proxy_sha256": digest("net-proxy")},
        "preconditions": {
            "checked_at_unix": START - 1, "daemon_sha256": digest(canonical(daemon())),
            "worker_active_state": "inactive", "guard_active_state": "active",
            "proxy_active_state": "active", "guard_ruleset_sha256": digest("deny ruleset"),
            "guard_kernel_sha256": digest("deny kernel"), "foreign_sha256": digest("foreign"),
            "workload_uid": 1500, "subordinate_uids": [{"start": 100000, "count": 65536}],
            "containers": 0, "job_networks": 0, "foreign_sockets": 0},
        "phases": phases,
        "residue": {
            "measured_at_unix": START + 80, "containers": 0, "networks": 0, "processes": 0,
            "files": 0, "worker_active_state": "inactive",
            "guard_ruleset_sha256": digest("deny ruleset"),
            "guard_kernel_sha256": digest("deny kernel"), "foreign_sha256": digest("foreign"),
            "daemon_sha256": digest(canonical(daemon())), "boot_id": BOOT},
        "started_at_unix": START - 1, "completed_at_unix": START + 81}


def endpoints():
    return {"schema": "netproof.endpoints.v1",
            "trusted_tcp": [{"address": "198.51.100.1", "port": 443},
                            {"address": "127.0.0.1", "port": 65535}],
            "trusted_dns": [{"address": "198.51.100.53", "port": 53}],
            "trusted_loopback_tcp": False}


def profile():
    return {**endpoints(), "schema": "netproof.connectivity.v2",
            "issued_at_unix": 1800000000, "expires_at_unix": 1800000280,
            "candidate_tcp": [{"address": "10.203.0.1", "port": 8443},
                              {"address": "192.168.0.1", "port": 3128}],
            "label_key": digest("key")}


def site():
    with open("fixtures/sites/netproof.json", encoding="utf-8") as file:
        found = json.load(file)
    found["foreign_accepted"] = [digest("one"), digest("two")]
    return found


ALL = {"catalog": catalog, "collection": collection, "endpoints": endpoints,
       "preflight": preflight, "profile": profile, "record": record, "release": release,
       "site": site, "targets": targets}
# Kept forms: the bytes must be canonical. The others may have any layout.
KEPT = ("catalog", "preflight", "record", "release")
