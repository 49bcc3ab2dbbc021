"""The notebook of the book, run cell by cell as Jupyter does, on a machine without a display."""

import os
import pathlib
import re
import shlex
import tempfile
import unittest
from unittest import mock

import nbformat
from nbclient import NotebookClient
from service import PROGRAM
from testlib.limits import PATIENCE_S

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "docs" / "notebook" / "verify.ipynb"
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")
SMALL_VIDEO = "320x180@5"
#: The folder by which the OpenGL libraries find Mesa; without its files there is no EGL.
DRIVERS = "/usr/share/glvnd"


class Notebook(unittest.TestCase):
    """Runs every cell; a cell that raises fails the test."""

    def run_cells(self, **variables: str) -> list[dict]:
        """Runs the notebook in a folder of its own; returns the outputs of each code cell."""
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        folder = self.enterContext(tempfile.TemporaryDirectory())
        os.chmod(folder, 0o755)  # the jail's user works in a folder inside
        environment = {name: value for name, value in os.environ.items() if name not in DISPLAYS}
        places = dict.fromkeys(("TMPDIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"), folder)
        environment |= {"ASSAY_VIDEO": SMALL_VIDEO} | places | variables
        with mock.patch.dict(os.environ, environment, clear=True):
            place = {"metadata": {"path": folder}}
            NotebookClient(notebook, kernel_name="python3", timeout=PATIENCE_S, resources=place).execute()
        return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]

    def check(self, cells: list[dict], picture: str) -> None:
        """Checks the outputs; `picture` begins the address of the picture of a result."""
        shown = [output for outputs in cells for output in outputs if output.output_type == "execute_result"]
        results = [output.data for output in shown if "text/html" in output.data]
        self.assertEqual(len(results), 2)
        for data, identity in zip(results, ("declared", "measured"), strict=True):
            self.assertRegex(data["text/plain"], rf"^<assay: UNSAFE, .* 1 episode of .* policy identity {identity},")
            self.assertIn(f'src="{picture}', data["text/html"])
            self.assertEqual("no episode has a video" in data["text/html"], "image" in picture)
            self.assertRegex(data["text/html"], r"<td>contact_force</td><td>critical</td><td [^>]*>-4\d\d(\.\d)? N</td>")
        said = "".join(output.text for outputs in cells for output in outputs if output.output_type == "stream")
        self.assertIn("worst: The arm does not press on posts, table or floor (contact_force) in episode 0, from ", said)
        self.assertIn("declared: False  measured: True\nthe same verdict: True\n", said)
        self.assertTrue(re.search(r"ends at 0\.90 s; [1-9]\d of 100 steps with a violation", said), said)

    def test_is_stored_without_outputs(self) -> None:
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            self.assertFalse(cell.get("outputs") or cell.get("execution_count"), cell.source)

    def test_without_a_display_shows_a_video(self) -> None:
        self.check(self.run_cells(), "data:video/mp4;base64,")

    def test_without_opengl_shows_a_picture(self) -> None:
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        hidden = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", DRIVERS, str(PROGRAM)]
        (folder / "assay").write_text(f'#!/bin/sh\nexec {shlex.join(hidden)} "$@"\n')
        (folder / "assay").chmod(0o755)
        (folder / "assay-lane").symlink_to(PROGRAM.resolve().with_name("assay-lane"))
        self.check(self.run_cells(ASSAY_PROGRAM=str(folder / "assay")), "data:image/png;base64,")


if __name__ == "__main__":
    unittest.main()
