#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each limit of the judgement from both sides: what lies on it is verified, what lies
one beyond it is refused, with exactly its code. And lies that agree with each other:
what a forger would change in all of its places, refused by what still contradicts."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import evidence  # noqa: E402
import samples  # noqa: E402

S = samples.START
# The sample: profile issued S-30, preflight S-100, preconditions and start S-1, phases
# [S, S+15], [S+20, S+35], [S+40, S+55], [S+60, S+75]; window to S+50; residue S+80,
# end S+81, preflight after S+90.
PHASE, AGENT = "/phases/{}", "/phases/{}/agents/{}"


def rec(*changes):
    return [("record", place, value) for place, value in zip(changes[::2], changes[1::2])]


def window(issued, expires):
    return [("profile", "/issued_at_unix", issued), ("profile", "/expires_at_unix", expires),
            ("record", "/inputs/issued_at_unix", issued),
            ("record", "/inputs/expires_at_unix", expires)]


def control(probe, before, after):
    at = f"/phases/0/probes/{probe}/evidence/control"
    return [("record", f"{at}/before/at_unix", before), ("record", f"{at}/after/at_unix", after)]


# The third phase, with a change of the ruleset in it that made no difference.
MOVED = rec("/phases/2/comparisons", [samples.comparison("begin", S + 41, 102, "scoped"),
                                      samples.comparison("moved", S + 52, 103, "expired"),
                                      samples.comparison("end", S + 54, 103, "expired")],
            "/phases/3/comparisons/0/generation", 104,
            "/phases/3/comparisons/1/generation", 104)
