# SPDX-License-Identifier: GPL-2.0-or-later
"""Installs a build and a site on a lab's host, the way net-site(8) tells an operator to.

The same steps serve a host that is about to boot (in a chroot: what systemd would
be asked is then only written down) and one that runs.
"""
import json
import os
import shutil
import subprocess
import tempfile

from . import enter, kernel
from .state import LabError

SITE_PATH = "/etc/netproof/site.json"
# Without these the units cannot work; the others are copied when they are built.
NEEDED = ("net-site", "net-policy", "net-probe", "net-proxy")
OPTIONAL = ("net-collector", "net-preflight", "net-verify")
LINKS = ("net-agent", "net-once")
# Beside the programs, when the build has them: source and place.
DOCUMENTS = (("out/release/release.json", "/etc/netproof/release.json"),
             ("fixtures/network/targets.json", "/etc/netproof/targets.json"),
             ("fixtures/catalog.json", "/etc/netproof/catalog.json"))
SUBORDINATES = "200000-265535"
UIDS = range(990, 900, -1)


def read(path):
    try:
        with open(path, "rb") as source:
            return source.read()
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None


def read_site(path):
    try:
        return json.loads(read(path))
    except ValueError as error:
        raise LabError(f"{path}: {error}") from None


def plan(top, build, site_path, files, with_engine):
    """Everything that must be read on the machine, before the lab's root is entered.
    `files` are texts like SOURCE:PLACE or SOURCE:PLACE:MODE."""
    site = read_site(site_path)
    programs = {}
    for name in NEEDED + OPTIONAL:
        path = os.path.join(build, "bin", name)
        if os.path.exists(path):
            programs[name] = read(path)
        elif name in NEEDED:
            raise LabError(f"{path}: is not built: make")
    extra = [(SITE_PATH, 0o644, read(site_path))]
    for source, place in DOCUMENTS:
        if os.path.exists(os.path.join(top, source)):
            extra.append((place, 0o644, read(os.path.join(top, source))))
    for text in files:
        words = text.split(":")
        if len(words) not in (2, 3) or not words[1].startswith("/"):
            raise LabError(f"--file {text}: SOURCE:PLACE[:MODE] is needed, PLACE absolute")
        mode = int(words[2], 8) if len(words) == 3 else 0o644
        extra.append((words[1], mode, read(words[0])))
    return {"site": site, "programs": programs, "files": extra, "with_engine": with_engine}


def _tell(*command):
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env={"PATH": "/usr/sbin:/usr/bin", "LANG": "C.UTF-8"})
    if done.returncode:
        raise LabError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")


def _write(place, mode, data):
    """A program may be running: a new file takes its name."""
    os.makedirs(os.path.dirname(place), exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(place))
    with os.fdopen(descriptor, "wb") as out:
        out.write(data)
    os.chmod(temporary, mode)
    os.rename(temporary, place)


def _make_memory(folder):
    """The engine's data must not lie on the overlay."""
    os.makedirs(folder, exist_ok=True)
    if not os.path.ismount(folder):
        kernel.mount("lab", folder, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=700")


def _choose_uid(user):
    with open("/etc/passwd", encoding="utf-8") as accounts:
        entries = [line.split(":") for line in accounts if ":" in line]
    for entry in entries:
        if entry[0] == user:
            return int(entry[2])
    taken = {int(entry[2]) for entry in entries}
    return next(uid for uid in UIDS if uid not in taken)


def _copy_programs(payload):
    folder = payload["site"]["install_dir"]
    for name, data in payload["programs"].items():
        _write(os.path.join(folder, name), 0o755, data)
    for name in LINKS:
        link = os.path.join(folder, name)
        if not os.path.lexists(link):
            os.symlink("net-probe", link)
    for place, mode, data in payload["files"]:
        _write(place, mode, data)


def _render(payload):
    site = payload["site"]
    out = tempfile.mkdtemp(prefix="site-", dir="/run")
    try:
        os.rmdir(out)
        _tell(os.path.join(site["install_dir"], "net-site"), "render", "--site", SITE_PATH,
              "--out", out, "--uid", str(_choose_uid(site["workload_user"])))
        _tell("/usr/bin/cp", "-R", out + "/.", "/etc/")
    finally:
        shutil.rmtree(out, ignore_errors=True)


def _has_ranges(user):
    with open("/etc/subuid", encoding="utf-8") as ranges:
        return any(line.startswith(user + ":") for line in ranges)


def apply(payload, is_running):
    """In the lab's root."""
    site = payload["site"]
    user = site["workload_user"]
    os.umask(0o022)
    _make_memory("/var/lib/" + site["name"])
    _copy_programs(payload)
    _render(payload)
    _tell("/usr/bin/systemd-sysusers", f"/etc/sysusers.d/{site['name']}.conf")
    if not _has_ranges(user):
        _tell("/usr/sbin/usermod", "--add-subuids", SUBORDINATES, "--add-subgids", SUBORDINATES,
              user)
    _tell("/usr/bin/systemd-tmpfiles", "--create", f"/etc/tmpfiles.d/{site['name']}.conf")
    now = ["--now"] if is_running else []
    if is_running:
        _tell("/usr/bin/systemctl", "daemon-reload")
    _tell("/usr/bin/systemctl", "enable", *now, site["guard_unit"], site["proxy_unit"])
    if payload["with_engine"]:
        _tell("/usr/bin/systemctl", "--global", "enable", site["engine_unit"])
    if is_running:
        _tell("/usr/bin/loginctl", "enable-linger", user)
    else:
        os.makedirs("/var/lib/systemd/linger", exist_ok=True)
        _write(f"/var/lib/systemd/linger/{user}", 0o644, b"")


def apply_before_boot(root, payload):
    """In a child that has the tree as its root."""
    def work():
        os.chroot(root)
        os.chdir("/")
        apply(payload, False)
    enter.in_child(work)


def apply_running(lab, facts, payload):
    """In a child that has entered the host."""
    def work():
        enter.enter(lab, "host", facts["host_pid"], "lab-exec")
        kernel.drop_machine_capabilities()
        apply(payload, True)
    enter.in_child(work)
