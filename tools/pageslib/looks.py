"""How the pages look: screenshots, accessibility, width, valid HTML."""

import json
import pathlib
import subprocess

from playwright.sync_api import Browser, Page, Response
from testlib.limits import PATIENCE_S
from testlib.service import Service

from .journey import REPLAY, ROOT, Visitor

NODE = ROOT / "vendor" / "node" / "node_modules"
RULES = pathlib.Path(__file__).with_name("html-validate.json")
THEMES = ("light", "dark")
WIDTHS = (1280, 390)
HEIGHT = 900
# Pages by name: the path, and who opens it.
PAGES = {
    "welcome": ("/ui", None),
    "sign-in": ("/ui/sign-in", None),
    "start": ("/ui", "key"),
    "jobs": ("/ui/jobs", "key"),
    "submit": ("/ui/submit", "key"),
    "verdict": ("verdict", "key"),
    "episode": ("episode", "key"),
    "scenarios": ("/ui/scenarios", "key"),
    "scenario": ("/ui/scenarios/cartpole_keepin", "key"),
    "cheats": ("/ui/scenarios/tabletop_reach/cheats", "key"),
    "arena": ("/ui/arena", "key"),
    "board": ("/ui/arena/cartpole_keepin", "key"),
    "submissions": ("/ui/submissions", "key"),
    "models": ("/ui/models", "key"),
    "model-question": ("model-question", "key"),
    "replay": ("replay", "key"),
    "season": ("/ui/arena/cartpole_keepin/season", "admin"),
    "season-open": ("/ui/arena/tabletop_reach/season", "admin"),
    "docs-decision": ("/ui/docs/2026-11-25-book", None),
    "keys": ("/ui/keys", "admin"),
    "operator": ("/ui/operator", "admin"),
    "accounts": ("/ui/accounts", "admin"),
    "servers": ("/ui/servers", "admin"),
    "storage": ("/ui/storage", "admin"),
    "workers": ("/ui/workers", "admin"),
    "community": ("/ui/community", "admin"),
    "publish": ("/ui/publish", "admin"),
    "collections": ("/ui/collections", "key"),
    "collection": ("/ui/collections/people", "key"),
    "reviews": ("/ui/reviews", "admin"),
    "webhooks": ("/ui/webhooks", "key"),
    "arena-submit": ("/ui/arena/cartpole_keepin/submit", "admin"),
    "docs": ("/ui/docs", None),
    "docs-page": ("/ui/docs/pages", None),
    "docs-scenarios": ("/ui/docs/scenarios", "key"),
    "docs-search": ("/ui/docs?q=robustness+clause", "key"),
    "key-question": ("key-question", "admin"),
    "worker-question": ("/ui/workers/gpu-08", "admin"),
    "scenario-delete": ("scenario-delete", "admin"),
    "verdict-review": ("verdict", "admin"),
    "missing": ("/ui/nothing", "key"),
}
# Pictures in the documentation: page, theme, width, height.
PICTURES = (
    ("start", "light", 1280),
    ("verdict", "light", 1280),
    ("episode", "dark", 1280),
    ("submit", "light", 1280),
    ("verdict", "dark", 390),
    ("scenario", "light", 1280),
)
MAX_PICTURE_BYTES = 60_000
# Pictures of the gallery: every page in both themes and widths, side by side, of this height.
GALLERY_HEIGHT = 400
GALLERY = pathlib.Path("images", "pages")
GALLERY_TEXT = """# Screenshots

Every page of the service, in light and dark, at 1280 and at 390 pixels, as `tools/check-pages --pictures` wrote them. What a page
shows is in [pages.md](pages.md).
"""


def run(browser: Browser, service: Service, found: dict[str, str], folder: pathlib.Path) -> None:
    """Looks at every page in both themes and widths; `found` has the paths of pages that the journey met."""
    axe = (NODE / "axe-core" / "axe.min.js").read_text()
    (folder / "html").mkdir()
    # A job that runs takes time from everything else, so its page comes first.
    live = found["live"]
    problems = visit(browser, service, found, {"live": (live, "key")}, axe, folder)
    cancelled = service.client(found["key"]).ask("POST", f"/verify/{live.rsplit('/')[-1]}/cancel")
    if cancelled.status != 200:
        problems.append(f"live: the job ended while its page was looked at: {cancelled.text()}")
    problems += visit(browser, service, found, PAGES, axe, folder)
    assert not problems, "\n".join(problems)


