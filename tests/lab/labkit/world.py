# SPDX-License-Identifier: GPL-2.0-or-later
"""The outside world of a lab, from the machine's side: its making, and questions to it."""
import json
import os
import signal
import socket

from . import host, kernel
from .state import LabError


def start(lab, services):
    """Forks the world and waits until its namespace stands. Returns its pid, a pipe to
    say that it is connected, and a stream that ends with `prepared` or an error."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    control.bind(lab.path("world"))
    control.listen(64)
    report_read, report_write = os.pipe()
    go_read, go_write = os.pipe()
    child = os.fork()
    if child == 0:
        _in_child(lab, services, control, report_write, go_read, go_write)
    control.close()
    os.close(report_write)
    os.close(go_read)
    os.waitpid(child, 0)
    report = os.fdopen(report_read, encoding="utf-8")
    first = report.readline()
    if not first:
        raise LabError("the lab's world died before it said a word")
    first = json.loads(first)
    if "error" in first:
        raise LabError(f"the lab's world could not be made: {first['error']}")
    return first["pid"], go_write, report


def wait_ready(report):
    text = report.readline()
    report.close()
    if not text:
        raise LabError("the lab's world died while its services were started")
    answer = json.loads(text)
    if "error" in answer:
        raise LabError(f"the lab's world: {answer['error']}")


def _in_child(lab, services, control, report, go_read, go_write):
    """Never returns."""
    try:
        os.close(go_write)
        kernel.close_all_but({control.fileno(), report, go_read})
        os.setsid()
        with open(os.path.join(lab.cgroup, "world/cgroup.procs"), "w", encoding="ascii") as procs:
            procs.write("0")
        kernel.unshare(kernel.NEWNS | kernel.NEWUTS | kernel.NEWIPC | kernel.NEWPID |
                       kernel.NEWNET)
        kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
        host.make_store(lab)
        init = os.fork()
        if init:
            os.write(report, json.dumps({"pid": init}).encode() + b"\n")
            os._exit(0)
        kernel.mount("proc", "/proc", "proc")
        kernel.sethostname("world")
        kernel.drop_machine_capabilities()
        for number in (0, 1, 2):
            os.dup2(os.open("/dev/null", os.O_RDWR), number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if os.read(go_read, 1) != b"g":
            os._exit(1)
        os.close(go_read)
        # What `lab world` leaves behind ends here.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        # Only this process needs an event loop: `lab exec` should not wait for one.
        from . import services as server
        server.run(services, control, report)
        os._exit(1)
    except BaseException as error:
        host.say_failed(report, error)


def ask(lab, request):
    """One question to the world of a lab; its answer, or LabError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
        try:
            control.connect(lab.path("world"))
        except OSError as error:
            raise LabError(f"the world of lab {lab.name} does not answer "
                           f"({error.strerror}): lab down --name {lab.name}") from None
        control.sendall(json.dumps(request).encode() + b"\n")
        with control.makefile(encoding="utf-8") as answers:
            text = answers.readline()
    if not text:
        raise LabError(f"the world of lab {lab.name} ended the conversation: "
                       f"lab down --name {lab.name}")
    answer = json.loads(text)
    if isinstance(answer, dict) and "error" in answer:
        raise LabError(answer["error"])
    return answer
