"""What reviewers, authors and operators do with the pages: publish a scenario, review a verdict, replace a key, read."""

import hashlib
import time

from playwright.sync_api import Browser, expect
from testlib.limits import PATIENCE_S
from testlib.service import Service, archive

from .journey import POLICIES, ROOT, Visitor, make_key

SCENARIO = ROOT / "scenarios" / "cartpole_keepin"
# Two submissions on two lanes, and a step of the grid at which they are published.
LONG_EPISODES = 1000


def run(browser: Browser, service: Service, found: dict[str, str]) -> dict[str, str]:
    """Does everything; returns the paths of more pages to look at, by name."""
    enter_season(service)
    admin = Visitor(browser, service)
    admin.sign_in(service.key)
    paths = {"scenario-delete": publish(admin), "key-question": replace_key(browser, service, admin)}
    review(admin, found["verdict"])
    season(admin)
    admin.close()
    paths["model-question"] = models(browser, service, found["key"])
    made = service.client().send_json("POST", "/workers", {"name": "gpu-08", "trusted": False})
    assert made.status == 201, made.text()
    read(browser, service)
    await_board(service)
    # It runs while the pages are looked at.
    return paths | {"live": start_long_job(service, found["key"], LONG_EPISODES)}


def scenario_archive(identifier: str, changes: dict[str, str] | None = None, more: dict[str, str] | None = None) -> bytes:
    """Returns the archive of the cart-pole with another id, other parts of its `scenario.toml`, and more files."""
    text = (SCENARIO / "scenario.toml").read_text()
    for old, new in {'id = "cartpole_keepin"': f'id = "{identifier}"', **(changes or {})}.items():
        assert old in text, old
        text = text.replace(old, new, 1)
    files = {"scenario.toml": text, "scene.xml": (SCENARIO / "scene.xml").read_text(), "README.md": "A copy.\n"}
    return archive(files | (more or {}))


def send_scenario(visitor: Visitor, content: bytes, tags: str = "") -> None:
    """Sends the form for publishing."""
    page = visitor.page
    page.goto("/ui/publish")
    page.get_by_label("Scenario: a zip").set_input_files(
        {"name": "scenario.zip", "mimeType": "application/zip", "buffer": content}
    )
    page.get_by_label("More tags").fill(tags)
    page.get_by_role("button", name="Check and publish").click()


def publish(admin: Visitor) -> str:
    """Publishes a scenario after a try that is refused, finds it, and returns the path of the question that deletes it."""
    page = admin.page
    send_scenario(admin, scenario_archive("twin", {"difficulty = 1": "difficulty = 9"}))
    expect(page.get_by_role("alert")).to_contain_text("difficulty")
    send_scenario(admin, scenario_archive("twin"), "balance, lesson")
    expect(page.get_by_role("status")).to_contain_text("It runs without a policy")
    expect(page.locator("main img")).to_have_count(1)
    page.goto("/ui/community")
    page.get_by_label("Words").fill("twin")
    page.get_by_role("button", name="Show").click()
    page.locator(".tiles a").first.click()
    expect(page.locator("dl")).to_contain_text("lesson")
    page.get_by_role("link", name="Delete this scenario").click()
    return page.url.removeprefix(admin.address)


def review(admin: Visitor, verdict: str) -> None:
    """Decides about a verdict; the decision stands beside it."""
    page = admin.page
    page.goto("/ui/reviews")
    expect(page.locator("h1")).to_have_text("Awaiting a review")
    page.goto(verdict)
    page.get_by_label("Decision").select_option("rejected")
    page.get_by_label("Reason").fill("It leaves the zone in each episode.")
    page.get_by_role("button", name="Record the decision").click()
    expect(page.locator("main")).to_contain_text("It leaves the zone in each episode.")


def season(admin: Visitor) -> None:
    """Opens a season, and closes it after a question."""
    page = admin.page
    for button, state in (("Open the season", "OPEN"), ("Close the season", "CLOS")):
        page.goto("/ui/arena/tabletop_reach")
        page.get_by_role("link", name="Open or close a season").click()
        if state != "OPEN":
            page.get_by_label("Entries that run again").fill("0")
            page.get_by_label("Publish its secrets").check()
        page.get_by_role("button", name=button).click()
        expect(page.locator("h1")).not_to_be_empty()
        page.goto("/ui/arena")
        expect(page.get_by_role("row", name="tabletop_reach")).to_contain_text(state)


