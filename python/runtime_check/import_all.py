"""Imports every public top-level module of the installed packages, and every public package inside those of the shipped
runtimes, in a policy's jail, and reports the failures.

    python3 import_all.py [MODULE]     only the modules that come after MODULE, at which an earlier process died

Prints `> MODULE` before each import, `! ERROR` after a failed one, and `.` at the end.
"""

import importlib
import importlib.metadata
import importlib.util
import json
import pathlib
import sys
import tempfile
import warnings

MAX_MESSAGE_CHARS = 300
# The packages of requirements/runtimes of which policies import parts, and SciPy, which users add most.
SHIPPED = ("numpy", "scipy", "onnxruntime", "flatbuffers", "packaging", "google", "torch", "torchvision", "safetensors",
           "einops", "lerobot", "diffusers")  # fmt: skip
# Parts that no policy needs: for compilers, for tests, for training on several machines, and what building leaves out.
OTHERS = ("tests", "test", "testing", "conftest", "backend", "distutils", "distributed", "onnx", "utils", "tools", "transformers",
          "quantization", "datasets", "scripts", "robots", "cameras", "motors", "teleoperators", "rl", "async_inference")  # fmt: skip


def is_public(parts: tuple[str, ...]) -> bool:
    """Returns whether a package is one that a policy may import."""
    inside = parts[1:]
    return len(parts) > 1 and not any(part.startswith("_") or part in OTHERS for part in inside)


def modules() -> list[str]:
    """Returns the public top-level modules, and the packages inside shipped ones: first those that every policy's process imports, then the others by name.

    Some can be tried only once in a process, and would fail with another reason if another module had tried before.
    """
    names = set()
    for distribution in importlib.metadata.distributions():
        for file in distribution.files or ():
            first = file.parts[0]
            name = first.removesuffix(".py")
            is_package = len(file.parts) == 2 and file.parts[1] == "__init__.py"
            if (is_package or (len(file.parts) == 1 and first.endswith(".py"))) and not name.startswith("_"):
                names.add(name)
            if first in SHIPPED and file.parts[-1] == "__init__.py" and is_public(file.parts[:-1]):
                names.add(".".join(file.parts[:-1]))
    try:
        first = [name for name in json.loads(pathlib.Path("/manifest.json").read_text())["imports"] if name in names]
    except OSError:
        first = []
    return first + sorted(name for name in names if name.replace(".", "_").isidentifier() and name not in first)


def main() -> None:
    warnings.simplefilter("ignore")
    if importlib.util.find_spec("lerobot"):
        # As in the runner.
        tempfile.tempdir = "/"
    after = sys.argv[1] if len(sys.argv) > 1 else ""
    names = modules()
    for name in names[names.index(after) + 1 :] if after in names else names:
        print(f"> {name}", flush=True)
        try:
            importlib.import_module(name)
        except BaseException as error:  # noqa: BLE001
            text = " ".join(str(error).split())[:MAX_MESSAGE_CHARS]
            print(f"! {type(error).__name__}: {text}", flush=True)
    print(".", flush=True)


main()
