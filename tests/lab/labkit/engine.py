# SPDX-License-Identifier: GPL-2.0-or-later
"""The rootless container engine under the workload user's own manager."""
import io
import os
import tarfile
import tempfile

from . import enter
from .state import LabError

DOCKER = "/usr/bin/docker"
DEFAULT_SOCKET = "/run/engine/docker.sock"
DEFAULT_UNIT = "docker.service"
USER_UNITS = "/etc/systemd/user"
# Without a site's own unit. The same programs and options as the site's.
UNIT = """[Unit]
Description=Rootless container engine of a lab
ConditionUser={user}

[Service]
Type=notify
NotifyAccess=all
ExecStart=/usr/bin/rootlesskit --net=slirp4netns --mtu=65520 --slirp4netns-sandbox=auto \\
    --slirp4netns-seccomp=auto --disable-host-loopback --port-driver=builtin \\
    --copy-up=/etc --copy-up=/run --propagation=rslave \\
    /bin/sh -c 'rm -f /run/docker /run/containerd /run/xtables.lock && exec "$$@"' sh \\
    /usr/sbin/dockerd --rootless --host=unix://{socket} --exec-opt=native.cgroupdriver=systemd
Environment=PATH=/usr/sbin:/usr/bin
KillMode=mixed
Delegate=yes
"""


def prepare(root, user, site):
    """The lab's own unit and the socket's private folder, before the boot."""
    socket = site.get("engine", {}).get("socket", DEFAULT_SOCKET)
    unit = site.get("engine_unit", DEFAULT_UNIT)
    os.makedirs(root + USER_UNITS, exist_ok=True)
    with open(f"{root}{USER_UNITS}/{unit}", "w", encoding="utf-8") as out:
        out.write(UNIT.format(user=user, socket=socket))
    os.makedirs(f"{root}/etc/tmpfiles.d", exist_ok=True)
    with open(f"{root}/etc/tmpfiles.d/lab-engine.conf", "w", encoding="utf-8") as out:
        out.write(f"d {os.path.dirname(socket)} 0700 {user} root -\n")


def _run(lab, facts, command, user=None, stdin=None):
    status, printed = enter.capture(lab, "host", facts["host_pid"], command, user, stdin)
    if status:
        raise LabError(f"{' '.join(command[:4])}: exit status {status}: "
                       f"lab logs --name {lab.name}")
    return printed


def docker(facts):
    return [DOCKER, "--host", f"unix://{facts['engine_socket']}"]


def start(lab, facts):
    """Returns when the engine answers. The unit says by itself that it is ready."""
    user = facts["user"]
    uid = _run(lab, facts, ["/usr/bin/id", "-u", user]).strip()
    _run(lab, facts, ["/usr/bin/systemctl", "start", f"user@{uid}.service"])
    _run(lab, facts, ["/usr/bin/systemctl", "--user", "start", facts["engine_unit"]], user)
    _run(lab, facts, [*docker(facts), "version", "--format", "{{.Server.Version}}"], user)


def limits(lab):
    """Which of a container's limits the machine's unified hierarchy can enforce. On a
    machine whose controllers are bound to version 1 hierarchies, none: the engine then
    says "Limitation discarded" at each container with one."""
    with open(os.path.join(lab.cgroup, "host/cgroup.controllers"), encoding="ascii") as text:
        have = text.read().split()
    return {name: name in have for name in ("cpu", "memory", "pids")}


def import_image(lab, facts, reference, files):
    """An image of nothing but static programs, each below / by its own name."""
    with tempfile.TemporaryFile() as archive:
        with tarfile.open(fileobj=archive, mode="w") as out:
            for path in files:
                entry = tarfile.TarInfo(os.path.basename(path))
                with open(path, "rb") as program:
                    data = program.read()
                entry.size, entry.mode = len(data), 0o755
                out.addfile(entry, io.BytesIO(data))
        archive.seek(0)
        return _run(lab, facts, [*docker(facts), "import", "-", reference], facts["user"],
                    archive.fileno()).strip()
