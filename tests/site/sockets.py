#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What socket calls answer to this process: one line of JSON. Run inside a unit and
outside, it shows what the unit's directives change."""
import errno
import json
import socket
import sys

FAMILIES = ("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK",
            "AF_ALG", "AF_X25", "AF_BLUETOOTH", "AF_CAN")
TYPES = ("SOCK_STREAM", "SOCK_DGRAM", "SOCK_RAW", "SOCK_SEQPACKET")
TARGETS = ("127.0.0.1", "198.51.100.1", "::1", "2001:db8::1")


def outcome(call):
    try:
        with call():
            return "done"
    except OSError as error:
        return errno.errorcode[error.errno]


def connect(address, kind):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    found = socket.socket(family, kind)
    found.settimeout(3)
    try:
        found.connect((address, 9))
    except TimeoutError:
        found.close()
        raise OSError(errno.ETIMEDOUT, "") from None
    except OSError:
        found.close()
        raise
    return found


def bind(address, port):
    found = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    found.bind((address, port))
    found.listen()
    return found


def main():
    said = {}
    for family in FAMILIES:
        for kind in TYPES:
            said[f"socket {family} {kind}"] = outcome(
                lambda f=family, k=kind: socket.socket(getattr(socket, f),
                                                       getattr(socket, k)))
    for address in TARGETS:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            said[f"connect {address} {kind.name}"] = outcome(
                lambda a=address, k=kind: connect(a, k))
    for address in ("127.0.0.1", "0.0.0.0", "::"):
        for port in (80, 8443, 40001):
            said[f"bind {address} {port}"] = outcome(lambda a=address, p=port: bind(a, p))
    print(json.dumps(said), file=sys.stdout, flush=True)


if __name__ == "__main__":
    main()
