# SPDX-License-Identifier: GPL-2.0-or-later
"""The records of fixtures/records: collected on real hosts (labs), with both of their
preflights and what they are pinned to; read as bytes, and put on disk as a store."""
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
