"""Runs the steps of a composite action as GitHub's runner does: expressions, conditions, and the files that steps
write."""

import os
import pathlib
import re
import subprocess

from .limits import PATIENCE_S

EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
REFERENCE = re.compile(r"inputs\.([\w-]+)|steps\.([\w-]+)\.outputs\.([\w-]+)")
COMPARISON = re.compile(r"(\S+) (==|!=) '([^']*)'")


class ActionRun:
    """A run of an action in `workspace`, with the given inputs and environment. `code` is that of the first failed
    step."""

    def __init__(self, action: dict, inputs: dict[str, str], workspace: pathlib.Path, environment: dict[str, str]) -> None:
        unknown = set(inputs) - set(action["inputs"])
        missing = {
            name for name, about in action["inputs"].items() if about.get("required") and name not in inputs
        }
        if unknown or missing:
            raise ValueError(f"unknown inputs {unknown}, missing inputs {missing}")
        self.inputs = {name: str(about.get("default", "")) for name, about in action["inputs"].items()} | inputs
        self.workspace, self.environment = workspace, dict(environment)
        self.files = pathlib.Path(environment["RUNNER_TEMP"])
        self.outputs: dict[str, dict[str, str]] = {}
        self.code, self.log, self.used = 0, "", list[tuple[str, dict[str, str]]]()
        self.summary = ""
        for number, step in enumerate(action["runs"]["steps"]):
            if self.is_run(step.get("if")):
                self.run(number, step)
        self.results = {name: self.expanded(about["value"]) for name, about in action.get("outputs", {}).items()}

    def is_run(self, condition: str | None) -> bool:
        """Returns whether a step is run: without `always()`, not after a failure."""
        text = EXPRESSION.sub(lambda found: found[1], condition or "")
        terms = [term for term in text.split(" && ") if term]
        if "always()" not in terms and self.code:
            return False
        return all(self.holds(term) for term in terms if term != "always()")

    def holds(self, term: str) -> bool:
        found = COMPARISON.fullmatch(term)
        if found is None:
            raise ValueError(f"this runner does not know the condition {term!r}")
        return (self.value(found[1]) == found[3]) == (found[2] == "==")

    def value(self, reference: str) -> str:
        found = REFERENCE.fullmatch(reference)
        if found is None:
            raise ValueError(f"this runner does not know the expression {reference!r}")
        return self.inputs[found[1]] if found[1] else self.outputs.get(found[2], {}).get(found[3], "")

    def expanded(self, text: str) -> str:
        return EXPRESSION.sub(lambda found: self.value(found[1]), str(text))

    def run(self, number: int, step: dict) -> None:
        if "uses" in step:
            self.used.append((step["uses"], {name: self.expanded(value) for name, value in step["with"].items()}))
            return
        if step["shell"] != "bash":
            raise ValueError(f"a composite action's step needs `shell: bash`, not {step['shell']}")
        written = {name: self.files / f"{name}-{number}" for name in ("OUTPUT", "ENV", "PATH", "STEP_SUMMARY")}
        for file in written.values():
            file.write_text("")
        variables = {f"GITHUB_{name}": str(file) for name, file in written.items()}
        variables |= {name: self.expanded(value) for name, value in step.get("env", {}).items()}
        script = self.files / f"step-{number}.sh"
        script.write_text(self.expanded(step["run"]))
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script], cwd=self.workspace, text=True, timeout=PATIENCE_S,
            env=self.environment | variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        self.log += f"## {step['name']}\n{done.stdout}"
        self.code = self.code or done.returncode
        self.outputs[step.get("id", str(number))] = pairs(written["OUTPUT"])
        self.environment |= pairs(written["ENV"])
        added = written["PATH"].read_text().split("\n")[:-1]
        self.environment["PATH"] = os.pathsep.join([*reversed(added), self.environment["PATH"]])
        self.summary += written["STEP_SUMMARY"].read_text()


def pairs(file: pathlib.Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines())
