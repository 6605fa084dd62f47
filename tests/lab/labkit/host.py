# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab's host: the machine's own Debian, booted again in namespaces.

Theory of operation. The caller (`lab up`, root on the machine) forks a child that
enters the lab's cgroup and new namespaces, and that forks the later PID 1. PID 1
builds the file tree below an empty folder of the lab's, moves into it, tells the
caller, waits for its word, and becomes systemd. Nothing in the tree leads back to
the machine: the root is an overlay whose writes go to memory, /dev has only
harmless nodes, /sys and /proc/sys are read-only except for the lab's own network,
the cgroup hierarchy begins at the lab's own cgroup, and the capabilities that
reach past namespaces (clock, modules, reboot, logs) are gone for good.
"""
import contextlib
import json
import os
import pathlib
import secrets
import signal
import socket
import stat
import traceback

from . import kernel
from .state import LabError

SYSTEMD = "/usr/lib/systemd/systemd"
# Where the lab keeps what only its own machinery needs.
PRIVATE = "/run/lab"
# Fresh at every boot.
FRESH = {"/run": "mode=755", "/tmp": "mode=1777"}
# What belongs to the machine alone, and starts empty in a lab.
EMPTY = """
/root /mnt /srv /media /boot /var/tmp /var/log /var/spool /var/lib/docker /var/lib/containerd
/var/lib/systemd /etc/systemd /etc/cron.d /etc/cron.daily /usr/lib/systemd/system-generators
""".split()
# Units of Debian's own that drive hardware, consoles or the whole machine.
MASKED = """
dev-hugepages.mount proc-sys-fs-binfmt_misc.automount proc-sys-fs-binfmt_misc.mount
sys-fs-fuse-connections.mount sys-kernel-config.mount sys-kernel-debug.mount
sys-kernel-tracing.mount kmod-static-nodes.service systemd-modules-load.service
systemd-binfmt.service systemd-sysctl.service systemd-random-seed.service
systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket
systemd-udev-trigger.service systemd-tmpfiles-setup-dev.service systemd-firstboot.service
systemd-machine-id-commit.service systemd-repart.service systemd-pcrphase.service
systemd-pcrphase-sysinit.service systemd-pstore.service systemd-timesyncd.service
systemd-initctl.socket systemd-journald-audit.socket systemd-remount-fs.service
systemd-ask-password-console.path systemd-ask-password-wall.path getty.target
console-getty.service getty-static.service systemd-tmpfiles-clean.timer
containerd.service docker.service docker.socket systemd-update-utmp.service
systemd-update-utmp-runlevel.service systemd-networkd.service systemd-resolved.service
""".split()
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8),
           "urandom": (1, 9), "tty": (5, 0)}
READ_ONLY_PROC = ("sys", "sysrq-trigger", "irq", "bus", "acpi", "fs")
HIDDEN_PROC = ("kcore", "kmsg", "timer_list", "latency_stats")


def check_machine():
    """An overlay of / does not cross into other file systems."""
    for path in ("/usr", "/etc", "/var"):
        if os.path.ismount(path):
            raise LabError(f"{path} is a file system of its own on this machine: a lab is an "
                           "overlay of / alone and cannot be made here")


def make_store(lab):
    """What a host's writes go to: memory, mounted in the caller's namespace, the world's,
    so that it outlives the host and is there when it boots again."""
    store = lab.path("store")
    kernel.mount("lab", store, "tmpfs", 0, "mode=755")
    for name in ("upper", "work", "root", "memory"):
        os.mkdir(f"{store}/{name}")
    for path in EMPTY:
        _empty(f"{store}/upper", path)


def start(lab, world_pid, options, prepare):
    """Forks the later PID 1 and waits until its file tree stands.

    `prepare(root)` runs with the tree at `root`, before it is entered; without one,
    the host was prepared at an earlier boot. Returns the pid and the end of a pipe:
    a byte written to it lets PID 1 become systemd.
    """
    report_read, report_write = os.pipe()
    go_read, go_write = os.pipe()
    child = os.fork()
    if child == 0:
        _in_child(lab, world_pid, options, prepare, report_write, go_read, go_write)
    os.close(report_write)
    os.close(go_read)
    os.waitpid(child, 0)
    with os.fdopen(report_read, encoding="utf-8") as report:
        lines = report.read().splitlines()
    if not lines:
        raise LabError("the lab's host died before it said a word")
    last = json.loads(lines[-1])
    if "error" in last:
        raise LabError(f"the lab's host could not be built: {last['error']}")
    if last != {"prepared": True}:
        raise LabError("the lab's host died while it was built")
    return json.loads(lines[0])["pid"], go_write


def _in_child(lab, world_pid, options, prepare, report, go_read, go_write):
    """Never returns. Between two forks: cgroup and namespaces."""
    try:
        os.close(go_write)
        kernel.close_all_but({report, go_read})
        os.setsid()
        with open(os.path.join(lab.cgroup, "host/cgroup.procs"), "w", encoding="ascii") as procs:
            procs.write("0")
        kernel.setns(os.open(f"/proc/{world_pid}/ns/mnt", os.O_RDONLY), kernel.NEWNS)
        kernel.unshare(kernel.NEWNS | kernel.NEWCGROUP | kernel.NEWUTS | kernel.NEWIPC |
                       kernel.NEWPID | kernel.NEWNET)
        init = os.fork()
        if init == 0:
            _become_init(lab, options, prepare, report, go_read)
        os.write(report, json.dumps({"pid": init}).encode() + b"\n")
        os._exit(0)
    except BaseException as error:
        say_failed(report, error)


def say_failed(report, error):
    """To the caller, over the pipe, and the end."""
    text = str(error)
    if not isinstance(error, LabError):
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = (f"{type(error).__name__}: {error} "
                f"({os.path.basename(place.filename)}:{place.lineno})")
    os.write(report, json.dumps({"error": text}).encode() + b"\n")
    os._exit(1)


def _become_init(lab, options, prepare, report, go):
    try:
        os.umask(0o022)
        kernel.sethostname(f"lab-{lab.name}")
        root = build_tree(lab, options)
        kernel.drop_machine_capabilities()
        if prepare:
            _write_etc(root, lab, options)
            prepare(root)
        kernel.pivot_root(root)
        console = os.open(f"{PRIVATE}/console", os.O_WRONLY | os.O_APPEND)
        nothing = os.open("/dev/null", os.O_RDONLY)
        os.write(report, b'{"prepared": true}\n')
        os.close(report)
        if os.read(go, 1) != b"g":
            os._exit(1)
        os.dup2(nothing, 0)
        os.dup2(console, 1)
        os.dup2(console, 2)
        kernel.close_all_but(set())
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        os.execve(SYSTEMD, [SYSTEMD, "--system", "--show-status=no", "--log-target=journal",
                            "--unit=multi-user.target"], {
            "PATH": "/usr/sbin:/usr/bin", "LANG": "C.UTF-8", "container": "netproof-lab",
            "container_uuid": options["machine_id"],
            "NOTIFY_SOCKET": f"{PRIVATE}/notify"})
    except BaseException as error:
        say_failed(report, error)


def build_tree(lab, options):
    """The whole file tree, below the lab's folder; returns its root."""
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    store = lab.path("store")
    root = f"{store}/root"
    kernel.mount("lab", root, "overlay", 0,
                 f"lowerdir=/,upperdir={store}/upper,workdir={store}/work")
    for path, mode in FRESH.items():
        kernel.mount("lab", root + path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, mode)
    for path in options["memory"]:
        os.makedirs(f"{store}/memory{path}", exist_ok=True)
        os.makedirs(root + path, exist_ok=True)
        kernel.bind(f"{store}/memory{path}", root + path)
    _mount_dev(root)
    _mount_proc(root, options)
    _mount_sys(root)
    _mount_private(lab, root)
    # The checkout, at the same path inside: what it holds can be run there.
    source = options["source"]
    os.makedirs(root + source, exist_ok=True)
    kernel.bind(source, root + source, read_only=True)
    return root


