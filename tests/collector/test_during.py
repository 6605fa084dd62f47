#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A collection whose host changes while it runs: rules, units, engine, containers, store."""
import json
import unittest

import collectlib
from moments import Row, Rows, check_side_by_side, sh

# --- rules and the worker's unit -------------------------------------------------------------

# The level counts from the cgroup's root and is in no listing: same JSON, another rule. A
# drop-out here, because the two digests are not what they should be, fails the row.
ANOTHER_LEVEL = """
json() {{ nft -j list table inet {table} | {lib}/net-policy digest --table {table}; }}
form() {{ {lib}/net-policy kernel-form --digest --table {table}; }}
json >/run/json; form >/run/form
export TZ=UTC
rule=$(nft -T -n -a list chain inet {table} scoped_output | grep 'level 2' | head -n 1)
handle=${{rule##*handle }}
rule=$(echo "${{rule%% # handle*}}" | sed 's/level 2/level 3/; s/packets [0-9]* bytes [0-9]*//')
nft replace rule inet {table} scoped_output handle $handle "$rule"
json | cmp - /run/json
! form | cmp -s - /run/form
"""
# Whatever net-policy is asked, it does nothing and is content.
CONTENT = """
cp -p {lib}/net-policy /run/kept
cp /bin/true /run/other
mv /run/other {lib}/net-policy
"""
# An installation that is killed, and everything else as before.
KILLED = """
cp -p {lib}/net-policy /run/kept
cat >/run/other <<'END'
#!/bin/sh
[ "$1" != install ] || kill -9 $$
exec /run/kept "$@"
END
chmod 755 /run/other
mv /run/other {lib}/net-policy
"""
REAL = "mv /run/kept {lib}/net-policy\n"
STOPPING = "stop_rollback: stopping the worker"
EXPIRED = "failed_start: starting the worker on the expired profile"

RULES = [
    Row("an expired start that succeeds", {EXPIRED: sh(CONTENT)}, "starts on an expired profile",
        mend=REAL, window=25),
    Row("an expired start that is killed", {EXPIRED: sh(KILLED)},
        "failed with 'signal', not 'exit-code'", mend=REAL, window=25),
    Row("a rule more", {"active: worker agent measured":
                        sh("nft add rule inet {table} scoped_output counter")},
        "ruleset differs"),
    Row("a rule that only the kernel's form shows",
        {"active: worker agent measured": sh(ANOTHER_LEVEL)}, "ruleset differs"),
    Row("the same at a phase's end",
        {"active: executor.interfaces": sh(ANOTHER_LEVEL)}, "ruleset differs"),
    Row("a foreign rule that marks", {"active: executor.interfaces":
        sh("nft 'table ip evil {{ chain o {{ type route hook output priority 0; meta mark set 1; "
           "}}; }}'")}, "nf_tables ip evil", mend="nft delete table ip evil"),
    Row("a stop that leaves the window open", {STOPPING: sh(CONTENT)}, "ruleset differs",
        mend=REAL),
    Row("a stop by hand", {"active: executor agent measured": sh("systemctl stop {worker}")},
        "worker agent: has ended before it was asked"),
    Row("a program that is no agent", {STOPPING:
        sh("cp -p {lib}/net-probe /run/kept; cp /usr/bin/sleep /run/other; "
           "mv /run/other {lib}/net-probe")}, "has not run net-once",
        mend="mv /run/kept {lib}/net-probe"),
]

# --- containers ------------------------------------------------------------------------------

DOCKER = """
docker() {{ /usr/bin/docker --host unix://{socket} "$@"; }}
name() {{ docker ps --all --format '{{{{.Names}}}}' | grep -- "-$1\\$"; }}
# $1: position; the rest: options in place of the collector's.
again() {{
    old=$(name "$1"); shift
    image=$(docker inspect --format '{{{{.Image}}}}' "$old")
    docker rm --force "$old"
    docker run --detach --interactive --init --name "$old" --entrypoint /net-probe "$@" \\
        "$image" net-agent
}}
"""
RUNNER = "--volume {lib}/net-probe:/net-probe"
STARTED = "active: executor container started"
LAST_PROBE = "active: executor.interfaces"


