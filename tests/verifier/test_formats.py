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


# Where the unit of a duration changes.
DURATIONS = {"daemon.dns": (999, 1000), "daemon.metadata": (999999, 1000000)}


def mixed(record):
    """A leak, an observation that is none, one that bounds nothing."""
    real.leak(record, "candidate.public")
    real.probe(record, "candidate.router.connect").update(
        observed="refused", matched=False, basis="none", conclusive=False)
    real.make_inconclusive(record)
    for name, durations in DURATIONS.items():
        control = real.probe(record, name)["evidence"]["control"]
        for side, us in zip(("before", "after"), durations):
            control[side]["elapsed_us"] = us


def refused(record):
    record["residue"]["files"] = 2
    record["phases"][0]["agents"][1]["end_sha256"] = "0" * 64


CASES = {"verified": ("rootless-netns", keep, 0), "many": ("rootless-netns-32", keep, 0),
         "unmatched": ("host", keep, 3), "mixed": ("rootless-netns", mixed, 3),
         "inconclusive": ("rootless-netns", real.make_inconclusive, 3),
         "refused": ("rootless-netns", refused, 1)}


def word(probe):
    if probe["matched"]:
        return "ok" if probe["conclusive"] else "inconclusive"
    leaks = probe["expect"] in ("denied", "cut") and probe["observed"] == "connected"
    return "LEAK" if leaks else "unmatched"


def moment(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class Page(html.parser.HTMLParser):
    """Its text, and its tables: rows of cells, each (class, text)."""

    def __init__(self, page):
        super().__init__()
        self.text, self.tables, self.is_cell = "", [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append([dict(attrs).get("class"), ""])
            self.is_cell = True
        elif tag == "br":
            self.handle_data("|")

    def handle_endtag(self, tag):
        self.is_cell &= tag not in ("td", "th")

    def handle_data(self, data):
        self.text += data
        if self.is_cell:
            self.tables[-1][-1][-1][1] += data


def duration(us):
    if us < 1000:
        return f"{us}\u00a0\u00b5s"
    if us < 10 ** 6:
        return f"{us // 1000}.{us % 1000 // 100}\u00a0ms"
    return f"{us // 10 ** 6}.{us % 10 ** 6 // 10 ** 4:02}\u00a0s"


def rests_on(probe):
    numbers = probe["evidence"]
    if probe["basis"] == "control":
        control = numbers["control"]
        return (("the control's own flow lived on: " if control["held"] else
                 "the control got through: ")
                + f"{duration(control['before']['elapsed_us'])} before, "
                + f"{duration(control['after']['elapsed_us'])} after")
    if probe["basis"] == "listener":
        return (f"the listener accepted its {numbers['listener']['accepted']} controls and "
                "nothing else")
    if probe["basis"] == "deny_counter":
        counter = numbers["deny_counter"]
        return ("alone in flight; the kernel's deny counter went from "
                f"{counter['packets_before']} to {counter['packets_after']}")
    return {"listener_gone": "reached before; no socket listens there now",
            "refusal": "the site's own proxy refused", "outcome": "the observation itself",
            "no_route": "no route of that family where the probe was made",
            "none": "nothing shows the cause"}[probe["basis"]]


def rows(phase):
    """Of neighbours that are alike and well one row."""
    found, last = [], None
    for probe in phase["probes"]:
        alike = (probe["id"], probe["observed"], probe["basis"])
        if word(probe) == "ok" and last == alike:
            found[-1][1] += 1
        else:
            found.append([probe, 1])
        last = alike if word(probe) == "ok" else None
    for probe, times in found:
        name = probe["id"] + (f" \u00d7 {times} endpoints" if times > 1 else "")
        first = "the first: " if times > 1 and probe["basis"] != "outcome" else ""
        yield [[{"ok": "good", "inconclusive": "open"}.get(word(probe), "bad"), word(probe)],
               *([None, text] for text in (name, probe["expect"], probe["observed"],
                                           probe["basis"], first + rests_on(probe)))]


class FormatsTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cases = {}
        for case, (name, change, status) in CASES.items():
            path = cls.enterClassContext(evidence.Folder())
            files = real.read(name)
            names = real.write(path, files)
            record = json.loads(files["record"])
            change(record)
            stored = evidence.put(os.path.join(path, "store"), evidence.samples.canonical(record))
            found, review, _ = evidence.review(path, stored, names["post"])
            assert found == status, (case, found, review)
            cls.cases[case] = (record, review, lambda form, count=1, path=path, stored=stored,
                               names=names: evidence.verify(path, [stored] * count, names["post"],
                                                            "--format", form).stdout)

    def each(self):
        """(record, its phases if they are shown, its review, a report of it)."""
        for case, (record, review, report) in self.cases.items():
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

    def test_html(self):
        """What test_html.py does not read in a browser."""
        for record, phases, review, report in self.each():
            page = Page(report("html"))
            self.assertIn("1 record, judged by ", page.text)
            good = sum(p["matched"] and p["conclusive"] for ph in phases for p in ph["probes"])
            self.assertIn(
                f"{review['checks_passed']} of {review['checks_built_in']} checks passed"
                + (f"; {good} of {review['probes']} probes as expected" if phases else "\n"),
                page.text)
            tables = page.tables
            if review["findings"]:
                self.assertEqual(
                    [(row[0][1].split("|")[0], *(text for _, text in row[1:]))
                     for row in tables.pop(0)[1:]],
                    [(f["code"], f["document"] + f["pointer"], f["expected"], f["found"],
                      f["next"]) for f in review["findings"]])
            if not phases:
                self.assertEqual(tables, [])
                continue
            self.assertIn("\nnot covered" + ", ".join(record["not_covered"]) + "\n", page.text)
            for _, *cells in tables.pop(0)[1:]:
                for kind, text in cells:
                    wanted = re.match(r"(?:(\d+) of (\d+))?(?:\|(\w+):)?", text).groups()
                    self.assertEqual(kind, {"inconclusive": "open", None: "good" if wanted[0]
                                            else "faint"}.get(wanted[2], "bad"))
            self.assertEqual([table[1:] for table in tables],
                             [list(rows(phase)) for phase in phases])

    def test_html_of_several(self):
        _, review, report = self.cases["verified"]
        page = report("html", 2)
        self.assertIn("2 records, judged by ", Page(page).text)
        self.assertEqual(page.count(f"<code>{review['record_sha256']}</code></h2>"), 2)

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
        self.assertIn(found, Page(report["html"]).text)


if __name__ == "__main__":
    unittest.main()
