"""The container image, as an OCI layout in a tar archive (`skopeo copy oci-archive:FILE docker-daemon:assay:VERSION`).

Made without a daemon: the first layer is a minimal Debian from the package sources of this machine, the second is assay.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import shutil
import tarfile
import tempfile
from datetime import datetime, timezone

from setuplib.common import Failure, run

from .common import add_bytes, add_tree, anonymise, epoch, say, version

PACKAGES = ("bubblewrap", "ca-certificates", "libegl1", "libegl-mesa0", "libgl1-mesa-dri", "libstdc++6")
USER, UID = "assay", 1000
PORT = 8080
# The image has neither curl nor Python; bash opens the connection itself.
HEALTH = (
    f"exec 3<>/dev/tcp/127.0.0.1/{PORT}; printf 'GET /readyz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3; "
    "read -r line <&3; [[ $line == *' 200 '* ]]"
)
SECOND_NS = 1_000_000_000
MEDIA = "application/vnd.oci.image"


def build(home: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    say("container image ...")
    file = out / f"assay-{version()}-oci.tar"
    with tempfile.TemporaryDirectory(prefix="assay-image-") as scratch:
        base = pathlib.Path(scratch) / "base.tar"
        debian(base)
        layout = Layout()
        layers = [layout.add_layer(base.read_bytes()), layout.add_layer(own_layer(home))]
        layout.write(file, layers)
    return file


def debian(target: pathlib.Path) -> None:
    """Writes a minimal Debian with what jails and rendering need, and the user of the service."""
    if not shutil.which("mmdebstrap"):
        raise Failure("mmdebstrap is missing, which makes the image's Debian: apt-get install mmdebstrap")
    suite = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    user = f"useradd --root $1 --uid {UID} --user-group --create-home --home-dir /data --shell /usr/sbin/nologin {USER}"
    options = ["--variant=minbase", f"--include={','.join(PACKAGES)}", f"--customize-hook={user}"]
    hooks = [
        # Lists and logs of the installation differ between two builds.
        '--customize-hook=rm -rf $1/var/cache/* $1/var/log/* $1/var/lib/apt/lists/* $1/etc/apt/sources.list*',
        '--customize-hook=rm -f $1/etc/passwd- $1/etc/group- $1/etc/shadow- $1/etc/gshadow- $1/etc/resolv.conf '
        '$1/etc/hostname $1/etc/machine-id',
        '--dpkgopt=path-exclude=/usr/share/man/*', '--dpkgopt=path-exclude=/usr/share/locale/*',
    ]
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(epoch())}
    run(["mmdebstrap", "--quiet", *options, *hooks, suite, target], env=environment)


def own_layer(home: pathlib.Path) -> bytes:
    """Returns the layer with the installation in /opt/assay."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        add_tree(archive, home, "opt/assay/")
        link = tarfile.TarInfo("usr/local/bin/assay")
        link.type, link.linkname = tarfile.SYMTYPE, "/opt/assay/bin/assay"
        anonymise(link)
        archive.addfile(link)
    return buffer.getvalue()


class Layout:
    """An OCI image layout: contents under their hashes."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.plain: list[str] = []

    def add(self, media: str, data: bytes) -> dict:
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return {"mediaType": f"{MEDIA}.{media}", "digest": f"sha256:{digest}", "size": len(data)}

    def add_layer(self, tar: bytes) -> dict:
        self.plain.append(f"sha256:{hashlib.sha256(tar).hexdigest()}")
        return self.add("layer.v1.tar+gzip", gzip.compress(tar, 6, mtime=epoch()))

    def write(self, file: pathlib.Path, layers: list[dict]) -> None:
        config = self.add("config.v1+json", encoded(configuration(self.plain)))
        manifest = self.add("manifest.v1+json", encoded({
            "schemaVersion": 2, "mediaType": f"{MEDIA}.manifest.v1+json", "config": config, "layers": layers,
        }))
        manifest["annotations"] = {"org.opencontainers.image.ref.name": version()}
        index = {"schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json", "manifests": [manifest]}
        with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as archive:
            add_bytes(archive, "oci-layout", encoded({"imageLayoutVersion": "1.0.0"}))
            add_bytes(archive, "index.json", encoded(index))
            for digest, data in sorted(self.blobs.items()):
                add_bytes(archive, f"blobs/sha256/{digest}", data)


def configuration(plain: list[str]) -> dict:
    """Returns the configuration: not root, data in a volume, and a health check that Docker and Podman run."""
    created = datetime.fromtimestamp(epoch(), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "created": created, "architecture": "amd64", "os": "linux",
        "config": {
            "User": f"{UID}:{UID}",
            "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"],
            "Entrypoint": ["assay"],
            "Cmd": ["serve", "--data", "/data", "--listen", f"0.0.0.0:{PORT}"],
            "WorkingDir": "/data",
            "Volumes": {"/data": {}},
            "ExposedPorts": {f"{PORT}/tcp": {}},
            "StopSignal": "SIGTERM",
            "Healthcheck": {
                "Test": ["CMD", "bash", "-c", HEALTH], "Interval": 30 * SECOND_NS, "Timeout": 5 * SECOND_NS,
                "StartPeriod": 20 * SECOND_NS, "Retries": 3,
            },
            "Labels": {"org.opencontainers.image.title": "assay", "org.opencontainers.image.version": version()},
        },
        "rootfs": {"type": "layers", "diff_ids": plain},
        "history": [{"created": created, "created_by": "Debian"}, {"created": created, "created_by": "assay"}],
    }


def encoded(value: dict) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()
