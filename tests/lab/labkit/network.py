# SPDX-License-Identifier: GPL-2.0-or-later
"""The one wire of a lab, between its host and the outside world, and the addresses on it.

No interface is ever in the machine's network namespace, not even while it is made:
the pair is created in the world's namespace with its other end in the host's.
"""
import subprocess

from .state import LabError

IP = "/usr/sbin/ip"
HOST_LINK, WORLD_LINK = "eth0", "lan0"
HOST = {"address": "192.168.77.2", "address6": "fd77::2"}
WORLD = {"address": "192.168.77.1", "address6": "fd77::1"}
# RFC 5737 and RFC 3849: nobody's, so a mistake could never meet anybody.
ENDPOINT_PREFIX = "198.51.100."
DNS_ADDRESS = "192.0.2.53"
METADATA_ADDRESS = "169.254.169.254"


def batch(lines, pid):
    """`ip -batch` in the network namespace of process `pid`."""
    done = subprocess.run(
        ["/usr/bin/nsenter", f"--net=/proc/{pid}/ns/net", "--", IP, "-batch", "-"],
        input="".join(line + "\n" for line in lines), text=True, check=False,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        raise LabError(f"the lab's network could not be made: {done.stderr.strip()}")


def make_world(world_pid, addresses):
    """The world's further addresses, on its loopback: any of a host's packets that
    comes to the world's end of the wire finds them. The kernel leaves an IPv6 one
    tentative, which cannot be listened on, until a worker of its own comes to it."""
    batch(["link set lo up"] +
          [f"address add {address} dev lo" + (" nodad" if ":" in address else "")
           for address in addresses], world_pid)


def cut(world_pid):
    """Takes the wire away. The kernel does so by itself when a host has ended, but later."""
    subprocess.run(["/usr/bin/nsenter", f"--net=/proc/{world_pid}/ns/net", "--", IP, "link",
                    "delete", WORLD_LINK], check=False, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def connect(host_pid, world_pid, host_addresses, ipv6, is_down):
    """Makes the wire. `host_addresses` are the host's further ones, on its loopback."""
    world = [
        f"link add {WORLD_LINK} type veth peer name {HOST_LINK} netns {host_pid}",
        f"address add {WORLD['address']}/24 dev {WORLD_LINK}",
    ]
    host = [
        "link set lo up",
        f"address add {HOST['address']}/24 dev {HOST_LINK}",
    ]
    if ipv6:
        world.append(f"address add {WORLD['address6']}/64 dev {WORLD_LINK} nodad")
        host.append(f"address add {HOST['address6']}/64 dev {HOST_LINK} nodad")
    else:  # Not even a link-local one.
        world.append(f"link set {WORLD_LINK} addrgenmode none")
        host.append(f"link set {HOST_LINK} addrgenmode none")
    host += [f"address add {address}/32 dev lo" for address in host_addresses]
    world.append(f"link set {WORLD_LINK} " + ("down" if is_down else "up"))
    host.append(f"link set {HOST_LINK} up")
    host.append(f"route add default via {WORLD['address']}")
    if ipv6:
        host.append(f"route add ::/0 via {WORLD['address6']} dev {HOST_LINK}")
    batch(world, world_pid)
    batch(host, host_pid)
