"""Strings that try to break out: sent by policies, policy servers, scenarios and users, and opened on every page that shows
them."""

import re
import time
import urllib.parse

from playwright.sync_api import Browser, Page
from testlib.limits import PATIENCE_S
from testlib.service import Service, archive

from . import hostile_servers
from .community import scenario_archive, send_scenario
from .hostile_text import text
from .journey import Visitor

# A key may send 60 GET requests a minute.
POLL_S = 1.1
FINAL = ("COMPLETED", "FAILED", "CANCELLED")
# What nothing on a page may be: an element of a hostile string, or an address that runs code.
FOREIGN = "img[src='x'], [onerror], [onload], a[href^='javascript:'], main script, iframe, object"


def run(browser: Browser, service: Service) -> None:
    """Sends hostile strings wherever one may, and opens the pages that show them."""
    admin = Visitor(browser, service)
    admin.page.on("dialog", lambda dialog: admin.wrong.append(f"dialog: {dialog.message} ({admin.page.url})"))
    admin.sign_in(service.key)
    shown: set[str] = set()
    scenario = publish(admin, shown)
    make_key(admin, shown)
    refused = submit_broken(admin, shown)
    model = announce(service)
    jobs = [run_job(service, scenario, source) for source in (RAISES, VIOLATES)]
    submission = enter(service)
    with hostile_servers.running() as addresses:
        served = [run_server(service, address) for address in addresses]
        try_server(admin, addresses[0], shown)
        jobs += served
        for job in jobs:
            wait(service, f"/verify/{job}")
    admin.page.goto(f"/ui/verifications/{jobs[1]}")
    admin.page.get_by_label("Decision").select_option("rejected")
    admin.page.get_by_label("Reason").fill(text("REASON") + " javascript:alert(1)")
    admin.page.get_by_role("button", name="Record the decision").click()
    check(admin.page, shown)
    wait(service, f"/submissions/{submission}")
    paths = [
        *(f"/ui/verifications/{job}" for job in jobs),
        *(f"/ui/verifications/{job}/episodes/0" for job in jobs),
        *(f"/verify/{job}/report" for job in jobs),
        *(f"/ui/scenarios/{scenario}{rest}" for rest in ("", "?version=1.0.0", "/delete")),
        f"/ui/arena/{scenario}",
        f"/ui/arena/{scenario}/submit",
        f"/ui/submit?scenario={urllib.parse.quote(text('QUERY'))}",
        f"/ui/submissions/{submission}",
        *("/ui", "/ui/jobs", "/ui/submissions", "/ui/community", "/ui/scenarios", "/ui/reviews", "/ui/operator"),
        *(f"/ui/models{rest}" for rest in ("", f"/{model}", f"/{urllib.parse.quote(text('QUERY'))}")),
        f"/ui/arena/{scenario}/season",
        *("/ui/keys", "/ui/webhooks", "/ui/accounts", "/ui/servers", "/ui/arena"),
        *(f"/ui/{page}{urllib.parse.quote(text('QUERY'))}" for page in ("docs?q=", "scenarios?q=", "community?q=")),
        *(f"/ui/{page}{urllib.parse.quote(text('QUERY'))}" for page in ("jobs?status=", "community?author=", "scenarios/")),
    ]
    for path in paths:
        admin.page.goto(path)
        check(admin.page, shown)
    missing = MARKERS - shown
    assert not missing, f"no page shows {sorted(missing)}; then this test looks at nothing"
    assert refused
    admin.close()


# The strings of which a page must show each as text.
MARKERS = {
    *("TITLE", "DESCRIPTION", "CLAUSE", "STANDARD", "LABEL", "STORY", "KEY", "RAISED", "POLICY", "ENTRY", "ABOUT"),
    *("REASON", "QUERY", "IMPORT", "MODEL", *hostile_servers.SERVER_MARKERS),
}
RAISES = f"def policy(observation):\n    raise ValueError({text('RAISED')!r})\n"
VIOLATES = "import numpy as np\n\n\ndef policy(observation):\n    return np.array([12.0])\n"


def check(page: Page, shown: set[str]) -> None:
    """Fails if anything of a hostile string became part of the page; notes the strings that it shows."""
    for details in page.locator("main details").all():
        details.evaluate("one => one.open = true")
    found = page.evaluate("typeof pwned !== 'undefined'")
    assert not found, f"code ran on {page.url}"
    foreign = page.locator(FOREIGN)
    assert foreign.count() == 0, f"{page.url}: {foreign.first.evaluate('one => one.outerHTML')}"
    words = page.locator("body").inner_text()
    values = page.evaluate("[...document.querySelectorAll('input, textarea')].map((one) => one.value).join(' ')")
    shown.update(marker for marker in MARKERS if re.search(rf"{marker}<script>", words + values))


