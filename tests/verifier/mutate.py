#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns each comparison of the verifier around, one at a time; some test must fail.

  mutate.py [--seconds S [--date N]] [FILE...]

A mutant is one source file with one change: an operator turned into its opposite or
moved by one, a negation dropped, or a check that is called and never finds anything.
One of the judgement is linked into judge_many and given the cases of test_record,
test_boundaries and test_tamper (of the last, one or two of each kind, place and answer);
a mutant of policy/verdict.c also its unit test. One of what reads and reports is linked
into net-verify, with its filter and without, for the tests of the whole program. With
--seconds as many as that time allows once the cases are there, but one at least, others
each day; without, all of them. Those that no test can tell from the original, and why, are
in mutants-equal.txt; any other that survives fails.
"""
import argparse
import contextlib
import datetime
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import evidence  # noqa: E402
import expected  # noqa: E402
import real  # noqa: E402
import samples  # noqa: E402
import test_boundaries  # noqa: E402
import test_record  # noqa: E402
import test_tamper  # noqa: E402

JUDGING = ("verifier/judge.c", "verifier/judge_agents.c", "verifier/judge_binding.c",
           "verifier/judge_probes.c", "verifier/judge_times.c", "verifier/finding.c",
           "policy/verdict.c")
# What reads and reports, and the tests of it: the quick ones first.
WHOLE = {name: ("test_review", "test_statuses", "test_colours", "test_attacks", "test_record",
                "test_output") for name in
         ("case", "main", "object", "report", "review", "statement")}
WHOLE.update({"confine": (), "fsck": (), "show": ()})
WHOLE.update({name: ("test_formats", "test_statuses", "test_attacks", "test_record") for name in
              ("report_human", "report_junit", "report_sarif", "report_tap")})
WHOLE.update({name: ("test_formats", "test_attacks", "test_record", "test_html") for name in
              ("markup", "report_html")})
WHOLE = {f"verifier/{name}.c": [f"tests/verifier/{test}.py" for test in tests]
         + ["tests/store/test_verify_store.py"] for name, tests in WHOLE.items()}
FILES = (*JUDGING, *WHOLE)
# Whose changes are tried; the others are judged as they are.
NAME = "rootless-netns"
EQUAL = os.path.join(os.path.dirname(__file__), "mutants-equal.txt")
BUILD = os.environ.get("BUILD", "build")
ARCHIVES = [f"{BUILD}/lib/lib{name}.a" for name in ("verifier", "policy", "common")]
COMPILE = ["gcc", "-std=gnu11", "-O0", "-w", "-I.", "-D_GNU_SOURCE"]
OTHERS = {" == ": (" != ",), " != ": (" == ",), " < ": (" >= ", " <= "),
          " <= ": (" > ", " < "), " > ": (" <= ", " >= "), " >= ": (" < ", " > "),
          " && ": (" || ",), " || ": (" && ",), " + 1": (" + 0",)}
# A call that looks, finds nothing and says so.
BLIND = """
__attribute__((unused)) static bool blind(struct findings *findings, ...) { return true; }
"""
CALL = re.compile(r"\bfindings_(?:true|text|number|range)\(")


def code_lines(text):
    """(offset, line) of each line that is code and not a declaration of finding.c's."""
    offset, is_comment = 0, False
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        was = is_comment
        if bare.startswith("/*"):
            is_comment = True
            was = True
        if "*/" in bare:
            is_comment = False
        if not was and not bare.startswith(("//", "#", "bool findings_")):
            yield offset, line
        offset += len(line)


