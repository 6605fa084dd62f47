# SPDX-License-Identifier: GPL-2.0-or-later
"""nf_tables by hand: batches of any messages, for tables that no nft would make.

    with namespace.entered():
        link = Link()
    link.commit(table("t"), chain("t", "c"),
                rule("t", "c", expression("counter")))

Numbers are of linux/netfilter/nf_tables.h. A Link stays in the namespace that it was
opened in; while it is open, tables with the flag "owner" that it made live.
"""
import os
import socket
import struct

NETLINK_NETFILTER = 12
BATCH_BEGIN, BATCH_END = 0x10, 0x11
REQUEST, ACK, EXCL, CREATE, APPEND = 0x1, 0x4, 0x200, 0x400, 0x800
NESTED = 0x8000
INET, IP, NETDEV = 1, 2, 5
NEWTABLE, DELTABLE, NEWCHAIN, NEWRULE, DELRULE, NEWSET, NEWSETELEM, NEWOBJ = \
    0, 2, 3, 6, 8, 9, 12, 18
DORMANT, OWNER, PERSIST = 1, 2, 4


def attribute(kind, value):
    """An attribute: bytes as they are, a number as 32 bits in network order, a text with
    its NUL, a list of attributes nested."""
    if isinstance(value, list):
        kind, value = kind | NESTED, b"".join(value)
    elif isinstance(value, int):
        value = struct.pack("!I", value & 0xffffffff)
    elif isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape") + b"\0"
    size = 4 + len(value)
    return struct.pack("=HH", size, kind) + value + b"\0" * (-size % 4)


def message(kind, *attributes, family=INET, flags=CREATE):
    return kind, family, flags, b"".join(attributes)


def table(name, flags=0, **options):
    return message(NEWTABLE, attribute(1, name), attribute(2, flags), **options)


def delete_table(name, **options):
    return message(DELTABLE, attribute(1, name), flags=0, **options)


def chain(table_name, name, hook=None, priority=0, kind="filter", policy=1, extra=(),
          **options):
    parts = [attribute(1, table_name), attribute(3, name)]
    if hook is not None:
        parts += [attribute(7, kind), attribute(5, policy),
                  attribute(4, [attribute(1, hook), attribute(2, priority), *extra])]
    return message(NEWCHAIN, *parts, **options)


def expression(name, *attributes):
    data = [attribute(2, list(attributes))] if attributes else []
    return attribute(1, [attribute(1, name), *data])


def rule(table_name, chain_name, *expressions, **options):
    options.setdefault("flags", CREATE | APPEND)
    return message(NEWRULE, attribute(1, table_name), attribute(2, chain_name),
                   attribute(4, list(expressions)), **options)


def new_set(table_name, name, key_type, key_length, flags=0, *extra, number=1, **options):
    return message(NEWSET, attribute(1, table_name), attribute(2, name),
                   attribute(3, flags), attribute(4, key_type), attribute(5, key_length),
                   attribute(10, number), *extra, **options)


def element(key, *extra):
    return attribute(1, [attribute(1, [attribute(1, key)]), *extra])


def elements(table_name, set_name, *list_of, **options):
    return message(NEWSETELEM, attribute(1, table_name), attribute(2, set_name),
                   attribute(3, list(list_of)), **options)


class Link:
    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
        self.socket.bind((0, 0))
        self.socket.settimeout(10)
        self.sequence = 0

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def _pack(self, kind, family, flags, body, resource=0):
        self.sequence += 1
        body = struct.pack("=BB", family, 0) + struct.pack("!H", resource) + body
        return struct.pack("=IHHII", 16 + len(body), kind, flags | REQUEST,
                           self.sequence, 0) + body

    def commit(self, *messages):
        """Sends one transaction; an OSError says what the kernel refused."""
        data = self._pack(BATCH_BEGIN, 0, 0, b"", 10)
        for kind, family, flags, body in messages:
            data += self._pack(10 << 8 | kind, family, flags | ACK, body)
        data += self._pack(BATCH_END, 0, 0, b"", 10)
        self.socket.send(data)
        answered = 0
        while answered < len(messages):
            received = self.socket.recv(1 << 16)
            while received:
                size, kind = struct.unpack("=IH", received[:6])
                error = struct.unpack("=i", received[16:20])[0] if kind == 2 else 0
                if error:
                    raise OSError(-error, os.strerror(-error))
                answered += kind == 2
                received = received[size + 3 & ~3:]
