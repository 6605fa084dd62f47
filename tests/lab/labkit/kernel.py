# SPDX-License-Identifier: GPL-2.0-or-later
"""The system calls that Python's library does not offer: namespaces, mounts, capabilities."""
import ctypes
import os
import signal

NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWPID, NEWNET = (
    0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x20000000, 0x40000000)
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_CAPBSET_DROP = 1, 24

# linux/capability.h. What they allow reaches past every namespace, so no
# process of a lab has them.
MACHINE_CAPABILITIES = {
    "sys_module": 16, "sys_rawio": 17, "sys_boot": 22, "sys_time": 25,
    "mknod": 27, "audit_control": 30, "mac_override": 32, "mac_admin": 33, "syslog": 34,
    "wake_alarm": 35, "block_suspend": 36, "audit_read": 37}

libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _bytes(text):
    return None if text is None else os.fsencode(text)


def unshare(flags):
    _check(libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(descriptor, kind=0):
    _check(libc.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)), "setns")


def mount(source, target, kind=None, flags=0, options=None):
    _check(libc.mount(_bytes(source), _bytes(target), _bytes(kind),
                      ctypes.c_ulong(flags), _bytes(options)), f"mount on {target}")


def bind(source, target, read_only=False):
    mount(source, target, None, MS_BIND)
    if read_only:
        mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def umount_lazily(target):
    _check(libc.umount2(_bytes(target), MNT_DETACH), f"umount of {target}")


def pivot_root(new_root):
    """The current folder's trick: old and new root stacked, the old one taken off."""
    os.chdir(new_root)
    _check(libc.pivot_root(b".", b"."), "pivot_root")
    umount_lazily(".")
    os.chdir("/")


def sethostname(name):
    data = os.fsencode(name)
    _check(libc.sethostname(data, len(data)), "sethostname")


def die_with_parent():
    _check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")


def drop_machine_capabilities():
    for number in MACHINE_CAPABILITIES.values():
        _check(libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0), "prctl")


def close_all_but(keep):
    """Every descriptor from 3 on, except `keep`."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in keep:
            try:
                os.close(int(name))
            except OSError:
                pass  # The listing's own descriptor.

