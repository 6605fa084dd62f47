# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests in a lab share: a lab for a test's length, and a look for its traces."""
import atexit
import contextlib
import json
import os
import signal
import subprocess
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
LAB = os.path.join(HERE, "lab")
GONE_SECONDS = 30
# Connects to each ADDRESS/PORT and says where it comes from.
TALK = """
import socket, sys
for target in sys.argv[1:]:
    address, port = target.rsplit("/", 1)
    with socket.create_connection((address, int(port)), 10) as s:
        s.sendall(b"from " + socket.gethostname().encode())
"""


def unique_name(word):
    return f"{word}-{os.getpid()}"


def lab(*arguments, check=True, text=True, **more):
    """Runs `lab ...`; the whole outcome."""
    done = subprocess.run([LAB, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=text, check=False, **more)
    if check and done.returncode:
        raise AssertionError(f"lab {' '.join(arguments)}: exit status {done.returncode}\n"
                             f"{done.stdout}\n{done.stderr}")
    return done


running = set()
starting = threading.Lock()


def _interrupt(*_):
    """unittest takes every exception of a test for its result, but for this one."""
    raise KeyboardInterrupt


@atexit.register
def _end_all():
    starting.acquire()  # pylint: disable=consider-using-with
    # From here on none is started: a thread may still be about to.
    for name in sorted(running):
        lab("down", "--name", name, check=False)


class Lab:
    """One lab; `with Lab("word") as lab:` ends it whatever happens, SIGTERM included."""

    def __init__(self, word, *options):
        self.name = unique_name(word)
        self.options = options
        self.facts = None

    def __enter__(self):
        # Only the main thread can; labs of other threads end with them, or at exit.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, _interrupt)
        with starting:
            running.add(self.name)
        self.facts = json.loads(lab("up", "--name", self.name, *self.options).stdout)
        return self

    def __exit__(self, *_):
        lab("down", "--name", self.name)
        running.discard(self.name)

    def run(self, *command, user=None, cgroup=None, check=True):
        options = ["--user", user] if user else []
        options += ["--cgroup", cgroup] if cgroup else []
        return lab("exec", "--name", self.name, *options, "--", *command, check=check)

    def talk(self, *names, check=True, **more):
        """A connection to each of the world's services named, with some bytes."""
        return self.run("/usr/bin/python3", "-c", TALK,
                        *(f"{a}/{p}" for a, p in map(self.target, names)), check=check, **more)

    def world(self, *command, check=True):
        return lab("world", "--name", self.name, "--", *command, check=check)

    def service(self, *words):
        return json.loads(lab("service", "--name", self.name, *words).stdout)

    def target(self, name):
        """Address and port of one of the world's services."""
        return next((s["address"], s["port"]) for s in self.facts["services"]
                    if s["name"] == name)

    def logs(self, *options):
        return lab("logs", "--name", self.name, "--", *options).stdout


def namespaces_of(pids):
    """The namespaces that `pids` are in and this process is not."""
    found = set()
    for pid in pids:
        for kind in ("cgroup", "ipc", "mnt", "net", "pid", "uts"):
            theirs = os.readlink(f"/proc/{pid}/ns/{kind}")
            if theirs != os.readlink(f"/proc/self/ns/{kind}"):
                found.add(theirs)
    return found


def traces(name, namespaces=()):
    """Everything on the machine that belongs to the lab `name`: a list of sentences."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cgroup", encoding="ascii") as lines:
                if f"netproof-lab-{name}" in lines.read():
                    found.append(f"process {pid} in its cgroup")
            links = [f"/proc/{pid}/ns/{kind}" for kind in os.listdir(f"/proc/{pid}/ns")]
            links += [f"/proc/{pid}/fd/{number}" for number in os.listdir(f"/proc/{pid}/fd")]
            for link in links:
                with contextlib.suppress(OSError):
                    if os.readlink(link) in namespaces:
                        found.append(f"{link} holds a namespace of it")
            with open(f"/proc/{pid}/mountinfo", encoding="utf-8") as mounts:
                if f"netproof-lab/{name}/" in mounts.read():
                    found.append(f"process {pid} sees a mount of it")
    for folder, names, _ in os.walk("/sys/fs/cgroup"):
        found += [f"cgroup {folder}/{n}" for n in names if n == f"netproof-lab-{name}"]
    if os.path.exists(f"/run/netproof-lab/{name}"):
        found.append("its folder")
    return found


def wait_without_traces(name, namespaces=()):
    """Killed processes stay zombies until the machine's init looks at them."""
    deadline = time.monotonic() + GONE_SECONDS
    while True:
        found = traces(name, namespaces)
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)