# name, changes on the limit, changes beyond it, the codes beyond it
LIMITS = [
    ("the profile's age at the start", window(S - 61, S + 50), window(S - 62, S + 50),
     "window"),
    ("issued by the start", window(S - 1, S + 50), window(S, S + 50), "window"),
    ("the longest window", window(S - 61, S + 50), window(S - 231, S + 50), "window"),
    ("the preflight's age", [("pre", "/checked_at_unix", S - 901)],
     [("pre", "/checked_at_unix", S - 902)], "preflight-age"),
    ("preflight before preconditions", [("pre", "/checked_at_unix", S - 1)],
     [("pre", "/checked_at_unix", S)], "time-order"),
    ("preconditions from the preflight on", rec("/preconditions/checked_at_unix", "pre"),
     rec("/preconditions/checked_at_unix", "pre-1"), "time-order"),
    ("preconditions by the start", rec("/preconditions/checked_at_unix", S - 1),
     rec("/preconditions/checked_at_unix", S), "time-order"),
    ("start by the first phase", rec("/started_at_unix", S),
     rec("/started_at_unix", S + 1), "phase-overlap"),
    ("a phase after the one before", rec("/phases/1/started_at_unix", S + 15),
     rec("/phases/1/started_at_unix", S + 14), "phase-overlap"),
    ("the guard back within the window",
     rec("/phases/1/completed_at_unix", S + 40), rec("/phases/1/completed_at_unix", S + 41),
     "phase-overlap"),
    ("residue after the phases", rec("/residue/measured_at_unix", S + 75),
     rec("/residue/measured_at_unix", S + 74), "time-order"),
    ("residue by the end", rec("/residue/measured_at_unix", S + 81),
     rec("/residue/measured_at_unix", S + 82), "time-order"),
    ("end after residue", rec("/completed_at_unix", S + 80), rec("/completed_at_unix", S + 79),
     "time-order"),
    ("end by the preflight after", rec("/completed_at_unix", S + 90),
     rec("/completed_at_unix", S + 91), "time-order"),
    ("six hours", [("post", "/checked_at_unix", "pre+21600")],
     [("post", "/checked_at_unix", "pre+21601")], "too-long"),
    ("a comparison in its phase", rec("/phases/0/comparisons/0/at_unix", S),
     rec("/phases/0/comparisons/0/at_unix", S - 1), "comparison-time"),
    ("a comparison by its phase's end", rec("/phases/0/comparisons/1/at_unix", S + 15),
     rec("/phases/0/comparisons/1/at_unix", S + 16), "comparison-time"),
    ("comparisons in order", rec("/phases/0/comparisons/1/at_unix", S + 1),
     rec("/phases/0/comparisons/1/at_unix", S), "comparison-time"),
    ("the open window", rec("/phases/2/comparisons/0/at_unix", S + 50),
     rec("/phases/2/comparisons/0/at_unix", S + 51), "expiry-early"),
    ("the closed window", rec("/phases/2/comparisons/1/at_unix", S + 50),
     rec("/phases/2/comparisons/1/at_unix", S + 49), "expiry-early"),
    ("the third phase begins in the window",
     rec("/phases/2/started_at_unix", S + 41), rec("/phases/2/started_at_unix", S + 42),
     "comparison-time"),
    ("generations within a phase", rec("/phases/0/comparisons/1/generation", 100),
     rec("/phases/0/comparisons/1/generation", 99), "comparison-time"),
    ("generations between phases", rec("/phases/1/comparisons/0/generation", 101),
     rec("/phases/1/comparisons/0/generation", 100), "comparison-time"),
    ("a probe in its phase", [("record", "/phases/0/probes/0/evidence/at_unix", S)],
     [("record", "/phases/0/probes/0/evidence/at_unix", S - 1)], "probe-time"),
    ("a probe by its phase's end", [("record", "/phases/0/probes/0/evidence/at_unix", S + 15)],
     [("record", "/phases/0/probes/0/evidence/at_unix", S + 16)], "probe-time"),
    ("how long a probe took", rec("/phases/0/probes/0/evidence/elapsed_us", 7000000),
     rec("/phases/0/probes/0/evidence/elapsed_us", 7000001), "probe-time"),
    ("a control in its phase", control(6, S, S + 15), control(6, S - 1, S + 15),
     "probe-time"),
    ("a control by its phase's end", control(6, S, S + 15), control(6, S, S + 16),
     "probe-time"),
    ("how long a control took",
     rec("/phases/0/probes/6/evidence/control/before/elapsed_us", 6000000),
     rec("/phases/0/probes/6/evidence/control/before/elapsed_us", 6000001), "probe-time"),
    ("controls around the probe", control(6, S + 5, S + 5), control(6, S + 6, S + 6),
     {"probe-basis", "probe-conclusive"}),
    ("controls around the probe, after", control(6, S + 5, S + 5), control(6, S + 4, S + 4),
     {"probe-basis", "probe-conclusive"}),
    ("after the window's end, and grace", rec("/phases/2/probes/4/evidence/at_unix", S + 53),
     rec("/phases/2/probes/4/evidence/at_unix", S + 52),
     {"expiry-early", "probe-basis", "probe-conclusive"}),
    # From the third phase's window on, S+53, an answer at S+54 may have taken 3 s.
    ("begun after the window's end", rec("/phases/2/probes/4/evidence/elapsed_us", 3000000),
     rec("/phases/2/probes/4/evidence/elapsed_us", 3000001), "expiry-early"),
    ("a control begun after the window's end",
     rec("/phases/2/probes/4/evidence/control/before/elapsed_us", 2000000),
     rec("/phases/2/probes/4/evidence/control/before/elapsed_us", 2000001), "expiry-early"),
    ("packets of its own",
     rec("/phases/2/probes/3/evidence/deny_counter/packets_before", 7),
     rec("/phases/2/probes/3/evidence/deny_counter/packets_before", 6), "probe-evidence"),
    ("packets of its own, if the counter began again",
     rec("/phases/2/probes/3/evidence/deny_counter/packets_before", 0,
         "/phases/2/probes/3/evidence/deny_counter/packets_after", 3),
     rec("/phases/2/probes/3/evidence/deny_counter/packets_before", 0,
         "/phases/2/probes/3/evidence/deny_counter/packets_after", 4), "probe-evidence"),
    ("packets counted again after the table was loaded anew",
     MOVED + rec("/phases/2/probes/3/evidence/deny_counter/packets_before", 6),
     rec("/phases/2/probes/3/evidence/deny_counter/packets_before", 6), "probe-evidence"),
    ("more than one subordinate range",
     rec("/preconditions/subordinate_uids", [{"start": 100000, "count": 65536},
                                             {"start": 165536, "count": 5}]),
     rec("/preconditions/subordinate_uids", [{"start": 100000, "count": 65536},
                                             {"start": 165535, "count": 5}]), "subjects"),
    ("a range below another",
     rec("/preconditions/subordinate_uids", [{"start": 100000, "count": 65536},
                                             {"start": 99990, "count": 10}]),
     rec("/preconditions/subordinate_uids", [{"start": 100000, "count": 65536},
                                             {"start": 99990, "count": 11}]), "subjects"),
    ("a range that ends before the user",
     rec("/preconditions/subordinate_uids", [{"start": 100000, "count": 65536},
                                             {"start": 1400, "count": 100}]),
     rec("/preconditions/subordinate_uids", [{"start": 100000, "count": 65536},
                                             {"start": 1400, "count": 101}]), "subjects"),
    ("a range that begins after the user",
     rec("/preconditions/subordinate_uids", [{"start": 100000, "count": 65536},
                                             {"start": 1501, "count": 9}]),
     rec("/preconditions/subordinate_uids", [{"start": 100000, "count": 65536},
                                             {"start": 1500, "count": 9}]), "subjects"),
    ("a range that root is not in",
     rec("/preconditions/subordinate_uids", [{"start": 100000, "count": 65536},
                                             {"start": 1, "count": 9}]),
     rec("/preconditions/subordinate_uids", [{"start": 100000, "count": 65536},
                                             {"start": 0, "count": 9}]), "subjects"),
    ("ids in a second range",
     rec("/preconditions/subordinate_uids", [{"start": 100000, "count": 65532}]),
     rec("/preconditions/subordinate_uids", [{"start": 100000, "count": 65531},
                                             {"start": 200000, "count": 9}]), "agent-ids"),
    ("the control's cgroup beside the worker's",
     [("record", f"/phases/{i}/agents/0/cgroup", "system.slice/netproof-worker.servicex")
      for i in range(4)],
     [("record", f"/phases/{i}/agents/0/cgroup", "system.slice/netproof-worker.service/x")
      for i in range(4)], "agent-cgroup"),
    ("the control's cgroup beside the daemon's",
     [("record", f"/phases/{i}/agents/0/cgroup",
       "user.slice/user-1500.slice/user@1500.servicex") for i in range(4)],
     [("record", f"/phases/{i}/agents/0/cgroup",
       "user.slice/user-1500.slice/user@1500.service/x") for i in range(4)], "agent-cgroup"),
]


