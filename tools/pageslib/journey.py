"""What a person does with the pages: signs in, submits a policy, watches it, looks at the worst moment, revokes a key."""

import contextlib
import pathlib
import re
from collections.abc import Iterator

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from testlib.limits import PATIENCE_S
from testlib.service import Service, archive

ROOT = pathlib.Path(__file__).resolve().parents[2]
POLICIES = ROOT / "examples" / "policies" / "cartpole_keepin"
EPISODES = 2
# The end of a path to the page of a replay, which is the answer to a form of the verdict's page.
REPLAY = "#replay"
# Whether the line in every plot stands at the time of the video.
LINES_FOLLOW = """() => {
  const time = document.getElementById("video").currentTime;
  return [...document.querySelectorAll("svg.signal")].every((svg) => {
    const { left, right, end } = svg.dataset;
    const x = Number(left) + (right - left) * Math.min(1, time / end);
    return Math.abs(svg.querySelector(".cursor").getAttribute("x1") - x) < 0.01;
  });
}"""
expect.set_options(timeout=1000 * PATIENCE_S)
# What Chromium says about an answer that refuses a form, or a page that is not there.
STATUS = re.compile(r"the server responded with a status of 4(00|04|22) ")
# What it says about a connection that this test has cut.
CUT = re.compile(r"net::ERR_INTERNET_DISCONNECTED|net::ERR_NETWORK_CHANGED")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium that resolves no name of another host."""
    options = ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=options)
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """A browser window with cookies of its own, which notes what must not happen."""

    def __init__(self, browser: Browser, service: Service, **options):
        self.address = f"http://{service.address}"
        self.wrong: list[str] = []
        self.context: BrowserContext = browser.new_context(base_url=self.address, **options)
        self.context.set_default_timeout(1000 * PATIENCE_S)
        self.page: Page = self.context.new_page()
        self.page.on("console", self._note_message)
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.context.on("request", self._note_request)

    def _note_message(self, message) -> None:
        expected = CUT.search(message.text) or STATUS.search(message.text)
        if message.type in ("error", "warning") and not expected:
            self.wrong.append(f"console: {message.text} ({self.page.url})")

    def _note_request(self, request) -> None:
        if not request.url.startswith((self.address + "/", "data:", "blob:")):
            self.wrong.append(f"request to {request.url} ({self.page.url})")

    def sign_in(self, key: str) -> None:
        self.page.goto("/ui")
        self.page.get_by_role("link", name="Sign in").first.click()
        self.page.get_by_label("API key").fill(key)
        self.page.locator("main").get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("button", name="Sign out")).to_be_visible()

    def submit(self, policy: str, episodes: int) -> None:
        """Submits an example policy by the form."""
        self.page.goto("/ui/submit")
        files = {"policy.py": (POLICIES / policy / "policy.py").read_text()}
        content = {"name": f"{policy}.zip", "mimeType": "application/zip", "buffer": archive(files)}
        self.page.get_by_label("Policy: a zip").set_input_files(content)
        self.page.get_by_label("Scenario").select_option("cartpole_keepin")
        self.page.get_by_label("Another number of episodes").fill(str(episodes))
        self.page.get_by_role("button", name="Verify", exact=True).click()

    def close(self) -> None:
        """Closes the window; fails if anything went wrong in it."""
        self.context.close()
        assert not self.wrong, "\n".join(self.wrong)


def run(browser: Browser, service: Service) -> dict[str, str]:
    """Does everything; returns the paths of pages to look at, by name, and the keys in `key` and `admin`."""
    admin = Visitor(browser, service)
    admin.sign_in(service.key)
    key = make_key(admin, "pages")
    person = Visitor(browser, service)
    person.sign_in(key)
    refuse_broken(person)
    verdict = watch(person)
    episode = look_at_the_worst(person, verdict)
    replay(person, verdict)
    play_clips(person)
    person.close()
    without_javascript(browser, service, key)
    revoke(browser, service, admin)
    create_worker(admin)
    admin.close()
    return {"key": key, "admin": service.key, "verdict": verdict, "episode": episode, "replay": verdict + REPLAY}


def make_key(admin: Visitor, name: str) -> str:
    """Makes a key that may verify and read, on the page of the operator."""
    page = admin.page
    page.goto("/ui/keys")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Account").fill("lab")
    for scope in ("verify", "read"):
        page.get_by_label(scope, exact=True).check()
    page.get_by_role("button", name="Make the key").click()
    return page.locator("code.secret").inner_text()


def create_worker(admin: Visitor) -> None:
    """Creates a worker, whose token is shown once, and revokes it after a question."""
    page = admin.page
    page.goto("/ui/workers")
    page.get_by_label("Name").fill("gpu-07")
    page.get_by_role("button", name="Create the worker").click()
    token = page.locator("code.secret").inner_text()
    page.goto("/ui/workers")
    assert token not in page.content()
    page.get_by_role("link", name="Drain or revoke").click()
    page.get_by_role("button", name="Revoke the worker").click()
    expect(page.get_by_role("region", name="All workers")).to_contain_text("REVOKED")


def refuse_broken(person: Visitor) -> None:
    """A policy that fails is not queued; the page says why."""
    page = person.page
    page.goto("/ui/submit")
    broken = archive({"policy.py": "import no_such_module\n"})
    page.get_by_label("Policy: a zip").set_input_files(
        {"name": "broken.zip", "mimeType": "application/zip", "buffer": broken}
    )
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("no_such_module")


def watch(person: Visitor) -> str:
    """Submits a policy and watches it, with a connection that is lost in between; returns the path of its page."""
    page = person.page
    person.submit("reckless", EPISODES)
    page.wait_for_url("**/ui/verifications/*")
    person.context.set_offline(True)
    expect(page.locator(".lost")).to_be_visible()
    person.context.set_offline(False)
    expect(page.locator("section.verdict")).to_contain_text("UNSAFE")
    expect(page.locator("section.verdict .why")).to_contain_text(", peak ")
    expect(page.locator("ul.cells a")).to_have_count(EPISODES)
    expect(page.locator("[data-poll]")).to_have_count(0)
    return page.url.removeprefix(person.address)


def look_at_the_worst(person: Visitor, verdict: str) -> str:
    """From the verdict to the worst moment in two clicks, then by keyboard; returns the path of the episode."""
    page = person.page
    page.goto(verdict)
    page.locator(".still figcaption a").click()
    video, worst = page.locator("#video"), page.get_by_role("link", name="worst").first
    page.locator("#video").evaluate("video => new Promise(done => video.readyState ? done() : (video.onloadedmetadata = done))")
    time = float(worst.get_attribute("data-seek"))
    worst.click()
    assert abs(video.evaluate("video => video.currentTime") - time) < 0.01, "the worst moment is one click away"
    onset = page.get_by_role("link", name="onset").first
    onset.focus()
    page.keyboard.press("Enter")
    at_onset = video.evaluate("video => video.currentTime")
    assert abs(at_onset - float(onset.get_attribute("data-seek"))) < 0.01
    plot = page.locator("svg.signal").first
    plot.click(position={"x": plot.bounding_box()["width"] / 2, "y": 20})
    assert video.evaluate("video => video.currentTime") != at_onset, "a click into a plot moves the video"
    page.wait_for_function(LINES_FOLLOW)
    # The first stop of the keyboard leads past the navigation.
    page.goto(verdict)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    # The browser tells of the new fragment a moment after the key.
    expect(page).to_have_url(re.compile("#content$"))
    return page.locator("ul.cells a").first.evaluate("link => new URL(link.href).pathname")


def replay(person: Visitor, verdict: str) -> None:
    """Asks for a replay on the verdict's page; it is bit-identical."""
    page = person.page
    page.goto(verdict)
    page.get_by_label("Episode", exact=True).fill("1")
    page.get_by_role("button", name="Replay it").click()
    expect(page.locator("h1")).to_have_text("Replay of episode 1")
    expect(page.get_by_role("status")).to_contain_text("BIT-IDENTICAL")


