# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules for JSON a second time, written from SPEC-like prose and RFC 8785 and
sharing nothing with common/: Python's parser with every hook closed."""
import json
import re

MAX_DEPTH = 16
MAX_INTEGER = 2**53 - 1


class Refused(Exception):
    pass


def _pairs(pairs):
    found = {}
    for key, value in pairs:
        if key in found:
            raise Refused("a key twice")
        found[key] = value
    return found


def _integer(text):
    if text.startswith("-0"):
        raise Refused("-0")
    value = int(text)
    if abs(value) > MAX_INTEGER:
        raise Refused("beyond 2^53 - 1")
    return value


def _no_number(text):
    raise Refused(f"not an integer: {text}")


def _check(value, depth=1):
    if isinstance(value, str):
        if "\0" in value or re.search("[\ud800-\udfff]", value):
            raise Refused("U+0000 or a lone surrogate")
    elif isinstance(value, (list, dict)):
        if depth > MAX_DEPTH:
            raise Refused("too deep")
        for item in value:
            _check(item, depth + 1)
        if isinstance(value, dict):
            for item in value.values():
                _check(item, depth + 1)


def parse(document):
    """Bytes to a value, or Refused."""
    if document.startswith(b"\xef\xbb\xbf"):
        raise Refused("a byte order mark")
    try:
        value = json.loads(document.decode("utf-8", "strict"), object_pairs_hook=_pairs,
                           parse_int=_integer, parse_float=_no_number,
                           parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refused(str(error)) from error
    if not isinstance(value, dict):
        raise Refused("not an object")
    _check(value)
    return value


_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r",
          '"': '\\"', "\\": "\\\\"}


def _text(text):
    return '"' + "".join(
        _SHORT.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in text) + '"'


def _write(value):
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_write, value)) + "]"
    # RFC 8785, 3.2.3: by UTF-16 code units, unsigned.
    keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
    return "{" + ",".join(f"{_text(key)}:{_write(value[key])}" for key in keys) + "}"


def canonical(value):
    return _write(value).encode("utf-8")
