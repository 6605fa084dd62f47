#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The confinement: what is forbidden kills with SIGSYS, so that it can never return as
an error and surface as an outcome; and what is in force is seen from outside."""
import ctypes
import errno
import os
import resource
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import client  # noqa: E402
from client import Agent, netns  # noqa: E402

FORBIDDEN = os.path.abspath(os.path.join(client.BUILD, "tests", "forbidden"))
ROLES = ("standard", "unix", "once")
HIGHEST = 480  # above the last system call of this kernel generation
X32 = 0x40000000

# x86-64 (asm/unistd_64.h): the numbers this file speaks of.
NR = dict(read=0, write=1, open=2, poll=7, mmap=9, mprotect=10, brk=12, ioctl=16,
          socket=41, connect=42, sendto=44, sendmsg=46, recvmsg=47, setsockopt=54, getsockopt=55,
          clone=56, fork=57, vfork=58, execve=59, kill=62, fcntl=72, ptrace=101,
          prctl=157, openat=257, unlinkat=263, dup3=292, execveat=322, io_uring_setup=425,
          clone3=435, openat2=437)

# Listed without a condition, by role; the calls with conditions are tried one by one
# below, and with zeroes they are forbidden.
FREE = {"read": 0, "close": 3, "poll": 7, "mmap": 9, "munmap": 11, "brk": 12,
        "rt_sigreturn": 15, "mremap": 25, "connect": 42, "getsockname": 51,
        "restart_syscall": 219, "clock_gettime": 228, "exit_group": 231,
        "epoll_wait": 232, "epoll_ctl": 233, "ppoll": 271, "epoll_pwait": 281}
# uretprobe and uprobe: newer kernels let them past every filter (kernel/seccomp.c). From
# anywhere but a trampoline of the kernel's own they do nothing; the agent has none.
PAST_EVERY_FILTER = {335, 336}
FREE_SERVING = {"pread64": 17, "recvfrom": 45, "bind": 49, "listen": 50,
                "timerfd_settime": 286, "getrandom": 318}


def run(role, number, *arguments):
    return subprocess.run([FORBIDDEN, role, str(number), *map(str, arguments)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=120)


def is_killed(done):
    return done.returncode == -signal.SIGSYS


@unittest.skipUnless(os.uname().machine == "x86_64", "call numbers are x86-64's")
class FilterTest(unittest.TestCase):
    def test_every_call_is_listed_or_kills(self):
        """No third way: nothing is turned into an error. Zeroes as arguments, but for
        ppoll(), which would wait for ever: a bad pointer as its time."""
        for role in ROLES:
            free = set(FREE.values())
            if role != "once":
                free |= set(FREE_SERVING.values())
            if role == "unix":
                free.add(NR["recvmsg"])  # of descriptor 0, which zeroes name
            survived = {number for number in range(HIGHEST)
                        if not is_killed(run(role, number,
                                             *((0, 0, 1) if number == FREE["ppoll"]
                                               else ())))}
            # exit_group() and rt_sigreturn() do not come back either, but it is not
            # the filter that ends them.
            self.assertEqual(survived - PAST_EVERY_FILTER, free, role)

    def test_unknown_and_foreign_numbers_kill(self):
        for number in (HIGHEST, 1000, 0xffff, X32, X32 + NR["read"], X32 + NR["execve"],
                       -1):
            self.assertTrue(is_killed(run("standard", number)), number)

    def test_no_process_no_program_no_file(self):
        for role in ROLES:
            for name in ("fork", "vfork", "clone", "clone3", "execve", "execveat", "open",
                         "openat", "openat2", "ptrace", "kill", "ioctl", "mprotect",
                         "io_uring_setup", "sendmsg"):
                self.assertTrue(is_killed(run(role, NR[name])), (role, name))

    def test_arguments(self):
        """(role, call, arguments, allowed). What is allowed may fail, but returns."""
        stream = socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
        datagram = socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
        rows = (
            ("once", "socket", (socket.AF_INET, stream), True),
            ("once", "socket", (socket.AF_INET6, stream), True),
            ("once", "socket", (socket.AF_INET, datagram), False),
            ("standard", "socket", (socket.AF_INET, datagram), True),
            ("standard", "socket", (socket.AF_INET6, datagram), False),
            ("standard", "socket", (socket.AF_UNIX, stream), False),
            ("standard", "socket", (socket.AF_NETLINK, datagram), False),
            ("standard", "socket", (socket.AF_PACKET, datagram), False),
            ("standard", "socket", (socket.AF_INET, socket.SOCK_RAW), False),
            ("standard", "socket", (socket.AF_INET, socket.SOCK_STREAM), False),
            # A value whose lower half alone is right
            ("standard", "socket", (socket.AF_INET + (1 << 32), stream), False),
            ("standard", "write", (1, 0, 0), True),
            ("standard", "write", (2, 0, 0), True),
            ("standard", "write", ("PIPE", 0, 0), False),
            ("once", "write", ("PIPE", 0, 0), False),
            ("standard", "sendto", (0, 0, 0, 0x4000, 0), True),  # MSG_NOSIGNAL
            ("standard", "sendto", (0, 0, 0, 0x4000, 1), False),  # to an address
            ("standard", "sendto", (0, 0, 0, 0x20004000, 0), False),  # MSG_FASTOPEN
            ("once", "sendto", (0, 0, 0, 0x4000, 0), False),
            ("standard", "mmap", (0, 4096, 1, 0x22, -1), True),
            ("standard", "mmap", (0, 4096, 5, 0x22, -1), False),  # PROT_EXEC
            ("standard", "mmap", (0, 4096, 7, 0x22, -1), False),
            ("standard", "prctl", (39,), True),   # PR_GET_NO_NEW_PRIVS
            ("standard", "prctl", (21,), True),   # PR_GET_SECCOMP
            ("standard", "prctl", (4, 1), False),  # PR_SET_DUMPABLE
            ("standard", "prctl", (1,), False),
            ("standard", "setsockopt", (0, 1, 9), True),   # SO_KEEPALIVE
            ("standard", "setsockopt", (0, 1, 36), False),  # SO_MARK
            ("standard", "setsockopt", (0, 0, 24), False),  # IP_TRANSPARENT
            ("standard", "setsockopt", (0, 6, 18), True),   # TCP_USER_TIMEOUT
            ("standard", "setsockopt", (0, 6, 19), False),  # TCP_REPAIR
            ("once", "setsockopt", (0, 1, 9), False),
            ("once", "getsockopt", (0, 1, 4), True),        # SO_ERROR
            ("once", "getsockopt", (0, 1, 17), False),      # SO_PEERCRED
            ("standard", "getsockopt", (0, 1, 17), False),
            ("unix", "getsockopt", (0, 1, 17), True),
            ("standard", "fcntl", (0, 1030), True),         # F_DUPFD_CLOEXEC
            ("standard", "fcntl", (0, 4), False),           # F_SETFL
            ("unix", "fcntl", (0, 3), True),                # F_GETFL
            ("unix", "dup3", (9, 0, 0o2000000), True),
            ("unix", "dup3", (9, 2, 0o2000000), False),
            ("standard", "dup3", (9, 0, 0o2000000), False),
            ("unix", "unlinkat", (0, 0, 0), False),         # no folder was named
        )
        for role, name, arguments, allowed in rows:
            with self.subTest(role=role, name=name, arguments=arguments):
                done = run(role, NR[name], *arguments)
                if allowed:
                    self.assertEqual(done.returncode, 0)
                    # A result of the kernel's, not of a filter's.
                    self.assertNotIn(int(done.stdout), (-errno.EPERM, -errno.ENOSYS))
                else:
                    self.assertTrue(is_killed(done), done)

    def test_death_is_no_answer(self):
        """A client of an agent that dies in its filter reads an end, not an outcome:
        nothing was written before."""
        done = run("standard", NR["openat"])
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGSYS, b""))


class OutsideTest(unittest.TestCase):
    """What the collector reads of a live agent."""

    def setUp(self):
        self.agent = Agent()
        self.addCleanup(self.agent.close)
        self.assertEqual(self.agent.ask("hello")["sandbox"],
                         {"no_new_privs": True, "seccomp": True, "landlock": True})
        with open(f"/proc/{self.agent.pid}/status") as status:
            self.status = dict(line.split(":\t", 1) for line in
                               status.read().splitlines() if ":\t" in line)

    def test_status(self):
        self.assertEqual(self.status["NoNewPrivs"], "1")
        self.assertEqual(self.status["Seccomp"], "2")
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(self.status[name], 16), 0, name)
        self.assertEqual(self.status["Threads"], "1")

    def test_limits(self):
        for name in (resource.RLIMIT_CORE, resource.RLIMIT_NPROC):
            self.assertEqual(resource.prlimit(self.agent.pid, name), (0, 0))
        self.assertLessEqual(max(resource.prlimit(self.agent.pid,
                                                  resource.RLIMIT_NOFILE)), 256)

    def test_not_dumpable_so_not_traceable_by_its_own_user(self):
        """Its files in /proc are root's: the kernel's sign of a process that cannot be
        dumped. Its own user cannot attach to it, nor read its memory."""
        binary = os.open(client.PROBE, os.O_PATH)
        self.addCleanup(os.close, binary)

        def become_nobody():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        child = subprocess.Popen([f"/proc/self/fd/{binary}", "net-agent"],
                                 pass_fds=[binary], preexec_fn=become_nobody,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            child.stdin.write(client.request("hello"))
            child.stdin.flush()
            child.stdout.readline()
            self.assertEqual(os.stat(f"/proc/{child.pid}/mem").st_uid, 0)
            script = ("import ctypes, os, sys\n"
                      "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
                      "libc = ctypes.CDLL(None, use_errno=True)\n"
                      f"attached = libc.ptrace(16, {child.pid}, 0, 0)\n"
                      "print(attached, ctypes.get_errno())\n"
                      "try:\n"
                      f"    open('/proc/{child.pid}/mem', 'rb')\n"
                      "except PermissionError:\n"
                      "    print('no memory')\n")
            done = subprocess.run([sys.executable, "-c", script], capture_output=True,
                                  text=True)
            self.assertEqual(done.stdout, f"-1 {errno.EPERM}\nno memory\n", done.stderr)
        finally:
            child.kill()
            child.communicate()

    def test_strays_are_closed(self):
        """What the caller had open is not in the agent."""
        read, write = os.pipe()
        for fd in (read, write):
            os.set_inheritable(fd, True)
        inherited = os.stat(write).st_ino
        with Agent(pass_fds=[read, write]) as agent:
            agent.ask("hello")
            folder = f"/proc/{agent.pid}/fd"
            self.assertNotIn(inherited, {os.stat(os.path.join(folder, name)).st_ino
                                         for name in os.listdir(folder)})
        os.close(read)
        os.close(write)

    def test_files_are_out_of_reach(self):
        """Landlock, where the filter would not look: proved by the agent at its start,
        here by its absence from a kernel that says it has none."""
        libc = ctypes.CDLL(None, use_errno=True)
        version = libc.syscall(444, None, 0, 1)  # landlock_create_ruleset
        self.assertEqual(self.agent.ask("hello")["sandbox"]["landlock"], version > 0)


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
