#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stands in somebody's place, in whatever network it is started in:

  taker.py tcp PORT answer            takes connections and keeps them
  taker.py tcp PORT forward           says to each request that it was forwarded
  taker.py tcp PORT keep HOST PORT    reaches HOST for the first, and keeps that one for ever
  taker.py tcp PORT host HOST PORT    reaches HOST for each, in the host's own network
  taker.py dns PORT                   answers every question
"""
import contextlib
import ctypes
import os
import socket
import sys
import threading


def answer(connection):
    while connection.recv(65536):
        pass


def forward(connection):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
    answer(connection)


def relay(connection, host, port):
    """What becomes of HOST's side is no reason to let go of the other."""
    with contextlib.suppress(OSError), socket.create_connection((host, int(port))):
        answer(connection)
    answer(connection)


def join_host():
    network = os.open("/proc/1/ns/net", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(network, 0):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(network)


def take_tcp(port, how, *where):
    take = {"answer": answer, "forward": forward, "keep": relay, "host": relay}[how]

    def serve(connection):
        with connection, contextlib.suppress(OSError):
            take(connection, *where)

    with socket.create_server(("::", int(port)), family=socket.AF_INET6, backlog=128,
                              dualstack_ipv6=True) as listener:
        if how == "host":
            join_host()
        if how == "keep":
            connection, _ = listener.accept()
            listener.close()
            serve(connection)
            return
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


def take_dns(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.bind(("0.0.0.0", int(port)))
        while True:
            question, peer = asked.recvfrom(4096)
            # RFC 1035, 4.1.1: the question itself, with QR, RD, RA and NOERROR.
            asked.sendto(question[:2] + b"\x81\x80" + question[4:], peer)


if __name__ == "__main__":
    {"tcp": take_tcp, "dns": take_dns}[sys.argv[1]](*sys.argv[2:])
