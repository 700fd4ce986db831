"""Drives Chromium over its DevTools protocol with the standard library alone.

    with Browser() as browser:
        browser.open("file:///page.html", width=390, dark=True)
        browser.run("document.title")
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

STARTS_WITHIN, ANSWERS_WITHIN = 60, 120  #: seconds


def program():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Unavailable(Exception):
    """Chromium is absent or does not start here."""


class Socket:
    """A client's end of a WebSocket (RFC 6455) on this machine: text frames, no extensions."""

    def __init__(self, port, path):
        self.stream = socket.create_connection(("127.0.0.1", port), ANSWERS_WITHIN)
        key = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.take(1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise Unavailable("Chromium refused the connection")

    def take(self, count):
        data = b""
        while len(data) < count:
            part = self.stream.recv(min(1 << 16, count - len(data)))
            if not part:
                raise Unavailable("Chromium closed the connection")
            data += part
        return data

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big") if len(data) < 1 << 16 \
            else b"\xff" + len(data).to_bytes(8, "big")
        self.stream.sendall(b"\x81" + size + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def receive(self):
        text = b""
        while True:
            first, size = self.take(2)
            if size == 126:
                size = int.from_bytes(self.take(2), "big")
            elif size == 127:
                size = int.from_bytes(self.take(8), "big")
            data = self.take(size)
            if first & 0x0f in (0, 1):
                text += data
                if first & 0x80:
                    return text.decode()


class Browser:
    """One tab. @raise Unavailable where there is no Chromium that starts"""

    def __enter__(self):
        path = program()
        if not path:
            raise Unavailable("no Chromium on this machine (apt-get install chromium)")
        self.folder, self.last, self.problems = tempfile.mkdtemp(prefix="browser-"), 0, []
        self.process = subprocess.Popen(
            [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-port=0",
             "--allow-file-access-from-files", "--user-data-dir=" + self.folder, "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.socket = Socket(*self.address())
            target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
            self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
            for domain in ("Page", "Runtime"):
                self.call(domain + ".enable")
        except (OSError, Unavailable, StopIteration) as error:
            self.__exit__()
            raise Unavailable(f"Chromium does not run here: {error}") from error
        return self

    session = None

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self):
        """(port, path) that Chromium listens on."""
        path, until = os.path.join(self.folder, "DevToolsActivePort"), time.monotonic() + STARTS_WITHIN
        while time.monotonic() < until and self.process.poll() is None:
            if os.path.exists(path):
                with open(path, encoding="utf-8") as stream:
                    lines = stream.read().split("\n")
                if len(lines) > 1:
                    return int(lines[0]), lines[1]
            time.sleep(.05)
        raise Unavailable("it did not start")

    def call(self, method, **parameters):
        """The result of a command; exceptions of scripts on the way are kept in `problems`."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.receive())
            if answer.get("method") == "Runtime.exceptionThrown":
                self.problems.append(answer["params"]["exceptionDetails"].get("exception", {}).get("description", "an exception"))
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, address, width=1280, height=900, dark=False):
        """Loads a page on a screen of this size and waits until it is complete."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                                                          {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        until = time.monotonic() + ANSWERS_WITHIN
        while time.monotonic() < until:
            if self.run("document.readyState === 'complete' && location.href !== 'about:blank'"):
                return
            time.sleep(.05)
        raise RuntimeError(f"{address} was not loaded within {ANSWERS_WITHIN} s")

    def run(self, script):
        """The value of a script in the page; a promise is waited for. @raise RuntimeError with the script's exception"""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "the script failed"))
        return answer["result"].get("value")

    def middle(self, selector):
        """The place on the screen of the first element that is selected, which is scrolled to."""
        return self.run(f"""(() => {{ const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: "center", behavior: "instant"}});
            const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()""")

    def click(self, selector):
        """A click of the mouse in the middle of the first element that is selected."""
        x, y = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.run("new Promise(done => setTimeout(done, 60))")  # a link is followed after the click

    def hover(self, selector):
        """Moves the mouse over the middle of the first element that is selected."""
        x, y = self.middle(selector)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def shot(self, path):
        """Writes what the screen shows as a PNG."""
        with open(path, "wb") as stream:
            stream.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
