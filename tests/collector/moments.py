# SPDX-License-Identifier: GPL-2.0-or-later
"""A collection that stands still wherever a test wants to do something.

The collector writes a line before or after each of its steps, and a write to a pipe that
has no room waits. The pipe that its standard error is here holds one line, and holds it
already: so the collector stands at each of its lines until the one before is read.
What it is about to say is read from its memory, and what a test does then happens after
everything before that line and before anything behind it, however busy the machine is.
Nothing in the collector knows of this.
"""
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import termios
import threading
import time

import collectlib
from collectlib import ETC, STORE

F_SETPIPE_SZ = 1031  # linux/fcntl.h
LOOK_SECONDS = 0.002
# For a whole collection, its window included: only a broken one takes longer.
END_SECONDS = 240
# Of the 900 for which a preflight is good.
PREFLIGHT_SECONDS = 600
TOO_SHORT = "the window ended meanwhile: issue a profile with a longer one"
WINDOW_MAX = 280
# Whatever a step of it costs, none takes longer: JOB_MS of the collector.
STUCK_SECONDS = 100


class Stuck(AssertionError):
    """The collector neither said something nor ended."""


def one_line_pipe():
    """A pipe for one write at a time, and full: pipe(7), "packet mode"."""
    read_end, write_end = os.pipe2(os.O_DIRECT | os.O_CLOEXEC)
    page = os.sysconf("SC_PAGESIZE")
    if fcntl.fcntl(write_end, F_SETPIPE_SZ, page) != page:
        raise OSError("the kernel has no pipe of one page")
    os.write(write_end, b"\n")
    return read_end, write_end


def bytes_waiting(descriptor):
    room = bytearray(4)
    fcntl.ioctl(descriptor, termios.FIONREAD, room)
    return int.from_bytes(room, "little")


def children(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as text:
            return [int(word) for word in text.read().split()]
    return []


def find_program(pid, name):
    """The first of a process and its descendants that runs the program `name`."""
    with contextlib.suppress(OSError):
        if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == name:
            return pid
    for child in children(pid):
        found = find_program(child, name)
        if found:
            return found
    return None


def line_being_written(pid):
    """What `pid` is writing to its standard error, or None."""
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as text:
            words = text.read().split()
        if words[:2] != ["1", "0x2"]:  # write(2, …): only x86-64 has this number
            return None
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(int(words[2], 16))
            return memory.read(int(words[3], 16))
    except (OSError, ValueError):
        return None


class Collection:
    """One collection in `host`; `acts` are called at their moments, with this object.

    A moment is "PHASE: WORD", where WORD is a step's text, a probe's id, or "begin".
    """

    def __init__(self, host, acts):
        self.host = host
        self.acts = dict(acts)
        self.phase = "start"
        self.events = []
        self.told = []
        self.pid = None
        self.before = self.store_names()
        self.run()

    def run(self):
        command = [collectlib.labtest.LAB, "exec", "--name", self.host.lab.name, "--",
                   self.host.program("net-collector"), "network", "--config",
                   f"{ETC}/collection.json", "--confirm", collectlib.PHRASE, "--progress", "json"]
        read_end, write_end = one_line_pipe()
        try:
            # pylint: disable=consider-using-with
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=write_end, text=True)
        finally:
            os.close(write_end)
        timer = threading.Timer(END_SECONDS, child.kill)
        timer.start()
        try:
            self.follow(child, read_end)
            self.stdout = child.stdout.read()
            self.status = child.wait()
        finally:
            timer.cancel()
            child.kill()
            child.wait()
            child.stdout.close()
            os.close(read_end)
        self.text = "".join(self.told)

    def follow(self, child, read_end):
        held = b"\n"
        while True:
            line = self.await_line(child, read_end, held)
            if line is None:
                break
            self.look_at(line.decode())
            os.read(read_end, 4096)
            held = line
        os.set_blocking(read_end, False)
        with contextlib.suppress(BlockingIOError):
            while os.read(read_end, 4096):
                pass

    def await_line(self, child, read_end, held):
        """The line at which the collector stands now; None when it has ended."""
        deadline = time.monotonic() + STUCK_SECONDS
        while time.monotonic() < deadline:
            if child.poll() is not None:
                return None
            self.pid = self.pid or find_program(child.pid, "net-collector")
            # The line that was let go is in the pipe before the next one can be begun.
            if self.pid and bytes_waiting(read_end):
                line = line_being_written(self.pid)
                if line and line != held and line.endswith(b"\n"):
                    return line
            time.sleep(LOOK_SECONDS)
        raise Stuck(f"stands still in {self.phase}, after {held!r}")

    def look_at(self, line):
        if not line.startswith("{"):
            self.told.append(line)
            return
        event = json.loads(line)
        self.events.append(event)
        self.phase = event.get("phase", self.phase)
        word = event.get("step", event.get("id", "begin"))
        act = self.acts.pop(f"{self.phase}: {word}", None)
        if act:
            act(self)

    def signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)

    def store_names(self):
        return set(self.host.run("/bin/ls", STORE).stdout.split())

    def records(self):
        return [name for name in self.store_names() - self.before
                if "netproof.record" in self.host.run("/usr/bin/cat", f"{STORE}/{name}").stdout]

    def observed(self):
        return {e["id"]: e["observed"] for e in self.events if e["event"] == "probe"}

    def bad(self):
        return {e["id"] for e in self.events if e["event"] == "probe"
                and not (e["matched"] and e["conclusive"])}