# --- lies that agree with each other ------------------------------------------------------


def agents(position, key, value):
    """The same in every phase."""
    def change(case):
        for phase in case.record["phases"]:
            for agent in phase["agents"]:
                if agent["position"] in position.split():
                    agent[key] = value
    return change


def identity(probe, **values):
    def change(case):
        for entry in case.record["phases"][0]["probes"]:
            if entry["id"] == probe:
                entry["evidence"]["identity"].update(values)
    return change


def changes(*functions):
    def change(case):
        for function in functions:
            function(case)
    return change


def sets(*triples):
    return lambda case: put(case, triples)


def replace(old, new, *documents):
    """Every occurrence of a text in the documents."""
    def change(case):
        for name in documents or ("record",):
            text = json.dumps(getattr(case, name))
            setattr(case, name, json.loads(text.replace(old, new)))
    return change


def other_socket(case):
    for preflight in (case.pre, case.post):
        preflight["daemon"]["socket"] = "/run/other.sock"
        preflight["daemon_sha256"] = samples.digest(samples.canonical(preflight["daemon"]))
    for document in (case.record["preconditions"], case.record["residue"]):
        document["daemon_sha256"] = case.pre["daemon_sha256"]


def moved(phase, rows):
    """Comparisons between a phase's begin and end: (like which, when, generation)."""
    def change(case):
        found = case.record["phases"][phase]["comparisons"]
        first = dict(found[0]), dict(found[1])
        found[1:1] = [{**first[like], "cause": "moved", "at_unix": S + at,
                       "generation": generation} for like, at, generation in rows]
        found[-1]["generation"] = max(row["generation"] for row in found)
        for later in case.record["phases"][phase + 1:]:
            for row in later["comparisons"]:
                row["generation"] += 10
    return change


