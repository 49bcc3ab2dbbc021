"""Runs the commands of a page, in the order of the page, and compares their output with what the page shows.

`console` blocks have commands after `$ ` and their output; a line `...` in it stands for any lines, `...` within a line for any
text. A block after `<!-- file: PATH -->` is written to that file. Standard library only: `tools/check-wheel` runs it in an
environment that has nothing but the wheel.
"""

import dataclasses
import os
import pathlib
import re
import secrets
import subprocess
import threading

BLOCK = re.compile(r"(?:^<!-- file: (?P<file>\S+) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
ANY = "..."
#: For all commands of a page; then the shell is killed, and with it the command that hangs.
LIMIT_S = 7200


@dataclasses.dataclass(frozen=True)
class Step:
    """A command with the output that the page shows, or a file to write."""

    command: str = ""
    output: str = ""
    file: str | None = None
    text: str = ""


class Difference(AssertionError):
    """A command whose output is not that of the page."""


def steps(page: str) -> list[Step]:
    found = []
    for block in BLOCK.finditer(page):
        if block["file"]:
            found.append(Step(file=block["file"], text=block["text"]))
        elif block["language"] == "console":
            parts = re.split(r"^\$ (.*)$", block["text"], flags=re.MULTILINE)
            pairs = zip(parts[1::2], parts[2::2], strict=True)
            found += [Step(command=command, output=output.strip("\n")) for command, output in pairs]
    return found


def matches(shown: str, said: str) -> bool:
    """True if `said` is what the page shows; trailing spaces do not count.

    >>> matches("a ... c\\n...\\nz", "a b c\\nd\\ne\\nz"), matches("a", "b"), matches("...\\nz", "z")
    (True, False, True)
    """
    lines = [line.rstrip() for line in shown.splitlines()]
    pattern = "".join(
        r"(?:.*\n)*?" if line == ANY else re.escape(line).replace(re.escape(ANY), ".*") + r"[ ]*\n" for line in lines
    )
    return re.fullmatch(pattern, said.rstrip("\n") + "\n" if said.strip() else "") is not None


def run(page: str, folder: pathlib.Path, shell: list[str], environment: dict[str, str]) -> int:
    """Runs a page in `folder`, with `shell` as the command that starts bash; returns the number of commands.

    Raises:
        Difference: the output of a command is another one.
    """
    count = 0
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen([*shell, "--noprofile", "--norc"], cwd=folder, env=environment, **options) as bash:
        limit = threading.Timer(LIMIT_S, bash.kill)
        limit.start()
        try:
            for step in steps(page):
                if step.file is not None:
                    path = folder / step.file
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(step.text)
                    continue
                said = ask(bash, step.command)
                if not matches(step.output, said):
                    raise Difference(f"$ {step.command}\n--- the page shows\n{step.output}\n--- but it is\n{said}")
                count += 1
        finally:
            limit.cancel()
            bash.kill()
    return count


def ask(bash: subprocess.Popen, command: str) -> str:
    """Runs a command in a shell that keeps its state, `$?` too; returns its output."""
    mark = secrets.token_hex(16)
    bash.stdin.write(f"{command} </dev/null\nassay_status=$?; printf '\\n%s\\n' {mark}; (exit $assay_status)\n")
    bash.stdin.flush()
    lines = []
    for line in bash.stdout:
        if line == f"{mark}\n":
            return "".join(lines).removesuffix("\n")
        lines.append(line)
    raise Difference(f"$ {command}\nthe shell ended:\n{''.join(lines)}")


def clean_environment() -> dict[str, str]:
    """Returns the environment without the settings of assay and of Python."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "PYTHON", "VIRTUAL_ENV"))}
