#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What reading and comparing tables costs, against "nft -j list table" of the same table in
the same run. Ratios are of the least of several runs taken in turn; "growth" is the time for
a rule of the larger table against the smaller one's (1 is linear; less is what every run
costs at least). "mib" is the most that all processes of a run had at once, with the files in
memory that they share and the kernel's side of the scratch table."""
import contextlib
import ctypes
import itertools
import json
import os
import subprocess
import sys
import time

import world as w
from world import netns

BUILD = os.path.join(w.TOP, os.environ.get("BUILD", "build"))
DUMP = os.path.join(BUILD, "tests", "kform_dump")
COMPARE = os.path.join(BUILD, "tests", "compare_text")
LIST = [netns.NFT, "-j", "list", "table", "inet", "t"]
ROUNDS = 5


def table(rules, chains=1):
    lines = ["add table inet t",
             "add chain inet t c0 { type filter hook output priority 0; policy accept; }"]
    lines += [f"add chain inet t c{n}" for n in range(1, chains)]
    for number in range(rules):
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        lines.append(f"add rule inet t c{number % chains} meta skuid {number + 1} "
                     f"ip daddr {address} tcp dport {number % 60000 + 1} counter accept")
    return "\n".join(lines) + "\n"


class MemoryGroups:
    """A cgroup for each run, in whichever hierarchy has the memory controller."""

    def __init__(self, world):
        self.numbers = itertools.count()
        with open("/sys/fs/cgroup/cgroup.controllers", encoding="ascii") as file:
            is_version_2 = "memory" in file.read().split()
        if is_version_2:
            self.root, self.peak = "/sys/fs/cgroup", "memory.peak"
            with open(f"{self.root}/cgroup.subtree_control", "w", encoding="ascii") as file:
                file.write("+memory")
            return
        # In the mount namespace that the World made: nobody else sees it.
        self.root, self.peak = f"{world.folder}/memory", "memory.max_usage_in_bytes"
        os.mkdir(self.root)
        if ctypes.CDLL(None, use_errno=True).mount(
                b"none", self.root.encode(), b"cgroup", 0, b"memory") != 0:
            sys.exit(f"no memory controller: {os.strerror(ctypes.get_errno())}")
        world.stack.callback(os.rmdir, self.root)
        world.stack.callback(ctypes.CDLL(None).umount2, self.root.encode(), w.MNT_DETACH)

    @contextlib.contextmanager
    def group(self):
        path = f"{self.root}/netproof-test-{os.getpid()}-{next(self.numbers)}"
        os.mkdir(path)
        try:
            yield path
        finally:
            os.rmdir(path)


class Cost:
    def __init__(self):
        self.wall = self.cpu = float("inf")
        self.memory = 0


def measure(space, groups, command, cost):
    """Wall and processor time and memory, those of its own children included."""
    with groups.group() as path:
        def enter():
            with open(f"{path}/cgroup.procs", "w", encoding="ascii") as file:
                file.write("0")

        started = time.monotonic()
        child = space.popen(command, stdout=subprocess.DEVNULL, preexec_fn=enter)
        _, status, usage = os.wait4(child.pid, 0)
        cost.wall = min(cost.wall, time.monotonic() - started)
        child.returncode = os.waitstatus_to_exitcode(status)
        space.children.remove(child)
        if child.returncode:
            sys.exit(f"{command}: exit status {child.returncode}")
        cost.cpu = min(cost.cpu, usage.ru_utime + usage.ru_stime)
        with open(f"{path}/{groups.peak}", encoding="ascii") as file:
            cost.memory = max(cost.memory, int(file.read()))


def costs(world, groups, text, commands, rounds=ROUNDS):
    """The cost of each command on a loaded table."""
    path = world.write("bench.nft", text)
    found = {name: Cost() for name in commands}
    with netns.Namespace() as space:
        space.run([netns.NFT, "-f", path])
        for _ in range(rounds):
            for name, command in commands.items():
                measure(space, groups,
                        [path if part == "TEXT" else part for part in command],
                        found[name])
    return found


def main():
    figures = {}
    dump, compare = [DUMP, "inet", "t"], [COMPARE, "t", "TEXT"]
    everything = {"list": LIST, "dump": dump, "compare": compare}
    with w.World() as world:
        groups = MemoryGroups(world)
        small = costs(world, groups, table(1000), everything)
        large = costs(world, groups, table(10000), everything)
        narrow = costs(world, groups, table(5000, 5), everything, 3)
        middle = costs(world, groups, table(10000, 10), everything, 3)
        wide = costs(world, groups, table(50000, 50), everything, 3)

        def ratio(left, right):
            return round(left / right, 2)

        for kind in ("wall", "cpu"):
            for name in ("dump", "compare"):
                figures[f"{name}_to_nft_list_10000_rules_{kind}"] = ratio(
                    getattr(large[name], kind), getattr(large["list"], kind))
        for name in everything:
            figures[f"{name}_growth_1000_to_10000_in_one_chain"] = ratio(
                large[name].cpu / 10000, small[name].cpu / 1000)
            figures[f"{name}_growth_5000_to_50000_in_chains_of_1000"] = ratio(
                wide[name].cpu / 50000, narrow[name].cpu / 5000)
            figures[f"{name}_growth_10000_to_50000_in_chains_of_1000"] = ratio(
                wide[name].cpu / 50000, middle[name].cpu / 10000)
            figures[f"{name}_10000_rules_mib"] = round(large[name].memory / (1 << 20))
            figures[f"{name}_50000_rules_mib"] = round(wide[name].memory / (1 << 20))
        figures["compare_10000_rules_ms"] = round(large["compare"].wall * 1000)

        endpoints = {"schema": "netproof.endpoints.v1", "trusted_tcp": [
            {"address": f"198.51.100.{n + 1}", "port": 443} for n in range(32)],
            "trusted_dns": [{"address": w.RESOLVER, "port": 53}],
            "trusted_loopback_tcp": True}
        world.endpoints = world.write("endpoints.json", endpoints)
        profile = world.open_window()
        whole = Cost()
        for _ in range(6 * ROUNDS):
            measure(world.host, groups, [w.NET_POLICY, "diff",
                                         *world.of_site("--profile", profile)], whole)
        figures["diff_32_endpoints_cpu_ms"] = round(whole.cpu * 1000, 1)
        figures["diff_32_endpoints_wall_ms"] = round(whole.wall * 1000, 1)
        figures["diff_32_endpoints_mib"] = round(whole.memory / (1 << 20))
    print(json.dumps(figures))


if __name__ == "__main__":
    netns.exit_on_signals()
    main()
