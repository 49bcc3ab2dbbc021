"""A service for tests, and policies to send to it."""

import contextlib
import os
import pathlib
import tempfile
from collections.abc import Iterator

from testlib.service import Service, archive

import assay

PROGRAM = pathlib.Path(os.environ["ASSAY_PROGRAM"])
SCENARIO = "cartpole_keepin"
#: A test sends more requests than a person in a minute.
RATES = ("get_per_minute", "verify_per_minute", "write_per_minute")
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "policies"
REFERENCE = EXAMPLES / SCENARIO / "reference"


def policy() -> bytes:
    """Returns the archive of a policy that is safe."""
    return archive({"policy.py": (REFERENCE / "policy.py").read_text()})


class RunningService:
    """`assay serve` on a data folder of its own; can be killed and started again on the same port."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.service = self.start("127.0.0.1:0")
        self.url = f"http://{self.service.address}"

    def start(self, address: str) -> Service:
        return Service(PROGRAM, self.data, self.folder / "log", [f"--set=limits.rate.{name}=100000" for name in RATES], address)

    def client(self, key: str | None = None, **options) -> assay.Client:
        return assay.Client(self.url, key or self.service.key, **options)

    def restart(self) -> None:
        """Kills the service, and starts it again with the same data and address."""
        self.service.kill()
        self.service = self.start(self.service.address)


@contextlib.contextmanager
def running() -> Iterator[RunningService]:
    """Provides a service that is stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="assay-client-") as folder:
        pathlib.Path(folder).chmod(0o755)
        service = RunningService(pathlib.Path(folder))
        try:
            yield service
        finally:
            service.service.kill()
