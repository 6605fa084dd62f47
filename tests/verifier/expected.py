# SPDX-License-Identifier: GPL-2.0-or-later
"""What a changed value must be refused for: a table from places to codes.

Each row: a pattern for pointers (`*` stands for one part) and the codes of which at
least one must be found whatever else the value becomes, if it keeps its form. A row
that begins with FREE names a leaf that some other value may stand in unseen, within
the rules that docs/threat-model.md gives, and the codes for what breaks those rules.
"""
import re

FREE = "free"

RECORD = [
    ("/schema", "record-form"),
    ("/kind", "kind"),
    ("/coverage", "coverage"),
    ("/not_covered/*", "not-covered"),
    ("/catalog_sha256", "catalog"),
    ("/site_sha256", "site"),
    ("/host/machine_id_sha256", "machine"),
    ("/host/boot_id", "boot"),
    ("/host/kernel", "kernel"),
    ("/release/release_sha256", "release"),
    ("/release/version", "release"),
    ("/release/source_revision", "release"),
    ("/release/probe_runner_sha256", "runner"),
    ("/release/targets_sha256", "targets"),
    ("/release/candidate_image_id", "image"),
    ("/tools/collector_sha256", "collector"),
    ("/tools/*", FREE),
    ("/pre_collection_preflight_sha256", "pre-object"),
    ("/inputs/config_sha256", FREE),
    ("/inputs/profile_sha256", "profile"),
    ("/inputs/issued_at_unix", "profile-times"),
    ("/inputs/expires_at_unix", "profile-times"),
    ("/endpoints/*/*", "endpoints"),
    ("/network_binding/worker_cgroup", "worker-cgroup"),
    ("/network_binding/nft_table", "nft-table"),
    ("/network_binding/scoped_*", "comparison-digest", "rule-count"),
    ("/network_binding/deny_*", "guard"),
    ("/network_binding/foreign_sha256", "foreign"),
    ("/network_binding/worker_unit_sha256", "worker-unit"),
    ("/network_binding/refusing_proxy_unit", "proxy-unit"),
    ("/network_binding/refusing_proxy_sha256", "proxy-program"),
    ("/preconditions/checked_at_unix", FREE, "time-order"),
    ("/preconditions/daemon_sha256", "daemon"),
    ("/preconditions/*_active_state", "precondition"),
    ("/preconditions/guard_*", "guard"),
    ("/preconditions/foreign_sha256", "foreign"),
    ("/preconditions/workload_uid", "agent-ids", "subjects"),
    ("/preconditions/subordinate_uids/*/start", "agent-ids", "subjects"),
    ("/preconditions/subordinate_uids/*/count", FREE, "agent-ids", "subjects"),
    ("/preconditions/*", "precondition"),
    ("/phases/*/phase", "phase-order"),
    ("/phases/*/started_at_unix", FREE, "phase-overlap", "comparison-time", "probe-time",
     "expiry-early", "time-order"),
    ("/phases/*/completed_at_unix", FREE, "phase-overlap", "comparison-time", "probe-time",
     "expiry-early", "time-order"),
    ("/phases/*/comparisons/*/cause", "comparison-missing"),
    ("/phases/*/comparisons/*/at_unix", FREE, "comparison-time", "expiry-early"),
    ("/phases/*/comparisons/*/generation", FREE, "comparison-time"),
    ("/phases/*/comparisons/*/state", "comparison-state"),
    ("/phases/*/comparisons/*/timed_elements", "timed-elements"),
    ("/phases/2/comparisons/1/ruleset_sha256", FREE, "comparison-digest"),
    ("/phases/*/comparisons/*/*", "comparison-digest"),
    ("/phases/*/agents/*/position", "agent-missing"),
    ("/phases/*/agents/*/program", "agent-program"),
    ("/phases/*/agents/*/*_sha256", "agent-digest"),
    ("/phases/*/agents/*/pid", FREE, "agent-replaced", "agent-ids"),
    ("/phases/*/agents/*/uid", "agent-ids"),
    ("/phases/*/agents/*/gid", "agent-replaced", "agent-ids"),
    ("/phases/*/agents/*/cgroup", "agent-replaced", "agent-cgroup"),
    ("/phases/*/agents/*/*", "agent-confinement"),
    ("/phases/*/probes/*/id", "probe-missing"),
    ("/phases/*/probes/*/endpoint_sha256", "probe-endpoint"),
    ("/phases/*/probes/*/expect", "probe-expect"),
    ("/phases/*/probes/*/observed", FREE, "probe-matched", "probe-basis"),
    ("/phases/*/probes/*/matched", "probe-matched"),
    ("/phases/*/probes/*/basis", "probe-basis"),
    ("/phases/*/probes/*/conclusive", "probe-conclusive"),
    ("/phases/*/probes/*/evidence/at_unix", FREE, "probe-time", "expiry-early",
     "probe-basis"),
    ("/phases/*/probes/*/evidence/elapsed_us", FREE, "probe-time", "expiry-early",
     "probe-basis"),
    ("/phases/*/probes/*/evidence/control/held", "probe-basis"),
    ("/phases/*/probes/*/evidence/*/*/outcome", FREE, "probe-basis"),
    ("/phases/*/probes/*/evidence/*/*/at_unix", FREE, "probe-time", "expiry-early",
     "probe-basis"),
    ("/phases/*/probes/*/evidence/*/*/elapsed_us", FREE, "probe-time", "expiry-early",
     "probe-basis"),
    ("/phases/*/probes/*/evidence/deny_counter/in_flight", "probe-basis"),
    ("/phases/*/probes/*/evidence/deny_counter/*", FREE, "probe-basis", "probe-evidence"),
    ("/phases/*/probes/*/evidence/listener/*", "probe-basis"),
    ("/phases/*/probes/*/evidence/listener_gone/reached_before", FREE, "probe-basis"),
    ("/phases/*/probes/*/evidence/listener_gone/listening_now", "probe-basis"),
    ("/phases/*/probes/*/evidence/no_route/*", FREE, "probe-basis"),
    ("/phases/*/probes/*/evidence/refusal/*", "probe-evidence"),
    ("/phases/*/probes/*/evidence/identity/*", "probe-evidence", "probe-basis"),
    ("/phases/*/probes/*/evidence/interfaces/*", "probe-basis"),
    ("/residue/measured_at_unix", FREE, "time-order"),
    ("/residue/guard_*", "guard"),
    ("/residue/foreign_sha256", "foreign"),
    ("/residue/daemon_sha256", "daemon"),
    ("/residue/boot_id", "boot"),
    ("/residue/*", "residue"),
    ("/started_at_unix", FREE, "time-order", "phase-overlap", "window", "preflight-age"),
    ("/completed_at_unix", FREE, "time-order"),
]

