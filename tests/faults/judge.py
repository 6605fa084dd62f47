# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a host was judged as its row expects, and for the reason that it expects.

Nothing here touches a host: what was observed comes in as an Outcome, so that the judging
is itself tested (selftest).
"""
import json

import row as rows

# What the collector says, last, where a window was too short for the host's pace.
WINDOW_ENDED = "the window ended meanwhile"

class Wrong(Exception):
    """Not what the row expects."""


class Outcome:
    """What a collection, or a preflight, said and left."""

    def __init__(self):
        self.acted = False
        self.closed = False  # what was done at UNTIL
        self.phase = None
        self.status = None
        self.events, self.told = [], []
        self.result = {}
        self.records = []  # names of those that it kept
        # Of the first of them: what each probe's answer rests on, and what was counted.
        self.bases, self.residue = {}, {}
        self.left = []  # what it left on the host, in sentences
        self.verifier_status, self.verifier_text = None, ""

    def take_line(self, line):
        """One of standard error's; gives the event, if it is one."""
        if not line.startswith("{"):
            self.told.append(line)
            return None
        event = json.loads(line)
        self.events.append(event)
        self.phase = event.get("phase", self.phase)
        return event

    def is_at(self, moment):
        """Whether the last line is that moment: a phase, a probe, words of a step; "PHASE:
        MOMENT" for one that several phases have."""
        phase, _, word = moment.rpartition(": ")
        event = self.events[-1]
        return phase in ("", self.phase) and (
            word in (event.get("phase"), event.get("id")) or word in event.get("step", ""))

    @property
    def text(self):
        return "".join(self.told).strip()

    @property
    def probes(self):
        return [event for event in self.events if event.get("event") == "probe"]

    def bad(self):
        """By probe: what was seen instead of what must be, or that it shows nothing."""
        return {event["id"]: "undecided" if event["matched"] else event["observed"]
                for event in self.probes if not (event["matched"] and event["conclusive"])}

    def take_record(self, record):
        self.bases = {probe["id"]: probe["basis"] for phase in record["phases"]
                      for probe in phase["probes"]}
        self.residue = {what: count for what, count in record["residue"].items()
                        if isinstance(count, int) and what != "measured_at_unix" and count}

    def reason(self):
        return self.text.split("\n")[-1].split("refused: ")[-1]


def demand(is_right, outcome, what):
    if not is_right:
        raise Wrong(f"{what}; but exit status {outcome.status}, {outcome.text!r}, "
                    f"bad probes {outcome.bad()}")


def judge(row, outcome):
    """Gives what caught it, or that all was well; raises Wrong if that is not what was due."""
    demand(outcome.acted or not row.is_disturbance, outcome,
           f"the moment {row.when!r} never came")
    demand(outcome.closed or "UNTIL" not in row.has, outcome,
           f"the moment {row.get('UNTIL')!r} never came")
    if "PREFLIGHT_REFUSED" in row.has:
        return judge_words(row, outcome, "PREFLIGHT_REFUSED", 1)
    if "REFUSED" in row.has:
        return judge_refusal(row, outcome, "REFUSED", 1)
    if "UNTOLD" in row.has:
        return judge_refusal(row, outcome, "UNTOLD", 4)
    return judge_record(row, outcome)


def judge_words(row, outcome, key, status):
    texts = rows.texts_of(row.has[key])
    missing = [text for text in texts if text not in outcome.text]
    # Whatever else it says then may be so for that reason, and shows nothing.
    demand(WINDOW_ENDED not in outcome.text or any(WINDOW_ENDED in text for text in texts),
           outcome, "the window was too short")
    demand(outcome.status == status and not missing, outcome,
           f"exit status {status} and {' and '.join(map(repr, missing)) or 'what it said'} "
           "are due")
    return f"exit {status}: {outcome.reason()}"


def judge_refusal(row, outcome, key, status):
    said = judge_words(row, outcome, key, status)
    demand(not outcome.records, outcome, "there is a record all the same")
    demand(not outcome.left, outcome, f"left on the host: {'; '.join(outcome.left)}")
    return said


def judge_record(row, outcome):
    wanted, residue = row.get("BAD", {}), row.get("RESIDUE", {})
    status = 3 if wanted or residue else 0
    demand(outcome.bad() == wanted, outcome, f"{wanted or 'no bad probe'} is due")
    demand(outcome.status == status, outcome, f"exit status {status} is due")
    demand(outcome.records == [outcome.result.get("record_sha256")], outcome,
           f"one record is due, not {outcome.records}")
    demand(outcome.probes and outcome.result["probes"] == len(outcome.probes), outcome,
           f"{outcome.result.get('probes')} probes in the result, {len(outcome.probes)} told")
    demand(not outcome.left, outcome, f"left on the host: {'; '.join(outcome.left)}")
    demand(outcome.residue == residue, outcome,
           f"residue {residue} is due, not {outcome.residue}")
    for what, count in residue.items():
        demand(f"{count} {what}" in outcome.text, outcome, f"nobody is told of the {what}")
    for probe, basis in row.get("BASIS", {}).items():
        demand(outcome.bases.get(probe) == basis, outcome,
               f"{probe} rests on {outcome.bases.get(probe)}, not {basis}")
    return judge_verification(row, outcome, {**wanted, **residue})


def judge_verification(row, outcome, wanted):
    said = f"the verifier says {outcome.verifier_status}: {outcome.verifier_text}"
    if row.kind == "good":
        demand(outcome.verifier_status == 0, outcome, said)
        return f"{outcome.result['good']} of {outcome.result['probes']} probes good, verified"
    if wanted:  # A record with a bad probe or with residue is not verified, either.
        demand(outcome.verifier_status in (1, 3), outcome, said)
        return "exit 3: " + ", ".join(f"{probe} {why}" for probe, why in sorted(wanted.items()))
    demand(outcome.verifier_status == 1, outcome, said)
    missing = [text for text in rows.texts_of(row.has["NOT_VERIFIED"])
               if text not in outcome.verifier_text]
    demand(not missing, outcome, f"{missing} are due; {said}")
    return f"not verified: {row.has['NOT_VERIFIED']}"
