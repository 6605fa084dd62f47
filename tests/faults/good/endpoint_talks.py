# SPDX-License-Identifier: GPL-2.0-or-later
"""The trusted endpoint talks to whoever is there, and sends again what nobody acknowledges."""
LAYER = "network"
WHEN = "preflight"


def act(host):
    host.lab.service("stop", "trusted-1")
    host.lab.world("/bin/sh", "-ec", "setsid /usr/bin/python3 -c '" + r"""
import socket, threading, time
def talk(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        while True:
            connection.send(b"x"); time.sleep(0.2)
    except OSError:
        connection.close()
with socket.create_server(("198.51.100.1", 443)) as listener:
    while True:
        threading.Thread(target=talk, args=listener.accept()[:1], daemon=True).start()
' </dev/null >/dev/null 2>&1 &
until ss -Htln | grep -q 198.51.100.1:443; do sleep 0.05; done""")