def mutants(path):
    """Yields (what, the mutant's text)."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for offset, line in code_lines(text):
        number = text.count("\n", 0, offset) + 1
        code = re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: "_" * len(m.group()), line)
        bare = " ".join(line.split())
        code += " "  # an operator may end its line
        spots = []
        for old, news in OTHERS.items():
            for match in re.finditer(re.escape(old.rstrip()) + r"(?=\s)", code):
                if old.strip() != "+ 1" and not code[match.start() - 1:match.start()].isspace() \
                        and not old.startswith(" "):
                    continue
                # A loop that goes one too far reads an element of zeros: nothing that
                # these tests could see; the sanitizers would.
                if bare.startswith("for ("):
                    news = news[:1]
                spots += [(match.start(), old.rstrip(), new.rstrip()) for new in news]
        for match in re.finditer(r"(?<=[\s(])!(?=[a-z(])", code):
            spots.append((match.start(), "!", ""))
        for at, old, new in spots:
            place = offset + at
            yield (f"{path}: {bare}: {old.strip()} -> {new.strip() or 'nothing'}"
                   + (f" @{at}" if code.count(old) > 1 else ""), number,
                   text[:place] + new + text[place + len(old):])
        if path.startswith("verifier/judge"):
            for match in CALL.finditer(code):
                place = offset + match.start()
                end = offset + match.end() - 1
                rest = " ".join(text[place:place + 200].split())[:110]
                includes = text.rindex("#include")
                after = text.index("\n", includes) + 1
                changed = text[:place] + "blind" + text[end:]
                yield (f"{path}: blind: {rest}", number,
                       changed[:after] + BLIND + changed[after:])


# --- cases --------------------------------------------------------------------------


class Suite:
    """Cases under one set of pins: the bytes to feed and what must be answered."""

    def __init__(self, files):
        self.judge = test_tamper.Judge(files)
        self.command = self.judge.command[1:]
        self.feed, self.wanted = [], []

    def add(self, documents, is_right):
        for data in documents:
            self.feed += [b"%d\n" % len(data), data]
        self.wanted.append(is_right)

    def holds(self, program):
        """Whether every answer is right; a program that dies or hangs answers none."""
        try:
            done = subprocess.run([program, *self.command], input=b"".join(self.feed),
                                  capture_output=True, check=False, timeout=60)
        except subprocess.TimeoutExpired:
            return False
        lines = done.stdout.decode(errors="replace").splitlines()
        return (done.returncode == 0 and len(lines) == len(self.wanted)
                and all(right(line) for right, line in zip(self.wanted, lines)))


def exactly(judgement, codes):
    """`codes`: a set; or a list, if each must be found so many times."""
    def is_right(line):
        found = line.split()[1:]
        return line.split()[:1] == [judgement] and (
            sorted(found) == sorted(codes) if isinstance(codes, list)
            else set(found) == codes)
    return is_right


def at_least(predicted):
    def is_right(line):
        words = line.split()
        return words[0] == "refused" and bool(set(words[1:]) & predicted)
    return is_right


def case_files(case):
    return {"record": samples.canonical(case.record), "pre": samples.canonical(case.pre),
            "post": samples.canonical(case.post), "profile": case.profile_bytes(),
            "site": case.site_text.encode(), "release": samples.canonical(case.release)}


class Suites:
    def __init__(self):
        self.by_pins = {}

    def add(self, files, is_right):
        pins = tuple(files[word] for word in real.PINNED)
        if pins not in self.by_pins:
            self.by_pins[pins] = Suite(files)
        self.by_pins[pins].add([files[word] for word in real.KEPT], is_right)

    def close(self):
        for suite in self.by_pins.values():
            suite.judge.close()


STATUS = {0: "verified", 1: "refused"}


def add_samples(suites):
    for options in ({}, {"trusted": 32}, {"trusted": 3, "dns": 2},
                    {"site": "ditto-coding-hosted"}):
        suites.add(case_files(evidence.Case(**options)), exactly("verified", set()))
    for name in sorted(os.listdir(test_record.CODES)):
        with open(os.path.join(test_record.CODES, name, "case.json"), encoding="ascii") as file:
            wanted = json.load(file)
        if "after" in wanted or any(code.endswith(("-object", "-form", "-file"))
                                    for code in wanted["codes"]):
            continue  # of reading, which is not mutated
        case = evidence.Case()
        for change in wanted["changes"]:
            test_record.apply(case, change)
        if not wanted.get("keep"):
            case.rebind()
        judgement = (STATUS.get(wanted["status"])
                     or ("unmatched" if "probe-unmatched" in wanted["codes"]
                         else "inconclusive"))
        suites.add(case_files(case), exactly(judgement, set(wanted["codes"])))
    for _, good, bad, codes in test_boundaries.LIMITS:
        for changes, wanted in ((good, set()),
                                (bad, {codes} if isinstance(codes, str) else codes)):
            case = evidence.Case()
            test_boundaries.put(case, changes)
            suites.add(case_files(case),
                       exactly("refused" if wanted else "verified", wanted))
    for _, change, codes in test_boundaries.LIES:
        case = evidence.Case()
        change(case)
        case.rebind()
        suites.add(case_files(case), exactly("refused" if codes else "verified", codes))


class Collect(test_tamper.TamperTest):
    """test_tamper's cases, kept instead of judged only: one or two of each kind, place
    and answer."""
    suites, seen = None, None

    def check_free(self, unseen):
        pass  # of three records, and only one is changed here

    def check(self, name, cases):
        files = self.evidence[name].files
        cases = list(cases)
        unseen = set()
        answers = self.judges[name].run(((i, *case[4:]) for i, case in enumerate(cases)))
        for i, judgement, codes in answers:
            kind, what, predicted, is_free, *documents = cases[i]
            if is_free and (judgement, codes) == self.base[name]:
                unseen.add(what[1])
                wanted = None
            else:
                wanted = at_least(predicted)
            place = what[0] if kind.startswith("element") else expected.shape(what[0])
            key = (name, kind, place, what[1], tuple(sorted(codes)))
            self.seen[key] = self.seen.get(key, 0) + 1
            if self.seen[key] > 2:
                continue
            self.suites.add({**files, **dict(zip(real.KEPT, documents))},
                            wanted or exactly(*self.base[name]))
        return unseen


def add_tampered(suites):
    Collect.suites, Collect.seen = suites, {}
    Collect.setUpClass()
    Collect.evidence = {NAME: Collect.evidence[NAME]}
    try:
        for name, (judgement, codes) in Collect.base.items():
            suites.add(real.read(name), exactly(judgement, codes))
        for test in ("test_every_leaf_changed", "test_every_key_removed_added_repeated",
                     "test_every_element_removed_doubled_moved",
                     "test_values_changed_everywhere_at_once"):
            result = Collect(test).run()
            if result and not result.wasSuccessful():
                raise SystemExit(f"{test} fails without a mutation")
    finally:
        for judge in Collect.judges.values():
            judge.close()


# --- mutants ------------------------------------------------------------------------


def link_program(folder, name, *objects):
    program = os.path.join(folder, name)
    subprocess.run(["gcc", "-o", program, *objects, *ARCHIVES, "-ljansson", "-lnettle",
                    "-lseccomp"], check=True)
    return program


def build(folder, path, text):
    """What the mutant is in: judge_many or None, and the tests that take their programs
    from the folder. Returns None if it does not compile."""
    source, mutant = os.path.join(folder, "mutant.c"), os.path.join(folder, "mutant.o")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    made = subprocess.run(COMPILE + ["-c", source, "-o", mutant], capture_output=True,
                          check=False)
    if made.returncode:
        return None
    judge, tests = None, WHOLE.get(path, [])
    if path in JUDGING:
        judge = link_program(folder, "judge", mutant, f"{BUILD}/obj/tests/verifier/judge_many.o")
    # What is read and what is said: test_record, with the program whole.
    if path in ("verifier/judge.c", "verifier/finding.c"):
        tests = ["tests/verifier/test_record.py"]
    if tests:
        main = [] if path == "verifier/main.c" else [f"{BUILD}/obj/verifier/main.o"]
        link_program(folder, "net-verify", mutant, *main, "-static")
        # In the place of the confinement, or of its mutant.
        link_program(folder, "unconfined", *([] if path == "verifier/confine.c" else [mutant]),
                     *main, f"{BUILD}/obj/tests/store/unconfined.o")
        link_program(folder, "confined", *([] if path == "verifier/main.c" else [mutant]),
                     f"{BUILD}/obj/tests/store/confined.o")
    if path == "policy/verdict.c":
        tests = [link_program(folder, "unit", mutant,
                              f"{BUILD}/obj/tests/unit/test_verdict.o", "-lcmocka")]
    return judge, tests


def passes(test, environment):
    """What hangs does not; nothing of it is left."""
    process = subprocess.Popen([test], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env=environment,
                               start_new_session=True)
    try:
        return process.wait(timeout=120) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                os.killpg(process.pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=10)


def is_killed(suites, folder, judge, tests):
    environment = {**os.environ, "NET_VERIFY": os.path.join(folder, "net-verify"),
                   "VERIFY_CONFINED": os.path.join(folder, "confined"),
                   "VERIFY_UNCONFINED": os.path.join(folder, "unconfined")}
    if not all(passes(test, environment) for test in tests):
        return True
    return judge is not None and not all(suite.holds(judge) for suite in suites.by_pins.values())


class Baseline:
    """Without a mutation no test may fail, or every mutant would be taken for killed."""

    def __init__(self, suites, folder):
        self.suites, self.folder = suites, folder
        self.proven = set()

    def prove(self, path):
        if path in self.proven:
            return
        with open(path, encoding="utf-8") as file:
            judge, tests = build(self.folder, path, file.read())
        new = [test for test in tests if test not in self.proven]
        if is_killed(self.suites, self.folder, judge, new):
            raise SystemExit(f"mutate: {path}: something fails without a mutation")
        self.proven.update([path, *new])


def choose(arguments):
    chosen = [(path, *mutant) for path in arguments.files or FILES for mutant in mutants(path)]
    if arguments.seconds:
        day = arguments.date or datetime.date.today().toordinal()
        random.Random(day).shuffle(chosen)
    return chosen


def load_equal():
    with open(EQUAL, encoding="utf-8") as file:
        return {line.rstrip("\n") for line in file if line.strip() and line[0] != "#"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--date", type=int, help="a day's number; today's if not given")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    suites, equal = Suites(), load_equal()
    killed, alive, same, broken = 0, [], 0, 0
    try:
        if any(path in JUDGING for path in arguments.files or FILES):
            add_samples(suites)
            add_tampered(suites)
        with tempfile.TemporaryDirectory() as folder:
            baseline = Baseline(suites, folder)
            begun = time.monotonic()
            for path, what, number, text in choose(arguments):
                if arguments.seconds and killed and (
                        time.monotonic() - begun > arguments.seconds):
                    break
                if what in equal:
                    same += 1
                    continue
                baseline.prove(path)
                built = build(folder, path, text)
                if not built:
                    broken += 1
                elif is_killed(suites, folder, *built):
                    killed += 1
                else:
                    alive.append(what)
                    print(f"alive: line {number}: {what}", flush=True)
    finally:
        suites.close()
    cases = sum(len(suite.wanted) for suite in suites.by_pins.values())
    print(f"{cases} cases; {killed} mutants killed, {len(alive)} alive, {same} known to be "
          f"equal, {broken} do not compile", flush=True)
    print(f"Ran {killed + len(alive)} tests in {time.monotonic() - begun:.0f}s")
    return 1 if alive or not killed else 0


if __name__ == "__main__":
    sys.exit(main())
