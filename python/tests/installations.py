"""Machines that the programs do not support, and what the package leaves behind."""

import contextlib
import io
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from unittest import mock

import assay
from assay import _home, envs
from assay.__main__ import main

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSTALL = ROOT / "packaging" / "install.sh"
LOADER, ABSENT_LOADER = b"/lib64/ld-linux-x86-64.so.2", b"/lib64/ld-absent-x86-64.so2"


class Installation(unittest.TestCase):
    """A folder with programs for another loader, which is what a system with musl sees in those of the wheel."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="assay-installation-")))
        (self.folder / "bin").mkdir()
        real = pathlib.Path("/bin/true").read_bytes()
        self.assertEqual(real.count(LOADER), 1)
        for name in ("assay", "assay-lane"):
            self.program = self.folder / "bin" / name
            self.program.write_bytes(real.replace(LOADER, ABSENT_LOADER))
            self.program.chmod(0o755)
        self.program = self.folder / "bin" / "assay"
        runtimes = self.folder / "vendor" / "runtimes"
        runtimes.mkdir(parents=True)
        places = {"HOME": self.folder, "PROGRAM": self.program, "RUNTIMES": runtimes}
        self.enterContext(mock.patch.multiple(_home, **places))
        self.runtimes = runtimes

    def fails(self) -> str:
        """Returns the message with which the command ends."""
        with self.assertRaises(SystemExit) as caught:
            main()
        return str(caught.exception.code)


class Refusals(Installation):
    def test_another_processor_or_system(self) -> None:
        with mock.patch.object(platform, "machine", return_value="aarch64"):
            self.assertEqual(self.fails(), "assay: assay needs Linux on x86-64; this is linux on aarch64")
            with mock.patch.dict(os.environ), self.assertRaisesRegex(assay.errors.ProgramError, "this is linux on aarch64"):
                os.environ.pop("ASSAY_PROGRAM", None)
                assay.verify("policy.py", scenario="cartpole_keepin")
        with mock.patch.object(sys, "platform", "darwin"):
            self.assertIn("assay needs Linux on x86-64; this is darwin on", self.fails())

    def test_musl(self) -> None:
        expected = rf"cannot start {self.program} \(No such file or directory\): the programs need glibc \(not musl\)"
        self.assertRegex(self.fails(), f"^assay: {expected}")
        with mock.patch.dict(os.environ, {"ASSAY_PROGRAM": str(self.program), "ASSAY_HOME": str(ROOT)}):
            with self.assertRaisesRegex(assay.errors.ProgramError, expected):
                assay.verify("policy.py", scenario="cartpole_keepin")
            with self.assertRaisesRegex(envs.NotInstalled, r"need glibc \(not musl\)"):
                envs.AssayEnv("cartpole_keepin")

    def test_no_program(self) -> None:
        self.program.unlink()
        self.assertRegex(self.fails(), "is missing: install the wheel, which contains it$")


class Script(Installation):
    """The install script of the archive."""

    def install(self, **machine: str) -> subprocess.CompletedProcess[str]:
        shutil.copy(INSTALL, self.folder)
        commands = self.folder / "commands"
        commands.mkdir(exist_ok=True)
        answers = {"-s": "Linux", "-m": "x86_64"} | {f"-{name}": value for name, value in machine.items()}
        cases = " ".join(f"{option}) echo {answer} ;;" for option, answer in answers.items())
        (commands / "uname").write_text(f"#!/bin/sh\ncase $1 in {cases} esac\n")
        (commands / "uname").chmod(0o755)
        path = {"PATH": f"{commands}:{os.environ['PATH']}", "HOME": str(self.folder)}
        return subprocess.run(
            [self.folder / INSTALL.name, "--prefix", self.folder / "prefix"], capture_output=True, text=True, env=path
        )

    def test_other_machines_are_refused_and_nothing_is_installed(self) -> None:
        for machine, message in (
            ({"m": "aarch64"}, "these programs are for x86-64; this machine is aarch64"),
            ({"s": "Darwin"}, "assay runs on Linux only; this is Darwin"),
            ({}, "the programs do not start here; they need glibc (not musl)"),
        ):
            done = self.install(**machine)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(f"install.sh: {message}", done.stderr)
            self.assertFalse((self.folder / "prefix").exists())


class Leftovers(Installation):
    def test_the_unpacked_runtime_can_be_removed(self) -> None:
        with tarfile.open(self.runtimes / "base.tar.xz", "w:xz") as archive:
            archive.add(ROOT / "python" / "runtime_check", "base")
        (self.runtimes / "added").mkdir()
        _home.unpack("base")
        self.assertTrue((self.runtimes / "base" / "import_all.py").is_file())
        said = io.StringIO()
        with mock.patch.object(sys, "argv", ["assay", "--remove-unpacked"]), contextlib.redirect_stdout(said):
            main()
        self.assertEqual(said.getvalue(), f"removed {self.runtimes / 'base'}\n")
        self.assertEqual(sorted(path.name for path in self.runtimes.iterdir()), ["added", "base.tar.xz"])
        _home.unpack("base")
        self.assertTrue((self.runtimes / "base").is_dir(), "the next use unpacks it again")

    def test_the_runtime_is_unpacked_by_pythons_without_filters(self) -> None:
        """Debian 12 has Python 3.11.2, whose `extractall` does not know the argument."""
        with tarfile.open(self.runtimes / "base.tar.xz", "w:xz") as archive:
            archive.add(ROOT / "python" / "runtime_check", "base")
        unfiltered = tarfile.TarFile.extractall

        def earlier(archive: tarfile.TarFile, path: pathlib.Path) -> None:
            unfiltered(archive, path)

        with mock.patch.object(tarfile.TarFile, "extractall", earlier), mock.patch.object(tarfile, "tar_filter"):
            del tarfile.tar_filter
            _home.unpack("base")
        self.assertTrue((self.runtimes / "base" / "import_all.py").is_file())


if __name__ == "__main__":
    unittest.main()