def in_docker(script):
    return sh(DOCKER + script)


CONTAINERS = [
    Row("another mount", {STARTED: in_docker(
        f"again candidate {RUNNER}:ro --volume /etc/hostname:/x:ro")},
        "candidate", "has not exactly one mount"),
    Row("a runner that can be written", {STARTED: in_docker(f"again sibling {RUNNER}")},
        "sibling", "mounts the probe runner writable"),
    Row("another user", {STARTED: in_docker(
        f"again executor --network none --user 65532:65532 {RUNNER}:ro")},
        "executor", "runs as another user"),
    Row("another network", {STARTED: in_docker('docker network connect bridge "$(name sibling)"')},
        "sibling", "is on another network"),
    Row("another network, afterwards",
        {LAST_PROBE: in_docker('docker network connect bridge "$(name candidate)"')},
        "candidate", "is on another network"),
    Row("another process in it, afterwards",
        {LAST_PROBE: in_docker('docker exec --detach --interactive "$(name candidate)" '
                               "/net-probe net-agent --unix /agent/other.sock")},
        "candidate", "has 3 processes, not 2"),
    Row("a container that is gone", {LAST_PROBE: in_docker('docker rm --force "$(name executor)"')},
        "executor agent: ended in the middle of its phase"),
]

# --- the engine ------------------------------------------------------------------------------

# Another default runtime, taken over by the running engine: its containers stay.
ANOTHER_RUNTIME = DOCKER + """
file=$(getent passwd {user} | cut -d: -f6)/.config/docker/daemon.json
mkdir -p "${{file%/*}}"
printf '{{"runtimes":{{"other":{{"path":"runc"}}}},"default-runtime":"other"}}' >"$file"
chmod -R go+rX "${{file%/.config/*}}/.config"
kill -HUP $(pgrep -x dockerd)
until [ "$(docker info --format '{{{{.DefaultRuntime}}}}')" = other ]; do sleep 0.05; done
"""
FORMER_RUNTIME = DOCKER + """
file=$(getent passwd {user} | cut -d: -f6)/.config/docker/daemon.json
printf '{{"runtimes":{{}},"default-runtime":"runc"}}' >"$file"
kill -HUP $(pgrep -x dockerd)
until [ "$(docker info --format '{{{{.DefaultRuntime}}}}')" = runc ]; do sleep 0.05; done
rm "$file"
"""
ENGINE_CTL = """
uid=$(id -u {user})
ctl() {{
    setpriv --reuid {user} --regid {user} --init-groups env XDG_RUNTIME_DIR=/run/user/$uid \\
        systemctl --user "$1" {engine}
}}
data=/var/lib/{site}/docker key=/var/lib/{site}/.config/docker/key.json
"""
# The same unit with another key and other data: another engine in its place. It is known
# by its key; of the data, only the path counts.
ANOTHER_ENGINE = ENGINE_CTL + "ctl stop; mv $key $key.away; mv $data $data.away; ctl start"
FORMER_ENGINE = ENGINE_CTL + """
ctl stop
rm -rf $data
mv $data.away $data
mv $key.away $key
ctl start
"""


def with_engine(script):
    """Filled in for the site that all labs here have."""
    site = collectlib.make_site("rootless-netns")
    return script.replace("{engine}", site["engine_unit"]).replace("{site}", site["name"])


# --- the store, and a second collection ------------------------------------------------------

FULL = """
mount -t tmpfs -o size=64k,mode=700 full {store}
dd if=/dev/zero of={store}/filler bs=1k 2>/dev/null || :
"""
READ_ONLY = "mount -t tmpfs -o ro,size=64k,mode=700 readonly {store}"
KEEPING = "failed_start: keeping the record"


def collect_again(run):
    """A second collection and a recovery beside the first: neither harms it."""
    host = run.host
    for done in (host.collect(), host.run(host.program("net-collector"), "recover", check=False)):
        if done.returncode != 1 or "busy" not in done.stderr:
            raise AssertionError(f"beside another: {done.returncode} {done.stderr}")


def check_unharmed(run):
    result = json.loads(run.stdout)
    if [result["record_sha256"]] != run.records() or result["good"] != result["probes"]:
        raise AssertionError(f"the first was harmed: {run.stdout}")