# --- rows: one disturbance each ------------------------------------------------------------

# What each collection needs anew; a preflight only with a third argument.
READY = r"""
exec 2>&1
site=$1/site.json release=$1/release.json config=$1/collection.json
if [ -n "$5" ]; then
    digest=$({lib}/net-preflight --site $site --release $release --store "$2" 2>&1 >/dev/null)
    digest=${{digest##* }} release_digest=$(sha256sum <$release)
    sed -i 's/\("pre_collection_preflight_sha256": *"\)[0-9a-f]*/\1'$digest/ $config
    sed -i 's/\("release_sha256": *"\)[0-9a-f]*/\1'${{release_digest%% *}}/ $config
fi
rm -f "$3"
{lib}/net-policy issue --site $site --endpoints $1/endpoints.json --window "$4" --out "$3"
"""
# The agent with one answer of another kind, as the release's own probe runner.
LYING = r"""
cp {lib}/net-probe /run/kept-probe
cp {etc}/release.json /run/kept-release
cp {liar} /run/liar
printf '%256s LIE %s\n' '' '{lie}' >>/run/liar
digest=$(sha256sum </run/liar)
sed -i 's/\("net-probe":"\)[0-9a-f]*/\1'${{digest%% *}}/ {etc}/release.json
mv /run/liar {lib}/net-probe
"""
HONEST = """
mv /run/kept-probe {lib}/net-probe
mv /run/kept-release {etc}/release.json
"""
# Still a probe agent that works, but not the reviewed file.
TAMPER = """
cp -p {lib}/net-probe /run/kept
cp -p {lib}/net-probe /run/other
printf x >>/run/other
mv /run/other {lib}/net-probe
"""
UNTAMPER = "mv /run/kept {lib}/net-probe"


def sh(script):
    """Something done in the host's shell; {lib} and the like are the site's."""
    def act(run):
        return host_shell(run.host, script)
    return act


def host_shell(host, script, *arguments, **words):
    site = host.site
    return host.run("/bin/sh", "-ec", script.format(
        lib=site["install_dir"], table=site["table"], worker=site["worker_unit"],
        proxy=site["proxy_unit"],
        user=site["workload_user"], run=site["runtime_dir"], store=STORE, etc=ETC,
        socket=site["engine"]["socket"], **words), "sh", *arguments)


