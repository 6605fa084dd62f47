# SPDX-License-Identifier: GPL-2.0-or-later
"""The records of fixtures/records: collected on real hosts (labs), with both of their
preflights and what they are pinned to; read as bytes, and put on disk as a store. And what
several tests change in them."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
import evidence  # noqa: E402

FOLDER = "fixtures/records"
KEPT = ("record", "pre", "post")
PINNED = ("profile", "site", "release")


def names():
    return sorted(os.listdir(FOLDER))


def read(name):
    """{"record": bytes, "pre": ..., "post": ..., "profile": ..., "site": ..., ...}"""
    files = {}
    for word in KEPT + PINNED:
        with open(os.path.join(FOLDER, name, word + ".json"), "rb") as file:
            files[word] = file.read()
    return files


def values(name):
    return {word: json.loads(data) for word, data in read(name).items()}


def write(folder, files):
    """Puts all of them into `folder`; the names of what is in the store."""
    store = os.path.join(folder, "store")
    os.makedirs(store, 0o700, exist_ok=True)
    for word in PINNED:
        path = os.path.join(folder, word + ".json")
        with open(path, "wb") as file:
            file.write(files[word])
        os.chmod(path, 0o600)
    return {word: evidence.put(store, files[word]) for word in KEPT}


def probe(record, name):
    """The one probe with that id."""
    (found,) = [one for phase in record["phases"] for one in phase["probes"] if one["id"] == name]
    return found


def leak(record, name):
    """That probe got where it must not, truly recorded."""
    probe(record, name).update(observed="connected", matched=False, basis="outcome")


def make_inconclusive(record):
    """One probe's control did not get through afterwards, truly recorded."""
    one = probe(record, "daemon.public.after_stop")
    one["evidence"]["control"]["after"]["outcome"] = "timeout"
    one.update(basis="none", conclusive=False)
