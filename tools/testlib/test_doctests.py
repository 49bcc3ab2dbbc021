"""Tests of the program that runs the examples in documentation only where there are some."""

import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).with_name("doctests")


class Doctests(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        rustdoc = self.folder / "rustdoc"
        rustdoc.write_text('#!/bin/sh\necho "rustdoc $*"\n')
        rustdoc.chmod(0o755)
        self.root = self.folder / "src" / "lib.rs"
        self.root.parent.mkdir()
        self.root.write_text("//! No code.\nmod inner;\n")

    def run_on(self, *words: str) -> str:
        environment = os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}"}
        return subprocess.run([PROGRAM, *words], env=environment, check=True, capture_output=True, text=True).stdout

    def test_a_crate_without_examples_is_not_read(self) -> None:
        self.assertEqual(self.run_on("--crate-name", "a", "--test", str(self.root)), "")

    def test_examples_run_wherever_they_are(self) -> None:
        (self.root.parent / "inner.rs").write_text("    /// ```\n    /// assert!(true);\n    /// ```\n    fn f() {}\n")
        self.assertEqual(self.run_on("--test", str(self.root)), f"rustdoc --test {self.root}\n")

    def test_other_uses_are_those_of_rustdoc(self) -> None:
        self.assertEqual(self.run_on("-vV"), "rustdoc -vV\n")


if __name__ == "__main__":
    unittest.main()
