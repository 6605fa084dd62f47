# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of the agent: starts one where a test wants it, and speaks its protocol."""
import json
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import netns  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
PROBE = os.path.abspath(os.path.join(BUILD, "bin", "net-probe"))

# A build with sanitizers runs without the filter, and says so; its leak check would
# have to trace the agent, which is not dumpable.
SANITIZED = "asan" in BUILD
SANDBOX = {"no_new_privs": True, "seccomp": not SANITIZED, "landlock": True}
os.environ["ASAN_OPTIONS"] = "detect_leaks=0:exitcode=99"


def request(op, **fields):
    return json.dumps({"op": op, **fields}).encode() + b"\n"


class Agent:
    """net-agent on a pair of pipes, in a namespace (None: this one)."""

    def __init__(self, namespace=None, program=PROBE, **options):
        start = namespace.popen if namespace else subprocess.Popen
        self.process = start([program, "net-agent"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.pid = self.process.pid

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise EOFError("the agent ended: " + self.process.stderr.read().decode())
        answer = json.loads(line)
        assert answer["schema"] == "netproof.agent.v1", answer
        return answer

    def ask(self, op, **fields):
        self.send(request(op, **fields))
        return self.answer()

    def ask_all(self, requests):
        """Pipelined: all are sent, then all answers are read."""
        self.send(b"".join(request(**r) for r in requests))
        return [self.answer() for _ in requests]

    def outcome(self, op, **fields):
        answer = self.ask(op, **fields)
        return answer.get("outcome"), answer.get("errno")

    def end(self):
        """The rest of its output, and its exit status, after its input has ended."""
        out, err = self.process.communicate(timeout=60)
        return out, err.decode(), self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            # What is still unsent is no longer of interest.
            try:
                stream.close()
            except BrokenPipeError:
                pass
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def serve_once(data, namespace=None, program=PROBE, timeout=60, **options):
    """Feeds an agent all of its input at once. Returns answers, stderr, status."""
    start = namespace.popen if namespace else subprocess.Popen
    child = start([program, "net-agent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE, **options)
    try:
        out, err = child.communicate(data, timeout)
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()
    return [json.loads(line) for line in out.splitlines()], err.decode(), child.returncode


def connect_unix(path):
    """A connection to an agent's socket, as soon as it listens there."""
    while True:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.connect(path)
            return made
        except (FileNotFoundError, ConnectionRefusedError):
            made.close()
            yield_processor()


def yield_processor():
    """Between two looks at what another process is about to do."""
    time.sleep(0.001)


def wait_until_blocked(agent):
    """Until the agent sleeps in the kernel for good: two looks at its context switches
    that find no difference."""
    before = None
    while True:
        with open(f"/proc/{agent.pid}/status") as status:
            now = [line for line in status if "ctxt" in line or line.startswith("State")]
        if now == before and "sleeping" in now[0]:
            return
        before = now
        time.sleep(0.05)
