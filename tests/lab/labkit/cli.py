# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of `lab`: parses, prints, and chooses the exit status."""
import argparse
import json
import os
import sys

from . import engine, enter, state, up, world


def add_name(parser):
    parser.add_argument("--name", default="lab", help="which lab (default: lab)")


def add_installing(parser):
    parser.add_argument("--build", default=os.path.join(up.SOURCE, "build"),
                        help="the build's folder")
    parser.add_argument("--file", action="append", default=[], metavar="SOURCE:PLACE[:MODE]",
                        help="a further file to install")


def parse(arguments):
    parser = argparse.ArgumentParser(prog="lab")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("up", help="boot a lab")
    add_name(one)
    one.add_argument("--user", default="workload", help="the workload user without a site")
    one.add_argument("--site", help="a netproof.site.v1 file: its user and addresses")
    one.add_argument("--endpoints", type=int, default=2, choices=range(1, 33), metavar="1..32")
    one.add_argument("--no-ipv6", action="store_true", help="no IPv6 address nor route")
    one.add_argument("--world-down", action="store_true", help="the world's link is down")
    one.add_argument("--engine", action="store_true", help="with the container engine running")
    one.add_argument("--boot-seconds", type=int, default=60, metavar="S",
                     help="how long systemd may take (default: 60)")
    one.add_argument("--install", action="store_true", help="with the build and site installed")
    add_installing(one)
    one = commands.add_parser("install", help="install the build and a site on a running lab")
    add_name(one)
    one.add_argument("--site", help="a netproof.site.v1 file (default: the shipped one)")
    one.add_argument("--engine", action="store_true", help="enable the engine, too")
    add_installing(one)
    one = commands.add_parser("engine", help="start the container engine, wait until it answers")
    add_name(one)
    one = commands.add_parser("docker", help="the engine's client, as the workload user")
    add_name(one)
    one.add_argument("run", nargs="+")
    one = commands.add_parser("image", help="make an image of static programs")
    add_name(one)
    one.add_argument("reference")
    one.add_argument("files", nargs="+")
    one = commands.add_parser("exec", help="run a command in a lab's host")
    add_name(one)
    one.add_argument("--user")
    one.add_argument("--cgroup", default="lab-exec", help="as the lab sees it")
    one.add_argument("run", nargs="+")
    one = commands.add_parser("world", help="run a command in a lab's outside world")
    add_name(one)
    one.add_argument("run", nargs="+")
    one = commands.add_parser("service", help="read and control the world's services")
    add_name(one)
    one.add_argument("do", choices=("list", "read", "stop", "start", "clear", "mode", "add",
                                    "packets"))
    one.add_argument("words", nargs="*", metavar="SERVICE [MODE | KIND ADDRESS PORT]")
    one = commands.add_parser("reboot", help="power off and on again; the world stays")
    add_name(one)
    one.add_argument("--engine", action="store_true", help="and wait for the engine")
    for name, text in (("status", "a lab's facts as JSON"), ("down", "end a lab")):
        one = commands.add_parser(name, help=text)
        add_name(one)
    one = commands.add_parser("logs", help="a lab's journal")
    add_name(one)
    one.add_argument("run", nargs="*", metavar="JOURNALCTL_OPTION")
    commands.add_parser("list", help="the labs there are")
    return parser.parse_args(arguments)


def service_request(options):
    request = {"do": options.do}
    words = options.words
    if options.do == "add":
        if len(words) != 4 or not words[3].isdigit():
            raise state.LabError("service add NAME tcp|dns ADDRESS PORT")
        request["add"] = {"name": words[0], "kind": words[1], "address": words[2],
                          "port": int(words[3])}
        return request
    wanted = {"list": (0, 0), "packets": (0, 0), "clear": (0, 1), "mode": (2, 2)}
    low, high = wanted.get(options.do, (1, 1))
    if not low <= len(words) <= high:
        raise state.LabError(f"service {options.do}: a wrong number of words")
    if words:
        request["service"] = words[0]
    if options.do == "mode":
        request["mode"] = words[1]
    return request


def show(value):
    print(json.dumps(value, indent=1))


def obey(options):
    if options.command == "list":
        print("\n".join(state.names()))
        return 0
    lab = state.Lab(options.name)
    if options.command == "up":
        facts = up.up(lab, options)
        show(facts)
        return 0
    if options.command == "down":
        up.down(lab)
        return 0
    if options.command == "reboot":
        show(up.reboot(lab, options.engine))
        return 0
    facts = lab.read()
    if options.command == "status":
        facts["system_state"], facts["failed_units"] = up.system_state(lab, facts)
        show(facts)
        return 0
    if options.command == "install":
        up.install_running(lab, facts, options)
        return 0
    if options.command == "engine":
        engine.start(lab, facts)
        return 0
    if options.command == "image":
        print(engine.import_image(lab, facts, options.reference, options.files))
        return 0
    if options.command == "service":
        show(world.ask(lab, service_request(options)))
        return 0
    if options.command == "world":
        status = enter.run(lab, "world", facts["world_pid"], options.run, cgroup=".")
    elif options.command == "docker":
        status = enter.run(lab, "host", facts["host_pid"],
                           [*engine.docker(facts), *options.run], facts["user"])
    elif options.command == "logs":
        status = enter.run(lab, "host", facts["host_pid"],
                           ["/usr/bin/journalctl", "--no-pager", *options.run])
    else:
        status = enter.run(lab, "host", facts["host_pid"], options.run, options.user,
                           options.cgroup)
    return status if status >= 0 else 128 - status


def main(arguments):
    options = parse(arguments)
    if os.geteuid() != 0:
        sys.stderr.write("lab: needs root: it makes namespaces, mounts and cgroups\n")
        return 4
    try:
        return obey(options)
    except state.LabError as error:
        sys.stderr.write(f"lab: {error}\n")
        return 1