AT_THE_END = [
    Row("a second collection", {"active: executor agent measured": collect_again}, status=0,
        also=check_unharmed, window=25),
    Row("a full store", {KEEPING: sh(FULL)}, "No space left", status=4, mend="umount {store}",
        window=25),
    Row("a store that cannot be written", {KEEPING: sh(READ_ONLY)}, "Read-only file system",
        status=4, mend="umount {store}", window=25),
]
# After everything that was observed, and before it is kept.
CHANGED = [
    Row("a program that is replaced", {"failed_start: measuring what is left": sh(CONTENT)},
        "net-policy: is not the release's", mend=REAL, window=25),
    Row("a proxy that ends", {"failed_start: measuring what is left":
        sh("systemctl stop {proxy}")}, "is inactive, not active", mend="systemctl start {proxy}",
        window=25),
]
ENGINE = [
    Row("an engine with another runtime", {"expiry: worker agent measured": sh(ANOTHER_RUNTIME)},
        "container engine: its identity changed during the collection", mend=FORMER_RUNTIME,
        window=25),
    Row("another engine", {"failed_start: measuring what is left": sh(with_engine(ANOTHER_ENGINE))},
        "container engine: its identity changed during the collection",
        mend=with_engine(FORMER_ENGINE), window=25),
]

# --- leaks -----------------------------------------------------------------------------------

# In the engine's own network namespace, which no rule of the policy reaches.
OPEN = """
engine=$(pgrep -x dockerd | head -1)
nsenter -t $engine -n iptables -I DOCKER-USER -j ACCEPT
systemd-run --quiet --unit=sabotage --collect -- nsenter -t $engine -n /usr/bin/python3 -c '
import socket, time
with socket.create_server(("0.0.0.0", 2375)): time.sleep(600)'
until nsenter -t $engine -n ss -Htln | grep -q :2375; do sleep 0.05; done
"""
CLOSE = """
nsenter -t $(pgrep -x dockerd | head -1) -n iptables -D DOCKER-USER -j ACCEPT
systemctl stop sabotage
"""
LEAKS = ("candidate.sibling_attempt", "candidate.docker_api")


def check_leaks(run):
    if run.bad() != set(LEAKS) or {run.observed()[leak] for leak in LEAKS} != {"connected"}:
        raise AssertionError(f"not those leaks: {run.bad()}")


# Rules that let the stopped worker's attempt out: the guard rejects in both chains.
OPEN_GUARD = """
for chain in output marked_output; do
    nft insert rule inet {table} $chain meta skuid $(id -u {user}) accept
done
"""
ONCE = "worker.trusted.after_stop"


def check_not_judged(run):
    if ONCE in run.observed():
        raise AssertionError("the signal came too late to show anything")


# What could not be told after a leak is a refusal, too.
LEAKY = [
    Row("a leak, then a refusal", {"active: begin": sh(OPEN), STOPPING: sh(CONTENT)},
        "ruleset differs", "leaks already seen: ", *LEAKS, mend=REAL + CLOSE, also=check_leaks),
    Row("a leak, then a signal",
        {"active: begin": sh(OPEN), "stop_rollback: begin": lambda run: run.signal(15)},
        "interrupted by SIGTERM; leaks already seen: ", *LEAKS, mend=CLOSE, also=check_leaks),
    Row("a leak that nobody has judged yet",
        {"stop_rollback: controls before net-once": sh(OPEN_GUARD),
         "stop_rollback: net-once has reported": lambda run: run.signal(15)},
        f"interrupted by SIGTERM; leaks already seen: {ONCE}", also=check_not_judged),
]


class During(unittest.TestCase):
    def test_each_ends_truthfully_and_leaves_nothing(self):
        check_side_by_side(self, [
            Rows("dur-engine", ENGINE + RULES[2:6]), Rows("dur-end", AT_THE_END + CONTAINERS[:2]),
            Rows("dur-rules", RULES[:2] + RULES[6:] + CONTAINERS[2:4]),
            Rows("dur-inside", CHANGED + CONTAINERS[4:] + LEAKY)])


if __name__ == "__main__":
    unittest.main()
