#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the formats for people and programs say of a record is what its review and the
record say, read back by a reader of each: every finding, every probe, every count."""
import html.parser
import json
import os
import re
import sys
import time
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(__file__))
import evidence  # noqa: E402
import real  # noqa: E402

ODD = "it's <a> & \"b\" #c!~\\d"


def keep(_):
    pass


def mixed(record):
    """A leak, an observation that is none, one that bounds nothing."""
    for phase in record["phases"]:
        for probe in phase["probes"]:
            if probe["id"] == "candidate.public":
                probe.update(observed="connected", matched=False, basis="outcome")
            elif probe["id"] == "candidate.router.connect":
                probe.update(observed="refused", matched=False, basis="none", conclusive=False)
            elif probe["id"] == "daemon.public.after_stop":
                inconclusive_one(probe)


def inconclusive_one(probe):
    probe["evidence"]["control"]["after"]["outcome"] = "timeout"
    probe.update(basis="none", conclusive=False)


def inconclusive(record):
    for phase in record["phases"]:
        for probe in phase["probes"]:
            if probe["id"] == "daemon.public.after_stop":
                inconclusive_one(probe)


def refused(record):
    record["residue"]["files"] = 2
    record["phases"][0]["agents"][1]["end_sha256"] = "0" * 64


CASES = {"verified": ("rootless-netns", keep, 0), "many": ("rootless-netns-32", keep, 0),
         "unmatched": ("host", keep, 3), "mixed": ("rootless-netns", mixed, 3),
         "inconclusive": ("rootless-netns", inconclusive, 3),
         "refused": ("rootless-netns", refused, 1)}


def word(probe):
    if probe["matched"]:
        return "ok" if probe["conclusive"] else "inconclusive"
    leaks = probe["expect"] in ("denied", "cut") and probe["observed"] == "connected"
    return "LEAK" if leaks else "unmatched"


def moment(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class Text(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.text = ""
        self.feed(page)

    def handle_data(self, data):
        self.text += data


class FormatsTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cases = {}
        for case, (name, change, status) in CASES.items():
            folder = evidence.Folder()
            path = folder.__enter__()
            cls.addClassCleanup(folder.__exit__)
            files = real.read(name)
            names = real.write(path, files)
            record = json.loads(files["record"])
            change(record)
            stored = evidence.put(os.path.join(path, "store"), evidence.samples.canonical(record))
            found, review, _ = evidence.review(path, stored, names["post"])
            assert found == status, (case, found, review)
            cls.cases[case] = (record, review, lambda form, path=path, stored=stored, names=names:
                               evidence.verify(path, stored, names["post"], "--format",
                                               form).stdout)

    def each(self):
        """(record, its phases if they are shown, its review, a report of it)."""
        for case, (record, review, report) in self.cases.items():
            with self.subTest(case):
                yield record, [] if case == "refused" else record["phases"], review, report

    def test_human(self):
        for record, phases, review, report in self.each():
            lines = report("human").splitlines()
            self.assertEqual(lines[0], f"{review['record_sha256']}: {review['judgement']}")
            said = f"  {review['checks_passed']} of {review['checks_built_in']} checks passed"
            good = sum(p["matched"] and p["conclusive"] for ph in phases for p in ph["probes"])
            if phases:
                said += f"; {good} of {review['probes']} probes as expected, with their cause shown"
            self.assertEqual(lines[1], said)
            wanted = []
            for finding in review["findings"]:
                wanted += [f"    at {finding['document']}{finding['pointer']}",
                           f"    expected: {finding['expected']}",
                           f"    found: {finding['found']}", f"    next: {finding['next']}"]
            for phase in phases:
                wanted.append(f"  {phase['phase']}  {moment(phase['started_at_unix'])} to "
                              f"{moment(phase['completed_at_unix'])}")
                last, more = None, 0
                for probe in phase["probes"]:
                    if probe["id"] == last and word(probe) == "ok":
                        more += 1
                    else:
                        wanted.append(" ".join(["   ", probe["id"], probe["expect"],
                                                probe["observed"], probe["basis"], word(probe)]))
                    last = probe["id"]
                if more:
                    wanted.append(f"    and {more} more of the same probes, all ok")
            if phases:
                wanted.append("  not covered: " + " ".join(record["not_covered"]))
            # Columns are as wide as their words want.
            found = [line if re.match("    (at|expected:|found:|next:) ", line)
                     else re.sub("^    ", "\0", line) for line in lines[3:]]
            found = [re.sub(" +", " ", line).replace("\0", "    ") if line[:1] == "\0" else line
                     for line in found]
            heads = {f"  {f['code']}: " for f in review["findings"]} | {"  machine ", "  release "}
            self.assertEqual([line for line in found
                              if line and not line.startswith(tuple(heads))], wanted)

    def test_tap(self):
        def quoted(text):
            return "'" + text.replace("'", "''") + "'"

        for _, phases, review, report in self.each():
            probes = [probe for phase in phases for probe in phase["probes"]]
            name = review["record_sha256"]
            wanted = ["TAP version 13", "1..1"]
            if phases:
                wanted += [f"# Subtest: {name}", f"    1..{len(probes)}"]
            for number, probe in enumerate(probes, 1):
                wanted.append(f"    {'ok' if word(probe) == 'ok' else 'not ok'} {number} - "
                              f"{probe['id']}: {word(probe)}, observed {probe['observed']}, "
                              f"basis {probe['basis']}")
            is_ok = review["judgement"] == "verified"
            wanted.append(f"{'ok' if is_ok else 'not ok'} 1 - {name}: {review['judgement']}")
            if review["findings"]:
                wanted += ["  ---", "  findings:"]
                for finding in review["findings"]:
                    wanted += [f"    - code: {finding['code']}",
                               f"      at: {quoted(finding['pointer'])}",
                               f"      in: {finding['document']}",
                               f"      expected: {quoted(finding['expected'])}",
                               f"      found: {quoted(finding['found'])}"]
                wanted.append("  ...")
            self.assertEqual(report("tap").splitlines(), wanted)

    def test_junit(self):
        for _, phases, review, report in self.each():
            (suite,) = xml.etree.ElementTree.fromstring(report("junit"))
            record, *cases = suite
            probes = [(phase["phase"], probe) for phase in phases for probe in phase["probes"]]
            kind = {"verified": None, "inconclusive": "error"}.get(review["judgement"], "failure")
            total = sum(probe["evidence"]["elapsed_us"] for _, probe in probes)
            self.assertEqual(suite.attrib, {
                "name": review["record_sha256"], "tests": str(1 + len(probes)),
                "failures": str((kind == "failure") + sum(not p["matched"] for _, p in probes)),
                "errors": str((kind == "error") + sum(p["matched"] and not p["conclusive"]
                                                      for _, p in probes)),
                "skipped": "0", "time": f"{total // 10 ** 6}.{total % 10 ** 6:06}"})
            self.assertEqual([(problem.tag, problem.get("type"), problem.text.split("\n")[1:-1])
                              for problem in record],
                             [(kind, review["judgement"],
                               [f"{f['code']} at {f['document']}{f['pointer']}: expected "
                                f"{f['expected']}, found {f['found']}"
                                for f in review["findings"]])] if kind else [])
            for number, (case, (phase, probe)) in enumerate(zip(cases, probes, strict=True), 1):
                self.assertEqual((case.get("classname"), case.get("name")),
                                 (f"netproof.{phase}", f"{probe['id']} {number}"))
                self.assertEqual(round(float(case.get("time")) * 10 ** 6),
                                 probe["evidence"]["elapsed_us"])
                self.assertEqual(
                    [(problem.tag, problem.get("type"), problem.get("message"))
                     for problem in case],
                    [("error" if probe["matched"] else "failure", word(probe),
                      f"expected {probe['expect']}, observed {probe['observed']}, basis "
                      f"{probe['basis']}")] if word(probe) != "ok" else [])

    def test_sarif(self):
        for _, _, review, report in self.each():
            run = json.loads(report("sarif"))["runs"][0]
            titles = {rule["id"]: rule["shortDescription"]["text"]
                      for rule in run["tool"]["driver"]["rules"]}
            wanted = [(f["code"], "fail", "error", f"{titles[f['code']]}: expected "
                       f"{f['expected']}, found {f['found']}", f["document"] + f["pointer"])
                      for f in review["findings"]] or [
                          ("verified", "pass", "none", "every check passed", "record")]
            self.assertEqual([(result["ruleId"], result["kind"], result["level"],
                               result["message"]["text"], result["locations"][0][
                                   "logicalLocations"][0]["fullyQualifiedName"])
                              for result in run["results"]], wanted)
            for result in run["results"]:
                self.assertEqual(result["locations"][0]["physicalLocation"]["artifactLocation"],
                                 {"uri": "store/" + review["record_sha256"]})

    def test_a_text_of_somebody_else(self):
        """It comes out of each format's reader as it went in."""
        with evidence.Folder() as folder:
            files = real.read("rootless-netns")
            names = real.write(folder, files)
            with open(os.path.join(folder, "profile.json"), "w", encoding="ascii") as file:
                json.dump({**json.loads(files["profile"]), ODD: 1}, file)
            found = f"{folder}/profile.json: {ODD}: unknown key"
            report = {form: evidence.verify(folder, names["record"], names["post"], "--format",
                                            form).stdout
                      for form in ("human", "tap", "junit", "sarif", "html")}
        self.assertIn(f"    found: {found}\n", report["human"])
        quoted = re.search("(?m)^      found: '(.*)'$", report["tap"]).group(1)
        self.assertNotRegex(quoted.replace("''", ""), "'")
        self.assertEqual(quoted.replace("''", "'"), found)
        problem = xml.etree.ElementTree.fromstring(report["junit"]).find(".//failure")
        self.assertIn(f", found {found}\n", problem.text)
        (result,) = json.loads(report["sarif"])["runs"][0]["results"]
        self.assertTrue(result["message"]["text"].endswith(f", found {found}"))
        self.assertIn(found, Text(report["html"]).text)


if __name__ == "__main__":
    unittest.main()
