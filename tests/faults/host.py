# SPDX-License-Identifier: GPL-2.0-or-later
"""A lab's host with what rows need: shell scripts that know the site's names."""
import os
import sys

import row as rows

sys.path.insert(0, os.path.join(os.path.dirname(rows.HERE), "collector"))
import collectlib  # noqa: E402  pylint: disable=wrong-import-position
from collectlib import ETC, STORE  # noqa: E402  pylint: disable=wrong-import-position

# What rows' scripts are written in terms of.
SHELL = r"""
edit() { # FILE PYTHON: changes the document `d` where it lies
	/usr/bin/python3 -c '
import json, sys
with open(sys.argv[1]) as source: d = json.load(source)
exec(sys.argv[2])
with open(sys.argv[1], "w") as sink: json.dump(d, sink, sort_keys=True, separators=(",", ":"))
' "$1" "$2"
}
drop_in() { # UNIT LINE...: lines of its [Service] section
	mkdir -p "/etc/systemd/system/$1.d"
	conf=/etc/systemd/system/$1.d/sabotage.conf
	echo '[Service]' >"$conf"; shift
	printf '%s\n' "$@" >>"$conf"
	systemctl daemon-reload
}
drop_out() { rm -rf "/etc/systemd/system/$1.d/sabotage.conf"; systemctl daemon-reload; }
forge_guard() { # SED: the guard as nft would load it after an edit, in one transaction
	{ echo "delete table inet $TABLE"; nft -s list table inet $TABLE | sed -E "$1"; } >/run/forged
	nft -f /run/forged
}
revoke() { $LIB/net-policy revoke --site $ETC/site.json; }
open_holes() { # RULE CHAIN...: before all other rules of those chains of the policy's: it denies twice
	rule=$1; shift
	for chain; do
		nft -ea insert rule inet $TABLE $chain $rule >/run/hole
		sed -n "s/.*# handle /delete rule inet $TABLE $chain handle /p" /run/hole >>/run/holes
	done
}
close_holes() { nft -f /run/holes; }
agent_of() { # WORDS: the probe agents in whose cgroup's name they are
	for p in /proc/[0-9]*; do
		case $(readlink $p/exe) in */net-probe) ;; *) continue ;; esac
		if grep -q -- "$1" $p/cgroup; then echo ${p#/proc/}; fi
	done
}
collector() { pidof net-collector | tr ' ' '\n' | sort -n | head -1; }
in_engine() { nsenter -t $(pgrep -x dockerd | head -1) -n "$@"; } # its network namespace
in_engine_stays() { # UNIT COMMAND...: there until the lab ends
	unit=$1; shift
	systemd-run --quiet --unit=$unit -- nsenter -t $(pgrep -x dockerd | head -1) -n "$@"
}
take_tcp() { # PORT HOW [ADDRESS PORT]: a listener there; see taker.py
	in_engine_stays taker$1 /usr/bin/python3 $FAULTS/taker.py tcp "$@"
	await sh -c "nsenter -t $(pgrep -x dockerd | head -1) -n ss -Htln | grep -q :$1"
}
take_dns() { # PORT: one that answers every question
	in_engine_stays taker$1 /usr/bin/python3 $FAULTS/taker.py dns "$@"
	await sh -c "nsenter -t $(pgrep -x dockerd | head -1) -n ss -Huln | grep -q :$1"
}
client_gives() { # OPTION...: the engine's client is a wrapper that runs containers with them
	mv /usr/bin/docker /usr/bin/docker.real
	cat >/usr/bin/docker <<-END
		#!/bin/bash
		for ((i = 1; i <= \$#; i++)); do
			[ "\${!i}" != run ] || exec /usr/bin/docker.real "\${@:1:i}" $* "\${@:i+1}"
		done
		exec /usr/bin/docker.real "\$@"
	END
	chmod 755 /usr/bin/docker
}
in_candidate() { # its network namespace
	nsenter -t $(su -s /bin/sh $WORKLOAD -c "docker --host unix://$SOCKET inspect --format \
		{{.State.Pid}} \$(docker --host unix://$SOCKET ps -q --filter name=-candidate)") -n "$@"
}
await() { # COMMAND: until it succeeds, half a minute at most
	for i in $(seq 300); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.1
	done
	echo "never came true: $*" >&2
	return 1
}
"""


class FaultHost(collectlib.Host):
    def __init__(self, word, **more):
        super().__init__(word, **more)
        self.known = None
        self.good_preflight = None

    def variables(self):
        if not self.known:
            site = self.site
            uid = self.run("/usr/bin/id", "-u", site["workload_user"]).stdout.strip()
            first = self.run("/bin/grep", f"^{site['workload_user']}:",
                             "/etc/subuid").stdout.split(":")[1]
            self.known = {
                "TABLE": site["table"], "WORKER": site["worker_unit"],
                "GUARD": site["guard_unit"], "PROXY": site["proxy_unit"],
                "ENGINE": site["engine_unit"], "LIB": site["install_dir"], "ETC": ETC,
                "WORKLOAD": site["workload_user"], "SOCKET": site["engine"]["socket"],
                "PROFILE": site["profile"], "STORE": STORE, "SUBJECT": uid, "SUBORDINATE": first,
                "PROXY_ADDRESS": site["proxy"]["address"], "PROXY_PORT": site["proxy"]["port"],
                "ROUTER_ADDRESS": site["router"]["address"],
                "ROUTER_PORT": site["router"]["port"],
                "RUNTIME": site["runtime_dir"], "FAULTS": rows.HERE,
            }
        return self.known

    def sh(self, script, user=None, check=True):
        words = "".join(f"{key}={value}\n" for key, value in self.variables().items())
        done = self.run("/bin/sh", "-ec", words + SHELL + script, user=user, check=False)
        if check and done.returncode:
            raise AssertionError(f"exit status {done.returncode} of the row's own script: "
                                 f"{done.stderr.strip()}")
        return done

    def user_sh(self, script):
        """As the workload user, with its manager at hand."""
        return self.sh("export XDG_RUNTIME_DIR=/run/user/$(id -u)\n" + script,
                       user=self.site["workload_user"])

    def restart_engine(self):
        """And waits until it answers."""
        collectlib.labtest.lab("engine", "--name", self.lab.name)

    def engine_line(self, old, new):
        """The engine started again from another command line."""
        path = self.user_sh("systemctl --user show -P FragmentPath $ENGINE").stdout.strip()
        path = self.run("/usr/bin/realpath", path).stdout.strip()
        text = self.run("/usr/bin/cat", path).stdout
        if old not in text:
            raise AssertionError(f"{path}: no {old!r}")
        self.write(path, text.replace(old, new), "644")
        self.user_sh("systemctl --user daemon-reload; systemctl --user restart $ENGINE")
        self.restart_engine()

    def store_names(self):
        return set(self.run("/bin/ls", STORE).stdout.split())

    def new_records(self, before):
        return [name for name in sorted(self.store_names() - before) if "netproof.record"
                in self.run("/usr/bin/cat", f"{STORE}/{name}").stdout]
