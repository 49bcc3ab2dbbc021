"""Python in documents: it compiles, uses the package as the package is typed, and examples with `>>>` run."""

import ast
import doctest
import io
import os
import pathlib
import re
import subprocess
import tempfile

from testlib.limits import PATIENCE_S

from .common import PYTHON, ROOT, TARGET, Problem
from .markdown import Block

#: What mypy cannot know of an excerpt: names defined elsewhere, packages that are not installed.
TOLERATED = ("name-defined", "import-not-found", "import-untyped", "top-level-await", "no-redef")
MESSAGE = re.compile(r"^(?:.*/)?block_(\d+)\.py:(\d+): error: (.*)$")
Blocks = list[tuple[pathlib.Path, Block]]


def check(blocks: Blocks) -> list[Problem]:
    problems, plain = [], []
    for file, block in blocks:
        if ">>>" in block.text:
            problems += run_examples(file, block)
            continue
        try:
            compile(block.text, str(file), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except SyntaxError as error:
            problems.append(Problem(file, block.line + (error.lineno or 0), f"does not compile: {error.msg}"))
            continue
        plain.append((file, block))
    return problems + check_types(plain)


def run_examples(file: pathlib.Path, block: Block) -> list[Problem]:
    output = io.StringIO()
    test = doctest.DocTestParser().get_doctest(block.text, {}, file.name, str(file), block.line)
    failed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.write).failed
    return [Problem(file, block.line, f"an example has another result:\n{output.getvalue()}")] if failed else []


def check_types(blocks: Blocks) -> list[Problem]:
    """Returns the uses of the package that its types forbid: unknown functions, arguments and attributes."""
    if not blocks:
        return []
    with tempfile.TemporaryDirectory(prefix="assay-book-") as scratch:
        names = []
        for number, (_, block) in enumerate(blocks):
            names.append(f"block_{number}.py")
            pathlib.Path(scratch, names[-1]).write_text(block.text)
        tolerated = [word for code in TOLERATED for word in ("--disable-error-code", code)]
        options = ["--cache-dir", TARGET / "mypy-book", "--no-error-summary", "--check-untyped-defs", *tolerated]
        environment = os.environ | {"MYPYPATH": str(ROOT / "python")}
        done = subprocess.run(
            [PYTHON, "-m", "mypy", *options, *names], cwd=scratch, env=environment, capture_output=True, text=True,
            timeout=PATIENCE_S,
        )
    problems = []
    for line in done.stdout.splitlines() + done.stderr.splitlines():
        found = MESSAGE.match(line)
        if found:
            file, block = blocks[int(found[1])]
            problems.append(Problem(file, block.line + int(found[2]), found[3]))
        elif ": note: " not in line:
            problems.append(Problem(PYTHON, 0, line))
    return problems
