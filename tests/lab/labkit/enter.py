# SPDX-License-Identifier: GPL-2.0-or-later
"""Running a command in a lab's host or world, as one of its own processes."""
import os
import pwd
import signal
import sys

from . import kernel
from .state import LabError

NAMESPACES = (("ipc", kernel.NEWIPC), ("uts", kernel.NEWUTS), ("net", kernel.NEWNET),
              ("pid", kernel.NEWPID), ("cgroup", kernel.NEWCGROUP), ("mnt", kernel.NEWNS))
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def has_process(lab, part, pid):
    """Whether `pid` still is the lab's: its cgroup says so, and cannot be another's."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="ascii") as lines:
            paths = [line[3:].strip() for line in lines if line.startswith("0::")]
    except FileNotFoundError:
        return False
    return any(f"/{os.path.basename(lab.cgroup)}/{part}" in path for path in paths)


def namespaces(lab, part, pid):
    """Descriptors of every namespace of the lab's process `pid`."""
    try:
        opened = [(os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC), kind)
                  for name, kind in NAMESPACES]
    except FileNotFoundError:
        opened = []
    # Looked at after the opening: a reused pid is in no cgroup of this lab's.
    if not opened or not has_process(lab, part, pid):
        what = "reboot or lab down" if part == "host" else "down"
        raise LabError(f"the {part} of lab {lab.name} has ended: lab {what} --name {lab.name}")
    return opened


def join_cgroup(lab, part, path):
    """Moves the caller below the lab's cgroup, into `path` as the lab sees it."""
    base = os.path.join(lab.cgroup, part)
    folder = os.path.normpath(f"{base}/{path}")
    if folder != base and not folder.startswith(base + "/"):
        raise LabError(f"{path}: not below the lab's own cgroup")
    if path == "lab-exec":
        os.makedirs(folder, exist_ok=True)
    try:
        with open(os.path.join(folder, "cgroup.procs"), "w", encoding="ascii") as procs:
            procs.write("0")
    except OSError as error:
        raise LabError(f"{path}: the lab has no such cgroup, or it takes no process: "
                       f"{error.strerror}") from None


def in_child(work):
    """Calls `work` in a forked child; what it raises there, is raised here as LabError."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            name = "" if isinstance(error, LabError) else f"{type(error).__name__}: "
            os.write(write_end, f"{name}{error}".encode()[:4000])
            os._exit(1)
    os.close(write_end)
    with os.fdopen(read_end, encoding="utf-8", errors="replace") as text:
        said = text.read()
    if os.waitpid(child, 0)[1]:
        raise LabError(said or "a child of lab died")


def enter(lab, part, pid, cgroup):
    opened = namespaces(lab, part, pid)
    join_cgroup(lab, part, cgroup)
    for descriptor, kind in opened:
        kernel.setns(descriptor, kind)
        os.close(descriptor)
    os.chdir("/")


def run(lab, part, pid, command, user=None, cgroup="lab-exec"):
    """Returns the command's exit status (128 + signal, as shells have it)."""
    enter(lab, part, pid, cgroup)
    account = None
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "LANG": "C.UTF-8",
                   "HOME": "/root", "TERM": os.environ.get("TERM", "dumb")}
    if user is not None:
        account = _find_user(user)
        runtime = f"/run/user/{account.pw_uid}"
        environment.update(HOME=account.pw_dir, USER=account.pw_name, LOGNAME=account.pw_name,
                           XDG_RUNTIME_DIR=runtime,
                           DBUS_SESSION_BUS_ADDRESS=f"unix:path={runtime}/bus")
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write_end)
        _become(command, account, environment, read_end)
    os.close(read_end)
    for number in FORWARDED:
        signal.signal(number, lambda got, _: os.kill(child, got))
    os.write(write_end, b"g")
    os.close(write_end)
    return os.waitstatus_to_exitcode(_wait(child))


def capture(lab, part, pid, command, user=None, stdin=None, stderr=None):
    """What a command prints in the lab, and its exit status, which is the caller's to
    judge. `stdin` and `stderr` are descriptors."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read_end)
            os.dup2(write_end, 1)
            os.dup2(os.open("/dev/null", os.O_RDONLY) if stdin is None else stdin, 0)
            if stderr is not None:
                os.dup2(stderr, 2)
            status = run(lab, part, pid, command, user)
        except LabError as error:
            sys.stderr.write(f"lab: {error}\n")
        finally:
            sys.stderr.flush()
            os._exit(status if status >= 0 else 128 - status)
    os.close(write_end)
    with os.fdopen(read_end, encoding="utf-8", errors="replace") as text:
        printed = text.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), printed


def _wait(child):
    while True:
        try:
            return os.waitpid(child, 0)[1]
        except InterruptedError:
            continue


def _find_user(name):
    try:
        return pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)
    except KeyError:
        raise LabError(f"the lab has no user {name}") from None


def _become(command, account, environment, go):
    """In the child. Seen from inside, its parent has the pid 0."""
    try:
        kernel.drop_machine_capabilities()
        if account:
            os.initgroups(account.pw_name, account.pw_gid)
            os.setresgid(account.pw_gid, account.pw_gid, account.pw_gid)
            os.setresuid(account.pw_uid, account.pw_uid, account.pw_uid)
        # A change of user would undo it, so it comes after; the byte says that the
        # parent was alive then.
        kernel.die_with_parent()
        if os.read(go, 1) != b"g":
            os._exit(1)
        os.close(go)
        for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(command[0], command, environment)
    except OSError as error:
        sys.stderr.write(f"lab: {command[0]}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)
