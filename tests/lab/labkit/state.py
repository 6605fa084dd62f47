# SPDX-License-Identifier: GPL-2.0-or-later
"""What the machine knows of a lab: one folder and one cgroup, both found by the lab's name.

Everything else of a lab (mounts, interfaces, processes, files) lives in namespaces
and ends with the last process in the cgroup. So whatever step `lab up` was killed
at, killing the cgroup and removing these two leaves nothing.
"""
import contextlib
import errno
import fcntl
import json
import os
import re
import select
import shutil
import sys
import time

FOLDER = "/run/netproof-lab"
PREFIX = "netproof-lab-"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
KILL_SECONDS = 30


class LabError(Exception):
    """One clear message: what, where, what to do next."""


def cgroup_mount():
    """Where the machine mounts the unified hierarchy; pure or hybrid."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        for line in mounts:
            fields, _, rest = line.partition(" - ")
            if rest.split()[0] == "cgroup2" and fields.split()[3] == "/":
                return fields.split()[4]
    raise LabError("no cgroup2 hierarchy is mounted on this machine: "
                   "mount one (mount -t cgroup2 none DIR)")


class Lab:
    def __init__(self, name):
        if not NAME.fullmatch(name):
            raise LabError(f"{name!r}: not a lab's name: lower-case letters, digits "
                           "and hyphens, at most 40")
        self.name = name
        self.folder = os.path.join(FOLDER, name)
        self.cgroup = os.path.join(cgroup_mount(), PREFIX + name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def exists(self):
        return os.path.isdir(self.folder) or os.path.isdir(self.cgroup)

    def read(self):
        """The facts that `up` wrote as its last step."""
        try:
            with open(self.path("lab.json"), encoding="utf-8") as facts:
                return json.load(facts)
        except FileNotFoundError:
            if self.exists():
                raise LabError(f"lab {self.name} is not up (still starting, or its start was "
                               f"killed): lab down --name {self.name}") from None
            raise LabError(f"there is no lab {self.name}: lab up --name {self.name}") from None

    def write(self, facts):
        temporary = self.path("lab.json.new")
        with open(temporary, "w", encoding="utf-8") as out:
            json.dump(facts, out, indent=1)
            out.write("\n")
        os.rename(temporary, self.path("lab.json"))

    @contextlib.contextmanager
    def locked(self, create=False):
        """One `up` or `down` of a lab at a time. The lock is the folder itself."""
        while True:
            if create:
                # The folder around it goes with the last lab, which may be now.
                with contextlib.suppress(FileNotFoundError):
                    os.makedirs(self.folder, 0o700, exist_ok=True)
            try:
                held = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            except FileNotFoundError:
                if create:
                    continue
                yield None
                return
            try:
                self._lock(held)
                try:
                    current = os.stat(self.folder)
                except FileNotFoundError:
                    continue  # It was removed while we waited.
                if not os.path.samestat(current, os.fstat(held)):
                    continue
                yield held
                return
            finally:
                os.close(held)

    def _lock(self, held):
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.stderr.write(f"lab: another command changes lab {self.name}: waiting for it\n")
            fcntl.flock(held, fcntl.LOCK_EX)

    def make_cgroups(self):
        """host: the lab's own hierarchy; world: the outside. Controllers as far as
        the machine passes any down."""
        os.mkdir(self.cgroup)
        _pass_controllers_down(self.cgroup)
        for part in ("host", "world"):
            os.mkdir(os.path.join(self.cgroup, part))

    def end_host(self):
        """Ends every process of the host, as a power cut would."""
        part = os.path.join(self.cgroup, "host")
        _kill(part)
        _remove_cgroups(part)
        os.mkdir(part)

    def remove(self):
        """Ends every process of the lab and removes what the machine still holds."""
        if os.path.isdir(self.cgroup):
            _kill(self.cgroup)
            _remove_cgroups(self.cgroup)
        if os.path.isdir(self.folder):
            shutil.rmtree(self.folder)
        try:
            os.rmdir(FOLDER)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.ENOENT):
                raise


def names():
    """Every lab that left a trace on the machine."""
    found = set()
    with contextlib.suppress(FileNotFoundError):
        found.update(os.listdir(FOLDER))
    for entry in os.listdir(cgroup_mount()):
        if entry.startswith(PREFIX):
            found.add(entry[len(PREFIX):])
    return sorted(name for name in found if NAME.fullmatch(name))


def _pass_controllers_down(cgroup):
    with open(os.path.join(cgroup, "cgroup.controllers"), encoding="ascii") as have:
        wanted = "".join(f"+{name} " for name in have.read().split())
    with open(os.path.join(cgroup, "cgroup.subtree_control"), "w", encoding="ascii") as out:
        out.write(wanted)


def _is_populated(events):
    events.seek(0)
    return "populated 1" in events.read()


def _kill(cgroup):
    with open(os.path.join(cgroup, "cgroup.kill"), "w", encoding="ascii") as kill:
        kill.write("1")
    deadline = time.monotonic() + KILL_SECONDS
    with open(os.path.join(cgroup, "cgroup.events"), encoding="ascii") as events:
        changes = select.poll()
        changes.register(events, select.POLLPRI)
        while _is_populated(events):
            left = deadline - time.monotonic()
            if left <= 0:
                raise LabError(f"{cgroup}: processes are still there {KILL_SECONDS} s after "
                               f"they were killed: {_pids(cgroup)}")
            changes.poll(left * 1000)


def _pids(cgroup):
    found = []
    for folder, _, _ in os.walk(cgroup):
        with open(os.path.join(folder, "cgroup.procs"), encoding="ascii") as procs:
            found += procs.read().split()
    return " ".join(found)


def _remove_cgroups(cgroup):
    for folder, _, _ in os.walk(cgroup, topdown=False):
        os.rmdir(folder)