def _empty(upper, path):
    """An opaque folder in the overlay's upper half hides what lies below it."""
    if not os.path.isdir(path) or os.path.islink(path):
        return
    for parent in [*reversed(pathlib.PurePath(path).parents), path]:
        if not os.path.isdir(f"{upper}{parent}"):
            os.mkdir(f"{upper}{parent}")
            meta = os.stat(parent)
            os.chown(f"{upper}{parent}", meta.st_uid, meta.st_gid)
            os.chmod(f"{upper}{parent}", stat.S_IMODE(meta.st_mode))
    os.setxattr(upper + path, "trusted.overlay.opaque", b"y")


def _mount_proc(root, options):
    """/proc/sys is read-only but for the lab's own network.

    A second, bare /proc lies where only root gets: the kernel lets a user namespace
    mount a /proc of its own only where a whole one can be seen, and containers need one.
    """
    proc = root + "/proc"
    whole = root + PRIVATE + "/proc"
    os.makedirs(root + PRIVATE, 0o700)
    os.mkdir(whole, 0o700)
    kernel.mount("proc", whole, "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    kernel.mount("proc", proc, "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    for name in READ_ONLY_PROC:
        if os.path.exists(f"{proc}/{name}"):
            kernel.bind(f"{proc}/{name}", f"{proc}/{name}", read_only=True)
    kernel.bind(f"{whole}/sys/net", f"{proc}/sys/net")
    for name in HIDDEN_PROC:
        if os.path.exists(f"{proc}/{name}"):
            kernel.bind(f"{root}/dev/null", f"{proc}/{name}")
    boot_id = root + PRIVATE + "/boot_id"
    with open(boot_id, "w", encoding="ascii") as out:
        out.write(options["boot_id"] + "\n")
    kernel.bind(boot_id, f"{proc}/sys/kernel/random/boot_id", read_only=True)


def _mount_sys(root):
    kernel.mount("sysfs", root + "/sys", "sysfs", kernel.MS_RDONLY | kernel.MS_NOSUID |
                 kernel.MS_NODEV | kernel.MS_NOEXEC)
    kernel.mount("cgroup2", root + "/sys/fs/cgroup", "cgroup2", kernel.MS_NOSUID |
                 kernel.MS_NODEV | kernel.MS_NOEXEC)


def _mount_dev(root):
    dev = root + "/dev"
    kernel.mount("dev", dev, "tmpfs", kernel.MS_NOSUID, "mode=755")
    for name, (major, minor) in DEVICES.items():
        _make_node(f"{dev}/{name}", major, minor)
    os.mkdir(f"{dev}/net")
    _make_node(f"{dev}/net/tun", 10, 200)
    for name in ("pts", "shm", "mqueue"):
        os.mkdir(f"{dev}/{name}")
    kernel.mount("devpts", f"{dev}/pts", "devpts", kernel.MS_NOSUID | kernel.MS_NOEXEC,
                 "newinstance,ptmxmode=0666,mode=620,gid=5")
    kernel.mount("shm", f"{dev}/shm", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=1777")
    kernel.mount("mqueue", f"{dev}/mqueue", "mqueue", kernel.MS_NOSUID | kernel.MS_NODEV)
    for name, target in (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"),
                         ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
                         ("stderr", "/proc/self/fd/2"), ("core", "/proc/kcore")):
        os.symlink(target, f"{dev}/{name}")


def _make_node(path, major, minor):
    """In a lab that runs in a lab, the outer one's node: no lab can make any."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        os.chmod(path, 0o666)
    except PermissionError:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))
        kernel.bind(path[path.rindex("/dev/"):], path)


def _mount_private(lab, root):
    """The machine's ends: systemd says on `notify` when it has booted."""
    for name in ("notify", "console"):
        target = f"{root}{PRIVATE}/{name}"
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
        kernel.bind(lab.path(name), target)


def _write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path, mode)


def _write_etc(root, lab, options):
    for name in ("/etc/machine-id", "/etc/resolv.conf", "/etc/hosts", "/etc/hostname",
                 "/etc/fstab", "/var/lib/dbus/machine-id"):
        if os.path.lexists(root + name):
            os.unlink(root + name)
    _write(root + "/etc/machine-id", options["machine_id"] + "\n", 0o444)
    _write(root + "/etc/hostname", f"lab-{lab.name}\n")
    _write(root + "/etc/hosts", f"127.0.0.1 localhost lab-{lab.name}\n::1 localhost\n")
    _write(root + "/etc/resolv.conf", f"nameserver {options['dns']}\n")
    _write(root + "/etc/fstab", "")
    _write(root + "/etc/systemd/system.conf.d/lab.conf",
           "[Manager]\nDefaultTimeoutStartSec=60s\nStatusUnitFormat=name\n")
    _write(root + "/etc/systemd/journald.conf.d/lab.conf",
           "[Journal]\nStorage=volatile\nReadKMsg=no\nAudit=no\nForwardToSyslog=no\n"
           "ForwardToWall=no\nRateLimitBurst=0\n")
    for unit in MASKED:
        link = f"{root}/etc/systemd/system/{unit}"
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink("/dev/null", link)


def fresh_boot_id():
    digits = secrets.token_hex(16)
    cuts = (0, 8, 12, 16, 20, 32)
    return "-".join(digits[a:b] for a, b in zip(cuts, cuts[1:]))


def open_notify(lab):
    """The datagram socket on which systemd says READY=1."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(lab.path("notify"))
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(lab.path("notify"))
    return notify
