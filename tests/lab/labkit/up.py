# SPDX-License-Identifier: GPL-2.0-or-later
"""`lab up` and `lab down`: the order of things, and their undoing."""
import json
import os
import select
import signal
import subprocess
import sys
import time

from . import engine, enter, host, network, world
from .state import LabError

BOOT_SECONDS = 60
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
# What targets.json says, once it is there; until then and where it is silent, these.
PUBLIC = {"name": "public", "kind": "tcp", "address": "203.0.113.80", "port": 443}
PUBLIC6 = {"name": "public6", "kind": "tcp", "address": "2001:db8:ffff::80", "port": 443}


class Clock:
    """Seconds from the start to each named step."""

    def __init__(self):
        self.started = time.monotonic()
        self.steps = {}

    def mark(self, step):
        self.steps[step] = round(time.monotonic() - self.started, 3)
        # For the tests that kill it here.
        if os.environ.get("LAB_HALT_AFTER") == step:
            os.kill(os.getpid(), signal.SIGSTOP)


def services(options):
    found = [dict(PUBLIC), {"name": "metadata", "kind": "tcp", "port": 80, "reply": True,
                            "address": network.METADATA_ADDRESS},
             {"name": "dns", "kind": "dns", "address": network.DNS_ADDRESS, "port": 53}]
    if not options.no_ipv6:
        found.append(dict(PUBLIC6))
    for number in range(1, options.endpoints + 1):
        found.append({"name": f"trusted-{number}", "kind": "tcp", "port": 443,
                      "address": f"{network.ENDPOINT_PREFIX}{number}"})
    return found


def host_addresses(site):
    found = {site[key]["address"] for key in ("router", "proxy") if key in site}
    return sorted(a for a in found if not a.startswith("127."))


def read_site(path):
    try:
        with open(path, encoding="utf-8") as text:
            return json.load(text)
    except (OSError, ValueError) as error:
        raise LabError(f"{path}: {error}") from None


def make_user(root, name):
    """The workload user of a lab on which no site is installed: a login account with
    subordinate ranges, whose manager systemd starts by itself."""
    subprocess.run(["/usr/sbin/chroot", root, "/usr/sbin/useradd", "--create-home",
                    "--shell", "/bin/sh", name], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    os.makedirs(f"{root}/var/lib/systemd/linger")
    os.close(os.open(f"{root}/var/lib/systemd/linger/{name}", os.O_CREAT | os.O_WRONLY, 0o644))


def prepare(root, user, site):
    make_user(root, user)
    engine.prepare(root, user, site)


def up(lab, options):
    clock = Clock()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(143))
    site = read_site(options.site) if options.site else {}
    user = site.get("workload_user", options.user)
    with lab.locked(create=True):
        clock.mark("folder")
        if os.path.exists(lab.path("lab.json")) or os.path.isdir(lab.cgroup):
            raise LabError(f"there is a lab {lab.name} already: lab down --name {lab.name}")
        try:
            facts = _up(lab, options, site, user, clock)
        except BaseException:
            lab.remove()
            raise
    return facts


def _up(lab, options, site, user, clock):
    lab.make_cgroups()
    clock.mark("cgroups")
    os.mkdir(lab.path("store"))
    os.close(os.open(lab.path("console"), os.O_CREAT | os.O_WRONLY, 0o600))
    notify = host.open_notify(lab)
    wanted = services(options)
    world_pid, world_go, world_report = world.start(lab, wanted)
    clock.mark("world")
    machine = host.fresh_options(SOURCE, network.DNS_ADDRESS)
    host_pid, host_go = host.start(lab, machine, lambda root: prepare(root, user, site))
    clock.mark("tree")
    network.connect(host_pid, world_pid, [s["address"] for s in wanted
                                          if s["name"] != "gateway"],
                    host_addresses(site), not options.no_ipv6, options.world_down)
    clock.mark("wire")
    _go(world_go)
    world.wait_ready(world_report)
    clock.mark("services")
    _go(host_go)
    clock.mark("booting")
    _wait_booted(lab, notify, host_pid)
    clock.mark("booted")
    facts = {"name": lab.name, "host_pid": host_pid, "world_pid": world_pid, "user": user,
             "machine_id": machine["machine_id"], "boot_id": machine["boot_id"],
             "engine_socket": site.get("engine", {}).get("socket", engine.DEFAULT_SOCKET),
             "engine_unit": site.get("engine_unit", engine.DEFAULT_UNIT),
             "engine_limits": engine.limits(lab),
             "host_address": network.HOST["address"], "services": wanted,
             "system_state": "", "failed_units": []}
    facts["system_state"], facts["failed_units"] = system_state(lab, facts)
    clock.mark("up")
    if options.engine:
        engine.start(lab, facts)
        clock.mark("engine")
    facts["seconds"] = clock.steps
    lab.write(facts)
    clock.mark("written")
    if facts["failed_units"]:
        sys.stderr.write(f"lab: up, but failed: {' '.join(facts['failed_units'])}: "
                         f"lab logs --name {lab.name}\n")
    return facts


def _go(pipe):
    os.write(pipe, b"g")
    os.close(pipe)


def _wait_booted(lab, notify, host_pid):
    """systemd says READY=1 when its start-up job is done, whatever failed in it."""
    deadline = time.monotonic() + BOOT_SECONDS
    pidfd = os.pidfd_open(host_pid)
    try:
        waiting = select.poll()
        waiting.register(notify, select.POLLIN)
        waiting.register(pidfd, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            ready = [descriptor for descriptor, _ in waiting.poll(max(left, 0) * 1000)]
            if notify.fileno() in ready:
                if "READY=1" in notify.recv(4096).decode(errors="replace").splitlines():
                    return
            elif pidfd in ready:
                raise LabError(f"systemd ended while it booted: {_console(lab)}")
            elif left <= 0:
                raise LabError(f"systemd did not boot in {BOOT_SECONDS} s: {_console(lab)}")
    finally:
        os.close(pidfd)
        notify.close()


def _console(lab):
    with open(lab.path("console"), encoding="utf-8", errors="replace") as text:
        return "; ".join(text.read().splitlines()[-5:]) or "it said nothing"


def system_state(lab, facts):
    _, state = enter.capture(lab, "host", facts["host_pid"], ["/usr/bin/systemctl", "is-system-running"])
    failed = []
    if state.strip() != "running":
        _, text = enter.capture(lab, "host", facts["host_pid"], ["/usr/bin/systemctl", "list-units", "--failed", "--plain",
                                      "--no-legend"])
        failed = [line.split()[0] for line in text.splitlines() if line.strip()]
    return state.strip(), failed


def down(lab):
    with lab.locked():
        if not lab.exists():
            raise LabError(f"there is no lab {lab.name}")
        lab.remove()
