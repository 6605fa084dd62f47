# SPDX-License-Identifier: GPL-2.0-or-later
"""A real browser, driven through a pipe (the DevTools protocol): no socket, no display.

The caller is in a network namespace of its own with nothing but lo (own_network()), so
that a page that asks for anything outside gets nothing, and what it asks for is seen."""
import atexit
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = "/usr/bin/chromium-headless-shell"
HANG_SECONDS = 120  # nothing here should take long; this ends a hang, no more


def own_network():
    """Runs this program again with no network at all."""
    if os.environ.get("BROWSER_TEST_NETWORK") == "own":
        return
    os.environ["BROWSER_TEST_NETWORK"] = "own"
    os.execvp("unshare", ["unshare", "--net", "--", sys.executable, *sys.argv])


class Browser:
    """One process group, one profile folder; close() ends the one and removes the other."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="netproof-browser-")
        self.process = None
        atexit.register(self.close)
        self.log = open(os.path.join(self.folder, "log"), "w+b")
        to_read, self.to = os.pipe()
        self.answers, from_write = os.pipe()
        self.process = subprocess.Popen(
            # The browser reads commands from descriptor 3 and answers on 4.
            ["/bin/sh", "-c", 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"', "sh", str(to_read),
             str(from_write), PROGRAM, "--no-sandbox", "--remote-debugging-pipe",
             "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
             "--no-first-run", "--hide-scrollbars", "--font-render-hinting=none",
             f"--user-data-dir={self.folder}/profile", "about:blank"],
            pass_fds=(to_read, from_write), stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, process_group=0,
            env={"HOME": self.folder, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
        os.close(to_read)
        os.close(from_write)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def _fail(self, what):
        self.log.seek(0)
        raise AssertionError(f"browser: {what}\n{self.log.read().decode(errors='replace')[-3000:]}")

    def _message(self, until):
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, until - time.monotonic()))[0]:
                self._fail("no answer")
            data = os.read(self.answers, 1 << 20)
            if not data:
                self._fail("ended")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        until = time.monotonic() + HANG_SECONDS
        while True:
            message = self._message(until)
            if message.get("id") == self.number:
                if "error" in message:
                    self._fail(f"{method}: {message['error']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def wait(self, method):
        """The next event of that name, which may have come already."""
        until = time.monotonic() + HANG_SECONDS
        while True:
            for event in self.events:
                if event["method"] == method:
                    return event["params"]
            message = self._message(until)
            if "method" in message:
                self.events.append(message)

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url="file://" + path)
        self.wait("Page.loadEventFired")

    def view(self, width, height=900, **media):
        """The width of the window; media: what the reader prefers, or type="print"."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media.pop("type", ""),
                  features=[{"name": name.replace("_", "-"), "value": value}
                            for name, value in media.items()])

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            self._fail(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def picture(self, path):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def close(self):
        atexit.unregister(self.close)
        if self.process:
            self._end()
        shutil.rmtree(self.folder)

    def _end(self):
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(HANG_SECONDS)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for descriptor in (self.to, self.answers):
            os.close(descriptor)
        self.log.close()
