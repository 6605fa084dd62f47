# SPDX-License-Identifier: GPL-2.0-or-later
"""One row: a small file that says what is done to a host, when, and what must be said.

Its names are all that README.md lists; any other is a mistake, and so is a row that
does nothing or expects what anything would meet.
"""
import os
import runpy

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {"sabotages": "sabotage", "good": "good"}
TEXTS = ("PREFLIGHT_REFUSED", "REFUSED", "UNTOLD", "NOT_VERIFIED")
EXPECTATIONS = (*TEXTS, "BAD", "RESIDUE")
ACTS = ("DO", "WORLD", "HOST", "PROFILE", "WRAP", "WINDOW")
NAMES = {"LAYER", "WHEN", "UNTIL", "CLOSE", "FIRST", "UNDO", "LAST", "LEAVES", "BASIS", *ACTS,
         *EXPECTATIONS}
LAYERS = ("policy", "foreign", "units", "engine", "agents", "time", "network", "collector",
          "evidence", "host")
# Moments that are no progress line of the collector's.
BEFORE_PREFLIGHT, BEFORE_COLLECTION, AFTER_COLLECTION = "preflight", "collection", "after"
MOMENTS = (BEFORE_PREFLIGHT, BEFORE_COLLECTION, AFTER_COLLECTION)


class Mistake(Exception):
    """A row that is not one."""


def says_something(key, value):
    if key in ("BAD", "RESIDUE"):
        return isinstance(value, dict) and value and all(value.values())
    return bool(value) and all(isinstance(text, str) and text for text in texts_of(value))


def texts_of(value):
    """An expectation is one text or several, all of which must be said."""
    return (value,) if isinstance(value, str) else tuple(value)


class Row:
    def __init__(self, name, kind, has, title, act=None):
        self.name, self.kind, self.has, self.title, self.act = name, kind, has, title, act
        wrong = self.find_mistake()
        if wrong:
            raise Mistake(f"{name}: {wrong}")

    def find_mistake(self):
        unknown = sorted(set(self.has) - NAMES)
        expected = self.expected
        if not self.title:
            return "its first line must say what it is"
        if unknown:
            return f"unknown {', '.join(unknown)}"
        if self.has.get("LAYER") not in LAYERS:
            return f"LAYER is none of {', '.join(LAYERS)}"
        if self.kind == "good" and expected:
            return "a good host expects nothing but to pass"
        if self.kind == "sabotage" and len(expected) != 1:
            return f"exactly one of {', '.join(EXPECTATIONS)}"
        if not all(says_something(key, self.has[key]) for key in expected):
            return f"{expected[0]} would be met by anything"
        if self.kind == "sabotage" and not self.act and not set(ACTS) & set(self.has):
            return "a sabotage that does nothing"
        if "BASIS" in self.has and set(expected) & set(TEXTS) - {"NOT_VERIFIED"}:
            return "BASIS is for what has a record"
        if "UNDO" in self.has and not {"REFUSED", "PREFLIGHT_REFUSED"} & set(expected):
            return "UNDO is for what is refused before anything starts"
        if ("UNTIL" in self.has) != ("CLOSE" in self.has):
            return "UNTIL is the moment of CLOSE: both or neither"
        if "UNTIL" in self.has and self.when in MOMENTS:
            return "UNTIL is for what is done while the collection runs"
        return None

    @property
    def expected(self):
        return [key for key in EXPECTATIONS if key in self.has]

    def get(self, key, default=None):
        return self.has.get(key, default)

    @property
    def layer(self):
        return self.has["LAYER"]

    @property
    def when(self):
        return self.get("WHEN", BEFORE_COLLECTION)

    @property
    def is_disturbance(self):
        """Whether something is done at its moment, and not only to how the host is made."""
        return bool(self.act or self.get("DO") or self.get("WORLD"))

    @property
    def is_shared(self):
        """Refused before the window, and undone: many of these fit into one lab."""
        return "UNDO" in self.has


def read(folder, name):
    found = runpy.run_path(os.path.join(HERE, folder, f"{name}.py"))
    title = (found.get("__doc__") or "").strip().split("\n")[0]
    has = {key: value for key, value in found.items() if key.isupper()}
    return Row(name, KINDS[folder], has, title, found.get("act"))


def read_all():
    return [read(folder, name[:-3]) for folder in KINDS
            for name in sorted(os.listdir(os.path.join(HERE, folder))) if name.endswith(".py")]