def play_clips(person: Visitor) -> None:
    """Plays the videos of a scenario's known answers, of which nothing is loaded before."""
    page = person.page
    page.goto("/ui/scenarios/tabletop_reach")
    videos = page.locator(".clips video")
    expect(videos).to_have_count(2)
    for video in videos.all():
        assert video.evaluate("video => video.readyState") == 0, "nothing is loaded before it is played"
        end = video.evaluate("async video => { await video.play(); video.currentTime = video.duration - 0.5; return video.duration; }")
        assert end > 1, f"a video of {end} s"
        video.evaluate("video => new Promise((done) => (video.ended ? done() : (video.onended = done)))")


def without_javascript(browser: Browser, service: Service, key: str) -> None:
    """Reading, signing in and submitting need no script; a live page loads itself again."""
    visitor = Visitor(browser, service, java_script_enabled=False)
    visitor.sign_in(key)
    visitor.submit("reference", 1)
    expect(visitor.page.locator("section.verdict")).to_contain_text("SAFE")
    visitor.page.locator("ul.cells a").first.click()
    expect(visitor.page.locator("h1")).to_have_text("Episode 0")
    visitor.close()


def revoke(browser: Browser, service: Service, admin: Visitor) -> None:
    """A key that is revoked ends its sessions; the page asks first."""
    key = make_key(admin, "to revoke")
    visitor = Visitor(browser, service)
    visitor.sign_in(key)
    page = admin.page
    page.goto("/ui/keys")
    page.get_by_role("row", name="to revoke").get_by_role("link", name="Revoke").click()
    page.get_by_role("button", name="Revoke the key").click()
    expect(page.get_by_role("row", name="to revoke")).to_contain_text("revoked")
    visitor.page.goto("/ui/jobs")
    expect(visitor.page.get_by_label("API key")).to_be_visible()
    visitor.close()