class Row:
    """One collection that is disturbed at a moment, and how it must end."""

    def __init__(self, name, acts, *words, status=1, window=60, mend=None, lie=None, also=None):
        self.name, self.acts, self.words, self.status = name, acts, words, status
        self.window, self.mend, self.lie, self.also = window, mend, lie, also


class Rows:
    """Rows in one lab, one after the other; `failures` says what went wrong with which."""

    def __init__(self, word, rows, **host_options):
        self.word, self.rows, self.host_options = word, rows, host_options
        self.failures = []
        self.preflight_at = None

    def run(self):
        with collectlib.Host(self.word, **self.host_options) as host:
            host.prepare()
            self.preflight_at = time.monotonic()
            for row in self.rows:
                began = time.monotonic()
                try:
                    self.run_row(host, row)
                except Exception as error:  # pylint: disable=broad-except
                    self.failures.append(f"{row.name}: {error}")
                    # The next row begins with a host as it was.
                    host.run(host.program("net-collector"), "recover", check=False)
                else:
                    print(f"{self.word}: {row.name}: {time.monotonic() - began:.1f} s",
                          flush=True)
        return self.failures

    def ready(self, host, row, window):
        is_old = time.monotonic() - self.preflight_at > PREFLIGHT_SECONDS
        if row.lie:
            host_shell(host, LYING, lie=row.lie, liar=os.path.join(
                collectlib.TOP, os.environ.get("BUILD", "build"), "tests", "liar"))
        host_shell(host, READY, ETC, STORE, host.site["profile"], str(window),
                   "new" if is_old or row.lie else "")
        if is_old or row.lie:
            self.preflight_at = time.monotonic()

    def mend(self, host, row, is_disturbed):
        if row.mend and is_disturbed:
            host_shell(host, row.mend)
        if row.lie:
            host_shell(host, HONEST)
            self.preflight_at -= PREFLIGHT_SECONDS

    def run_row(self, host, row):
        run = self.attempt(host, row, row.window)
        # It says itself what to do about that, and on a busy machine an operator does it.
        window = row.window
        while TOO_SHORT in run.text and window < WINDOW_MAX:
            window = min(2 * window, WINDOW_MAX)
            run = self.attempt(host, row, window)
        self.check(run, row)
        if row.also:
            row.also(run)
        left = host.leftovers()
        if left:
            raise AssertionError(f"left: {left}")

    def attempt(self, host, row, window):
        run = None
        try:
            self.ready(host, row, window)
            run = Collection(host, row.acts)
            return run
        finally:
            try:
                # What a window that was too short has kept from happening needs no mending.
                self.mend(host, row, run is None or run.acts != row.acts or not row.acts)
            except AssertionError as error:
                # What went wrong before says more.
                self.failures.append(f"{row.name}, mended: {error}")

    def check(self, run, row):
        if run.acts:
            raise AssertionError(f"never at {list(run.acts)}: {run.text}")
        if run.status != row.status:
            raise AssertionError(f"exit status {run.status}, not {row.status}: {run.text}")
        if row.status == 1 and not run.text.startswith("net-collector: refused: "):
            raise AssertionError(f"no refusal: {run.text}")
        for word in row.words:
            if word not in run.text:
                raise AssertionError(f"does not say {word!r}: {run.text}")
        if row.status in (1, 4) and run.records():
            raise AssertionError("a record was written")


def check_side_by_side(test, batches):
    """Each batch of rows in a lab of its own, all at once; `test` is a TestCase."""
    outcomes = collectlib.side_by_side({batch.word: batch.run for batch in batches})
    failures = []
    for word, outcome in outcomes.items():
        if isinstance(outcome, BaseException):
            failures.append(f"{word}: {outcome!r}")
        else:
            failures += outcome
    test.assertEqual(failures, [], "\n".join(failures))


def shared_out(word, rows, labs, **host_options):
    """Rows dealt out to so many labs."""
    return [Rows(f"{word}{i}", rows[i::labs], **host_options) for i in range(labs)]
