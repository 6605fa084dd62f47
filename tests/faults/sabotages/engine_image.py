# SPDX-License-Identifier: GPL-2.0-or-later
"""Another image has the candidate's name."""
LAYER = "engine"
UNDO = r"""docker="docker --host unix://$SOCKET"
name=$(sed 's/.*"reference":"\([^"]*\)".*/\1/' $ETC/release.json)
su -s /bin/sh $WORKLOAD -c "$docker rmi $name; $docker tag kept:1 $name; $docker rmi kept:1" """
REFUSED = "is not the release's"


def act(host):
    reference = host.release["candidate_image"]["reference"]
    host.docker("tag", reference, "kept:1")
    host.docker("rmi", reference)
    host.sh("mkdir -p /run/empty; tar -C /run/empty -cf /run/other.tar .; chmod 644 /run/other.tar")
    host.docker("import", "/run/other.tar", reference)
