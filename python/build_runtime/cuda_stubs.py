"""Stand-ins for CUDA's libraries, for a PyTorch that was built for GPUs: PyPI has no other for Linux on x86-64.

Such a torch does not load without these libraries, 3 GB that are of no use in a jail. Here each is replaced by one with
the names that torch looks for, as functions that return 100 (cudaErrorNoDevice): `torch.cuda.is_available()` is False
then, and everything else works on the processor. Needs gcc, nm and readelf.
"""

import pathlib
import re
import shutil
import subprocess
import tempfile
from collections import defaultdict

from failure import Failure

MARK = pathlib.PurePath("torch", "lib", "libtorch_cuda.so")
PROGRAMS = ("gcc", "nm", "readelf", "ldconfig")
NAME = re.compile(r"[A-Za-z_]\w*")
LIMIT_S = 300


def write(site_packages: pathlib.Path) -> list[str]:
    """Writes the libraries that torch needs and lacks; returns their names."""
    if not (site_packages / MARK).exists():
        return []
    folder = (site_packages / MARK).parent
    users = [*folder.glob("*.so*"), *site_packages.glob("torch/*.so"), *site_packages.glob("torchvision/*.so")]
    absent = sorted({name for user in users for name in needed(user)} - present(site_packages) - set(system()))
    if not absent:
        return []
    lacking = [program for program in PROGRAMS if shutil.which(program, path=search_path()) is None]
    if lacking:
        raise Failure(
            f"this torch is built for GPUs and needs {', '.join(absent[:3])}, ...; install a build for CPUs, or "
            f"{', '.join(lacking)}, with which stand-ins for these libraries are made"
        )
    versions, names = wanted(users)
    for library in absent:
        compile_stub(folder / library, versions.get(library, set()), names)
    return absent


def present(site_packages: pathlib.Path) -> set[str]:
    return {file.name for file in site_packages.rglob("*.so*")}


def system() -> dict[str, str]:
    """Returns the libraries of this machine by name."""
    lines = [line.split() for line in output("ldconfig", "-p").splitlines() if "=>" in line and "x86-64" in line]
    return {line[0]: line[-1] for line in lines}


def needed(library: pathlib.Path) -> set[str]:
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", library)))


def wanted(users: list[pathlib.Path]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Returns the versions that each library must have, and the undefined names by version ("" for none)."""
    versions, undefined, defined = defaultdict(set), set(), set()
    for user in users:
        lines = output("nm", "-D", "--undefined-only", user).splitlines()
        undefined |= {line.split()[-1] for line in lines if " U " in line}
        defined |= exported(user)
        library = None
        for line in output("readelf", "-V", user).splitlines():
            if "Version symbols" in line or "Version definition" in line:
                library = None
            elif match := re.search(r"Version: 1\s+File: (\S+)", line):
                library = match[1]
            elif (match := re.search(r"Name: (\S+)\s+Flags", line)) and library:
                versions[library].add(match[1])
    for path in {path for user in users for name, path in system().items() if name in needed(user)}:
        defined |= exported(pathlib.Path(path))
    names = defaultdict(set)
    for symbol in undefined:
        name, _, version = symbol.replace("@@", "@").partition("@")
        if name not in defined and NAME.fullmatch(name) and not name.startswith(("Py", "_Py")):
            names[version].add(name)
    return versions, names


def exported(library: pathlib.Path) -> set[str]:
    lines = output("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line.strip()}


def compile_stub(target: pathlib.Path, versions: set[str], names: dict[str, set[str]]) -> None:
    """Writes a library with the names of its versions, or with those of no version if it has none."""
    inside = sorted(set().union(*(names.get(version, set()) for version in versions or {""})))
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder, "stub.c"), pathlib.Path(folder, "stub.map")
        source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in inside))
        options = ["-w", "-fno-builtin", "-shared", "-fPIC", f"-Wl,-soname,{target.name}", "-Wl,--build-id=none"]
        if versions:
            listed = {version: " ".join(f"{name};" for name in sorted(names.get(version, ()))) for version in versions}
            nodes = [f"{version} {{ global: {listed[version] or '*;'} }};\n" for version in sorted(versions)]
            script.write_text("".join(nodes))
            options.append(f"-Wl,--version-script={script}")
        done = subprocess.run(["gcc", *options, "-o", target, source], capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode != 0:
            raise Failure(f"could not compile a stand-in for {target.name}: {done.stderr[-500:]}")


def output(program: str, *arguments: str | pathlib.Path) -> str:
    found = shutil.which(program, path=search_path())
    if found is None:
        return ""
    return subprocess.run([found, *arguments], capture_output=True, text=True, timeout=LIMIT_S).stdout


def search_path() -> str:
    """The usual folders: ldconfig is not on the path of ordinary users."""
    return "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
