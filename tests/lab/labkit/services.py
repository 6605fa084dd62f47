# SPDX-License-Identifier: GPL-2.0-or-later
"""The services of a lab's outside world, which record what reaches them.

Theory of operation. One process, PID 1 of a pid namespace of its own, in a network
namespace that nothing but the lab's host is connected to. It runs every service in
one event loop, and obeys one JSON line per connection on a Unix socket in the lab's
folder. A service is `tcp` (accepts, reads until the other side ends, records every
byte; `reply` answers a whole HTTP request), or `dns` (TCP and UDP, records every
question, answers as its `mode` says). A packet socket also counts what arrives from
the host by destination, whether or not a service listens there.
"""
import asyncio
import base64
import errno
import ipaddress
import json
import os
import socket
import struct
import time

from . import network
from .state import LabError

# More than any test sends; a runaway sender must not eat the machine's memory.
MAX_BYTES_KEPT = 1 << 20
MAX_CONNECTIONS_KEPT = 100000
DNS_MODES = ("answer", "empty", "nxdomain", "refused", "servfail", "truncated", "silent")
DNS_CODES = {"answer": 0, "empty": 0, "truncated": 0, "servfail": 2, "nxdomain": 3, "refused": 5}
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def now_ms():
    return int(time.time() * 1000)


class Service:
    """One name, one address and port."""

    def __init__(self, name, kind, address, port, mode="answer", reply=False):
        self.name, self.kind, self.address, self.port = name, kind, address, port
        self.mode, self.reply = mode, reply
        self.listeners = []
        self.writers = set()
        self.clear()

    def clear(self):
        self.connections, self.questions, self.accepted = [], [], 0

    def describe(self):
        return {"name": self.name, "kind": self.kind, "address": self.address,
                "port": self.port, "running": bool(self.listeners), "mode": self.mode,
                "accepted": self.accepted, "questions_seen": len(self.questions)}

    def read(self):
        return {**self.describe(), "questions": self.questions, "connections": [
            {**c, "data_base64": base64.b64encode(c["data_base64"]).decode()}
            for c in self.connections]}

    async def start(self):
        if self.listeners:
            return
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
        self.listeners.append(await asyncio.start_server(
            self._serve, self.address, self.port, family=family, backlog=4096,
            reuse_address=True))
        if self.kind == "dns":
            transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                lambda: DatagramQuestions(self), (self.address, self.port), family=family)
            self.listeners.append(transport)

    def stop(self):
        """Closes the listener and resets what it had accepted."""
        for listener in self.listeners:
            listener.close()
        self.listeners = []
        for writer in set(self.writers):
            writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    async def _serve(self, reader, writer):
        peer = writer.get_extra_info("peername")
        entry = {"number": self.accepted, "remote_address": peer[0], "remote_port": peer[1],
                 "opened_ms": now_ms(), "closed_ms": None, "ended": None, "bytes": 0,
                 "data_base64": bytearray()}
        self.accepted += 1
        if len(self.connections) < MAX_CONNECTIONS_KEPT:
            self.connections.append(entry)
        self.writers.add(writer)
        try:
            entry["ended"] = await self._record(entry, reader, writer)
        except OSError as error:
            entry["ended"] = errno.errorcode.get(error.errno, "error")
        finally:
            entry["closed_ms"] = now_ms()
            self.writers.discard(writer)
            writer.close()

    async def _record(self, entry, reader, writer):
        kept = entry["data_base64"]
        answered = 0
        while True:
            data = await reader.read(65536)
            if not data:
                return "eof"
            entry["bytes"] += len(data)
            kept += data[:MAX_BYTES_KEPT - len(kept)]
            if self.kind == "dns":
                while len(kept) >= answered + 2:
                    size = struct.unpack_from("!H", kept, answered)[0]
                    if len(kept) < answered + 2 + size:
                        break
                    answer = self.answer(bytes(kept[answered + 2:answered + 2 + size]),
                                         "tcp", entry["remote_address"])
                    answered += 2 + size
                    if answer:
                        writer.write(struct.pack("!H", len(answer)) + answer)
            elif self.reply and b"\r\n\r\n" in kept:
                writer.write(REPLY)
                await writer.drain()
                return "answered"

    def answer(self, question, transport, remote):
        """RFC 1035, 4.1: header, question; an A record points at the service itself."""
        try:
            name, kind, end = parse_question(question)
        except (IndexError, UnicodeDecodeError, struct.error):
            self.questions.append({"at_ms": now_ms(), "transport": transport,
                                   "remote_address": remote, "malformed": question.hex()})
            return None
        self.questions.append({"at_ms": now_ms(), "transport": transport, "name": name,
                               "type": kind, "remote_address": remote})
        if self.mode == "silent":
            return None
        records = b""
        if self.mode == "answer" and kind == 1:
            records = (b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) +
                       socket.inet_aton("192.0.2.80"))
        flags = 0x8180 | DNS_CODES[self.mode]
        if self.mode == "truncated" and transport == "udp":
            flags |= 0x0200
        return (question[:2] + struct.pack("!HHHHH", flags, 1, 1 if records else 0, 0, 0) +
                question[12:end] + records)


