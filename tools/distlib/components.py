"""The software of others that the packages contain: crates, MuJoCo, and what the runtime of policies consists of."""

import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass

from setuplib import mujoco
from setuplib.common import ROOT, VENDOR, Failure, run

BASE = VENDOR / "runtimes" / "base"
PROGRAMS = ("assay", "assay-lane")
PLATFORM = "x86_64-unknown-linux-gnu"
LICENCE_FILE = re.compile(r"(?i)(licen[cs]e|copying|copyright|notice)")
SOURCES = {".rs", ".c", ".h", ".cc", ".cpp", ".hpp", ".py", ".pyc", ".html", ".toml"}


@dataclass(frozen=True)
class Component:
    """A piece of software: its package URL names where it is from."""

    name: str
    version: str
    purl: str
    # An SPDX expression; empty if only the text tells.
    licence: str
    texts: tuple[str, ...]


@functools.cache
def components() -> tuple[Component, ...]:
    found = [*crates(), physics(), python(), *wheels(), *libraries()]
    return tuple(sorted(found, key=lambda component: component.purl))


def texts_in(folder: pathlib.Path) -> tuple[str, ...]:
    """Returns the texts of all licence files below a folder, without repetition."""
    files = (path for path in sorted(folder.rglob("*")) if LICENCE_FILE.match(path.name) and path.is_file())
    found = (path.read_text(errors="replace").strip() for path in files if path.suffix not in SOURCES)
    return tuple(dict.fromkeys(text for text in found if text))


def crates() -> Iterator[Component]:
    """Yields the crates that the programs contain, without those that only build or test them."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={PLATFORM}"]
    graph = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    nodes = {node["id"]: node["deps"] for node in graph["resolve"]["nodes"]}
    packages = {package["id"]: package for package in graph["packages"]}
    todo = [id for id, package in packages.items() if package["name"] in PROGRAMS and not package["source"]]
    seen = set(todo)
    while todo:
        for dependency in nodes[todo.pop()]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_linked and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                todo.append(dependency["pkg"])
    for package in (packages[id] for id in seen if packages[id]["source"]):
        name, version = package["name"], package["version"]
        folder = pathlib.Path(package["manifest_path"]).parent
        yield Component(name, version, f"pkg:cargo/{name}@{version}", package["license"] or "", texts_in(folder))


def physics() -> Component:
    text = (ROOT / "LICENSE").read_text()  # the same licence
    return Component("mujoco", mujoco.VERSION, f"pkg:pypi/mujoco@{mujoco.VERSION}", "Apache-2.0", (text.strip(),))


def python() -> Component:
    version = json.loads((BASE / "manifest.json").read_text())["python"]
    short = ".".join(version.split(".")[:2])
    places = (
        pathlib.Path(sysconfig.get_path("stdlib")) / "LICENSE.txt",
        pathlib.Path(sys.base_prefix) / "share" / "doc" / f"python{short}" / "copyright",
    )
    texts = tuple(place.read_text(errors="replace").strip() for place in places if place.is_file())
    return Component("python", version, f"pkg:generic/python@{version}", "Python-2.0", texts[:1])


def wheels() -> Iterator[Component]:
    """Yields the Python packages of the runtime."""
    for info in sorted(BASE.rglob("*.dist-info")):
        fields = dict(re.findall(r"^(Name|Version|License-Expression): (.*)$", (info / "METADATA").read_text(), re.M))
        name, version = fields["Name"], fields["Version"]
        yield Component(
            name, version, f"pkg:pypi/{name}@{version}", fields.get("License-Expression", ""), texts_in(info)
        )


def libraries() -> Iterator[Component]:
    """Yields the packages of the distribution whose shared libraries the runtime contains."""
    if not shutil.which("dpkg-query"):
        raise Failure("dpkg-query is missing: packages are built on Debian, whose libraries the runtime contains")
    found = {owner(path.name) for path in (BASE / "lib").rglob("*") if path.is_file()}
    for package in sorted(name for name in found if name):
        version = run(["dpkg-query", "-W", "-f=${Version}", package])
        name = package.split(":")[0]
        text = pathlib.Path("/usr/share/doc", name, "copyright")
        texts = (text.read_text(errors="replace").strip(),) if text.is_file() else ()
        yield Component(name, version, f"pkg:deb/debian/{name}@{version}?arch=amd64", "", texts)


def owner(library: str) -> str | None:
    """Returns the package of the distribution that a shared library is from, if any."""
    done = subprocess.run(["dpkg-query", "-S", f"*/{library}"], capture_output=True, text=True)
    names = [line.split(": ")[0] for line in done.stdout.splitlines() if line.endswith(f"-linux-gnu/{library}")]
    return names[0] if names else None
