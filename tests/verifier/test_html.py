#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of --format html in a real browser: it asks for nothing, says nothing in the
console, has the matrix that its record has, is readable in light and dark, in windows of
any width and on paper."""
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import browser  # noqa: E402
import evidence  # noqa: E402
import real  # noqa: E402

WIDTHS = (320, 390, 768, 1050, 1280, 1920)
POSITIONS = ("worker", "daemon", "daemon_subordinate", "candidate", "sibling", "executor")
PAPER = 718  # A4 between Chromium's margins
CONTRAST = 4.5  # WCAG 2.2, 1.4.3, level AA

# What does not fit: wider than its window, its cell or the block it is in. A box that
# scrolls by itself fits.
OVERFLOWS = """(() => {
  const found = [];
  const inner = (document.documentElement.scrollWidth > innerWidth) ? ["the page"] : [];
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest(".wide") && innerWidth >= 600) continue;
    if (element.closest("thead") && getComputedStyle(element.closest("thead")).position
        === "absolute") continue;
    const box = element.getBoundingClientRect();
    if (box.right > innerWidth + 1 || box.left < -1
        || element.scrollWidth > element.clientWidth + 1 && element.clientWidth
           && getComputedStyle(element).display !== "inline")
      found.push(element.outerHTML.slice(0, 80));
  }
  return inner.concat(found);
})()"""

# Words that were broken in the middle, in columns that are there for them.
BROKEN = """(() => {
  const found = [];
  for (const cell of document.querySelectorAll(".probes td:not(:last-child)")) {
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(walker.currentNode);
      if (!walker.currentNode.textContent.trim().includes(" ")
          && range.getClientRects().length > 1)
        found.push(walker.currentNode.textContent);
    }
  }
  return found;
})()"""

# The least contrast of any text with what is behind it, and where.
CONTRASTS = """(() => {
  const luminance = colour => {
    const [r, g, b] = colour.map(c => (c /= 255) <= 0.04045 ? c / 12.92
                                                   : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  let least = [99, ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (!walker.currentNode.textContent.trim()) continue;
    let element = walker.currentNode.parentElement, behind;
    const front = parse(getComputedStyle(element).color);
    for (let at = element; at; at = at.parentElement) {
      behind = parse(getComputedStyle(at).backgroundColor);
      if (behind.length === 3 || behind[3] > 0) break;
      behind = [255, 255, 255];
    }
    const [a, b] = [luminance(front.slice(0, 3)), luminance(behind.slice(0, 3))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < least[0]) least = [contrast, element.outerHTML.slice(0, 80)];
  }
  return least;
})()"""

MATRIX = """[...document.querySelectorAll("article")].map(article =>
  [...article.querySelectorAll(".matrix tr")].map(row =>
    [...row.children].map(cell => cell.innerText.trim())))"""

BARS = """[...document.querySelectorAll(".track")].map(track => {
  const [whole, bar, end] = [track, track.children[0], track.children[1]].map(
    element => element.getBoundingClientRect());
  return [bar.left - whole.left, bar.right - whole.left, end.left - whole.left]
    .map(x => x / whole.width);
})"""


def cell(probes):
    if not probes:
        return "\u2013"
    good = [probe for probe in probes if probe["matched"] and probe["conclusive"]]
    text = f"{len(good)} of {len(probes)}"
    bad = [probe for probe in probes if not probe["matched"]] or [
        probe for probe in probes if not probe["conclusive"]]
    if not bad:
        return text
    denied = bad[0]["expect"] in ("denied", "cut")
    word = ("inconclusive" if bad[0]["matched"] else
            "LEAK" if denied and bad[0]["observed"] == "connected" or
            bad[0]["observed"] == "proxy_forwarded" else "unmatched")
    return f"{text}\n{word}: {bad[0]['id']}"


def matrix(record):
    """The rows that the page must have, from the record and the catalogue."""
    with open("fixtures/catalog.json", encoding="ascii") as file:
        position = {entry["id"]: entry["position"] for entry in json.load(file)["probes"]}
    return [["position", *(phase["phase"] for phase in record["phases"])]] + [
        [name, *(cell([probe for probe in phase["probes"] if position[probe["id"]] == name])
                 for phase in record["phases"])] for name in POSITIONS]


def leaking(record):
    """Two leaks in one cell, and what was not conclusive in another."""
    real.leak(record, "candidate.ipv6")
    real.leak(record, "candidate.public")
    real.make_inconclusive(record)


def refused(record):
    record["residue"]["files"] = 2
    record["phases"][0]["agents"][1]["end_sha256"] = "0" * 64


def make_page(folder, name, change=None):
    """The page's path, its record, and the exit status."""
    files = real.read(name)
    names = real.write(folder, files)
    record = json.loads(files["record"])
    if change:
        change(record)
    sha256 = evidence.put(os.path.join(folder, "store"), evidence.samples.canonical(record))
    done = evidence.verify(folder, [sha256], names["post"], "--format", "html")
    path = os.path.join(folder, "page.html")
    with open(path, "w", encoding="ascii") as file:
        file.write(done.stdout)
    return path, record, done.returncode


PAGES = {"verified": ("rootless-netns", None, 0), "many": ("rootless-netns-32", None, 0),
         "unmatched": ("host", None, 3), "leaking": ("rootless-netns", leaking, 3),
         "refused": ("rootless-netns", refused, 1)}


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.pages = {}
        for name, (kept, change, status) in PAGES.items():
            folder = cls.enterClassContext(evidence.Folder())
            path, record, done = make_page(folder, kept, change)
            assert done == status, (name, done)
            cls.pages[name] = (path, record)

    at = None

    def each(self, **media):
        for name, (path, record) in self.pages.items():
            self.at = (name, media)
            self.browser.open(path)
            yield name, record

    def _formatMessage(self, msg, standardMsg):
        return f"{super()._formatMessage(msg, standardMsg)}\npage: {self.at}"

    def test_asks_for_nothing_and_says_nothing(self):
        self.browser.view(1280)
        for name, _ in self.each():
            self.browser.evaluate("document.documentElement.getBoundingClientRect().height")
            events = self.browser.events
            asked = [event["params"]["request"]["url"] for event in events
                     if event["method"] == "Network.requestWillBeSent"]
            self.assertEqual(asked, ["file://" + self.pages[name][0]])
            said = [event for event in events if event["method"] in (
                "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")]
            self.assertEqual(said, [])
            self.assertEqual(self.browser.evaluate("document.scripts.length"), 0)

    def test_the_page_may_load_nothing(self):
        """That a request would have been seen, and that the page's policy forbids it."""
        self.browser.view(1280)
        self.browser.open(self.pages["verified"][0])
        self.browser.evaluate("document.body.append(Object.assign("
                              "document.createElement('img'), {src: 'file:///dev/null'}))")
        event = self.browser.wait("Log.entryAdded")
        self.assertIn("Content Security Policy", event["entry"]["text"])

    def test_the_matrix_is_the_record_s(self):
        self.browser.view(1280)
        for name, record in self.each():
            shown = self.browser.evaluate(MATRIX)
            if name == "refused":
                self.assertEqual(shown, [[]])
                self.assertNotIn("candidate.", self.browser.evaluate("document.body.innerText"))
            else:
                self.assertEqual(shown, [matrix(record)])

    def test_the_timeline_is_the_record_s(self):
        self.browser.view(1280)
        for name, record in self.each():
            if name == "refused":
                continue
            first, last = record["inputs"]["issued_at_unix"], record["completed_at_unix"]
            expires = record["inputs"]["expires_at_unix"]
            spans = [(first, expires)] + [(phase["started_at_unix"], phase["completed_at_unix"])
                                          for phase in record["phases"]]
            bars = self.browser.evaluate(BARS)
            self.assertEqual(len(bars), len(spans))
            for span, bar in zip(spans, bars):
                for at, place in zip((*span, expires), bar):
                    self.assertAlmostEqual((at - first) / (last - first), place, delta=0.006)

    def test_each_probe_says_what_it_rests_on(self):
        self.browser.view(1280)
        for name, record in self.each():
            rows = self.browser.evaluate("[...document.querySelectorAll('.probes tbody tr')]"
                                         ".map(row => [...row.cells].map(c => c.innerText))")
            if name == "refused":
                self.assertEqual(rows, [])
                continue
            shown = sum(int(re.search(r"\u00d7 (\d+) endpoints|$", row[1]).group(1) or 1)
                        for row in rows)
            probes = [probe for phase in record["phases"] for probe in phase["probes"]]
            self.assertEqual(shown, len(probes))
            self.assertEqual(sum(row[0] != "ok" for row in rows),
                             sum(not (p["matched"] and p["conclusive"]) for p in probes))
            self.assertTrue(all(row[5] for row in rows))

    def test_fits_in_every_width(self):
        for width in WIDTHS:
            self.browser.view(width)
            for _ in self.each(width=width):
                self.assertEqual(self.browser.evaluate(OVERFLOWS), [])
                if width >= 390:
                    self.assertEqual(self.browser.evaluate(BROKEN), [])

    def test_is_readable_in_light_and_dark(self):
        for scheme in ("light", "dark"):
            self.browser.view(1280, prefers_color_scheme=scheme)
            for _ in self.each(scheme=scheme):
                contrast, where = self.browser.evaluate(CONTRASTS)
                self.assertGreaterEqual(contrast, CONTRAST, where)
            behind = self.browser.evaluate("getComputedStyle(document.body).backgroundColor")
            self.assertEqual(sum(map(int, re.findall(r"\d+", behind))) > 3 * 127,
                             scheme == "light")

    def test_prints(self):
        """On paper it is light, whatever the screen is, it fits, and is some pages long."""
        self.browser.view(PAPER, type="print", prefers_color_scheme="dark")
        for name, _ in self.each():
            self.assertEqual(self.browser.evaluate(OVERFLOWS), [])
            contrast, where = self.browser.evaluate(CONTRASTS)
            self.assertGreaterEqual(contrast, CONTRAST, where)
            self.assertEqual(self.browser.evaluate(
                "getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
            pdf = self.browser.pdf()
            self.assertTrue(pdf.startswith(b"%PDF-"))
            pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
            self.assertIn(pages, range(1, 2 if name == "refused" else 5))


def main():
    """test_html.py PICTURES: instead of testing, takes pictures of each page."""
    folder = sys.argv[1]
    program = browser.Browser()
    try:
        for name, (kept, change, _) in PAGES.items():
            with evidence.Folder() as made:
                path = make_page(made, kept, change)[0]
                for width, media in ((390, {"prefers_color_scheme": "light"}),
                                     (1280, {"prefers_color_scheme": "light"}),
                                     (1280, {"prefers_color_scheme": "dark"}),
                                     (PAPER, {"type": "print"})):
                    program.view(width, **media)
                    program.open(path)
                    word = list(media.values())[0]
                    program.picture(os.path.join(folder, f"{name}-{width}-{word}.png"))
    finally:
        program.close()


if __name__ == "__main__":
    browser.own_network()
    main() if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else unittest.main()
