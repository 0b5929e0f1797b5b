"""Chromium without a screen, driven by its DevTools protocol over a websocket: pages, pictures, clicks, requests."""

from __future__ import annotations

import base64
import contextlib
import io
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--remote-debugging-port=0", "--disable-dev-shm-usage"),
    *("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    *("--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-extensions", "--disable-default-apps", "--no-default-browser-check"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # the browser's own requests go nowhere
)
LOCAL = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "file:", "about:")


def chromium() -> str | None:
    """The program; None where it is not installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One page; a context manager.

    Attributes:
        requests: Addresses of all requests, those of websockets too.
        errors: Errors on the console, and exceptions of scripts.
    """

    def __init__(self, width: int = 700, height: int = 480) -> None:
        from websockets.sync.client import connect

        self.requests: list[str] = []
        self.errors: list[str] = []
        self._socket = None
        self._numbers = itertools.count(1)
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command = [str(chromium()), *OPTIONS, f"--user-data-dir={self._folder.name}", f"--window-size={width},{height}"]
        nowhere: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen([*command, "about:blank"], **nowhere)
        file = Path(self._folder.name) / "DevToolsActivePort"
        self.wait(lambda: file.exists() and len(file.read_text().splitlines()) == 2, "the browser to start")
        port = file.read_text().splitlines()[0]
        targets = json.load(urlopen(f"http://127.0.0.1:{port}/json/list"))
        address = next(x["webSocketDebuggerUrl"] for x in targets if x["type"] == "page")
        self._socket = connect(address, max_size=None, ping_interval=None, close_timeout=0.1)
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)  # workers too
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.send(json.dumps({"id": 0, "method": "Browser.close"}))
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._socket.close()
        self._folder.cleanup()

    def call(self, method: str, **parameters: object) -> dict:
        """The answer to a command; events that arrive meanwhile are kept."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("id") == number and "sessionId" not in message:
                assert "error" not in message, message
                return message["result"]
            self._keep(message)

    def _listen(self, seconds: float) -> None:
        """Keep the events that arrive meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self._socket is None:
                time.sleep(left)
                continue
            with contextlib.suppress(TimeoutError):
                self._keep(json.loads(self._socket.recv(timeout=left)))

    def _keep(self, message: dict) -> None:
        method, found = message.get("method", ""), message.get("params", {})
        if method == "Target.attachedToTarget":
            for command in ("Network.enable", "Runtime.enable", "Runtime.runIfWaitingForDebugger"):
                session = {"id": next(self._numbers), "method": command, "sessionId": found["sessionId"]}
                self._socket.send(json.dumps(session))
        elif method == "Network.requestWillBeSent":
            self.requests.append(found["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(found["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(found["exceptionDetails"])[:300])
        elif method == "Runtime.consoleAPICalled" and found["type"] in ("error", "assert"):
            self.errors.append(str(found["args"])[:300])
        elif method == "Log.entryAdded" and found["entry"]["level"] == "error":
            self.errors.append(str(found["entry"])[:300])

    @property
    def outside(self) -> list[str]:
        """Requests that left the machine."""
        return [url for url in self.requests if not url.startswith(LOCAL)]

    def forget(self) -> Browser:
        """Leave the page, whose server may be gone, and forget its errors and requests."""
        self.call("Page.navigate", url="about:blank")
        self._listen(0.3)
        self.errors.clear()
        self.requests.clear()
        return self

    def open(self, url: str) -> None:
        """Go to a page, and wait until pictures of it can be taken."""
        self.call("Page.navigate", url=url)

        def active() -> bool:
            try:
                return self.run("location.href").startswith(url) and self.picture() is not None
            except AssertionError:  # another process takes over the page
                return False

        self.wait(active, f"the page {url}")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, done, what: str, seconds: float = 60.0) -> None:
        """Wait until something is so."""
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, f"waited {seconds} s for {what}"
            self._listen(0.05)

    def settle(self, seconds: float) -> None:
        """Give the page time to act; events that arrive meanwhile are kept."""
        self._listen(seconds)

    def picture(self) -> np.ndarray:
        """What is shown, (height, width, 3), 0 to 255."""
        from PIL import Image

        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)

    def click(self, x: float, y: float) -> None:
        """Press and release the mouse at a point."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            count = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **count)

    def click_text(self, text: str) -> None:
        """Click the smallest element with this text."""
        self.click(*self._place(f"elements.find(e => e.textContent.trim() === {json.dumps(text)})", 0.5))

    def set_slider(self, text: str, share: float, done) -> None:
        """Click on the slider whose label starts with a text, at a share of its length, until something is so."""

        def clicked() -> bool:
            self.click(*self._place(FIND_SLIDER % json.dumps(text), share))
            self._listen(0.4)
            return done()

        self.wait(clicked, f"the slider {text} to act")

    def _place(self, element: str, share: float) -> tuple[float, float]:
        script = f"""(() => {{ {ELEMENTS} const e = {element}; if (!e) return null;
          e.scrollIntoView({{block: 'center', behavior: 'instant'}}); const r = e.getBoundingClientRect();
          return [r.x + {share} * r.width, r.y + r.height / 2]; }})()"""
        found: list = []

        def there() -> bool:
            found[:] = self.run(script) or ()
            return bool(found)

        self.wait(there, f"the element {element[:100]}", 20)
        return found[0], found[1]

    def value_of(self, text: str) -> float:
        """The number beside the slider whose label starts with a text."""
        row = f"rows.find(e => e.textContent.trim().startsWith({json.dumps(text)}))"
        return float(str(self.run(f"(() => {{ {ELEMENTS} return {row}.querySelector('input').value; }})()")))


ELEMENTS = """
const elements = [...document.querySelectorAll('body *')].reverse();  // the inner ones first
const rows = [...document.querySelectorAll('.mantine-Slider-root')].map(s => {
  let e = s; while (e && !e.querySelector('label')) e = e.parentElement; return e; });
"""
FIND_SLIDER = "rows.find(e => e.textContent.trim().startsWith(%s))?.querySelector('.mantine-Slider-trackContainer')"
