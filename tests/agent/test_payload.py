#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""connect, handshake, establish and check never send a payload byte: seen by the peer,
which reads an end of file after nothing, and in a capture of the wire.

The sequences are random; NETPROOF_SEED repeats one.
"""
import os
import random
import socket
import struct
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Agent, netns  # noqa: E402

SEQUENCES = 3000
PORT, CLOSED_PORT, DROPPED_PORT, REJECTED_PORT = 5050, 5051, 5052, 5053
ADDRESSES = ("10.12.0.2", "fd00:12::2")
TCP_RST = 4


class Peer(threading.Thread):
    """Accepts on both families, reads every connection to its end, and answers some
    with data, an early end or a reset."""

    def __init__(self, listeners, seed):
        super().__init__()
        self.random = random.Random(seed)
        self.listeners, self.readers = listeners, []
        self.accepted = self.bytes_read = 0
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.accept, args=(listener,))
                        for listener in listeners]

    def run(self):
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()
        for reader in self.readers:
            reader.join()

    def accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.accepted += 1
                manner = self.random.choice(["read", "read", "data", "end", "reset"])
            reader = threading.Thread(target=self.read, args=(connection, manner))
            reader.start()
            self.readers.append(reader)

    def read(self, connection, manner):
        with connection:
            try:
                if manner == "data":
                    connection.sendall(b"\xff" * 777)
                elif manner == "end":
                    connection.shutdown(socket.SHUT_WR)
                elif manner == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                          struct.pack("ii", 1, 0))
                    return
                while got := connection.recv(4096):
                    with self.lock:
                        self.bytes_read += len(got)
            except ConnectionResetError:
                # Data of ours was unread when the agent closed: still no byte of its.
                pass


def random_sequence(chance):
    requests = []
    for _ in range(chance.randint(1, 8)):
        op = chance.choice(["connect", "handshake", "establish", "establish"])
        port = chance.choice([PORT] * 8 + [CLOSED_PORT, DROPPED_PORT, REJECTED_PORT])
        requests.append(dict(op=op, address=chance.choice(ADDRESSES), port=port,
                             timeout_ms=chance.choice([2, 20, 5000])
                             if port == PORT else chance.choice([1, 2, 5])))
    return requests


class PayloadTest(unittest.TestCase):
    def run_sequences(self, space, chance):
        """Every flow that was kept is checked, some of them twice."""
        checks = done = 0
        agent = Agent(space)
        try:
            while done < SEQUENCES:
                # Room for the handles of a few dozen sequences, then a new agent.
                kept = []
                for _ in range(10):
                    answers = agent.ask_all(random_sequence(chance))
                    done += 1
                    kept += [a["connection"] for a in answers if "connection" in a]
                kept += chance.sample(kept, min(len(kept), 2))
                for connection in kept:
                    agent.ask("check", connection=connection,
                              timeout_ms=chance.choice([1, 2, 5]))
                    checks += 1
                agent.close()
                agent = Agent(space)
            # Long enough for keepalive probes to be on the wire.
            flows = agent.ask_all([dict(op="establish", address=address, port=PORT,
                                        timeout_ms=5000)
                                   for address in ADDRESSES * 16])
            # The peer resets some of them, at times before they are reported.
            flows = [flow for flow in flows if "connection" in flow]
            self.assertTrue(flows)
            agent.ask_all([dict(op="check", connection=flow["connection"],
                                timeout_ms=2500) for flow in flows])
        finally:
            agent.close()
        return checks + len(flows)

    def test_never_a_payload_byte(self):
        seed = int(os.environ.get("NETPROOF_SEED") or random.randrange(1 << 32))
        print(f"NETPROOF_SEED={seed}", flush=True)
        chance = random.Random(seed)
        with netns.Namespace() as here, netns.Namespace() as there:
            link = netns.connect_pair(here, ["10.12.0.1/24", "fd00:12::1/64"], there,
                                      [a + ("/64" if ":" in a else "/24")
                                       for a in ADDRESSES])
            here.sysctl("net/ipv4/ip_local_port_range", "10000 65535")
            there.nft("table inet t { chain c { type filter hook input priority 0; "
                      f"tcp dport {DROPPED_PORT} drop; "
                      f"tcp dport {REJECTED_PORT} reject; }}; }}")
            listeners = [there.listen(a, PORT, backlog=4096) for a in ADDRESSES]
            peer = Peer(listeners, seed)
            with here.capture(link) as capture:
                peer.start()
                try:
                    checks = self.run_sequences(here, chance)
                finally:
                    for listener in listeners:
                        listener.shutdown(socket.SHUT_RDWR)
                        listener.close()
                    peer.join()
        segments = list(capture.tcp_segments())
        self.assertGreater(peer.accepted, SEQUENCES)
        self.assertGreater(checks, SEQUENCES / 2)
        self.assertEqual(peer.bytes_read, 0)
        sent = [payload for _, to, _, payload in segments
                if to in (PORT, CLOSED_PORT, DROPPED_PORT, REJECTED_PORT)]
        self.assertGreater(len(sent), 3 * peer.accepted)
        self.assertEqual([payload for payload in sent if payload], [])
        # The capture can see payload: the peer's is there.
        self.assertTrue(any(payload for at, _, _, payload in segments if at == PORT))
        print(f"{SEQUENCES} sequences, {peer.accepted} connections, {checks} checks, "
              f"{len(segments)} segments")


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
