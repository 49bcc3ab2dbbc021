"""The manifest of a runtime: what it contains, how policies start in it, and a hash of its files."""

import hashlib
import json
import pathlib
import sys

import packages

NAME = "manifest.json"
# Imported before a policy, because they are slow and most policies of a runtime with them use them.
PRELOADED = ("numpy", "scipy", "onnxruntime", "torch", "jax", "lerobot")
# Settings under which a library computes the same on every processor, or does not look for what a jail lacks.
ENVIRONMENT = {
    "onnxruntime": {"ORT_DISABLE_TELEMETRY": "1"},
    "torch": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_CBWR": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        # A folder that exists: PyTorch would create one for compiled code.
        "TORCHINDUCTOR_CACHE_DIR": "/",
    },
    "openvino": {"HOME": "/"},
    "lerobot": {"HOME": "/"},
    "jax": {"JAX_PLATFORMS": "cpu"},
}
MIB = 1 << 20
# Address space of an interpreter with numpy, which every scenario's memory limit allows for.
USUAL_ADDRESS_SPACE = 256 * MIB


def write(root: pathlib.Path, name: str, site_packages: pathlib.Path, peak_bytes: int) -> dict:
    """Writes the manifest of the finished tree `root` and returns it.

    The hash covers names and contents, without compiled files, which follow from the sources.
    """
    installed, modules = packages.versions(site_packages), packages.modules(site_packages)
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
    listing = "".join(f"{sha256(path)}  {path.relative_to(root)}\n" for path in files if path.suffix != ".pyc")
    environment = {}
    for package, settings in ENVIRONMENT.items():
        environment |= settings if package in installed else {}
    manifest = {
        "name": name,
        "python": sys.version.split()[0],
        "packages": installed,
        "imports": [module for module in PRELOADED if module in modules],
        "env": environment,
        "address_space_bytes": max(0, peak_bytes - USUAL_ADDRESS_SPACE),
        "sha256": hashlib.sha256(listing.encode()).hexdigest(),
        "size_bytes": sum(path.stat().st_size for path in files),
        "files": len(files),
    }
    (root / NAME).write_text(json.dumps(manifest, indent=2) + "\n")
    (root / NAME).chmod(0o644)
    return manifest


def sha256(path: pathlib.Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