def swapped_phases(case):
    phases = case.record["phases"]
    phases[2], phases[3] = phases[3], phases[2]


def open_at_the_end(case):
    rows = case.record["phases"][2]["comparisons"]
    rows[1].update({key: rows[0][key] for key in ("state", "ruleset_sha256",
                                                  "kernel_sha256", "timed_elements")})
    rows[1]["at_unix"] = S + 50


def unknown_identity(case):
    for entry in case.record["phases"][0]["probes"]:
        if entry["id"] == "candidate.identity":
            entry["id"] = "candidate.unknown"


LISTENER = "/phases/0/probes/8/evidence/listener/"
UNSHOWN = ["probe-basis", "probe-conclusive"]
IDS = ["agent-ids"] * 4
LIES = [
    ("the control in a group of a user", agents("control", "gid", 7), IDS),
    ("the worker in root's group", agents("worker", "gid", 0), IDS),
    ("the worker in the daemon's group", agents("worker", "gid", 1500), IDS),
    ("the subordinate agent in another group", agents("daemon_subordinate", "gid", 7), IDS),
    ("the sibling in another group", agents("sibling", "gid", 7), IDS),
    ("the executor in root's group", agents("executor", "gid", 0), IDS),
    ("one process for two positions", agents("executor sibling", "pid", 99), IDS),
    ("one cgroup for two containers",
     agents("candidate sibling", "cgroup", samples.container("x")), ["agent-cgroup"] * 4),
    ("the executor in the daemon agent's cgroup",
     agents("executor", "cgroup", samples.AGENTS[2][3]), ["agent-cgroup"] * 4),
    ("ids inside that nobody asked for", identity("candidate.identity", uid=7,
                                                  expected_uid=7), ["probe-evidence"]),
    ("a group inside that nobody asked for", identity("candidate.identity", gid=7,
                                                      expected_gid=7), ["probe-evidence"]),
    ("ids outside that are not the agent's", identity("candidate.host_ids", uid=7,
                                                      expected_uid=7),
     ["probe-evidence"] * 2),
    ("a group outside that is not the agent's", identity("candidate.host_ids", gid=7,
                                                         expected_gid=7),
     ["probe-evidence"]),
    ("ids of a probe that does not exist", unknown_identity,
     ["probe-missing", "probe-added"]),
    ("a listing that is the guard's", replace(samples.digest("scoped ruleset"),
                                              samples.digest("deny ruleset")),
     ["scoped-is-deny"]),
    ("a listing that is the guard's once expired",
     replace(samples.digest("expired ruleset"), samples.digest("deny ruleset")),
     ["comparison-digest"]),
    ("a listing that is the open window's once expired",
     replace(samples.digest("expired ruleset"), samples.digest("scoped ruleset")),
     ["comparison-digest"]),
    ("another guard's listing, everywhere", replace(samples.digest("deny ruleset"), "e" * 64),
     ["guard"]),
    ("another guard, everywhere but in the pin",
     replace(samples.digest("deny kernel"), "e" * 64, "record", "pre"), ["guard"]),
    ("an engine at another socket", other_socket, ["daemon"]),
    ("a workload user that is root",
     changes(replace("user-1500.slice/user@1500", "user-0.slice/user@0"),
             agents("worker daemon", "uid", 0),
             sets(("record", "/preconditions/workload_uid", 0))), ["subjects"]),
    ("no subordinate ids", sets(("record", "/preconditions/subordinate_uids", [])),
     ["subjects"] + ["agent-ids"] * 16),
    ("another catalog in the release", sets(("release", "/catalog_sha256", "e" * 64)),
     ["catalog"]),
    ("a preflight after the start", sets(("pre", "/checked_at_unix", S + 5)),
     ["time-order"] * 2),
    ("an end before the last phase's", sets(("record", "/completed_at_unix", S + 60)),
     ["time-order"] * 2),
    ("a phase that ends before it begins",
     sets(("record", "/phases/3/completed_at_unix", S + 59)),
     ["comparison-time"] * 2 + ["phase-overlap"] + ["probe-time"] * 3),
    ("the guard back after the window",
     sets(("record", "/phases/1/completed_at_unix", S + 51),
          ("record", "/phases/2/started_at_unix", S + 51),
          ("record", "/phases/2/comparisons/0/at_unix", S + 51),
          ("record", "/phases/2/comparisons/1/at_unix", S + 54)), ["expiry-early"] * 3),
    ("a third phase that ends too early",
     sets(("record", "/phases/2/completed_at_unix", S + 52),
          ("record", "/phases/2/comparisons/1/at_unix", S + 52)),
     ["expiry-early"] + ["probe-time"] * 11),
    ("compared again as it moved", moved(0, [(0, 5, 101)]), []),
    ("moved, and the generation with it not", moved(0, [(0, 5, 100)]), ["comparison-time"]),
    ("open, open, expired", moved(2, [(0, 45, 103)]), []),
    ("open, expired, expired", moved(2, [(1, 51, 103)]), []),
    ("open, open, expired, expired", moved(2, [(0, 45, 103), (1, 51, 104)]), []),
    ("open at the end", open_at_the_end, ["comparison-state"]),
    ("two phases in each other's place", swapped_phases,
     ["comparison-time", "phase-order", "phase-order", "phase-overlap"]),
    ("a listener that nobody reached before",
     sets(("record", LISTENER + "reached_before", 0), ("record", LISTENER + "accepted", 1)),
     UNSHOWN),
    ("a listener that nobody reached after",
     sets(("record", LISTENER + "reached_after", 0), ("record", LISTENER + "accepted", 1)),
     UNSHOWN),
    ("open again after it expired", moved(2, [(1, 50, 103), (0, 50, 104)]),
     ["comparison-state"]),
]


