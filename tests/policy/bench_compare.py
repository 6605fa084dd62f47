#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What reading and comparing tables costs, against "nft -j list table" of the same table in
the same run. Ratios are of the least of several runs taken in turn; "growth" is the time for
a rule of the larger table against the smaller one's (1 is linear)."""
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


class Cost:
    def __init__(self):
        self.wall = self.cpu = float("inf")
        self.memory = 0


def measure(space, command, cost):
    """Wall and processor time, those of its own children included."""
    started = time.monotonic()
    child = space.popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    space.children.remove(child)
    if child.returncode:
        sys.exit(f"{command}: exit status {child.returncode}")
    cost.wall = min(cost.wall, time.monotonic() - started)
    cost.cpu = min(cost.cpu, usage.ru_utime + usage.ru_stime)
    cost.memory = max(cost.memory, usage.ru_maxrss)


def costs(world, text, commands, rounds=ROUNDS):
    """The cost of each command on a loaded table."""
    path = world.write("bench.nft", text)
    found = {name: Cost() for name in commands}
    with netns.Namespace() as space:
        space.run([netns.NFT, "-f", path])
        for _ in range(rounds):
            for name, command in commands.items():
                measure(space, [path if part == "TEXT" else part for part in command],
                        found[name])
    return found


def main():
    figures = {}
    dump, compare = [DUMP, "inet", "t"], [COMPARE, "t", "TEXT"]
    everything = {"list": LIST, "dump": dump, "compare": compare}
    with w.World() as world:
        large = costs(world, table(10000), everything)
        small = costs(world, table(1000), everything)
        wide = costs(world, table(50000, 50), everything, 3)
        narrow = costs(world, table(5000, 5), everything, 3)

        def ratio(left, right):
            return round(left / right, 2)

        figures["kernel_dump_to_nft_list_10000_rules"] = ratio(
            large["dump"].wall, large["list"].wall)
        figures["compare_to_nft_list_10000_rules"] = ratio(
            large["compare"].wall, large["list"].wall)
        figures["compare_to_nft_list_10000_rules_cpu"] = ratio(
            large["compare"].cpu, large["list"].cpu)
        for name in ("dump", "compare"):
            figures[f"{name}_growth_1000_to_10000_in_one_chain"] = ratio(
                large[name].cpu / 10000, small[name].cpu / 1000)
            figures[f"{name}_growth_5000_to_50000_in_chains_of_1000"] = ratio(
                wide[name].cpu / 50000, narrow[name].cpu / 5000)
        figures["compare_10000_rules_ms"] = round(large["compare"].wall * 1000)
        figures["compare_10000_rules_largest_process_mib"] = round(
            large["compare"].memory / 1024, 1)
        figures["compare_50000_rules_largest_process_mib"] = round(
            wide["compare"].memory / 1024, 1)
        figures["nft_list_50000_rules_mib"] = round(wide["list"].memory / 1024, 1)
        figures["kernel_dump_50000_rules_mib"] = round(wide["dump"].memory / 1024, 1)

        endpoints = {"schema": "netproof.endpoints.v1", "trusted_tcp": [
            {"address": f"198.51.100.{n + 1}", "port": 443} for n in range(32)],
            "trusted_dns": [{"address": w.RESOLVER, "port": 53}],
            "trusted_loopback_tcp": True}
        world.endpoints = world.write("endpoints.json", endpoints)
        profile = world.open_window()
        whole = Cost()
        for _ in range(3 * ROUNDS):
            measure(world.host, [w.NET_POLICY, "diff",
                                 *world.of_site("--profile", profile)], whole)
        figures["diff_32_endpoints_cpu_ms"] = round(whole.cpu * 1000, 1)
        figures["diff_32_endpoints_wall_ms"] = round(whole.wall * 1000, 1)
    print(json.dumps(figures))


if __name__ == "__main__":
    netns.exit_on_signals()
    main()
