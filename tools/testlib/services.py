"""What tests share: processes that run while tests run, with their addresses in the environment.

Each test runs in a process of its own, so none of them can start something for all, nor end it. A test that runs alone finds no
address and starts its own. [`SERVICES`] lists them; each is a function that yields environment variables, as
[`postgresql`] does with [`process`].
"""

import contextlib
import ctypes
import os
import pathlib
import pwd
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

from . import supervise
from .stages import ENVIRONMENT, ROOT, TARGET

#: For something that hangs: a busy machine starts a server within minutes.
START_LIMIT_S = 600.0
END_LIMIT_S = 60.0
LOOK_S = 0.05
PORT_ATTEMPTS = 5
SHOWN_BYTES = 4000
# The same as those of `assay_testkit::Postgres`.
USER, LOCKED_USER, PASSWORD = "assay", "locked", "open sesame"
SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 64MB
log_min_messages = warning
log_min_error_statement = panic
fsync = off
"""
#: Connections that a test may hold: a few servers, each with a pool of 16, and its own.
CONNECTIONS_PER_TEST = 60
#: The kinds of servers that tests share, and the program.
KINDS = ROOT / "crates/assay/tests/serve/shared_servers.toml"
PROGRAM = TARGET / "debug" / "assay"
BUILD = "cargo build --quiet --workspace --all-targets --locked"
LISTENING = re.compile(r"listening on http://(\S+)\n")
# The same as those of `assay_testkit::Assay`.
SMALL_VIDEO = "320x180@20"
READY = re.compile(r"database system is ready to accept connections")

Service = Callable[[pathlib.Path], AbstractContextManager[dict[str, str]]]


class NotStarted(OSError):
    """A service that did not start; the message contains the end of its log."""


def threads() -> int:
    """Returns the number of tests that run at the same time: they wait for servers and processes for half of their time."""
    return 2 * len(os.sched_getaffinity(0))


@contextlib.contextmanager
def running(services: Iterable[Service], logs: pathlib.Path) -> Iterator[dict[str, str]]:
    """Starts services, one after the other, and yields their variables; ends them however the block ends."""
    with contextlib.ExitStack() as stack:
        environment: dict[str, str] = {}
        for service in services:
            environment |= stack.enter_context(service(logs))
        yield environment


@contextlib.contextmanager
def process(
    command: Sequence[str | os.PathLike], log: pathlib.Path, ready: re.Pattern, end: int = signal.SIGTERM, **options
) -> Iterator[re.Match]:
    """Starts a process, waits for a line of its output, and yields the match; ends it with the signal `end`.

    It also ends if this program is killed. Its output goes to `log`.

    Raises:
        NotStarted: it ended before that line, or wrote nothing like it for a long time.
    """
    def ends_with_parent() -> None:
        ctypes.CDLL(None, use_errno=True).prctl(1, end, 0, 0, 0)  # PR_SET_PDEATHSIG

    options |= {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "start_new_session": True}
    with open(log, "wb") as output:
        child = subprocess.Popen(command, stdout=output, preexec_fn=ends_with_parent, **options)
    try:
        yield _wait_for(child, command[0], log, ready)
    finally:
        _end(child, end)


def _wait_for(child: subprocess.Popen, name: object, log: pathlib.Path, ready: re.Pattern) -> re.Match:
    until = time.monotonic() + START_LIMIT_S
    while True:
        has_ended = child.poll() is not None
        text = log.read_text(errors="replace")
        found = ready.search(text[: text.rfind("\n") + 1])
        if found:
            return found
        if has_ended or time.monotonic() > until:
            what = f"ended with {child.returncode}" if has_ended else f"was not ready within {supervise.minutes(START_LIMIT_S)}"
            raise NotStarted(f"{name} {what}:\n{text[-SHOWN_BYTES:]}")
        time.sleep(LOOK_S)


def _end(child: subprocess.Popen, end: int) -> None:
    """Ends a process with the signal, and kills what remains of its session."""
    if child.poll() is None:
        child.send_signal(end)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(END_LIMIT_S)
    for pid in supervise.session(child.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    child.wait()


def unprivileged() -> dict:
    """Returns options of a process that must not be root's: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    try:
        found = pwd.getpwnam("postgres")
    except KeyError:
        raise NotStarted("there is no user postgres: install Debian's package postgresql") from None
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}


