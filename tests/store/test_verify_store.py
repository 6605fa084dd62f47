#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""net-verify store and show: every hostile entry refused by its name and at once, nothing
repaired, an empty store "could not tell"; and the confinement both run under."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import unittest

import storekit

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../formats"))
import samples  # noqa: E402
import schema  # noqa: E402

RECORD = samples.canonical(samples.record())
PREFLIGHT = samples.canonical(samples.preflight())
UNCONFINED = os.path.abspath(os.environ.get("VERIFY_UNCONFINED",
                                            "build/tests/verify_unconfined"))
CONFINED = os.path.abspath(os.environ.get("VERIFY_CONFINED", "build/tests/verify_confined"))
SOMEBODY = 54321


def verify(*arguments, **options):
    result = storekit.run([storekit.VERIFY, *arguments], **options)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


class Store(unittest.TestCase):
    def setUp(self):
        self.folder = storekit.Folder()
        self.addCleanup(self.folder.close)
        self.store = self.folder.store

    def put(self, data):
        result = storekit.put(self.store, data)
        self.assertEqual(result.returncode, 0, result.stderr)
        return storekit.name_of(data)

    def write(self, name, data, mode=0o400):
        path = f"{self.store}/{name}"
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, mode)
        return path

    def state(self):
        """Everything about the folder that a repair would change."""
        found = []
        for name in sorted(os.listdir(os.fsencode(self.store))):
            status = os.lstat(os.fsencode(self.store) + b"/" + name)
            found.append((name, status.st_mode, status.st_ino, status.st_size, status.st_uid,
                          status.st_nlink, status.st_mtime_ns, status.st_ctime_ns))
        return found

    def test_a_sound_store(self):
        self.put(RECORD)
        self.put(PREFLIGHT)
        self.assertEqual(verify("store", "--store", self.store),
                         (0, "2 entries: 1 records, 1 preflights, 0 findings\n", ""))

    def test_an_empty_store_cannot_be_told(self):
        for form in ("human", "json"):
            status, output, error = verify("store", "--store", self.store, "--format", form)
            self.assertEqual((status, output), (4, ""))
            self.assertEqual(error, "net-verify: could not tell: store: empty: there is "
                                    "nothing to say of it; a collection fills it\n")

    def hostile(self):
        """(what, how to make it at a path, what must be said of it)."""
        def make_socket(path):
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(path)

        def make_sparse(path):
            with open(path, "wb") as file:
                file.truncate(1 << 40)
            os.chmod(path, 0o400)

        def make_file(path, data=RECORD, mode=0o400, owner=0):
            with open(path, "wb") as file:
                file.write(data)
            os.chown(path, owner, 0)
            os.chmod(path, mode)

        def make_hard_link(path):
            make_file(self.folder.path + "/elsewhere")
            os.link(self.folder.path + "/elsewhere", path)

        yield "FIFO", os.mkfifo, "a FIFO, not a regular file"
        yield "socket", make_socket, "a socket, not a regular file"
        yield ("character device", lambda path: os.mknod(path, 0o20400, os.makedev(1, 5)),
               "a device, not a regular file")
        yield ("block device", lambda path: os.mknod(path, 0o60400, os.makedev(7, 200)),
               "a device, not a regular file")
        yield ("link", lambda path: os.symlink("/etc/passwd", path),
               "a symbolic link, not a regular file")
        yield ("link to nothing", lambda path: os.symlink("nowhere", path),
               "a symbolic link, not a regular file")
        yield "folder", os.mkdir, "a directory, not a regular file"
        yield "hard link", make_hard_link, "has 2 links, not one"
        yield "sparse giant", make_sparse, "larger than 1048576 bytes"
        yield "empty", lambda path: make_file(path, b""), "empty"
        for mode in (0o600, 0o440, 0o404, 0o444, 0o500, 0o000, 0o4400):
            yield (f"mode {mode:o}", lambda path, mode=mode: make_file(path, mode=mode),
                   f"mode {mode:04o}, not 0400")
        yield ("wrong owner", lambda path: make_file(path, owner=SOMEBODY),
               f"owned by uid {SOMEBODY}, not by the store's owner, uid 0")

    def test_hostile_entries(self):
        """In the place of a record: found by store, refused by show, never opened to be
        read, never replaced by a put of the record whose name they have."""
        name = storekit.name_of(RECORD)
        for what, make, reason in self.hostile():
            with self.subTest(what):
                self.folder.empty()
                make(f"{self.store}/{name}")
                self.put(PREFLIGHT)
                before = self.state()
                status, output, error = verify("store", "--store", self.store)
                self.assertEqual(status, 1)
                self.assertEqual(output, "2 entries: 0 records, 1 preflights, 1 findings\n"
                                         f"{name}: refused: {reason}\n")
                self.assertEqual(error, "net-verify: refused: store: 1 findings in 2 entries; "
                                        "nothing was changed: look at each, and restore it "
                                        "from a copy\n")
                self.assertEqual(verify("show", name, "--store", self.store),
                                 (1, "", f"net-verify: refused: {name}: {reason}\n"))
                result = storekit.put(self.store, RECORD)
                self.assertEqual((result.returncode, result.stdout), (1, b""))
                self.assertEqual(result.stderr.decode(),
                                 f"store_put: refused: {name}: {reason}\n")
                self.assertEqual(self.state(), before)

    def test_a_mount_over_an_object(self):
        name = self.put(RECORD)
        other = self.folder.path + "/other"
        with open(other, "wb") as file:
            file.write(RECORD)
        os.chmod(other, 0o400)
        path = f"{self.store}/{name}"
        subprocess.run(["mount", "--bind", other, path], check=True)
        try:
            status, output, _ = verify("store", "--store", self.store)
        finally:
            subprocess.run(["umount", path], check=True)
        self.assertEqual(status, 1)
        self.assertIn(f"{name}: refused: something is mounted on it", output)

    def test_hostile_names(self):
        self.put(PREFLIGHT)
        names = (b"lost+found", b"x\n1 entries: 1 records", b"\xff\xfe", b"..a", b"a" * 255,
                 storekit.name_of(b"x").upper().encode(), b"0" * 63, b"0" * 65, b" ", b"-")
        for name in names:
            with open(os.fsencode(self.store) + b"/" + name, "wb"):
                pass
        status, output, _ = verify("store", "--store", self.store)
        self.assertEqual(status, 1)
        lines = output.splitlines()
        self.assertEqual(lines[0], f"{len(names) + 1} entries: 0 records, 1 preflights, "
                                   f"{len(names)} findings")
        self.assertEqual(len(lines), len(names) + 1)
        for line in lines[1:]:
            self.assertTrue(line.isascii() and line.isprintable())
            self.assertIn("refused: not the name of an object", line)

    def test_wrong_content(self):
        name = storekit.name_of(RECORD)
        changed = RECORD.replace(b'"matched":true', b'"matched":tru3')
        self.write(name, changed)
        self.put(PREFLIGHT)
        status, output, _ = verify("store", "--store", self.store)
        self.assertEqual(status, 1)
        self.assertIn(f"{name}: refused: its bytes have the digest "
                      f"{storekit.name_of(changed)}\n", output)
        result = storekit.put(self.store, RECORD)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"has other bytes than its name says", result.stderr)

    def test_objects_of_no_kind(self):
        cases = {
            b"\x00\x01": "",
            b"[]": "",
            b'{"schema":"netproof.review.v1"}':
                "schema: neither a record's nor a preflight's",
            b'{"schema":1}': "schema: neither a record's nor a preflight's",
            b"{}": "schema: neither a record's nor a preflight's",
            b'{"schema":"netproof.preflight.v3"}':
                "schema: neither a record's nor a preflight's",
            RECORD + b"\n": "not canonical JSON (RFC 8785)",
            RECORD[:-1]: "",
            PREFLIGHT.replace(b'"containers":0', b'"containers":1'): "containers: ",
        }
        names = {self.put(data): text for data, text in cases.items()}
        status, output, _ = verify("store", "--store", self.store)
        self.assertEqual(status, 1)
        lines = output.splitlines()[1:]
        self.assertEqual([line.split(":")[0] for line in lines], sorted(names))
        for line in lines:
            name, kind, text = line.split(": ", 2)
            self.assertEqual(kind, "refused")
            self.assertTrue(text.startswith(names[name]), line)

    def test_a_record_without_its_preflight(self):
        name = self.put(RECORD)
        status, output, _ = verify("store", "--store", self.store)
        self.assertEqual(status, 1)
        self.assertIn(f"{name}: refused: pre_collection_preflight_sha256: no such preflight "
                      f"in the store: {storekit.name_of(PREFLIGHT)}\n", output)

    def test_a_record_among_preflights_of_others(self):
        """Each record is looked for its own: others help it no more than none."""
        other = self.put(PREFLIGHT)
        sound = self.put(RECORD)
        wanted = "0" * 64
        lonely = self.put(RECORD.replace(other.encode(), wanted.encode()))
        status, output, _ = verify("store", "--store", self.store)
        self.assertEqual(status, 1)
        self.assertIn(f"{lonely}: refused: pre_collection_preflight_sha256: no such preflight "
                      f"in the store: {wanted}\n", output)
        self.assertNotIn(sound, output)

    def test_json_says_what_is_refused_and_what_could_not_be_told(self):
        self.put(PREFLIGHT)
        self.write("x", b"1")
        done = storekit.run(["strace", "-o", "/dev/null", "-P",
                             f"{self.store}/{storekit.name_of(PREFLIGHT)}", "-e",
                             "inject=read:error=EIO", UNCONFINED, "store", "--store",
                             self.store, "--format", "json"])
        self.assertEqual(done.returncode, 1)
        self.assertEqual([(finding["name"], finding["refused"])
                          for finding in json.loads(done.stdout)["findings"]],
                         sorted([("x", True), (storekit.name_of(PREFLIGHT), False)]))

    def test_json(self):
        self.put(PREFLIGHT)
        self.write("x", b"1")
        status, output, _ = verify("store", "--store", self.store, "--format", "json")
        self.assertEqual(status, 1)
        value = json.loads(output)
        with open("docs/formats/store_check.schema.json", encoding="utf-8") as file:
            self.assertTrue(schema.valid(json.load(file), value))
        self.assertEqual(value["findings"][0]["name"], "x")
        self.assertEqual(verify("store", "--store", self.store, "--format", "xml")[::2],
                         (2, "net-verify: usage: --format: xml is neither human nor json\n"))

    def test_what_the_environment_fails_is_not_a_finding(self):
        """A listing that breaks off, and an entry that cannot be read."""
        self.put(RECORD)
        self.put(PREFLIGHT)
        broken = storekit.run(["strace", "-o", "/dev/null", "-e",
                               "inject=getdents64:error=EIO:when=2", UNCONFINED,
                               "store", "--store", self.store])
        self.assertEqual((broken.returncode, broken.stdout), (4, b""))
        self.assertEqual(broken.stderr, b"net-verify: could not tell: store: cannot be listed "
                                        b"whole: Input/output error\n")
        unread = storekit.run(["strace", "-o", "/dev/null", "-P",
                               f"{self.store}/{storekit.name_of(PREFLIGHT)}", "-e",
                               "inject=read:error=EIO", UNCONFINED, "store", "--store",
                               self.store])
        self.assertIn(f"{storekit.name_of(PREFLIGHT)}: could not tell: cannot be read: "
                      "Input/output error", unread.stdout.decode())

    def test_only_undecided_findings_are_undecided(self):
        self.put(PREFLIGHT)
        unread = storekit.run(["strace", "-o", "/dev/null", "-P",
                               f"{self.store}/{storekit.name_of(PREFLIGHT)}", "-e",
                               "inject=read:error=EIO", UNCONFINED, "store", "--store",
                               self.store])
        self.assertEqual(unread.returncode, 4)
        self.assertEqual(unread.stderr, b"net-verify: could not tell: store: 1 of 1 entries "
                                        b"could not be examined\n")

    def test_output_that_cannot_be_written_is_not_success(self):
        self.put(PREFLIGHT)
        with open("/dev/full", "wb") as full:
            result = subprocess.run([storekit.VERIFY, "store", "--store", self.store],
                                    stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 4)

    def test_the_folder_itself(self):
        self.put(PREFLIGHT)
        link = self.folder.path + "/link"
        os.symlink(self.store, link)
        shared = self.folder.path + "/shared"
        os.mkdir(shared)
        os.chmod(shared, 0o1777)
        os.mkdir(shared + "/store", 0o700)
        cases = [(link, "a symbolic link"), (shared + "/store", "writable by group or others"),
                 ("store", "not a clean absolute path"),
                 (self.store + "/", "not a clean absolute path"),
                 (self.store + "/../store", "not a clean absolute path"),
                 (self.folder.path + "/none", "does not exist"),
                 (f"{self.store}/{storekit.name_of(PREFLIGHT)}", "not a directory")]
        for path, reason in cases:
            status, output, error = verify("store", "--store", path)
            self.assertEqual((status, output), (1, ""), path)
            self.assertIn(reason, error)
        for mode in (0o750, 0o705, 0o701, 0o770):
            os.chmod(self.store, mode)
            status, _, error = verify("store", "--store", self.store)
            self.assertEqual(status, 1)
            self.assertRegex(error, "open to group or others|writable by group or others")
        os.chmod(self.store, 0o700)
        os.chown(self.store, SOMEBODY, 0)
        self.assertEqual(verify("store", "--store", self.store)[0], 1)

    def test_an_owner_who_is_not_root(self):
        """The same programs, the same rules, for the store's own user."""
        os.chmod(self.folder.path, 0o711)
        os.chown(self.store, SOMEBODY, SOMEBODY)
        # The build's own folder may be closed to others.
        programs = {}
        for path in (storekit.VERIFY, storekit.PUT):
            programs[path] = f"{self.folder.path}/{os.path.basename(path)}"
            subprocess.run(["install", "-m", "755", path, programs[path]], check=True)
        options = {"user": SOMEBODY, "group": SOMEBODY, "extra_groups": []}
        result = storekit.run([programs[storekit.PUT], self.store], PREFLIGHT, **options)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        check = [programs[storekit.VERIFY], "store", "--store", self.store]
        self.assertEqual(storekit.run(check, **options).returncode, 0)
        other = storekit.run(check, user=SOMEBODY + 1, group=SOMEBODY + 1, extra_groups=[])
        self.assertEqual(other.returncode, 1)

    def test_show(self):
        record, preflight = self.put(RECORD), self.put(PREFLIGHT)
        status, output, _ = verify("show", record, "--store", self.store)
        self.assertEqual(status, 0)
        self.assertIn("worker.trusted.handshake #1 ", output)
        self.assertNotIn("verified", output)
        status, output, _ = verify("show", preflight, "--store", self.store)
        self.assertEqual(status, 0)
        self.assertIn("netproof-guard.service: active (exited)", output)
        for name, data in ((record, RECORD), (preflight, PREFLIGHT)):
            self.assertEqual(verify("show", name, "--store", self.store, "--format", "json"),
                             (0, data.decode(), ""))
        for name in ("x", "../store/" + record, record.upper(), "0" * 64):
            self.assertEqual(verify("show", name, "--store", self.store)[:2], (1, ""))

    def test_show_of_each_probe(self):
        """Which of the trusted endpoints it is of, and what is claimed of it."""
        record = samples.record(trusted=3)
        probes = [probe for phase in record["phases"] for probe in phase["probes"]]
        probes[0].update(matched=False, conclusive=False)
        probes[1].update(conclusive=False)
        endpoints = [endpoint["endpoint_sha256"] for endpoint in record["endpoints"]
                     if endpoint["role"] == "trusted_tcp"]
        wanted = [f"{probe['id']} #{endpoints.index(probe['endpoint_sha256']) + 1}"
                  if probe.get("endpoint_sha256") in endpoints else probe["id"]
                  for probe in probes]
        self.assertIn("worker.trusted.handshake #3", wanted)
        self.assertIn("candidate.router.connect", wanted)
        name = self.put(samples.canonical(record))
        status, output, _ = verify("show", name, "--store", self.store)
        self.assertEqual(status, 0)
        self.assertIn("not covered: " + ", ".join(record["not_covered"]) + "\n", output)
        self.assertIn(f"probes             {len(probes)}, {len(probes) - 2} of them matched and "
                      "conclusive\n", output)
        rows = re.findall(r"(?m)^  (\w+\..*?)  +\w+ +\w+ +\w+ +(\S.*)$", output)
        self.assertEqual(rows, list(zip(wanted, ["NO MATCH", "NOT CONCLUSIVE"]
                                        + ["ok"] * (len(wanted) - 2))))

    def test_usage(self):
        for arguments in (("store",), ("show", "0" * 64), ("show", "--store", self.store),
                          ("store", "--store", self.store, "x"), ("nothing",), ()):
            self.assertEqual(verify(*arguments)[0], 2)


