"""The checks find what they are for. Run by `tools/check-book` before anything else."""

import os
import pathlib
import tempfile
import unittest

from . import blocks, build, commands, common, links, markdown, python_blocks, transcript

ASSAY = pathlib.Path(os.environ.get("ASSAY_PROGRAM", common.TARGET / "debug" / "assay")).absolute()


def of_script(text: str) -> str | None:
    return blocks.check_commands(text, ASSAY)


class Commands(unittest.TestCase):
    """Against the program itself."""

    def test_known_commands(self) -> None:
        for script in (
            "assay verify p --scenario tabletop_reach --episodes 3 --out out   # a comment",
            "KEY=a sudo -u assay assay keys list --data data | grep x && assay doctor --jail > log 2>&1",
            "uvx --from ./a.whl assay demo", "assay verify p \\\n  --scenario s", "assay verify p --scenario s --episodes N",
            "tools/test fmt; make test", "cd assay && git clone assay",
        ):
            self.assertIsNone(of_script(script), script)

    def test_unknown_commands(self) -> None:
        for script, expected in {
            "assay verify p --scenario s --bogus": "--bogus",
            "cat x | assay verfy p": "verfy",
            "sudo -u assay assay keys lst": "lst",
            "uvx --from ./a.whl assay demo --nothing 1": "--nothing",
            "assay verify p --scenario s --episodes three": "three",
            "assay verify p --scenario s \\\n  --sed 7": "--sed",
            "assay doctor extra": "extra",
            "make nothing": "nothing",
            "tools/nothing": "does not exist",
        }.items():
            self.assertIn(expected, of_script(script) or "no problem", script)

    def test_console(self) -> None:
        self.assertEqual(commands.of_console("$ a \\\n  b\nassay no command\n$ c\n"), "a \\\n  b\nc")


class Pages(unittest.TestCase):
    """Pages with one mistake each."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def problems(self, text: str) -> list[str]:
        page = self.folder / f"page{len(list(self.folder.iterdir()))}.md"
        page.write_text(text)
        return [problem.text for problem in [*links.check_file(page), *blocks.check([page], ASSAY)]]

    def test_correct(self) -> None:
        text = '# A `b`: c\n\n[x](#a-b-c)\n\n```json\n{"a": 1}\n```\n\n<!-- unchecked: a reason -->\n```nginx\nx\n```\n'
        self.assertEqual(self.problems(text), [])
        self.assertEqual(self.problems("`assay verify --out` and `assay replay report.json [--episode K]`\n"), [])

    def test_mistakes(self) -> None:
        for text, expected in {
            "[x](nothing.md)\n": "nothing.md does not exist",
            "# A\n\n[x](#b)\n": "no such heading",
            "```json\n{\n```\n": "invalid json",
            "```toml\na = \n```\n": "invalid toml",
            "```yaml\na: [\n```\n": "invalid yaml",
            "```js\nlet = = 1;\n```\n": "node refuses it",
            "```sh\nif true\n```\n": "bash refuses it",
            "```sh\nassay verify p --bogus\n```\n": "--bogus",
            "Text `assay verify p --bogus` text.\n": "--bogus",
            "Text\n\n    assay doctor\n": "cannot be checked",
            "```nginx\nx\n```\n": "cannot be checked",
            "```python\nif True\n```\n": "does not compile",
            "```python\n>>> 1 + 1\n3\n```\n": "another result",
            "```python\nimport assay\nassay.verify('p', scenario='s', episode=3)\n```\n": '"episode"',
            "```python\nimport assay\nassay.verfy('p')\n```\n": "verfy",
        }.items():
            self.assertIn(expected, "\n".join(self.problems(text)), text)

    def test_a_page_that_is_not_in_the_index(self) -> None:
        (self.folder / "index.md").write_text("# A\n\n## B\n\n- [known](known.md): a page\n")
        for name in ("known", "forgotten"):
            (self.folder / f"{name}.md").write_text("# A\n")
        self.assertEqual([problem.file.name for problem in links.check_index(self.folder)], ["forgotten.md"])

    def test_html(self) -> None:
        links = '<p id="x"><a href="#y">1</a><a href="#x">2</a><a href="b.html">3</a>'
        (self.folder / "a.html").write_text(f'{links}<script src="//host/x.js"></script>')
        (self.folder / "a.css").write_text("@import 'https://host/a.css'; p { background: url(b.png) }")
        found = "\n".join(map(str, build.check(self.folder)))
        for expected in ("#y does not exist", "b.html leads nowhere", "//host/x.js from another", "//host/a.css from another"):
            self.assertIn(expected, found)
        self.assertNotIn("b.png", found)
        self.assertNotIn("#x", found)


class Transcripts(unittest.TestCase):
    """Pages whose commands run."""

    def run_page(self, page: str) -> int:
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        return transcript.run(page, folder, ["bash"], dict(os.environ))

    def test_true(self) -> None:
        file = "<!-- file: a/b.txt -->\n```text\nx\ny\n```\n\n"
        commands = "$ cat a/b.txt\n...\ny\n$ cd a\n$ (exit 3)\n$ echo $?\n3\n"
        self.assertEqual(self.run_page(f"{file}```console\n{commands}```\n"), 4)

    def test_false(self) -> None:
        for text in ("$ echo a\nb\n", "$ echo a\n", "$ true\na\n", "$ exit\n"):
            with self.assertRaises(transcript.Difference, msg=text):
                self.run_page(f"```console\n{text}```\n")


class Blocks(unittest.TestCase):
    """The reader of Markdown."""

    def test_blocks(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "a.md")
            page.write_text("1. x\n\n   ```sh\n   y\n   ```\n\n<!-- unchecked: z -->\n```python\nz\n```\n")
            found = markdown.read(page).blocks
        parts = [(block.language, block.text, block.unchecked) for block in found]
        self.assertEqual(parts, [("sh", "y\n", False), ("python", "z\n", True)])
        self.assertEqual(python_blocks.check([]), [])
