"""The documentation in a browser: page.py ADDRESS PROFILE [PICTURES]. Opens the page in Chromium, with PROFILE as its own folder,
and prints as JSON what a reader sees (`headings`, `navigation`, `code`), what it asked for (`requests`), and what it complained of
(`errors`). With PICTURES, screenshots go to that folder: light and dark, wide and narrow.
"""

import base64
import json
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import httpx
from websockets.sync.client import connect

LIMIT_S = 300
# No look-up and no address beside this machine, and nothing of the browser's own.
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-port=0",
)
HAS = "[...document.querySelectorAll('#reference :is(h1, h2, h3)')].some((one) => one.textContent.trim() === 'TEXT')"
ENTRY = "[...document.querySelectorAll('#reference aside a')].find((one) => one.textContent.startsWith('Verify a policy'))"
SEEN = """(() => {
  const texts = (selector) => [...document.querySelectorAll(selector)].map((one) => one.textContent.trim());
  return {
    headings: texts("#reference h1, #reference h2, #reference h3"),
    navigation: texts("#reference nav a, #reference aside a, #reference aside button"),
    code: texts("#reference pre"),
  };
})()"""


class Browser:
    """A page, by the protocol of Chromium's developer tools."""

    def __init__(self, socket):
        self.socket, self.ids, self.requests, self.errors = socket, count(1), [], []
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        number = next(self.ids)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=LIMIT_S))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.note(message)

    def note(self, message):
        told = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
            case "Network.webSocketCreated":
                self.requests.append(told["url"])
            case "Network.loadingFailed":
                self.errors.append(f"not loaded: {told}")
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.errors.append(told["entry"]["text"])
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                self.errors.append(str([argument.get("value", argument) for argument in told["args"]]))
            case "Runtime.exceptionThrown":
                self.errors.append(str(told["exceptionDetails"]))

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)["result"].get("value")

    def wait(self, what, expression):
        until = time.monotonic() + LIMIT_S
        while not self.evaluate(expression):
            assert time.monotonic() < until, f"the page never had {what}: {self.errors}"
            time.sleep(0.1)

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait("an introduction", HAS.replace("TEXT", "Events"))

    def show_operation(self):
        """Operations are drawn when they are looked at."""
        self.wait("an entry in the navigation", f"Boolean({ENTRY})")
        self.evaluate(f"{ENTRY}.click()")
        self.wait("an operation", HAS.replace("TEXT", "Verify a policy"))
        # What comes late would be seen too.
        self.evaluate("new Promise((done) => setTimeout(done, 1000))")

    def picture(self, path):
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


def take_pictures(browser, address, folder):
    for scheme in ("light", "dark"):
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.call("Emulation.setEmulatedMedia", features=media)
        for width in (1280, 400):
            browser.call(
                "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
            )
            browser.call("Page.navigate", url="about:blank")
            browser.open(address)
            browser.picture(f"{folder}/{scheme}-{width}.png")
            browser.show_operation()
            browser.picture(f"{folder}/{scheme}-{width}-operation.png")


def main(address, profile, pictures=None):
    chromium = subprocess.Popen(
        ["chromium", *OPTIONS, f"--user-data-dir={profile}", "about:blank"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        active = Path(profile, "DevToolsActivePort")
        until = time.monotonic() + LIMIT_S
        while not active.exists() or len(active.read_text().split()) < 2:
            assert time.monotonic() < until and chromium.poll() is None, "chromium does not start: run tools/setup --dev"
            time.sleep(0.05)
        port = active.read_text().split()[0]
        pages = httpx.get(f"http://127.0.0.1:{port}/json/list").json()
        page = next(page for page in pages if page["type"] == "page")
        with connect(page["webSocketDebuggerUrl"], max_size=None) as socket:
            browser = Browser(socket)
            browser.open(address)
            browser.show_operation()
            seen = browser.evaluate(SEEN)
            if pictures:
                take_pictures(browser, address, pictures)
        print(json.dumps(seen | {"requests": browser.requests, "errors": browser.errors}))
    finally:
        chromium.kill()
        chromium.wait()


main(*sys.argv[1:])