class Confinement(unittest.TestCase):
    def setUp(self):
        self.folder = storekit.Folder()
        self.addCleanup(self.folder.close)
        self.store = self.folder.store
        self.assertEqual(storekit.put(self.store, PREFLIGHT).returncode, 0)

    def test_each_forbidden_call_kills(self):
        for call in ("socket", "unix-socket", "fork", "exec", "write-file", "make-file",
                     "remove-file", "ptrace"):
            self.assertEqual(storekit.run([CONFINED, call]).returncode, -signal.SIGSYS, call)
        self.assertEqual(storekit.run([CONFINED, "read-file"]).returncode, 0)

    def commands(self):
        name = storekit.name_of(PREFLIGHT)
        pins = [word for pin in ("profile", "site", "release")
                for word in (f"--{pin}", f"{self.folder.path}/{pin}")]
        for words in (("store",), ("show", name), ("record", name, *pins, "--post", name)):
            yield [storekit.VERIFY, *words, "--store", self.store]

    def test_nothing_is_read_unless_all_of_it_is_in_force(self):
        """Each step fails once, with the real filter, which is the last of them; but what
        must fail (taking a capability back), and what only asks what the kernel has."""
        trace = self.folder.path + "/trace"
        for command in self.commands():
            whole = storekit.run(["strace", "-o", trace, *command])
            self.assertIn(whole.returncode, (0, 1), whole.stderr)
            steps, counts, reads = [], {}, 0
            with open(trace, encoding="utf-8") as lines:
                for line in lines:
                    call = line.split("(")[0]
                    reads += call.startswith("open")
                    if call not in ("prctl", "capget", "capset", "seccomp"):
                        continue
                    counts[call] = counts.get(call, 0) + 1
                    if not re.search("_READ|_IS_SET|_GET_| = -1 ", line):
                        steps.append((call, counts[call]))
                        self.assertEqual(reads, 0, command)
            self.assertGreater(len(steps), 40)
            self.assertEqual(steps[-1][0], "seccomp")
            for call, number in steps:
                done = storekit.run(["strace", "-o", "/dev/null", "-e",
                                     f"inject={call}:error=EACCES:when={number}", *command])
                self.assertEqual((done.returncode, done.stdout), (4, b""),
                                 (command, call, number))


if __name__ == "__main__":
    storekit.own_mounts()
    unittest.main()
