"""Drives a headless Chromium by the DevTools protocol, over two pipes: no port, no library."""

from __future__ import annotations

import base64
import itertools
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from typing import Any


def find_chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    raise RuntimeError("no chromium: scripts/setup installs it")


class Browser:
    """One browser process with an empty profile."""

    def __init__(self, chromium: str):
        self.profile = tempfile.mkdtemp(prefix="pawl-chromium-")
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()
        flags = [
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-first-run",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-extensions",
            "--disable-background-networking",
            "--hide-scrollbars",
            "--no-proxy-server",
            f"--user-data-dir={self.profile}",
            "about:blank",
        ]
        if os.geteuid() == 0:
            flags.insert(0, "--no-sandbox")  # Chromium refuses its sandbox to root

        def place_pipes() -> None:  # the browser reads commands from 3 and writes answers to 4
            read_copy, write_copy = os.dup(to_read), os.dup(to_write)
            os.dup2(read_copy, 3)
            os.dup2(write_copy, 4)

        self.process = subprocess.Popen(
            [chromium, *flags],
            preexec_fn=place_pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self.numbers = itertools.count(1)
        self.answers: dict[int, queue.Queue] = {}
        self.events: list[dict] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        rest = b""
        while True:
            try:
                data = os.read(self.read_end, 1 << 20)
            except OSError:
                return
            if not data:
                return
            *messages, rest = (rest + data).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self.answers[message["id"]].put(message)
                else:
                    self.events.append(message)

    def call(self, method: str, session: str | None = None, timeout: float = 60, **params: Any) -> dict:
        number = next(self.numbers)
        self.answers[number] = queue.Queue()
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        answer = self.answers[number].get(timeout=timeout)
        del self.answers[number]
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def page(self, width: int = 1280, height: int = 900, phone: bool = False, dark: bool = False) -> "Page":
        return Page(self, width, height, phone, dark)

    def close(self) -> None:
        try:
            self.call("Browser.close", timeout=5)
        except Exception:
            self.process.kill()
        self.process.wait(10)
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """A tab with its own storage."""

    def __init__(self, browser: Browser, width: int, height: int, phone: bool, dark: bool):
        self.browser = browser
        context = browser.call("Target.createBrowserContext")["browserContextId"]
        self.target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    def call(self, method: str, **params: Any) -> dict:
        return self.browser.call(method, self.session, **params)

    def goto(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def eval(self, script: str) -> Any:
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(f"{script}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def wait(self, script: str, timeout: float = 30) -> Any:
        """The value of the expression once it is true."""
        end = time.monotonic() + timeout
        while True:
            try:
                value = self.eval(script)
            except RuntimeError:
                value = None
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(
                    f"never true: {script}; the page shows:\n{self.eval('document.body.innerText')[:2000]}"
                )
            time.sleep(0.05)

    def text(self, selector: str = "body") -> str:
        return self.eval(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def click(self, selector: str, text: str = "") -> None:
        """A click of the mouse in the middle of the first such element whose text begins so."""
        found = f"[...document.querySelectorAll({json.dumps(selector)})].find(e => (e.innerText ?? e.textContent).trim().startsWith({json.dumps(text)}))"
        self.wait(f"!!{found}")
        at = self.eval(
            f"(() => {{ const e = {found}; e.scrollIntoView({{block: 'center', behavior: 'instant'}});"
            f"const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)

    def hover(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def key(self, key: str) -> None:
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38}
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        more = {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **more)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def errors(self) -> list[str]:
        """What the page's script threw and what the console complained of."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                details = event["params"]["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                found.append(event["params"]["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        return [
            event["params"]["request"]["url"]
            for event in self.browser.events
            if event.get("sessionId") == self.session and event["method"] == "Network.requestWillBeSent"
        ]

    def screenshot(self, path: str, whole: bool = False) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
