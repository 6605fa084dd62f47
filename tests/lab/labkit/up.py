# SPDX-License-Identifier: GPL-2.0-or-later
"""`lab up` and `lab down`: the order of things, and their undoing."""
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time

from . import engine, enter, host, install, network, world
from .state import LabError

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
DEFAULT_SITE = os.path.join(SOURCE, "fixtures/sites/netproof.json")
TARGETS = os.path.join(SOURCE, "fixtures/network/targets.json")
# What the probes aim at, where targets.json does not say it (RFC 5737, RFC 3849).
PUBLIC = {"public": {"address": "203.0.113.80", "port": 443},
          "ipv6": {"address": "2001:db8:ffff::80", "port": 443},
          "metadata": {"address": "169.254.169.254", "port": 80}}
TRUSTED_PORT = 443


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
    targets = dict(PUBLIC)
    if os.path.exists(TARGETS):
        said = install.read_site(TARGETS)
        targets.update({key: said[key] for key in PUBLIC if key in said})
    found = [{"name": name, "kind": "tcp", "reply": name == "metadata", **target}
             for name, target in targets.items() if name != "ipv6" or not options.no_ipv6]
    found.append({"name": "dns", "kind": "dns", "address": network.DNS_ADDRESS, "port": 53})
    for number in range(1, options.endpoints + 1):
        found.append({"name": f"trusted-{number}", "kind": "tcp", "port": TRUSTED_PORT,
                      "address": f"{network.ENDPOINT_PREFIX}{number}"})
    return found


def host_addresses(site):
    found = {site[key]["address"] for key in ("router", "proxy") if key in site}
    return sorted(a for a in found if not a.startswith("127."))


def make_user(root, name):
    """The workload user of a lab on which no site is installed: a login account with
    subordinate ranges, whose manager systemd starts by itself."""
    done = subprocess.run(
        ["/usr/sbin/chroot", root, "/usr/sbin/useradd", "--create-home", "--shell", "/bin/sh",
         name], check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise LabError(f"{done.stderr.strip()}: choose another with --user")
    os.makedirs(f"{root}/var/lib/systemd/linger")
    os.close(os.open(f"{root}/var/lib/systemd/linger/{name}", os.O_CREAT | os.O_WRONLY, 0o644))


def prepare(root, user, site, payload):
    """Before the boot: an installed site, or the lab's own user and engine unit."""
    if payload:
        install.apply_before_boot(root, payload)
    else:
        make_user(root, user)
        engine.prepare(root, user, site)


def site_facts(site):
    """What of a lab's facts follows from the site."""
    asked = site.get("engine", {})
    return {"site": site.get("name"), "engine_socket": asked.get("socket", engine.DEFAULT_SOCKET),
            "engine_unit": site.get("engine_unit", engine.DEFAULT_UNIT),
            "memory": ["/home"] + ([f"/var/lib/{site['name']}"] if site else [])}


def make_payload(options):
    return install.plan(SOURCE, options.build, options.site, options.file, options.engine)


def up(lab, options):
    clock = Clock()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(143))
    if options.install:
        options.site = options.site or DEFAULT_SITE
    site = install.read_site(options.site) if options.site else {}
    payload = make_payload(options) if options.install else None
    host.check_machine()
    with lab.locked(create=True):
        clock.mark("folder")
        if os.path.exists(lab.path("lab.json")) or os.path.isdir(lab.cgroup):
            raise LabError(f"there is a lab {lab.name} already: lab down --name {lab.name}")
        try:
            facts = _up(lab, options, site, payload, clock)
        except BaseException:
            lab.remove()
            raise
    return facts


def _up(lab, options, site, payload, clock):
    wanted = services(options)
    facts = {"name": lab.name, "user": site.get("workload_user", options.user),
             "machine_id": secrets.token_hex(16), **site_facts(site), "services": wanted,
             "host_address": network.HOST["address"], "source": SOURCE,
             "host_addresses": host_addresses(site), "ipv6": not options.no_ipv6,
             "boot_seconds": options.boot_seconds}
    lab.make_cgroups()
    clock.mark("cgroups")
    os.mkdir(lab.path("store"))
    os.close(os.open(lab.path("console"), os.O_CREAT | os.O_WRONLY, 0o600))
    facts["engine_limits"] = engine.limits(lab)
    facts["world_pid"], go, report = world.start(lab, wanted)
    network.make_world(facts["world_pid"], [s["address"] for s in wanted])
    _go(go)
    world.wait_ready(report)
    clock.mark("world")
    _boot(lab, facts, clock, options.world_down,
          lambda root: prepare(root, facts["user"], site, payload))
    if options.engine:
        engine.start(lab, facts)
        clock.mark("engine")
    return _written(lab, facts, clock)


