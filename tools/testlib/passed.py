"""When stages passed last, and with which inputs: a file in target/test-logs."""

import dataclasses
import json
import pathlib
import threading
import time


@dataclasses.dataclass(frozen=True)
class Pass:
    """A stage that passed: the hash of its inputs, when it ended, and what it took."""

    inputs: str
    at: str
    wall_s: float
    cpu_s: float


class Passes:
    """The last pass of each stage; a stage that has begun again or failed since has none."""

    def __init__(self, file: pathlib.Path) -> None:
        self.file = file
        self.lock = threading.Lock()
        try:
            self.known = {name: Pass(**found) for name, found in json.loads(file.read_text()).items()}
        except (OSError, ValueError, TypeError, AttributeError):
            self.known = {}

    def find(self, name: str, inputs: str | None) -> Pass | None:
        """Returns the last pass of a stage if it had these inputs."""
        found = self.known.get(name)
        return found if found and found.inputs == inputs else None

    def forget(self, name: str) -> None:
        """Records that a stage begins."""
        with self.lock:
            self.known.pop(name, None)
            self._write()

    def add(self, name: str, inputs: str, wall_s: float, cpu_s: float) -> None:
        """Records that a stage passed now."""
        with self.lock:
            self.known[name] = Pass(inputs, time.strftime("%Y-%m-%d %H:%M"), round(wall_s, 1), round(cpu_s, 1))
            self._write()

    def _write(self) -> None:
        fresh = self.file.with_suffix(".new")
        text = {name: dataclasses.asdict(found) for name, found in self.known.items()}
        fresh.write_text(json.dumps(text, indent=1) + "\n")
        fresh.replace(self.file)