def postgresql_programs() -> pathlib.Path:
    """Returns the folder of the newest installed server; Debian keeps it off the PATH."""
    debian = [path.parent for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    numbered = [path for path in debian if path.parent.name.isdigit()]
    if numbered:
        return max(numbered, key=lambda path: int(path.parent.name))
    on_path = shutil.which("initdb")
    if on_path is None:
        raise NotStarted("PostgreSQL is not installed: run tools/setup --dev, or install postgresql")
    return pathlib.Path(on_path).parent


def free_port() -> int:
    """Returns a port of loopback that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@contextlib.contextmanager
def postgresql(logs: pathlib.Path) -> Iterator[dict[str, str]]:
    """A PostgreSQL server that does not flush, since nothing there must survive; yields `ASSAY_TEST_POSTGRES=HOST:PORT`."""
    programs, owner = postgresql_programs(), unprivileged()
    with tempfile.TemporaryDirectory(prefix="assay-postgres-", ignore_cleanup_errors=True) as place:
        data = pathlib.Path(place) / "data"
        options = {"cwd": place, "env": {name: text for name, text in os.environ.items() if not name.startswith("PG")}} | owner
        if owner:
            os.chown(place, owner["user"], owner["group"])
        made = ["-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale", "C", "--no-sync"]
        _run([programs / "initdb", *made], options)
        with open(data / "postgresql.conf", "a") as file:
            file.write(f"{SETTINGS}max_connections = {max(200, CONNECTIONS_PER_TEST * threads())}\n")
        rules = data / "pg_hba.conf"
        rules.write_text(f"host all {LOCKED_USER} samenet scram-sha-256\n{rules.read_text()}")
        with _on_a_free_port([programs / "postgres", "-D", data], logs / "postgresql.log", options) as port:
            create = f"CREATE ROLE {LOCKED_USER} LOGIN PASSWORD '{PASSWORD}'"
            url = f"postgres://{USER}@127.0.0.1:{port}/postgres"
            _run([programs / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", create], options)
            yield {"ASSAY_TEST_POSTGRES": f"127.0.0.1:{port}"}


@contextlib.contextmanager
def _on_a_free_port(command: list, log: pathlib.Path, options: dict) -> Iterator[int]:
    """Starts the server; tries again with another port if a program took it first."""
    with contextlib.ExitStack() as stack:
        for attempt in range(1, PORT_ATTEMPTS + 1):
            port = free_port()
            try:
                stack.enter_context(process([*command, "-p", str(port)], log, READY, signal.SIGINT, **options))
                break
            except NotStarted:
                if attempt == PORT_ATTEMPTS:
                    raise
        yield port


def _run(command: list, options: dict) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise NotStarted(f"{command[0]} ended with {done.returncode}:\n{done.stdout[-SHOWN_BYTES:]}")


@contextlib.contextmanager
def servers(logs: pathlib.Path) -> Iterator[dict[str, str]]:
    """An `assay serve` of each kind in `shared_servers.toml`; yields `VARIABLE=HOST:PORT,FILE`, where its first key is in FILE."""
    # They must be those that the tests were built with.
    _run(shlex.split(BUILD), {"cwd": ROOT, "env": os.environ | ENVIRONMENT})
    kinds = tomllib.loads(KINDS.read_text())
    with contextlib.ExitStack() as stack:
        yield {kind["variable"]: stack.enter_context(_server(name, kind, logs)) for name, kind in kinds.items()}


@contextlib.contextmanager
def _server(name: str, kind: dict, logs: pathlib.Path) -> Iterator[str]:
    """A server of a kind in a folder of its own, as `assay_testkit::SharedServer` starts it; yields `HOST:PORT,FILE`."""
    with tempfile.TemporaryDirectory(prefix=f"assay-shared-{name}-", ignore_cleanup_errors=True) as place:
        folder = pathlib.Path(place)
        (folder / "tmp").mkdir()
        # Jails of root run as another user, who must be able to enter it.
        for entered in (folder, folder / "tmp"):
            entered.chmod(0o755)
        own = {"ASSAY_HOME": ROOT, "TMPDIR": folder / "tmp", "XDG_DATA_HOME": folder / "user", "ASSAY_VIDEO": SMALL_VIDEO}
        others = {variable: text for variable, text in os.environ.items() if not variable.startswith("ASSAY_")}
        command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--data", folder / "data", *kind["arguments"]]
        environment = others | {variable: str(value) for variable, value in own.items()}
        with process(command, logs / f"shared-server-{name}.log", LISTENING, cwd=folder, env=environment) as found:
            yield f"{found[1]},{folder / 'data' / 'bootstrap-key'}"


#: What the stage `test` starts.
SERVICES: tuple[Service, ...] = (postgresql, servers)
