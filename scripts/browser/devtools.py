"""Headless Chromium with one page, driven by Playwright."""

import time

from playwright.sync_api import sync_playwright

import common

# On the CPU, even if there is a GPU.
WEBGPU = ("--enable-unsafe-webgpu", "--enable-unsafe-swiftshader", "--use-webgpu-adapter=swiftshader")
NO_WEBGPU = ("--disable-features=WebGPUService,Vulkan", "--disable-gpu")
# Message of Chromium when a page then requests an adapter.
NO_ADAPTER = "Failed to create WebGPU Context Provider"


class Failure(Exception):
    """A thing that is not as it should be."""


class Browser:
    """A browser with one page. Errors and warnings of the page and of its workers are kept in `errors`."""

    def __init__(self, *flags):
        self.errors = []
        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(executable_path=common.chromium(), args=["--no-sandbox", *flags])
        self.page = self.browser.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self.hear)
        self.protocol = self.page.context.new_cdp_session(self.page)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.close()
        self.playwright.stop()

    def hear(self, message):
        """Keeps what must not be said."""
        if message.type in ("error", "assert", "warning") and NO_ADAPTER not in message.text:
            self.errors.append(f"{message.text} {message.location['url']}")

    def open(self, address, timeout=60):
        """Opens an address, and waits until the page says that it is ready."""
        # An address that differs only after # would not reload the page.
        self.page.goto("about:blank")
        self.page.goto(address)
        self.wait("document.documentElement?.dataset.ready !== undefined", timeout)

    def run(self, script):
        """The value of a script in the page; a promise is awaited."""
        return self.page.evaluate(script)

    def wait(self, condition, timeout=60):
        """Waits until a script is true; fails at once where the page has an error."""
        until = time.monotonic() + timeout
        while not self.run(f"Boolean({condition})"):
            if self.errors or time.monotonic() > until:
                raise Failure("\n".join(self.errors) or f"{condition}: not so within {timeout} s")
            self.page.wait_for_timeout(50)

    def click(self, selector):
        self.page.click(selector)

    def place(self, selector, across=0.5, down=0.5):
        """A place within an element, which is brought into view."""
        element = self.page.locator(selector).first
        element.scroll_into_view_if_needed()
        box = element.bounding_box()
        return box["x"] + across * box["width"], box["y"] + down * box["height"]

    def choose(self, selector, path):
        """Chooses a file, as in the browser's dialog."""
        self.page.set_input_files(selector, path)

    def drop(self, selector, path):
        """Drops a file on an element, as from the desktop."""
        x, y = self.place(selector)
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.protocol.send("Input.dispatchDragEvent", {"type": kind, "x": x, "y": y, "data": data})

    def text(self, selector):
        """The text of an element."""
        return self.page.text_content(selector)

    def download(self, name, click):
        """The bytes of the file of this name that a click hands to the downloads."""
        with self.page.expect_download(timeout=20_000) as download:
            self.run(click)
        if download.value.suggested_filename != name:
            raise Failure(f"{name}: the download is named {download.value.suggested_filename}")
        return download.value.path().read_bytes()

    def look(self, width, height=900, is_dark=False):
        """The window's size, and the colours that its reader prefers."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme="dark" if is_dark else "light")

    def shoot(self, path):
        """A picture of the whole page."""
        self.page.screenshot(path=path, full_page=True)
