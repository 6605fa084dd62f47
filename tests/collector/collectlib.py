# SPDX-License-Identifier: GPL-2.0-or-later
"""A lab with a release, a site and an engine: everything that a collection needs.

`Host` boots it once; each `prepare()` issues a fresh profile, takes a preflight and
writes a configuration, and `collect()` runs the collector on it.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "lab"))
import labtest  # noqa: E402

PHRASE = "COLLECT NATIVE NETWORK ENFORCEMENT EVIDENCE"
REVISION = "0" * 40
STORE = "/var/lib/netproof-evidence"
ETC = "/etc/netproof"
# Nothing in a lab is farther away than one hop: short time-outs, short tests.
TIMEOUTS = {"connect_ms": 1500, "check_ms": 4000, "accept_ms": 1500, "dns_ms": 1500,
            "proxy_ms": 1500}


def make_release(folder, timeouts=None, build=None, **targets):
    """A release of the build in `folder`, with targets of a lab's; its document."""
    build = build or os.environ.get("BUILD", "build")
    out = os.path.join(folder, "bin")
    subprocess.run(["make", "--silent", "release", f"RELEASE_OUT={out}", f"BUILD={build}",
                    f"SOURCE_REVISION={REVISION}",
                    f"TEST_CLOCK={1 if build.endswith('clock') else ''}"], cwd=TOP, check=True,
                   stdout=subprocess.DEVNULL)
    with open(os.path.join(out, "release.json"), encoding="utf-8") as source:
        release = json.load(source)
    with open(os.path.join(TOP, "fixtures/network/targets.json"), encoding="utf-8") as source:
        document = json.load(source)
    document.update(targets, timeouts=timeouts or TIMEOUTS)
    with open(os.path.join(out, "targets.json"), "w", encoding="utf-8") as sink:
        json.dump(document, sink)
    image = release["candidate_image"]
    subprocess.run(["policy/make-release", out, release["version"], REVISION,
                    image["reference"], image["id"]], cwd=TOP, check=True,
                   stdout=subprocess.DEVNULL)
    with open(os.path.join(out, "release.json"), encoding="utf-8") as source:
        return json.load(source)


def make_site(router_namespace, **changes):
    with open(os.path.join(TOP, "fixtures/sites/netproof.json"), encoding="utf-8") as source:
        site = json.load(source)
    site["router_namespace"] = router_namespace
    if router_namespace == "rootless-netns":
        site["router"] = {"address": "10.204.0.1", "port": 8443}
    site.update(changes)
    return site


# What a refusal must not have touched, one line each; the engine's part comes first.
LOOK = r"""
if [ "$3" = with-engine ]; then
	docker --host "unix://$4" ps --all --format 'container {{.ID}} {{.State}}'
	docker --host "unix://$4" network ls --format 'network {{.ID}} {{.Name}}'
fi
for unit in $2; do
	systemctl show --property=Id,ActiveState,InvocationID,MainPID,Job "$unit"
done
systemctl list-units --all --plain --no-legend '*daemon-agent*' 'net*'
find /run/user -path '*systemd/transient*' 2>/dev/null
nft --handle --stateless list ruleset
cd / && find "$1" /etc/netproof /usr/lib/netproof /var/lib/netproof-collector /run/netproof* \
	-printf '%p %y %s %T@ %m %U\n' 2>/dev/null | grep -v '^/var/lib/netproof-collector '
for process in /proc/[0-9]*; do
	case $(readlink "$process/exe") in
	*/net-* | */docker | */systemctl | */systemd-run) echo "$process $(readlink "$process/exe")" ;;
	esac
done
"""

