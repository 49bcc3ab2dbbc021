"""Verifies a policy on this machine."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from . import _home
from ._program import find
from .errors import ProgramError
from .models import EpisodeResult, JobReport
from .policy import PolicyLike

#: Exit codes of `assay verify` and `assay connect` that come with a verdict: SAFE, UNSAFE, INCONCLUSIVE.
VERDICTS = {0: "SAFE", 1: "UNSAFE", 3: "INCONCLUSIVE"}
INTERRUPTED = 130
#: Characters of the program's messages that an error contains.
LOG_CHARACTERS = 20_000


class Result:
    """The result of a verification: the report, and the folder with report, recordings and evidence.

    Shows itself in notebooks, with a picture, the clauses and their margins.
    """

    def __init__(self, report: JobReport, folder: pathlib.Path, error: BaseException | None = None) -> None:
        self.report = report
        self.folder = folder
        #: The exception that a policy in this process raised, if any.
        self.policy_exception = error

    @property
    def verdict(self) -> str:
        """SAFE, UNSAFE or INCONCLUSIVE."""
        return str(self.report.verdict)

    @property
    def score(self) -> float | None:
        """The score of the job, 0 to 1."""
        return self.report.score

    @property
    def episodes(self) -> list[EpisodeResult]:
        """The results of the episodes."""
        return self.report.episode_details

    @property
    def is_measured(self) -> bool:
        """True if the policy ran in the jail, so that the report proves which files were evaluated."""
        return self.report.policy_identity == "measured"

    def margins(self) -> dict[str, float | None]:
        """Returns the smallest robustness of each clause over the episodes, in the clause's unit; negative is violated.

        None if it was undetermined everywhere.
        """
        found: dict[str, float | None] = {}
        for episode in self.episodes:
            for clause in episode.clauses:
                before, now = found.get(clause.id), clause.robustness
                found[clause.id] = now if before is None else before if now is None else min(before, now)
        return found

    def __repr__(self) -> str:
        from ._html import count

        return (
            f"<assay: {self.verdict}, score {self.score}, {count(len(self.episodes))} of {self.report.scenario}, "
            f"policy identity {self.report.policy_identity}, {self.folder}>"
        )

    def _repr_html_(self) -> str:
        from ._html import table

        return table(self.report, self.margins(), self.folder)


def verify(
    policy: str | os.PathLike[str] | PolicyLike, *, scenario: str, episodes: int | None = None, seed: int | None = None,
    out: str | os.PathLike[str] | None = None, record: str = "violations", lanes: int | None = None,
    max_violation_probability: float | None = None, videos: bool = True, progress: bool | None = None,
    options: Sequence[str] = (),
) -> Result:  # fmt: skip
    """Verifies a policy on this machine and returns the result. No service is needed.

    A path (folder, zip, single file) or the address of a policy server is verified as `assay verify` does; a path runs in the
    jail. A function, class or object (see `assay.Policy`) runs in this process, outside of the jail: the report then says
    `declared`, and proves nothing about which policy ran. `out` is the folder of the results, a temporary one if absent;
    `options` are further options of `assay verify`.

    Raises:
        ProgramError: the program is missing, or refused the arguments; its message says why.
        KeyboardInterrupt: Ctrl-C.
    """
    folder = pathlib.Path(out) if out is not None else pathlib.Path(tempfile.mkdtemp(prefix="assay-"))
    chosen: list[str] = ["--scenario", scenario, "--out", str(folder), "--record", record, "--json", *options]
    numbers: dict[str, Any] = {
        "--episodes": episodes, "--seed": seed, "--lanes": lanes, "--max-violation-probability": max_violation_probability,
    }  # fmt: skip
    for name, value in numbers.items():
        if value is not None:
            chosen += [name, str(value)]
    if not videos:
        chosen.append("--no-wait-video")
    shown = sys.stderr.isatty() if progress is None else progress
    if isinstance(policy, (str, os.PathLike)):
        return Result(run("verify", os.fspath(policy), chosen, shown), folder)
    from .serving import serve

    with serve(policy) as server:
        report = run("verify", server.url, chosen, shown)
        return Result(report, folder, server.error)


def run(name: str, policy: str, options: list[str], shown: bool, **variables: str) -> JobReport:
    """Runs a command of assay that verifies a policy, and returns the report that it prints."""
    command = [str(find()), name, policy, *options]
    with tempfile.TemporaryFile("w+") as log:
        try:
            child = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=None if shown else log, stdin=subprocess.DEVNULL, text=True,
                env=os.environ | variables,
            )  # fmt: skip
        except OSError as error:
            raise ProgramError(_home.cannot_start(command[0], error)) from error
        with child:
            try:
                output, _ = child.communicate()
            except KeyboardInterrupt:
                # The terminal has sent it the same signal; it removes what it began.
                child.wait()
                raise
        log.seek(0)
        said = log.read(LOG_CHARACTERS)
    if child.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if child.returncode not in VERDICTS:
        raise ProgramError(said.strip() or f"assay {name} ended with {child.returncode}", said)
    return JobReport.from_json(json.loads(output))
