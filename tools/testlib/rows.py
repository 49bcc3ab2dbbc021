"""Rows of tables that tests run: a test with many cases in a table counts as many.

While tests run, `ASSAY_TEST_ROWS` names a folder in which a test writes a file with the table's name and its number of rows.
"""

import contextlib
import pathlib
import re
import shutil
from collections.abc import Iterator

VARIABLE = "ASSAY_TEST_ROWS"
NAME = re.compile(r"[A-Za-z0-9_.-]+")


@contextlib.contextmanager
def counted(folder: pathlib.Path) -> Iterator[dict[str, str]]:
    """Empties the folder, and yields the variable with its path."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.chmod(0o777)  # some tests run as another user
    yield {VARIABLE: str(folder)}


def read(folder: pathlib.Path) -> dict[str, int]:
    """Returns the number of rows of each table.

    Raises:
        ValueError: a file is no table's.
    """
    found = {}
    for file in sorted(folder.iterdir()) if folder.is_dir() else []:
        content = file.read_text().strip()
        if not NAME.fullmatch(file.name) or not content.isdecimal():
            raise ValueError(f"{file}: a table's name and its number of rows are expected, not {content[:40]!r}")
        found[file.name] = int(content)
    return found
