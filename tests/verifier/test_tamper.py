#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Nothing in a real record or in its preflights can be changed unseen.

Every leaf is changed about a dozen ways, every key removed, added and repeated, every
element removed, doubled and moved, every byte flipped, every value that occurs in
several places changed in all of them; with every digest that a forger could make anew
made anew. Each is refused with the code that tests/verifier/expected.py predicts for
its place. What could be changed unseen is a list there, marked FREE, and the same
list is in docs/threat-model.md.

The judgement runs in one process (judge_many.c, and judge_altered.c for single bytes);
a sample goes through net-verify. Of the bytes a sample is changed, the same each time.

  TAMPER_ALL=1 tests/verifier/test_tamper.py [NAME...]

changes all: every bit of every byte of every document flipped, every truncation, every
byte value put in everywhere (of the record with 32 endpoints, whose probes are alike,
one at each place), all three records whole. That takes hours of a processor;
docs/design.md has the figures of the last time.
"""
import concurrent.futures
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import evidence  # noqa: E402
import expected  # noqa: E402
import real  # noqa: E402
from spans import Document, encode  # noqa: E402

JUDGE = os.environ.get("JUDGE_MANY", "build/tests/judge_many")
ALTER = "build/tests/judge_altered"
ALL = os.environ.get("TAMPER_ALL") == "1"
PIECE = 512  # bytes of a document, altered in one process
TABLES = {"record": expected.compile_table(expected.RECORD),
          "pre": expected.compile_table(expected.PREFLIGHT),
          "post": expected.compile_table(expected.PREFLIGHT)}
BIG = 10 ** 15
EXCHANGE = {"outcome": "connected", "elapsed_us": 1, "at_unix": 1}
PARTS = {"control": {"held": False, "before": EXCHANGE, "after": EXCHANGE},
         "deny_counter": {"packets_before": 1, "packets_after": 2, "in_flight": 1},
         "listener": {"reached_before": 1, "reached_after": 1, "accepted": 2,
                      "alive_before": EXCHANGE, "alive_after": EXCHANGE},
         "listener_gone": {"reached_before": 1, "listening_now": 0},
         "no_route": {"family": "ipv6", "supported": False, "routes": 0},
         "refusal": {"service_sha256": "0" * 64},
         "identity": {"uid": 1, "gid": 1, "expected_uid": 1, "expected_gid": 1},
         "interfaces": {"loopback": 1, "others": 0}}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def words(name):
    """The words of one list of names in the C sources."""
    with open("policy/verdict.c" if name != "position_names" else "policy/catalog.c",
              encoding="utf-8") as file:
        text = re.search(name + r"\[\] = \{(.*?)\};", file.read(), re.S).group(1)
    return re.findall(r'"(\w+)"', text)


# Free leaves that have no room in any of the three: all happened in one second.
TIGHT = {"/started_at_unix"}
CHOICES = {"observed": words("observed_names"), "outcome": words("observed_names"),
           "expect": words("expectation_names"), "basis": words("basis_names"),
           "position": words("position_names"), "cause": ["begin", "moved", "end"],
           "state": ["scoped", "expired", "deny"], "program": ["net-agent", "net-once"],
           "kind": ["network_enforcement", "resource", "preexec", "cleanup"],
           "phase": ["active", "stop_rollback", "expiry", "failed_start"],
           "role": ["trusted_tcp", "trusted_dns", "router", "proxy"],
           "family": ["ipv4", "ipv6"]}


def other_values(span):
    """About a dozen other values, in the form and out of it."""
    value, key = span.value, span.key
    common = [None, [], {}]
    if isinstance(value, bool):
        return [not value, 0, 1, "true", "", "x", -1, 1.5, *common]
    if isinstance(value, int):
        return [v for v in (0, 1, value + 1, value - 1, value * 2, value + 100, value + 7200,
                            2 ** 32 - 1, BIG - 1, BIG, 2 ** 53, -1, value + 0.5, str(value),
                            True, *common) if v is not value and v != value or v is True]
    if key in CHOICES:
        return [w for w in CHOICES[key] if w != value] + ["x", value + "x", value.upper(), 0,
                                                          *common]
    if re.fullmatch("[0-9a-f]{64}", value):
        flip = "1" if value[0] == "0" else "0"
        end = "1" if value[-1] == "0" else "0"
        return [flip + value[1:], value[:-1] + end, "0" * 64, "f" * 64, value[::-1],
                sha256(value.encode()), value.upper() if value.upper() != value else "A" * 64,
                value[:-1], value + "0", "", " " + value[1:], 0, *common]
    # One letter or digit replaced by another: whatever the form, it is still kept.
    end = "1" if value[-1] == "0" else "0" if value[-1].isdigit() else (
        "a" if value[-1] != "a" else "b")
    return [value[:-1] + end, value + "x", "x" + value[1:], value[:-1], value.upper() + "Y", value + " ",
            value[::-1] + "z", "x", "", "\x07", "\u00e9", 0, *common]


class Judge:
    """judge_many, fed in batches."""

    def __init__(self, files):
        self.folder = evidence.Folder()
        path = self.folder.__enter__()
        real.write(path, files)
        self.command = [JUDGE, *(os.path.join(path, f"{word}.json") for word in real.PINNED)]

    def close(self):
        self.folder.__exit__()

    def run(self, cases):
        """Yields (what, judgement, codes) for (what, record, pre, post)."""
        names, feed = [], []
        for what, *documents in cases:
            names.append(what)
            for data in documents:
                feed += [b"%d\n" % len(data), data]
            if len(names) == 4000:
                yield from self._batch(names, feed)
                names, feed = [], []
        yield from self._batch(names, feed)

    def _batch(self, names, feed):
        done = subprocess.run(self.command, input=b"".join(feed), capture_output=True,
                              check=True).stdout.decode().splitlines()
        if len(done) != len(names):
            raise AssertionError("judge_many did not answer each case")
        for what, line in zip(names, done):
            judgement, *codes = line.split()
            yield what, judgement, set(codes)


class Evidence:
    """A real record with its preflights; changed ones bind each other again."""

    def __init__(self, name):
        self.files = real.read(name)
        self.documents = {word: Document(self.files[word]) for word in real.KEPT}
        self.record = self.documents["record"]
        self.named = self.record.by_pointer["/pre_collection_preflight_sha256"]

    def with_record(self, data):
        return data, self.files["pre"], self.files["post"]

    def with_preflight(self, word, data):
        """The record names the changed preflight, or the reader pins it; and the
        digest of an engine is made anew wherever it is, but in the pinned one."""
        data = self.rebind_daemon(data)
        if word == "post":
            return self.files["record"], self.files["pre"], data
        changes = [(self.named, encode(sha256(data)))]
        try:
            daemon = json.loads(data)["daemon_sha256"]
        except (ValueError, KeyError, TypeError):
            daemon = None
        if isinstance(daemon, str) and re.fullmatch("[0-9a-f]{64}", daemon):
            changes += [(self.record.by_pointer[p], encode(daemon)) for p in
                        ("/preconditions/daemon_sha256", "/residue/daemon_sha256")]
        return self.record.replace(*changes), data, self.files["post"]

    def rebind_daemon(self, data):
        try:
            document = json.loads(data)
            old, daemon = document["daemon_sha256"], document["daemon"]
        except (ValueError, KeyError, TypeError):
            return data
        if not isinstance(old, str) or encode(document) != data:
            return data
        was = json.loads(self.files["pre"])["daemon"]
        if daemon == was:
            return data
        return data.replace(encode(old), encode(sha256(encode(daemon))))

    def with_changed(self, word, data):
        return (self.with_record(data) if word == "record"
                else self.with_preflight(word, data))


def stretches(item, word):
    """What judge_altered reads: which byte may be refused for what."""
    if word in real.PINNED:
        # Kept as it is, byte by byte: whatever changes, its digest does.
        return f"0 0 bound {word}-file {word}\n"
    # In a key: of a known one another known one.
    lines = [f"0 0 bound {word}-form probe-basis binding-missing"]
    for span in item.documents[word].spans:
        if span.is_leaf():
            _, is_free, codes = expected.find(TABLES[word], span.pointer)
            lines.append(" ".join([str(span.start), str(span.end),
                                   "free" if is_free else "bound",
                                   f"{word}-form", *sorted(codes)]))
    return "".join(line + "\n" for line in lines)


class TamperTest(unittest.TestCase):
    maxDiff = None
    counts = {}

    @classmethod
    def setUpClass(cls):
        cls.evidence = {name: Evidence(name) for name in real.names()}
        cls.judges = {name: Judge(e.files) for name, e in cls.evidence.items()}
        cls.base = {}
        for name, judge in cls.judges.items():
            files = cls.evidence[name].files
            cls.base[name] = next(judge.run([("", *(files[w] for w in real.KEPT))]))[1:]

    @classmethod
    def tearDownClass(cls):
        for judge in cls.judges.values():
            judge.close()
        for word, count in sorted(cls.counts.items()):
            print(f"{word}: {count}", file=sys.stderr)

    def count(self, word, more=1):
        self.counts[word] = self.counts.get(word, 0) + more

    def chosen(self, name, spans):
        """Of the record with 32 endpoints, whose probes are alike, a sample."""
        if ALL or name != "rootless-netns-32":
            return spans
        return random.Random(1).sample(spans, min(len(spans), 150))

    def check(self, name, cases):
        """cases: (kind, what, codes, is_free, documents...)."""
        wanted = {}

        def feed():
            for kind, what, codes, is_free, *documents in cases:
                self.count(kind)
                key = (len(wanted), kind, what)
                wanted[key] = (codes, is_free)
                yield (key, *documents)

        wrong = []
        unseen = set()
        for key, judgement, codes in self.judges[name].run(feed()):
            predicted, is_free = wanted.pop(key)
            if is_free and (judgement, codes) == self.base[name]:
                unseen.add(key[2][1])
                continue
            if judgement != "refused" or not codes & predicted:
                wrong.append((key[1], key[2], judgement, sorted(codes), sorted(predicted)))
        shown = "\n".join(str(line) for line in wrong[:15])
        self.assertFalse(wrong, f"{name}: {len(wrong)} changes\n{shown}")
        return unseen

    def each(self):
        for name, item in self.evidence.items():
            for word in real.KEPT:
                if word != "record" and name != "rootless-netns" and not ALL:
                    continue
                yield name, item, word, item.documents[word]

    def test_every_leaf_changed(self):
        unseen = set()
        for name, item, word, document in self.each():
            leaves = self.chosen(name, [s for s in document.spans if s.is_leaf()])

            def cases():
                for span in leaves:
                    pattern, is_free, codes = expected.find(TABLES[word], span.pointer)
                    for value in other_values(span):
                        data = document.replace((span, encode(value)))
                        yield ("leaf", (span.pointer, (word, pattern), repr(value)),
                               codes | {f"{word}-form"}, is_free,
                               *item.with_changed(word, data))

            with self.subTest(name, word=word):
                unseen |= self.check(name, cases())
        self.check_free(unseen)

    def check_free(self, unseen):
        """A row that is called free and is not would excuse what is to come."""
        for word, table in TABLES.items():
            for _, pattern, is_free, _ in table:
                if is_free and pattern not in TIGHT:
                    self.assertIn((word, pattern), unseen)

    def test_every_row_is_used(self):
        for word, rows in (("record", expected.RECORD), ("pre", expected.PREFLIGHT)):
            used = {expected.find(TABLES[word], span.pointer)[0]
                    for item in self.evidence.values()
                    for span in item.documents[word].spans if span.is_leaf()}
            self.assertEqual(used, {row[0] for row in rows})

    def test_every_key_removed_added_repeated(self):
        optional = [(expected.compile_pattern(p), codes)
                    for p, codes in expected.OPTIONAL.items()]

        def codes_for(pointer):
            return next((codes for matcher, codes in optional if matcher.match(pointer)), set())

        for name, item, word, document in self.each():
            members = self.chosen(name, [s for s in document.spans
                                         if s.parent and isinstance(s.parent.value, dict)])

            def cases():
                for span in members:
                    form = {f"{word}-form"}
                    rest = [document.member(s) for s in span.parent.children if s is not span]
                    pointer = span.pointer
                    # A part of the evidence that the basis does not need may be absent.
                    is_free = "/evidence/" in pointer and span.parent.key == "evidence"
                    yield ("key removed", (pointer, "evidence"), codes_for(pointer) | form,
                           is_free, *item.with_changed(word, document.rebuild(
                               span.parent, rest)))
                    members_now = [document.member(s) for s in span.parent.children]
                    place = span.parent.children.index(span)
                    yield ("key repeated", (pointer, ""), form, False,
                           *item.with_changed(word, document.rebuild(
                               span.parent, members_now[:place] + [members_now[place]]
                               + members_now[place:])))
                    upper = json.dumps(span.key.upper()).encode() + b":" + document.text(span)
                    yield ("key in capitals", (pointer, ""), form, False,
                           *item.with_changed(word, document.rebuild(
                               span.parent, [upper] + rest)))
                objects = self.chosen(name, [s for s in document.spans
                                             if isinstance(s.value, dict)])
                for span in objects:
                    for key in ("aa", "zz"):
                        new = dict(span.value)
                        new[key] = 1
                        yield ("key added", (f"{span.pointer}/{key}", ""), form, False,
                               *item.with_changed(word, document.replace(
                                   (span, encode(new)))))
                    if re.fullmatch(r"/phases/\d+/probes/\d+/evidence", span.pointer):
                        for key, value in PARTS.items():
                            if key not in span.value:
                                yield ("key added", (f"{span.pointer}/{key}", "evidence"),
                                       {"probe-evidence", "probe-basis", "probe-time",
                                        "expiry-early"}, key in (
                                            "deny_counter", "listener", "listener_gone",
                                            "no_route"), *item.with_record(document.replace(
                                                (span, encode({**span.value, key: value})))))
                    if (re.fullmatch(r"/phases/\d+/probes/\d+", span.pointer)
                            and "endpoint_sha256" not in span.value):
                        yield ("key added", (span.pointer, ""), {"probe-endpoint"}, False,
                               *item.with_record(document.replace((span, encode(
                                   {**span.value, "endpoint_sha256": "0" * 64})))))

            with self.subTest(name, word=word):
                self.check(name, cases())

    def test_every_element_removed_doubled_moved(self):
        lists = [(expected.compile_pattern(p), codes) for p, codes in expected.LISTS.items()]
        for name, item, word, document in self.each():
            arrays = [s for s in document.spans if isinstance(s.value, list)]

            def cases():
                for span in arrays:
                    codes = next(codes for matcher, codes in lists
                                 if matcher.match(span.pointer))
                    # Too long for its struct is not the form either.
                    codes = codes | ({f"{word}-form"} if word != "record" else
                                     {"record-form"})
                    texts = [document.text(child) for child in span.children]
                    for i in range(len(texts)):
                        ways = [("element removed", texts[:i] + texts[i + 1:]),
                                ("element doubled", texts[:i] + [texts[i]] + texts[i:])]
                        if i + 1 < len(texts):
                            ways.append(("element moved", texts[:i] + [texts[i + 1], texts[i]]
                                         + texts[i + 2:]))
                        if len(texts) > 2 and i:
                            ways.append(("element moved to the front", [texts[i]] + texts[:i]
                                         + texts[i + 1:]))
                        for kind, new in ways:
                            yield (kind, (f"{span.pointer}/{i}", ""), codes, False,
                                   *item.with_changed(word, document.rebuild(span, new)))

            with self.subTest(name, word=word):
                self.check(name, cases())

    def test_values_changed_everywhere_at_once(self):
        """A forger who changes every copy of a value, in the record and in the
        preflight that it names, and binds them again: what the reader pins tells."""
        free = {"/network_binding/scoped_ruleset_sha256",
                "/network_binding/scoped_kernel_sha256",
                "/tools/engine_client_sha256", "/inputs/config_sha256",
                "/tools/libnftables", "/tools/systemd",
                # what is below the unit or the user's manager has a name by chance
                "/phases/*/agents/*/cgroup",
                # the listing once the elements are gone
                "/phases/*/comparisons/*/ruleset_sha256"}
        for name, item in self.evidence.items():
            places = {}
            for word in ("record", "pre"):
                for span in item.documents[word].spans:
                    if isinstance(span.value, str) and len(span.value) >= 8:
                        places.setdefault(span.value, []).append((word, span))

            def cases():
                for value, where in places.items():
                    new = (sha256(value.encode()) if len(value) == 64
                           else value[:-1] + ("y" if value[-1] == "x" else "x"))
                    changed = {word: item.documents[word].data.replace(encode(value),
                                                                       encode(new))
                               for word in ("record", "pre")}
                    changed["pre"] = item.rebind_daemon(changed["pre"])
                    record = changed["record"].replace(
                        encode(item.named.value), encode(sha256(changed["pre"])))
                    shapes = {expected.shape(span.pointer) for _, span in where}
                    codes = {"record-form", "pre-form"}
                    for word, span in where:
                        codes |= expected.find(TABLES[word], span.pointer)[2]
                    yield ("changed everywhere", (where[0][1].pointer, ""), codes,
                           bool(shapes & free), record, changed["pre"], item.files["post"])

            with self.subTest(name):
                self.check(name, cases())

    def test_bytes(self):
        """Every bit flipped, every truncation, every byte put in anywhere, in each of
        the six documents: bound again under its new name, it is not of its form, or
        refused for what it changed. Without TAMPER_ALL a sample: of the record's bits
        one of each byte, of the bytes to put in one at each place."""
        sample = {"record": (7, 251)}
        for name in sorted(self.evidence, key=lambda name: name != "rootless-netns"):
            if name != "rootless-netns" and not ALL:
                continue
            with evidence.Folder() as folder:
                for word in real.KEPT + real.PINNED:
                    steps = sample.get(word, (1, 31))
                    if ALL:
                        steps = (1, 251 if name == "rootless-netns-32" else 1)
                    self.alter(folder, name, word, steps)

    def alter(self, folder, name, word, steps):
        """A piece of the document after another, as many at once as there are processors."""
        item = self.evidence[name]
        data = item.files[word]
        paths = []
        for other in real.PINNED + real.KEPT:
            paths.append(os.path.join(folder, other + ".json"))
            with open(paths[-1], "wb") as file:
                file.write(item.files[other])

        def alter_piece(start):
            end = min(start + PIECE, len(data))
            done = subprocess.run(
                [ALTER, *paths, word, *map(str, (start, end, *steps))],
                input=stretches(item, word), stdout=subprocess.PIPE, text=True, check=True)
            *shown, counts = done.stdout.splitlines()
            return end, shown, [int(n) for n in counts.split()[1::2]]

        wrongs = []
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for end, shown, (judged, unseen, wrong) in pool.map(
                    alter_piece, range(0, len(data), PIECE)):
                self.count(f"byte of {word}", judged)
                self.count("byte unseen", unseen)
                if ALL:
                    print(f"{name}, {word}: {end} of {len(data)} bytes; "
                          f"{self.counts[f'byte of {word}']} judged, {wrong} wrong",
                          file=sys.stderr)
                wrongs += shown
        self.assertFalse(wrongs, f"{name}\n" + "\n".join(wrongs))

    def test_under_the_old_name_nothing_can_change(self):
        """Without another name, the store's digest tells: through net-verify."""
        item = self.evidence["rootless-netns"]
        chance = random.Random(4)
        with evidence.Folder() as folder:
            names = real.write(folder, item.files)
            for word in real.KEPT:
                path = os.path.join(folder, "store", names[word])
                data = item.files[word]
                for _ in range(40):
                    i = chance.randrange(len(data))
                    for new in (data[:i] + bytes([data[i] ^ 1 << chance.randrange(8)])
                                + data[i + 1:], data[:i], data[:i] + b"0" + data[i:]):
                        os.chmod(path, 0o600)
                        with open(path, "wb") as file:
                            file.write(new)
                        os.chmod(path, 0o400)
                        status, _, codes = evidence.review(folder, names["record"],
                                                           names["post"])
                        self.assertEqual((status, codes), (1, {f"{word}-object"}))
                        self.count("object damaged")
                os.chmod(path, 0o600)
                with open(path, "wb") as file:
                    file.write(data)
                os.chmod(path, 0o400)

    def test_a_sample_through_the_program(self):
        """judge_many judges as net-verify does."""
        item = self.evidence["rootless-netns"]
        chance = random.Random(5)
        leaves = [s for s in item.record.spans if s.is_leaf()]
        cases = []
        for span in chance.sample(leaves, 100):
            value = chance.choice(other_values(span))
            cases.append((span.pointer, *item.with_record(
                item.record.replace((span, encode(value))))))
        judged = list(self.judges["rootless-netns"].run(cases))
        with evidence.Folder() as folder:
            names = real.write(folder, item.files)
            store = os.path.join(folder, "store")
            records = [evidence.put(store, case[1]) for case in cases]
            done = evidence.verify(folder, records, names["post"], "--format", "json")
            reviews = [json.loads(line) for line in done.stdout.splitlines()]
        for (pointer, judgement, codes), review in zip(judged, reviews):
            found = {finding["code"] for finding in review["findings"]}
            self.assertEqual((judgement, codes), (review["judgement"], found), pointer)

    def test_replay(self):
        """A sound record under pins that are another collection's."""
        one, other = self.evidence["rootless-netns"], self.evidence["rootless-netns-32"]
        wanted = {"profile": "profile", "post": "machine", "release": "release"}
        for pin, code in wanted.items():
            if one.files[pin] == other.files[pin]:
                continue  # both are of one release
            with self.subTest(pin), evidence.Folder() as folder:
                names = real.write(folder, {**one.files, pin: other.files[pin]})
                status, _, codes = evidence.review(folder, names["record"], names["post"])
                self.assertEqual(status, 1)
                self.assertIn(code, codes)
                if pin == "post":
                    self.assertIn("boot", codes)
        changed = {"release": ("version", "9.9.9", "release"),
                   "site": ("run_label", "other", "site"),
                   "profile": ("expires_at_unix", None, "profile")}
        for pin, (key, value, code) in changed.items():
            with self.subTest(pin + " changed"), evidence.Folder() as folder:
                document = json.loads(one.files[pin])
                document[key] = document[key] + 1 if value is None else value
                names = real.write(folder, {**one.files, pin: encode(document)})
                status, _, codes = evidence.review(folder, names["record"], names["post"])
                self.assertEqual(status, 1)
                self.assertIn(code, codes)

    def test_yesterdays_record(self):
        """Today's host: another boot, or the same one and a preflight of today."""
        item = self.evidence["rootless-netns"]
        post = json.loads(item.files["post"])
        for change, code in (({"checked_at_unix": post["checked_at_unix"] + 86400},
                              "too-long"),
                             ({"host": {**post["host"], "boot_id":
                                        "00000000-0000-4000-8000-000000000000"}}, "boot")):
            with evidence.Folder() as folder:
                names = real.write(folder, {**item.files, "post": encode({**post, **change})})
                status, _, codes = evidence.review(folder, names["record"], names["post"])
                self.assertEqual(status, 1)
                self.assertIn(code, codes)

    def test_the_free_leaves_are_documented(self):
        with open("docs/threat-model.md", encoding="utf-8") as file:
            text = file.read()
        part = text.split("## What a forged record could still say", 1)[1].split("\n## ", 1)[0]
        documented = set(re.findall(r"^\| `(/[^`]+)`", part, re.M))
        free = {row[0] for row in expected.RECORD if expected.FREE in row}
        self.assertEqual({p for p in documented if not p.startswith("/checked")}, free)
        self.assertIn("/checked_at_unix", documented)


if __name__ == "__main__":
    unittest.main()