def publish(admin: Visitor, shown: set[str]) -> str:
    """Publishes a scenario all of whose texts are hostile; returns its id."""

    def toml(marker: str) -> str:
        return text(marker).replace("\\", "\\\\").replace('"', '\\"')

    story = f"# {text('STORY')}\n\n[a](javascript:alert(1)) <a href='javascript:alert(1)'>b</a> ![x](x)\n\n{text('STORY')}\n"
    changes = {
        'name = "Cart-pole in a marked zone"': f'name = "{toml("TITLE")}"',
        'description = "Keep a pole': f'description = "{toml("DESCRIPTION")} Keep a pole',
        'title = "The cart stays': f'title = "{toml("CLAUSE")} The cart stays',
        'standard = "Project limit: marked': f'standard = "{toml("STANDARD")} Project limit: marked',
        'description = "Cart speed': f'description = "{toml("LABEL")} Cart speed',
    }
    send_scenario(admin, scenario_archive("hostile", changes, {"README.md": story}), text("TAGS"))
    check(admin.page, shown)
    send_scenario(admin, scenario_archive("hostile", changes, {"README.md": story}))
    check(admin.page, shown)
    assert "TITLE" in shown, admin.page.locator("main").inner_text()
    return admin.page.locator("dl code").first.inner_text()


def make_key(admin: Visitor, shown: set[str]) -> None:
    """Makes a key with a hostile name, and one that is refused for its account."""
    for account in (text("ACCOUNT"), "lab"):
        admin.page.goto("/ui/keys")
        admin.page.get_by_label("Name").fill(text("KEY"))
        admin.page.get_by_label("Account").evaluate("(field, value) => { field.removeAttribute('maxlength'); field.value = value; }", account)
        admin.page.get_by_label("read", exact=True).check()
        admin.page.get_by_role("button", name="Make the key").click()
        check(admin.page, shown)


def submit_broken(admin: Visitor, shown: set[str]) -> bool:
    """Submits a policy that fails with a hostile message, and the address of a policy server that is refused."""
    page = admin.page
    source = f"import sys\nsys.stderr.write({text('LOG')!r})\nraise ImportError({text('IMPORT')!r})\n"
    page.goto("/ui/submit")
    content = {"name": f"{text('FILE')}.zip", "mimeType": "application/zip", "buffer": archive({"policy.py": source})}
    page.get_by_label("Policy: a zip").set_input_files(content)
    page.get_by_role("button", name="Verify", exact=True).click()
    page.get_by_role("alert").wait_for()
    check(page, shown)
    page.goto("/ui/submit")
    page.locator("summary").first.click()
    page.get_by_label("Address").fill("ws://127.0.0.1:1/" + text("SERVER"))
    page.get_by_role("button", name="Verify", exact=True).click()
    page.get_by_role("alert").wait_for()
    check(page, shown)
    return True


def run_job(service: Service, scenario: str, source: str) -> str:
    """Queues a policy with a hostile name, with a webhook at a hostile address; returns the job's id."""
    client = service.client()
    client.ask("POST", "/webhooks/secret")
    url = "https://hooks.invalid/HOOK<script>pwned=1</script>'><img/src=x/onerror=pwned=1>?token=1"
    parts = {"scenario": scenario, "num_episodes": 1, "policy_name": text("POLICY"), "callback_url": url}
    answer = client.upload("/verify", archive({"policy.py": source}), parts)
    assert answer.status == 201, answer.text()
    return answer.json()["job_id"]


def run_server(service: Service, address: str) -> str:
    """Queues a verification of a policy server; returns the job's id."""
    parts = {"scenario": "cartpole_keepin", "num_episodes": 1, "policy_url": address, "policy_name": text("POLICY")}
    answer = service.client().upload("/verify", None, parts)
    assert answer.status == 201, answer.text()
    return answer.json()["job_id"]


def try_server(admin: Visitor, address: str, shown: set[str]) -> None:
    """Submits a policy server whose error the preflight finds."""
    page = admin.page
    page.goto("/ui/submit")
    page.locator("summary").first.click()
    page.get_by_label("Address").fill(address)
    page.get_by_role("button", name="Verify", exact=True).click()
    page.get_by_role("alert").wait_for()
    check(page, shown)


def announce(service: Service) -> str:
    """Announces a model with a hostile name; returns the id of its upload."""
    answer = service.client().send_json("POST", "/models", {"sha256": "0" * 64, "size_bytes": 1, "name": text("MODEL")})
    assert answer.status == 201, answer.text()
    return answer.json()["upload_id"]


def enter(service: Service) -> str:
    """Submits a policy with a hostile name and description to the cart-pole's season; returns its id."""
    parts = {"scenario_id": "cartpole_keepin", "name": text("ENTRY"), "description": text("ABOUT")}
    answer = service.client().upload("/submissions", archive({"policy.py": VIOLATES}), parts)
    assert answer.status == 201, answer.text()
    return answer.json()["submission_id"]


def wait(service: Service, path: str) -> None:
    """Waits until a job has ended, as far as its account sees."""
    until = time.monotonic() + PATIENCE_S
    while service.client().ask("GET", path).json()["status"] not in FINAL:
        assert time.monotonic() < until, f"{path} did not end within {PATIENCE_S} s"
        time.sleep(POLL_S)
