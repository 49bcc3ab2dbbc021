"""Lets a service elsewhere evaluate a policy of this process, which connects to it."""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile
from collections.abc import Sequence

from .local import Result, numbers, policy_name, run
from .policy import PolicyLike


def connect(
    policy: str | os.PathLike[str] | PolicyLike, *, scenario: str, server: str | None = None, key: str | None = None,
    episodes: int | None = None, seed: int | None = None, out: str | os.PathLike[str] | None = None,
    record: str = "violations", name: str | None = None, max_violation_probability: float | None = None,
    progress: bool | None = None, options: Sequence[str] = (),
) -> Result:  # fmt: skip
    """Lets the service at `server` verify a policy that stays on this machine, and returns the result.

    This machine connects to the service, so it may be behind NAT, and no port is opened. A function, class or object (see
    `assay.Policy`) runs in this process; a path runs in the jail of this machine; the address of a policy server that this
    machine reaches is forwarded. The report says `declared`: the service cannot know which policy ran.

    `server` and `key` are read from the environment variables ASSAY_URL and ASSAY_KEY if absent. `out` is the folder of the
    report, a temporary one if absent; videos and recordings stay at the service (`Client.download_evidence`). `options` are
    further options of `assay connect`.

    Raises:
        ProgramError: the program is missing, refused the arguments, or lost the service; its message says why.
        KeyboardInterrupt: Ctrl-C; the job is cancelled.
    """
    folder = pathlib.Path(out) if out is not None else pathlib.Path(tempfile.mkdtemp(prefix="assay-"))
    chosen = ["--scenario", scenario, "--out", str(folder), "--record", record, "--json"]
    values = {"--server": server, "--name": name}
    for option, value in values.items():
        if value is not None:
            chosen += [option, value]
    chosen += numbers(episodes=episodes, seed=seed, max_violation_probability=max_violation_probability)
    chosen += options
    shown = sys.stderr.isatty() if progress is None else progress
    # Not as an argument, which other users of this machine can see.
    variables = {} if key is None else {"ASSAY_KEY": key}
    if isinstance(policy, (str, os.PathLike)):
        return Result(run("connect", os.fspath(policy), chosen, shown, **variables), folder)
    from .serving import serve

    if name is None:
        chosen += ["--name", policy_name(policy)]
    with serve(policy) as local:
        report = run("connect", local.url, chosen, shown, **variables)
        return Result(report, folder, local.error)
