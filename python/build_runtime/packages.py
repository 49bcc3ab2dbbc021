"""The packages of a runtime: installed from a list of requirements, or copied from an environment."""

import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

from failure import Failure

# Never copied: installers, and files for compilers and type checkers.
SKIPPED_PACKAGES = ("pip", "pip-*", "setuptools", "setuptools-*", "_distutils_hack", "wheel", "wheel-*", "pkg_resources")
SKIPPED_FILES = ("__pycache__", "*.pyi", "*.a", "*.pxd", "*.pc", "*.pth", "*.virtualenv", "direct_url.json")
# Omitted from packages whose other parts never use them. numpy/f2py is no such part: `scipy.spatial` imports it.
SKIPPED_PARTS = ("numpy/**/tests", "numpy/**/include", "numpy/distutils", "onnxruntime/transformers", "onnxruntime/tools",
                 "onnxruntime/quantization", "onnxruntime/datasets")  # fmt: skip
PIP_LIMIT_S = 3600


def install(requirements: pathlib.Path, target: pathlib.Path) -> None:
    """Installs the requirements, wheels only, into the folder `target`. Hashes are checked if the file has any."""
    options = ["--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary=:all:", "--no-warn-conflicts"]
    if "--hash=" in requirements.read_text():
        options += ["--require-hashes", "--no-deps"]
    command = [*pip(), "install", *options, "--target", target, "-r", requirements]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PIP_LIMIT_S)
    if done.returncode != 0:
        raise Failure(f"could not install {requirements}:\n{tail(done.stderr)}")
    shutil.rmtree(target / "bin", ignore_errors=True)
    strip(target)


def pip() -> list[str | os.PathLike]:
    """Returns the command that starts pip: the interpreter's own, or the wheel that comes with it."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    spec = importlib.util.find_spec("ensurepip")
    folders = [pathlib.Path(spec.origin).parent / "_bundled"] if spec and spec.origin else []
    folders.append(pathlib.Path("/usr/share/python-wheels"))
    wheels = [wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))]
    if not wheels:
        raise Failure(f"{sys.executable} has no pip; install the package python3-pip")
    return [sys.executable, wheels[0] / "pip"]


def copy_installed(target: pathlib.Path) -> list[str]:
    """Copies the packages of the environment that runs this program; returns what could not be copied, in words."""
    folders = dict.fromkeys(pathlib.Path(sysconfig.get_path(name)) for name in ("purelib", "platlib"))
    notes = []
    for folder in folders:
        for link in sorted(folder.glob("*.pth")):
            text = link.read_text(errors="replace")
            places = [line for line in text.splitlines() if line.startswith("/")]
            if places or link.name.startswith("__editable__"):
                notes.append(f"{link.name}: packages installed in editable mode are not copied; install them as wheels")
        shutil.copytree(
            folder, target, ignore=shutil.ignore_patterns(*SKIPPED_PACKAGES, *SKIPPED_FILES),
            copy_function=shutil.copyfile, dirs_exist_ok=True,
        )  # fmt: skip
    strip(target)
    return notes


def strip(packages: pathlib.Path) -> None:
    """Removes what no policy imports."""
    for pattern in SKIPPED_PARTS:
        for path in list(packages.glob(pattern)):
            shutil.rmtree(path, ignore_errors=True)
    for pattern in SKIPPED_FILES:
        for path in list(packages.rglob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def versions(packages: pathlib.Path) -> dict[str, str]:
    """Returns the version of every installed distribution, by its normalised name."""
    found = importlib.metadata.distributions(path=[str(packages)])
    return dict(sorted((normalised(one.metadata["Name"]), one.version) for one in found if one.metadata["Name"]))


def normalised(name: str) -> str:
    """Returns a distribution's name as indexes compare it (PEP 503)."""
    return "-".join(part for part in name.lower().replace("_", "-").replace(".", "-").split("-") if part)


def modules(packages: pathlib.Path) -> list[str]:
    """Returns the public top-level modules of all installed distributions."""
    found = set()
    for one in importlib.metadata.distributions(path=[str(packages)]):
        for file in one.files or ():
            first = file.parts[0]
            name = first.removesuffix(".py") if len(file.parts) == 1 else first
            is_module = len(file.parts) > 1 and (packages / first / "__init__.py").is_file() or first.endswith(".py")
            if is_module and name.isidentifier() and not name.startswith("_"):
                found.add(name)
    return sorted(found)


def tail(text: str, lines: int = 20) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])
