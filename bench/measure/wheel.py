"""Measures the CPU time from a wheel to the first verdict: installing it, unpacking the runtime, and `assay demo`."""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from .common import LIMIT_S, environment, result

TARGET = ("<=", 30)
MAX_REPETITIONS = 2


def run(bench):
    wheels = sorted((bench.root / "target" / "packages").glob("assay_verify-*.whl"))
    if not wheels:
        print("wheel: there is none in target/packages; run `make dist` first", file=sys.stderr)
        return []
    parts = [seconds(wheels[-1]) for _ in range(min(bench.repetitions, MAX_REPETITIONS))]
    row = result("from wheel to first verdict, CPU", [sum(part.values()) for part in parts], TARGET, " s")
    row["detail"] = {f"{name}, s": value for name, value in parts[-1].items()}
    return [row]


def seconds(wheel):
    """Returns the CPU seconds of each part, all processes included."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-wheel-") as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        program = folder / "venv" / "bin" / "assay"
        pip = [folder / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet"]
        return {
            "pip install": cpu_of([*pip, wheel], folder),
            "first start, which unpacks the runtime": cpu_of([program, "--version"], folder),
            "assay demo, with its video": cpu_of([program, "demo", "--out", "demo"], folder),
        }


def cpu_of(command, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment(), check=True, capture_output=True, timeout=LIMIT_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
