# SPDX-License-Identifier: GPL-2.0-or-later
"""A row tried on a lab: prepared, disturbed at its moment, collected, verified, judged."""
import contextlib
import json
import subprocess
import threading

import held
import judge
import row as rows
from host import ETC, FaultHost, collectlib

# Room for the phases before the expiry on a machine that is busy with other labs.
WINDOW_SECONDS = 45
# Where that was too short; it can be as long as 280 s (SPEC 7.1).
LONG_WINDOW_SECONDS = 180
END_SECONDS = 420


class Trial:
    """One row on one host."""

    def __init__(self, row, host, window=None):
        self.row, self.host = row, host
        self.window = window or row.get("WINDOW", WINDOW_SECONDS)
        self.outcome = judge.Outcome()

    # --- what the row does ----------------------------------------------------------

    def disturb(self):
        row = self.row
        self.outcome.acted = True
        if row.get("WORLD"):
            self.host.lab.world("/bin/sh", "-ec", row.get("WORLD"))
        if row.get("DO"):
            self.host.sh(row.get("DO"))
        if row.act:
            row.act(self.host)

    def close(self):
        self.outcome.closed = True
        self.host.sh(self.row.get("CLOSE"))

    def due(self):
        """What is to be done at the line that was just taken."""
        row, outcome = self.row, self.outcome
        if not outcome.acted:
            return self.disturb if outcome.is_at(row.when) else None
        is_over = "UNTIL" in row.has and not outcome.closed and outcome.is_at(row.get("UNTIL"))
        return self.close if is_over else None

    def disturb_at(self, moment):
        if self.row.when == moment:
            self.disturb()

    # --- the collection -------------------------------------------------------------

    def follow(self, lines):
        """Reads to the end, whatever the row's act does; gives the act's own failure."""
        failure = None
        for line in lines:
            act = self.due() if self.outcome.take_line(line) else None
            if act:
                try:
                    act()
                except BaseException as error:  # pylint: disable=broad-except
                    failure = error
        return failure

    def collect(self):
        host = self.host
        command = [collectlib.labtest.LAB, "exec", "--name", host.lab.name, "--",
                   *self.row.get("WRAP", []), host.program("net-collector"), "network",
                   "--config", f"{ETC}/collection.json", "--confirm", collectlib.PHRASE,
                   "--progress", "json"]
        pipe = held.Pipe()
        with contextlib.closing(pipe):
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=pipe.writing, text=True)
            pipe.close_writing()
            timer = threading.Timer(END_SECONDS, child.kill)
            timer.start()
            try:
                failure = self.follow(pipe.lines())
                stdout = child.stdout.read()
                self.outcome.status = child.wait()
            finally:
                timer.cancel()
                child.kill()
                child.wait()
                child.stdout.close()
        if failure:
            raise failure
        with contextlib.suppress(ValueError):
            self.outcome.result = json.loads(stdout)

    # --- one row --------------------------------------------------------------------

    def prepare(self):
        host, row = self.host, self.row
        # A shared host's rows are refused before anything starts: one preflight does for all.
        if row.is_shared and row.when != rows.BEFORE_PREFLIGHT:
            host.configure(host.good_preflight)
        else:
            host.configure(host.preflight())
        host.issue(self.window, **row.get("PROFILE", {}))
        self.disturb_at(rows.BEFORE_COLLECTION)

    def run(self):
        host, row = self.host, self.row
        if row.get("FIRST"):
            host.sh(row.get("FIRST"))
        self.disturb_at(rows.BEFORE_PREFLIGHT)
        if "PREFLIGHT_REFUSED" in row.has:
            self.look_first()
            return judge.judge(row, self.outcome)
        self.prepare()
        before = host.store_names()
        there_before = self.look_around()
        self.collect()
        self.outcome.records = host.new_records(before)
        self.outcome.left = [line for line in self.look_around()
                             if line not in there_before]
        if self.outcome.records:
            self.outcome.take_record(host.record(self.outcome.records[0]))
            self.disturb_at(rows.AFTER_COLLECTION)
            self.verify()
        return judge.judge(row, self.outcome)

    def look_first(self):
        done = self.host.run(self.host.program("net-preflight"), "--site", f"{ETC}/site.json",
                             "--release", f"{ETC}/release.json", check=False)
        self.outcome.status, self.outcome.told = done.returncode, [done.stderr]

    def look_around(self):
        """What a collection could have left behind; of a sabotaged host only what the
        collector makes counts."""
        row = self.row
        if row.is_shared or row.get("LEAVES"):
            return []
        return self.host.leftovers(is_looking=row.kind == "good")

    def verify(self):
        done = self.host.verify(self.outcome.records[0], self.host.preflight())
        self.outcome.verifier_status = done.returncode
        self.outcome.verifier_text = done.stdout + done.stderr


def try_alone(row, window=None):
    """On a host of its own; and where nothing was judged because the machine was too slow for
    the window, on another one, with the longer window that the collector asks for."""
    with FaultHost(f"f-{row.name[:20]}".replace("_", "-"), **row.get("HOST", {})) as host:
        trial = Trial(row, host, window)
        try:
            return trial.run()
        except judge.Wrong:
            if window or judge.WINDOW_ENDED not in trial.outcome.text:
                raise
    return try_alone(row, LONG_WINDOW_SECONDS)


def try_shared(shared_rows, report):
    """Rows that are refused before anything starts, one after the other on one host. Each
    undoes what it did; in the end a collection must be able to start."""
    with FaultHost("f-shared") as host:
        host.good_preflight = host.preflight()
        for row in shared_rows:
            def job(row=row):
                try:
                    return Trial(row, host).run()
                finally:
                    host.sh(row.get("UNDO"))
            report(row, job)
        # What was undone is whole: no row was refused for a former one's sake.
        host.configure(host.preflight())
        host.issue(WINDOW_SECONDS)
        done = host.collect("--dry-run")
        if done.returncode:
            raise judge.Wrong(f"the shared host is not whole afterwards: {done.stderr}")