def visit(browser: Browser, service: Service, found: dict, pages: dict, axe: str, folder: pathlib.Path) -> list[str]:
    """Looks at these pages in both themes and widths; returns their problems."""
    problems = []
    for theme in THEMES:
        for width in WIDTHS:
            print(f"{len(pages)} pages: {theme}, {width} pixels wide", flush=True)
            options = {"color_scheme": theme, "viewport": {"width": width, "height": HEIGHT}}
            visitors = {who: Visitor(browser, service, **options) for who in {who for _, who in pages.values()}}
            for who, visitor in visitors.items():
                if who:
                    visitor.sign_in(found[who])
            for name, (path, who) in pages.items():
                problems += look(visitors[who], name, found.get(path, path), f"{theme}-{width}", axe, folder)
            for visitor in visitors.values():
                visitor.close()
    return problems


def reach(page: Page, path: str) -> Response:
    """Opens a page; that of a replay is the answer to a form."""
    response = page.goto(path, wait_until="load")
    if path.endswith(REPLAY):
        with page.expect_navigation(wait_until="load") as navigation:
            page.get_by_role("button", name="Replay it").click()
        response = navigation.value
    return response


def look(visitor: Visitor, name: str, path: str, kind: str, axe: str, folder: pathlib.Path) -> list[str]:
    """Opens a page, keeps its HTML and a screenshot, and returns its problems."""
    page = visitor.page
    response = reach(page, path)
    (folder / "html" / f"{name}.html").write_text(response.text())
    for details in page.locator("main details").all():
        details.evaluate("one => one.open = true")
    problems = []
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if overflow > 0:
        problems.append(f"{name} {kind}: {overflow} px wider than the window")
    page.evaluate(axe)
    violations = page.evaluate("axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations)")
    for violation in violations:
        targets = "; ".join(" ".join(map(str, node["target"])) for node in violation["nodes"][:4])
        problems.append(f"{name} {kind}: {violation['id']}: {violation['help']}: {targets}")
    for details in page.locator("main details").all():
        details.evaluate("one => one.open = false")
    page.screenshot(path=folder / f"{name}-{kind}.png")
    page.screenshot(path=folder / f"{name}-{kind}-full.png", full_page=True)
    return problems


def validate(folder: pathlib.Path) -> None:
    """Checks the HTML of all pages."""
    files = sorted((folder / "html").glob("*.html"))
    command = [NODE / ".bin" / "html-validate", "--config", RULES, "--formatter", "json", *files]
    # To a file, because the program ends before it has written a long text to a pipe.
    report = folder / "html.json"
    with open(report, "wb") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    found = [
        f"{pathlib.Path(result['filePath']).name}:{message['line']}: {message['ruleId']}: {message['message']}"
        for result in json.loads(report.read_text())
        for message in result["messages"]
    ]
    assert done.returncode == 0 and not found, "\n".join([*found, done.stderr])
    print(f"{len(files)} pages are valid HTML")


def write_pictures(folder: pathlib.Path, target: pathlib.Path) -> None:
    """Writes the pictures of the documentation, small enough for the repository."""
    target.mkdir(parents=True, exist_ok=True)
    for name, theme, width in PICTURES:
        picture = target / f"page-{name}-{theme}-{width}.webp"
        source = folder / f"{name}-{theme}-{width}.png"
        options = ["-loglevel", "error", "-y", "-i", source, "-c:v", "libwebp", "-quality", "78", picture]
        subprocess.run(["ffmpeg", *options], check=True, timeout=PATIENCE_S)
        size = picture.stat().st_size
        assert size <= MAX_PICTURE_BYTES, f"{picture.name} has {size} bytes"


def write_gallery(folder: pathlib.Path, docs: pathlib.Path) -> None:
    """Writes a picture of each page, and the text that shows all of them."""
    (docs / GALLERY).mkdir(parents=True, exist_ok=True)
    text = [GALLERY_TEXT]
    for name in ("live", *PAGES):
        sources = [folder / f"{name}-{theme}-{width}.png" for width in WIDTHS for theme in THEMES]
        inputs = [part for source in sources for part in ("-i", source)]
        scaled = [f"[{number}:v]scale=-2:{GALLERY_HEIGHT}[s{number}]" for number in range(len(sources))]
        stacked = "".join(f"[s{number}]" for number in range(len(sources))) + f"hstack=inputs={len(sources)}"
        picture = GALLERY / f"{name}.webp"
        options = ["-filter_complex", ";".join([*scaled, stacked]), "-c:v", "libwebp", "-quality", "70", docs / picture]
        command = ["ffmpeg", "-loglevel", "error", "-y", *inputs, *options]
        subprocess.run(command, check=True, timeout=PATIENCE_S)
        size = (docs / picture).stat().st_size
        assert size <= MAX_PICTURE_BYTES, f"{picture.name} has {size} bytes"
        title = name.replace("-", " ").capitalize()
        text.append(f"## {title}\n\n![The page: {title.lower()}]({picture})\n")
    (docs / "screenshots.md").write_text("\n".join(text))
