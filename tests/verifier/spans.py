# SPDX-License-Identifier: GPL-2.0-or-later
"""Where in a canonical document each value lies, so that one can be changed by cutting
the bytes: a hundred thousand changed documents need no encoder."""
import json


class Span:
    """One value: its pointer, its parent, and the bytes it takes."""

    def __init__(self, pointer, value, parent, key):
        self.pointer, self.value, self.parent, self.key = pointer, value, parent, key
        self.children = []
        self.start = self.end = 0

    def is_leaf(self):
        return not isinstance(self.value, (dict, list))


class Document:
    """The bytes of a canonical document and the spans of all of its values."""

    def __init__(self, data):
        self.data = data
        self.spans = []
        self.parts = []
        self.length = 0
        self.root = self._write(json.loads(data), "", None, None)
        if b"".join(self.parts) != data:
            raise AssertionError("not canonical")
        self.by_pointer = {span.pointer: span for span in self.spans}

    def _put(self, data):
        self.parts.append(data)
        self.length += len(data)

    def _write(self, value, pointer, parent, key):
        span = Span(pointer, value, parent, key)
        self.spans.append(span)
        span.start = self.length
        if isinstance(value, dict):
            self._put(b"{")
            for i, name in enumerate(sorted(value)):
                self._put((b"," if i else b"") + json.dumps(name).encode() + b":")
                span.children.append(self._write(value[name], f"{pointer}/{name}", span, name))
            self._put(b"}")
        elif isinstance(value, list):
            self._put(b"[")
            for i, item in enumerate(value):
                if i:
                    self._put(b",")
                span.children.append(self._write(item, f"{pointer}/{i}", span, i))
            self._put(b"]")
        else:
            self._put(encode(value))
        span.end = self.length
        return span

    def text(self, span):
        return self.data[span.start:span.end]

    def replace(self, *changes):
        """The document with each (span, bytes) put in that value's place."""
        data = self.data
        for span, new in sorted(changes, key=lambda change: -change[0].start):
            data = data[:span.start] + new + data[span.end:]
        return data

    def member(self, span):
        """A member or element as it is written, with its key."""
        if isinstance(span.parent.value, dict):
            return json.dumps(span.key).encode() + b":" + self.text(span)
        return self.text(span)

    def rebuild(self, parent, members):
        """The document with other members or elements in `parent`."""
        is_object = isinstance(parent.value, dict)
        return self.replace((parent, (b"{" if is_object else b"[") + b",".join(members)
                             + (b"}" if is_object else b"]")))


def encode(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