def put(case, changes):
    for name, place, value in changes:
        if isinstance(value, str) and value.startswith("pre"):
            value = case.pre["checked_at_unix"] + int(value[3:] or 0)
        document = getattr(case, name)
        parts = place.split("/")[1:]
        for part in parts[:-1]:
            document = document[int(part) if isinstance(document, list) else part]
        document[int(parts[-1]) if isinstance(document, list) else parts[-1]] = value
    case.rebind()


class BoundariesTest(unittest.TestCase):
    maxDiff = None

    def judge(self, changes):
        with evidence.Folder() as folder:
            case = evidence.Case()
            put(case, changes)
            names = case.write(folder)
            return evidence.review(folder, names["record"], names["post"])

    def test_limits(self):
        for name, on, beyond, codes in LIMITS:
            with self.subTest(name):
                status, review, found = self.judge(on)
                self.assertEqual((status, found), (0, set()), review["findings"])
                status, review, found = self.judge(beyond)
                codes = {codes} if isinstance(codes, str) else codes
                self.assertEqual((status, found), (1, codes), review["findings"])

    def test_lies_that_agree(self):
        for name, change, wanted in LIES:
            with self.subTest(name), evidence.Folder() as folder:
                case = evidence.Case()
                change(case)
                case.rebind()
                names = case.write(folder)
                status, review, _ = evidence.review(folder, names["record"], names["post"])
                found = [finding["code"] for finding in review["findings"]]
                self.assertEqual((status, sorted(found)), (1 if wanted else 0, sorted(wanted)),
                                 review["findings"])


if __name__ == "__main__":
    unittest.main()