# Whatever a collection could have left, one sentence a line. The ruleset must be the guard
# in the kernel's own form, and its table the only one.
LEFT = r"""
name=$1 worker=$3 run=$4 lib=$5 user=$6 table=$7
docker --host "unix://$2" ps --all --format 'container {{.Names}}'
docker --host "unix://$2" network ls --format 'network {{.Name}}' |
	grep -vx 'network \(bridge\|host\|none\)'
state=$(systemctl is-active "$worker")
[ "$state" = inactive ] || echo "worker $state"
uid=$(id -u "$user")
setpriv --reuid "$user" --regid "$user" --init-groups env XDG_RUNTIME_DIR="/run/user/$uid" \
	systemctl --user --all --plain --no-legend list-units '*daemon-agent*' | sed 's/^/user unit /'
for file in "/run/$name"-daemon-agent* "$run"/* /var/lib/netproof-collector/journal; do
	[ ! -e "$file" ] || echo "file $file"
done
for process in /proc/[0-9]*; do
	case $(readlink "$process/exe") in
	*/net-probe* | */net-collector | */docker | */systemd-run)
		echo "process $process $(readlink "$process/exe")" ;;
	esac
done
[ -n "$8" ] || exit 0
nft list tables | grep -vx "table inet $table" | sed 's/^/ruleset has /'
"$lib/net-policy" diff --guard --site /etc/netproof/site.json >/dev/null ||
	echo "ruleset is not the guard"
"""

