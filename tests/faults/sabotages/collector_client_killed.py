# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine's client is killed in the middle of its answer."""
LAYER = "collector"
WHEN = "candidate container started"
DO = """mv /usr/bin/docker /usr/bin/docker.real
cat >/usr/bin/docker <<'END'
#!/bin/sh
case " $* " in
*" container inspect "*)
	/usr/bin/docker.real "$@" | head -c 100
	kill -9 $$ ;;
esac
exec /usr/bin/docker.real "$@"
END
chmod 755 /usr/bin/docker"""
UNTOLD = "/usr/bin/docker: ended by signal 9"