# Of both preflights; a forger has named the changed one in the record, or made the
# reader pin it.
PREFLIGHT = [
    ("/schema", "pre-form", "post-form"),
    ("/host/machine_id_sha256", "machine"),
    ("/host/boot_id", "boot"),
    ("/host/kernel", "kernel"),
    ("/site_sha256", "site"),
    ("/release_sha256", "release"),
    ("/programs/*", "programs"),
    ("/catalog_sha256", "catalog"),
    ("/targets_sha256", "targets"),
    ("/candidate_image_id", "image"),
    ("/daemon/*", "daemon", "pre-form", "post-form"),
    ("/daemon/security_options/*", "daemon", "pre-form", "post-form"),
    ("/daemon_sha256", "pre-form", "post-form"),
    ("/units/*/name", "worker-unit"),
    ("/units/*/unit_sha256", "worker-unit"),
    ("/units/*/*", "unit-state"),
    ("/containers", "pre-form", "post-form"),
    ("/job_networks", "pre-form", "post-form"),
    ("/nft_ruleset_semantic_sha256", "semantic", "guard"),
    ("/guard_kernel_sha256", "guard"),
    ("/nft_foreign_sha256", "foreign"),
    ("/checked_at_unix", FREE, "time-order", "preflight-age", "too-long"),
]

# Elements that are removed, doubled or moved. `security_options`: a preflight with
# another digest of its engine, or one whose options are not sorted and distinct.
LISTS = {
    "/not_covered": {"not-covered", "record-form"},
    "/endpoints": {"endpoints"},
    "/preconditions/subordinate_uids": {"subjects", "agent-ids"},
    "/phases": {"phase-order"},
    "/phases/*/comparisons": {"comparison-missing"},
    "/phases/*/agents": {"agent-missing", "agent-order"},
    "/phases/*/probes": {"probe-missing", "probe-repeated", "probe-order", "probe-endpoint"},
    "/daemon/security_options": {"daemon", "pre-form", "post-form"},
}

# Members that may be absent, and what is said when they are and must not be, or the
# other way round. Parts of evidence: `probe-evidence` where the probe has no use for
# them, `probe-basis` where it rests on them.
OPTIONAL = {
    "/network_binding": {"binding-missing"},
    "/phases/*/probes/*/endpoint_sha256": {"probe-endpoint"},
    "/phases/*/probes/*/evidence/*": {"probe-evidence", "probe-basis"},
}


def compile_pattern(pattern):
    """`*` is one part, or the rest of one."""
    return re.compile("".join("[^/]*" if c == "*" else re.escape(c) for c in pattern) + r"\Z")


def compile_table(rows):
    return [(compile_pattern(row[0]), row[0], FREE in row, {c for c in row[1:] if c != FREE})
            for row in rows]


def find(table, pointer):
    """(pattern, whether it is free, its codes) of the first row that fits."""
    for matcher, pattern, is_free, codes in table:
        if matcher.match(pointer):
            return pattern, is_free, codes
    raise KeyError(f"{pointer}: no row: is it bound by a check?")


def shape(pointer):
    return re.sub(r"/\d+(?=/|\Z)", "/*", pointer)
