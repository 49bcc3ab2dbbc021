"""Starts a policy runtime in a jail, as the service does, and runs a computation in it."""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile

from .common import Failure, say

NOBODY = 65534
LIMIT_S = 60
PROGRAM = """
import importlib, json, random, sys, threading
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
import numpy, numpy.fft, numpy.linalg, numpy.random, numpy.testing
matrix = numpy.random.default_rng(0).normal(size=(64, 64))
numpy.testing.assert_allclose(numpy.linalg.inv(matrix) @ matrix, numpy.eye(64), atol=1e-9)
numpy.testing.assert_allclose(numpy.fft.ifft(numpy.fft.fft(matrix)).real, matrix)
thread = threading.Thread(target=random.random)
thread.start()
thread.join()
assert sys.prefix == "/py" and all(path.startswith("/py/") for path in sys.path), sys.path
print(json.dumps(numpy.__version__))
"""


def jail(root: pathlib.Path, options: list[str]) -> list[str]:
    words = "bwrap --unshare-all --unshare-user --disable-userns --uid 65534 --gid 65534 --die-with-parent --new-session"
    words += " --as-pid-1 --cap-drop ALL"
    devices = "--dev-bind /dev/null /dev/null --dev-bind /dev/urandom /dev/urandom"
    return [*words.split(), "--ro-bind", str(root), "/", *devices.split(), *options, "--"]


def check(root: pathlib.Path, manifest: dict) -> None:
    """Raises a failure if the runtime does not work; only warns if this machine has no user namespaces."""
    words = "".join(f" --setenv {name} {shlex.quote(value)}" for name, value in manifest["env"].items())
    drop = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}

    def attempt(command: list[str]) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"]}
        return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=environment, **drop)

    probe = attempt(["bwrap", "--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"])
    if probe.returncode != 0:
        say(f"WARNING: bubblewrap can't create a jail here, so uploaded policies can't run: {probe.stderr.strip()}")
        return
    with tempfile.TemporaryDirectory(prefix="assay-setup-") as folder:
        os.chmod(folder, 0o755)
        program = ["/py/bin/python3", "-P", "-s", "-c", PROGRAM, json.dumps(manifest["imports"])]
        command = [*jail(reachable(root, pathlib.Path(folder)), shlex.split(words)), *program]
        done = attempt(command)
    if done.returncode != 0:
        raise Failure(f"the policy runtime does not work: {shlex.join(command[:-2])}\n{done.stderr.strip()}")


def reachable(root: pathlib.Path, scratch: pathlib.Path) -> pathlib.Path:
    """Returns `root`, or a copy below `scratch` if `root` is in a folder that other users can't enter.

    Jails started by root run as another user. (assay itself keeps such copies in /var/cache/assay.)
    """
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in [root, *root.parents]):
        return root
    return pathlib.Path(shutil.copytree(root, scratch / "runtime", symlinks=True))