# A pseudo terminal of the lab's own, and what it was given.
ON_TERMINAL = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import terminal
status, shown = terminal.on_terminal(sys.argv[3:], **json.loads(sys.argv[2]))
sys.stdout.buffer.write(shown)
sys.exit(status)
"""


def on_terminal(lab, command, status=None, **variables):
    """What a terminal inside the lab shows of the command."""
    done = lab.run("/usr/bin/python3", "-c", ON_TERMINAL, os.path.join(TOP, "tests", "lib"),
                   json.dumps(variables), *command, check=False)
    if status is not None and done.returncode != status:
        raise AssertionError(f"exit status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


MAKING = threading.Lock()
RELEASES = {}
RELEASE_FOLDERS = contextlib.ExitStack()


def shared_release(timeouts, build=None):
    """The folder of a release with these time-outs: made once, gone with the process."""
    key = json.dumps([timeouts, build], sort_keys=True)
    with MAKING:
        if key not in RELEASES:
            folder = RELEASE_FOLDERS.enter_context(tempfile.TemporaryDirectory())
            RELEASES[key] = folder, make_release(folder, timeouts, build)
    return RELEASES[key]


def side_by_side(jobs):
    """Runs functions by name, each in a thread; what each returned, or raised."""
    outcomes = {}

    def work(name, job):
        try:
            outcomes[name] = job()
        except BaseException as error:  # pylint: disable=broad-except
            outcomes[name] = error

    signal.signal(signal.SIGTERM, labtest._interrupt)  # pylint: disable=protected-access
    threads = [threading.Thread(target=work, args=item) for item in jobs.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


class Host:
    """One lab, ready for collections. Use as a context manager."""

    def __init__(self, word, router_namespace="rootless-netns", endpoints=1, timeouts=None,
                 lab_options=(), build=None, **site):
        self.word = word
        self.build = build
        self.endpoint_count = endpoints
        self.site = make_site(router_namespace, **site)
        self.timeouts = timeouts
        self.lab_options = lab_options
        self.stack = contextlib.ExitStack()
        self.lab = None
        self.release = None
        self.folder = None

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.folder = stack.enter_context(tempfile.TemporaryDirectory())
            self.release_folder, self.release = shared_release(self.timeouts, self.build)
            site_path = self.write_local("site.json", self.site)
            files = [f"{self.release_folder}/bin/{name}:{ETC}/{name}"
                     for name in ("release.json", "targets.json", "catalog.json")]
            options = ["--site", site_path, "--endpoints", str(self.endpoint_count),
                       "--install", "--engine", "--build", self.release_folder, *self.lab_options]
            for text in files:
                options += ["--file", text]
            self.lab = stack.enter_context(labtest.Lab(self.word, *options))
            self.load_image()
            self.run("/usr/bin/mkdir", "-m", "700", "-p", STORE)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def write_local(self, name, document):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as sink:
            json.dump(document, sink)
        return path

    def run(self, *command, **more):
        return self.lab.run(*command, **more)

    def program(self, name):
        return f"{self.site['install_dir']}/{name}"

    def write(self, path, text, mode="600"):
        """A file inside the lab, through its own shell: nothing of ours is trusted there."""
        self.run("/bin/sh", "-c", 'umask 077; printf %s "$1" >"$2.new" && chmod "$3" "$2.new" '
                 '&& mv "$2.new" "$2"', "sh", text, path, mode)

    def load_image(self):
        """The candidate image, into the engine, as the workload user."""
        archive = os.path.join(self.release_folder, "bin", "candidate-image.tar")
        with open(archive, "rb") as source:
            done = subprocess.run(
                [labtest.LAB, "exec", "--name", self.lab.name, "--user",
                 self.site["workload_user"], "--", "/usr/bin/docker", "--host",
                 f"unix://{self.site['engine']['socket']}", "load", "--quiet"],
                stdin=source, capture_output=True, check=False)
        if done.returncode:
            raise AssertionError(done.stderr.decode())

    def docker(self, *arguments, check=True):
        return self.run("/usr/bin/docker", "--host", f"unix://{self.site['engine']['socket']}",
                        *arguments, user=self.site["workload_user"], check=check)

    def trusted(self):
        return [{"address": s["address"], "port": s["port"]} for s in self.lab.facts["services"]
                if s["name"].startswith("trusted-")]

    def issue(self, window=30, **endpoints):
        """A fresh profile, installed."""
        document = {"schema": "netproof.endpoints.v1", "trusted_tcp": self.trusted(),
                    "trusted_dns": [], "trusted_loopback_tcp": False, **endpoints}
        self.write(f"{ETC}/endpoints.json", json.dumps(document))
        self.run("/bin/rm", "-f", self.site["profile"])
        self.run(self.program("net-policy"), "issue", "--site", f"{ETC}/site.json",
                 "--endpoints", f"{ETC}/endpoints.json", "--window", str(window), "--out",
                 self.site["profile"])

    def preflight(self):
        """The digest of a preflight that is kept."""
        done = self.run(self.program("net-preflight"), "--site", f"{ETC}/site.json", "--release",
                        f"{ETC}/release.json", "--store", STORE)
        return done.stderr.split()[-1]

    def sha256(self, path):
        return self.run("/usr/bin/sha256sum", path).stdout.split()[0]

    def configure(self, preflight, **changes):
        machine = self.run("/usr/bin/cat", "/etc/machine-id").stdout.strip()
        digest = self.run("/bin/sh", "-c", f"printf %s {machine} | sha256sum").stdout.split()[0]
        boot = self.run("/usr/bin/cat", "/proc/sys/kernel/random/boot_id").stdout.strip()
        config = {"schema": "netproof.collection.v1", "site": f"{ETC}/site.json",
                  "release": f"{ETC}/release.json",
                  "release_sha256": self.sha256(f"{ETC}/release.json"),
                  "profile": self.site["profile"], "store": STORE,
                  "machine_id_sha256": digest, "boot_id": boot,
                  "pre_collection_preflight_sha256": preflight, **changes}
        self.write(f"{ETC}/collection.json", json.dumps(config))

    def prepare_profile(self, window=30, **endpoints):
        self.issue(window, **endpoints)

    def prepare(self, window=30, **endpoints):
        self.configure(self.preflight())
        self.issue(window, **endpoints)

    def collect(self, *options, phrase=PHRASE, check=False):
        return self.run(self.program("net-collector"), "network", "--config",
                        f"{ETC}/collection.json", "--confirm", phrase, *options, check=check)

    def record(self, sha256):
        return json.loads(self.run("/usr/bin/cat", f"{STORE}/{sha256}").stdout)

    def leftovers(self, is_looking=True):
        """Whatever a collection could have left on the host, as sentences; unless the host
        is sabotaged, the ruleset is looked at, too."""
        site = self.site
        return self.run("/bin/sh", "-c", LEFT, "sh", site["name"], site["engine"]["socket"],
                        site["worker_unit"], site["runtime_dir"], site["install_dir"],
                        site["workload_user"], site["table"],
                        "rules" if is_looking else "").stdout.splitlines()

    def look(self, engine=True):
        """The state that a refusal leaves as it was, as lines; without asking an engine
        that is broken on purpose."""
        site = self.site
        units = " ".join([site["worker_unit"], site["guard_unit"], site["proxy_unit"]])
        return self.run("/bin/sh", "-c", LOOK, "sh", STORE, units,
                        "with-engine" if engine else "without", site["engine"]["socket"],
                        check=False).stdout.splitlines()

    def verify(self, sha256, post):
        return self.run(self.program("net-verify"), "record", sha256, "--store", STORE,
                        "--profile", self.site["profile"], "--site", f"{ETC}/site.json",
                        "--release", f"{ETC}/release.json", "--post", post, check=False)
