"""Paths, and problems as they are reported."""

import dataclasses
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
PYTHON = ROOT / "vendor" / "dev-venv" / "bin" / "python"


@dataclasses.dataclass(frozen=True)
class Problem:
    """A mistake in a file, with its line if that is known."""

    file: pathlib.Path
    line: int
    text: str

    def __str__(self) -> str:
        shown = self.file.relative_to(ROOT) if self.file.is_relative_to(ROOT) else self.file
        return f"{shown}:{self.line}: {self.text}" if self.line else f"{shown}: {self.text}"


def pages() -> list[pathlib.Path]:
    """Returns the Markdown files that are checked: those of the root, all of docs/, and those of scenarios and robots."""
    described = [page for folder in ("scenarios", "robots") for page in sorted((ROOT / folder).glob("*/README.md"))]
    return [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")), *described]
