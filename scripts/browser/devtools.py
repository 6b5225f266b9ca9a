"""Headless Chromium over its DevTools protocol, by the pipe of --remote-debugging-pipe: JSON, each message ended by a zero byte."""
import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--mute-audio",
    "--remote-debugging-pipe",
)
# On the processor, also where there is a GPU.
WEBGPU = ("--enable-unsafe-webgpu", "--enable-unsafe-swiftshader", "--use-webgpu-adapter=swiftshader")
# What Chromium says then where a page asks for an adapter.
NO_ADAPTER = "Failed to create WebGPU Context Provider"
NO_WEBGPU = ("--disable-features=WebGPUService,Vulkan", "--disable-gpu")


def chromium():
    """The program; nothing where none is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Failure(Exception):
    """What went wrong in the browser."""


class Browser:
    """A browser with one page. Errors of the page and of its workers are kept in `errors`."""

    def __init__(self, program, *flags):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, ours_to_write = os.pipe()
        ours_to_read, from_browser = os.pipe()
        command = [program, *FLAGS, *flags, f"--user-data-dir={self.profile.name}", "about:blank"]

        def pipes():
            # The browser reads from 3 and writes to 4.
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            command, preexec_fn=pipes, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_browser)
        os.close(from_browser)
        self.write, self.read = ours_to_write, ours_to_read
        self.unread, self.numbers = b"", itertools.count(1)
        self.answers, self.events, self.errors = {}, [], []
        self.workers = []
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        self.attend(self.session)
        self.call("Page.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        os.close(self.write)
        os.close(self.read)
        self.profile.cleanup()

    def attend(self, session):
        """Hears what is said in a page or a worker, and attaches itself to its workers."""
        self.send("Runtime.enable", session)
        self.send("Log.enable", session)
        self.send("Target.setAutoAttach", session, autoAttach=True, waitForDebuggerOnStart=False, flatten=True)

    def send(self, method, session=None, **given):
        """Asks, without waiting for the answer."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": given}
        if session:
            message["sessionId"] = session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        return number

    def call(self, method, timeout=60, **given):
        """Asks, and waits for the answer."""
        number = self.send(method, self.session, **given)
        until = time.monotonic() + timeout
        while number not in self.answers:
            if not self.take(until - time.monotonic()):
                raise Failure(f"{method}: no answer within {timeout} s")
        answer = self.answers.pop(number)
        if "error" in answer:
            raise Failure(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def take(self, seconds):
        """Takes one message, if one comes in time."""
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.read], [], [], max(seconds, 0))
            if not ready:
                return False
            part = os.read(self.read, 1 << 20)
            if not part:
                raise Failure("the browser has ended")
            self.unread += part
        text, self.unread = self.unread.split(b"\0", 1)
        message = json.loads(text)
        if "id" in message:
            self.answers[message["id"]] = message
        else:
            self.hear(message)
        return True

    def hear(self, message):
        """Keeps errors, and attends to new workers."""
        method, given = message["method"], message["params"]
        if method == "Target.attachedToTarget" and given["targetInfo"]["type"] == "worker":
            self.workers.append(given["sessionId"])
            self.attend(given["sessionId"])
        elif method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.fault(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "assert", "warning"):
            self.fault(" ".join(str(part.get("value", part.get("description"))) for part in given["args"]))
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.fault(f"{given['entry']['text']} {given['entry'].get('url', '')}")
        else:
            self.events.append(message)

    def fault(self, text):
        """Keeps what must not be said."""
        if NO_ADAPTER not in text:
            self.errors.append(text)

    def open(self, address, timeout=60):
        """Opens an address, and waits until the page says that it is ready."""
        # An address that differs behind # alone would not load the page again.
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.wait("document.documentElement?.dataset.ready !== undefined", timeout)

    def run(self, script, timeout=60):
        """The value of a script in the page; a promise is awaited."""
        found = self.call("Runtime.evaluate", timeout, expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise Failure(f"{script}: {details.get('exception', {}).get('description', details['text'])}")
        return found["result"].get("value")

    def wait(self, condition, timeout=60):
        """Waits until a script is true; fails at once where the page has an error."""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            if self.run(f"Boolean({condition})", timeout):
                return
            if self.errors:
                raise Failure("\n".join(self.errors))
            self.take(0.05)
        raise Failure(f"{condition}: not so within {timeout} s")

    def click(self, selector):
        """Clicks on the middle of an element."""
        x, y = self.place(selector)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def place(self, selector, across=0.5, down=0.5):
        """A place within an element, which is brought into view."""
        return self.run(
            f"(() => {{ const it = document.querySelector({json.dumps(selector)}); it.scrollIntoView({{ block: 'center' }});"
            f" const box = it.getBoundingClientRect(); return [box.left + {across} * box.width, box.top + {down} * box.height]; }})()"
        )

    def mouse(self, kind, x, y):
        """A mouse event, with the left button."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=int(kind != "mouseReleased"), clickCount=1)

    def key(self, key):
        """Presses a key and lets it go."""
        codes = {"Tab": 9, "Enter": 13, " ": 32, "ArrowRight": 39, "ArrowLeft": 37}
        text = {"Enter": "\r", " ": " "}.get(key)
        given = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": codes[key]}
        self.call("Input.dispatchKeyEvent", type="keyDown", **given, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def choose(self, selector, path):
        """Chooses a file, as in the browser's dialog."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", files=[str(path)], nodeId=node)

    def drop(self, selector, path):
        """Drops a file on an element, as from the desktop."""
        x, y = self.place(selector)
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)

    def text(self, selector):
        """What an element says."""
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def download(self, folder, name, click):
        """The bytes of the file that a click hands to the downloads."""
        path = folder / name
        path.unlink(missing_ok=True)
        self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder), eventsEnabled=True)
        self.events.clear()
        self.run(click)
        until = time.monotonic() + 20
        # The file is there, and empty, before what is in it.
        is_end = lambda event: event["method"] == "Browser.downloadProgress" and event["params"]["state"] == "completed"
        while not any(map(is_end, self.events)):
            if not self.take(until - time.monotonic()):
                raise Failure(f"{name}: no download within 20 s")
        return path.read_bytes()

    def look(self, width, height=900, is_dark=False, is_still=False):
        """The window's size, and what its reader prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if is_still else "no-preference"},
        ]
        self.call("Emulation.setEmulatedMedia", features=features)

    def shoot(self, path):
        """A picture of the whole page."""
        # Two frames later what was asked for stands there.
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        height = self.run("Math.ceil(document.documentElement.scrollHeight)")
        width = self.run("innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))