def parse_question(message):
    """Name, type and end of the first question; no compression is legal there."""
    labels, at = [], 12
    while message[at]:
        size = message[at]
        labels.append(message[at + 1:at + 1 + size].decode("ascii"))
        at += 1 + size
    kind, _ = struct.unpack_from("!HH", message, at + 1)
    return ".".join(labels), kind, at + 5


class DatagramQuestions(asyncio.DatagramProtocol):
    def __init__(self, service):
        self.service, self.transport = service, None

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        answer = self.service.answer(data, "udp", addr[0])
        if answer:
            self.transport.sendto(answer, addr)


class PacketCounter:
    """Counts the host's packets by protocol and destination: the wire's own word on
    what left the host. Neighbour discovery and multicast are not counted."""

    def __init__(self):
        self.counts = {}
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK,
                                    socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        asyncio.get_running_loop().add_reader(self.socket, self._receive)

    def _receive(self):
        try:
            while True:
                data, origin = self.socket.recvfrom(128)
                if origin[0] == network.WORLD_LINK and origin[2] == socket.PACKET_HOST:
                    self._count(data, origin[1])
        except BlockingIOError:
            pass

    def _count(self, data, protocol):
        if protocol == 0x0800 and len(data) >= 20:
            kind, source, target = data[9], data[12:16], data[16:20]
            rest = data[(data[0] & 15) * 4:]
        elif protocol == 0x86dd and len(data) >= 40:
            kind, source, target, rest = data[6], data[8:24], data[24:40], data[40:]
            if kind == 58 and rest and rest[0] in range(130, 138):
                return
        else:
            return
        port = struct.unpack_from("!H", rest, 2)[0] if kind in (6, 17) and len(rest) >= 4 else 0
        is_syn = kind == 6 and len(rest) > 13 and rest[13] & 0x12 == 0x02
        key = ({6: "tcp", 17: "udp", 1: "icmp", 58: "icmpv6"}.get(kind, str(kind)),
               str(ipaddress.ip_address(source)), str(ipaddress.ip_address(target)), port)
        entry = self.counts.setdefault(key, {"packets": 0, "syns": 0})
        entry["packets"] += 1
        entry["syns"] += is_syn

    def read(self):
        return [{"protocol": k[0], "source": k[1], "destination": k[2], "port": k[3], **v}
                for k, v in sorted(self.counts.items())]


class World:
    def __init__(self, services):
        self.services = {s["name"]: Service(**s) for s in services}
        self.packets = None

    async def serve(self, control, report):
        self.packets = PacketCounter()
        for service in self.services.values():
            await service.start()
        server = await asyncio.start_unix_server(self._control, sock=control, limit=1 << 20)
        os.write(report, b'{"prepared": true}\n')
        os.close(report)
        await server.serve_forever()

    async def _control(self, reader, writer):
        try:
            request = json.loads(await reader.readline())
            answer = await self._obey(request)
        except Exception as error:
            answer = {"error": str(error) or type(error).__name__}
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
        writer.close()

    def _service(self, name):
        if name not in self.services:
            raise LabError(f"no service {name}: there are {' '.join(sorted(self.services))}")
        return self.services[name]

    async def _obey(self, request):
        do, name = request["do"], request.get("service")
        if do == "list":
            return [s.describe() for s in self.services.values()]
        if do == "packets":
            return self.packets.read()
        if do == "add":
            service = Service(**request["add"])
            if service.name in self.services:
                raise LabError(f"there is a service {service.name} already")
            await service.start()
            self.services[service.name] = service
            return service.describe()
        if do == "clear" and name is None:
            self.packets.counts.clear()
            for service in self.services.values():
                service.clear()
            return {}
        service = self._service(name)
        if do == "read":
            return service.read()
        if do == "mode":
            if service.kind != "dns" or request["mode"] not in DNS_MODES:
                raise LabError(f"a dns service's mode is one of {' '.join(DNS_MODES)}")
            service.mode = request["mode"]
        elif do == "start":
            await service.start()
        elif do == "stop":
            service.stop()
        elif do == "clear":
            service.clear()
        else:
            raise LabError(f"nothing is called {do}")
        return service.describe()


def run(services, control, report):
    """Serves; says on `report` when all of it does. Does not return while it can."""
    asyncio.run(World(services).serve(control, report))