def models(browser: Browser, service: Service, key: str) -> str:
    """Deletes a model after a question; returns the path of the question for another one. A third is not complete."""
    client = service.client(key)
    made = []
    for name, content, sent in (("old.onnx", b"old", 3), ("act.safetensors", b"act" * 1000, 3000), ("large.onnx", b"x" * (9 << 20), 8 << 20)):
        body = {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content), "name": name}
        upload = client.send_json("POST", "/models", body)
        assert upload.status == 201, upload.text()
        headers = {"content-type": "application/octet-stream", "upload-offset": "0"}
        answer = client.ask("PATCH", f"/models/{upload.json()['upload_id']}", content[:sent], headers)
        assert answer.status == 200, answer.text()
        made.append(body["sha256"])
    visitor = Visitor(browser, service)
    visitor.sign_in(key)
    page = visitor.page
    page.goto("/ui/models")
    page.get_by_role("row", name="old.onnx").get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete the model").click()
    expect(page.get_by_role("row", name="act.safetensors")).to_contain_text("READY")
    expect(page.get_by_role("row", name="large.onnx")).to_contain_text("UPLOADING")
    expect(page.get_by_role("row", name="old.onnx")).to_have_count(0)
    visitor.close()
    return f"/ui/models/{made[1]}"


def replace_key(browser: Browser, service: Service, admin: Visitor) -> str:
    """A key that is replaced ends its sessions, and the new one works; returns the path of the question."""
    key = make_key(admin, "to replace")
    visitor = Visitor(browser, service)
    visitor.sign_in(key)
    page = admin.page
    page.goto("/ui/keys")
    page.get_by_role("row", name="to replace").get_by_role("link", name="Revoke or replace").click()
    page.get_by_role("button", name="Replace it by a new one").click()
    new = page.locator("code.secret").inner_text()
    assert new != key
    visitor.page.goto("/ui/jobs")
    expect(visitor.page.get_by_label("API key")).to_be_visible()
    visitor.sign_in(new)
    visitor.close()
    page.goto("/ui/keys")
    page.get_by_role("row", name="to replace").get_by_role("link", name="Revoke or replace").first.click()
    return page.url.removeprefix(admin.address)


def read(browser: Browser, service: Service) -> None:
    """A stranger searches the documentation by keyboard, without JavaScript, and follows a result to its section."""
    visitor = Visitor(browser, service, java_script_enabled=False)
    page = visitor.page
    page.goto("/ui/docs")
    page.get_by_label("Search the documentation").focus()
    page.keyboard.type("temporal logic")
    page.keyboard.press("Enter")
    expect(page.locator("mark").first).to_be_visible()
    page.locator(".hits a").first.click()
    expect(page.locator("h1")).to_have_text("Signal temporal logic")
    visitor.close()


def start_long_job(service: Service, key: str, episodes: int) -> str:
    """Queues a job that runs for minutes; returns the path of its page."""
    policy = archive({"policy.py": (POLICIES / "reference" / "policy.py").read_text()})
    parts = {"scenario": "cartpole_keepin", "num_episodes": episodes}
    answer = service.client(key).upload("/verify", policy, parts)
    assert answer.status == 201, answer.text()
    return f"/ui/verifications/{answer.json()['job_id']}"


def enter_season(service: Service) -> None:
    """Enters the season of the cart-pole with a policy of each of two accounts."""
    for account, policy in (("swift", "reference"), ("slow", "reckless")):
        key = service.client().send_json(
            "POST", "/keys", {"name": "board", "account": account, "scopes": ["read", "submit"]}
        )
        assert key.status == 201, key.text()
        text = (POLICIES / policy / "policy.py").read_text()
        parts = {"scenario_id": "cartpole_keepin", "name": policy}
        answer = service.client(key.json()["key"]).upload("/submissions", archive({"policy.py": text}), parts)
        assert answer.status == 201, answer.text()


def await_board(service: Service) -> None:
    """Waits until both entries are published."""
    until = time.monotonic() + PATIENCE_S
    # While a busy service is not ready, it answers with an error.
    while (answer := service.client().ask("GET", "/leaderboard?scenario=cartpole_keepin")).json().get("total", 0) < 2:
        assert time.monotonic() < until, f"the board was not filled within {PATIENCE_S} s: {answer.text()}"
        time.sleep(1)