def _boot(lab, facts, clock, is_world_down, prepare_tree):
    """From nothing to a booted host on the world's wire."""
    notify = host.open_notify(lab)
    facts["boot_id"] = host.fresh_boot_id()
    facts["host_pid"], go = host.start(
        lab, facts["world_pid"], {**facts, "dns": network.DNS_ADDRESS}, prepare_tree)
    clock.mark("tree")
    network.connect(facts["host_pid"], facts["world_pid"], facts["host_addresses"],
                    facts["ipv6"], is_world_down)
    clock.mark("wire")
    _go(go)
    clock.mark("booting")
    _wait_booted(lab, notify, facts)
    clock.mark("booted")
    facts["system_state"], facts["failed_units"] = system_state(lab, facts)
    clock.mark("up")


def _written(lab, facts, clock):
    facts["seconds"] = clock.steps
    lab.write(facts)
    clock.mark("written")
    if facts["failed_units"]:
        sys.stderr.write(f"lab: up, but failed: {' '.join(facts['failed_units'])}: "
                         f"lab logs --name {lab.name}\n")
    return facts


def reboot(lab, with_engine):
    """Power off, power on: every process of the host ends at once; its disk (the overlay,
    homes, the engine's data) is what the next boot finds. The world stays."""
    clock = Clock()
    with lab.locked():
        facts = lab.read()
        lab.end_host()
        network.cut(facts["world_pid"])
        _boot(lab, facts, clock, False, None)
        if with_engine:
            engine.start(lab, facts)
            clock.mark("engine")
        return _written(lab, facts, clock)


def _go(pipe):
    os.write(pipe, b"g")
    os.close(pipe)


def _wait_booted(lab, notify, facts):
    """systemd says READY=1 when its start-up job is done, whatever failed in it."""
    deadline = time.monotonic() + facts["boot_seconds"]
    pidfd = os.pidfd_open(facts["host_pid"])
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
                raise LabError(f"systemd did not boot in {facts['boot_seconds']} s: "
                               f"{_jobs(lab, facts)}")
    finally:
        os.close(pidfd)
        notify.close()


def _jobs(lab, facts):
    """What it still waits for."""
    _, jobs = enter.capture(lab, "host", facts["host_pid"],
                            ["/usr/bin/systemctl", "list-jobs", "--no-legend"])
    running = [words[1] for words in map(str.split, jobs.splitlines()) if "running" in words]
    return f"it waits for {' '.join(running)}" if running else _console(lab)


def _console(lab):
    with open(lab.path("console"), encoding="utf-8", errors="replace") as text:
        return "; ".join(text.read().splitlines()[-5:]) or "it said nothing"


def install_running(lab, facts, options):
    """Installs on a host that runs. The facts on the machine follow."""
    options.site = options.site or DEFAULT_SITE
    payload = make_payload(options)
    site = payload["site"]
    network.batch([f"address replace {address}/32 dev lo" for address in host_addresses(site)],
                  facts["host_pid"])
    install.apply_running(lab, facts, payload)
    facts.update(site_facts(site), user=site["workload_user"],
                 host_addresses=host_addresses(site))
    lab.write(facts)


def system_state(lab, facts):
    def ask(*arguments):
        return enter.capture(lab, "host", facts["host_pid"],
                             ["/usr/bin/systemctl", *arguments])[1]
    state = ask("is-system-running").strip() or "off"
    if state in ("running", "off"):
        return state, []
    failed = ask("list-units", "--failed", "--plain", "--no-legend")
    return state, [line.split()[0] for line in failed.splitlines() if line.strip()]


def down(lab):
    with lab.locked():
        if not lab.exists():
            raise LabError(f"there is no lab {lab.name}")
        lab.remove()
