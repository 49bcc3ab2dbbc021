"""Verifies a policy on this machine."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from . import _home
from ._numbers import MAX_EPISODE, MAX_SEED, whole
from ._program import find
from .errors import InvalidArgument, ProgramError
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
    chosen += numbers(episodes=episodes, seed=seed, lanes=lanes, max_violation_probability=max_violation_probability)
    if not videos:
        chosen.append("--no-wait-video")
    shown = sys.stderr.isatty() if progress is None else progress
    if isinstance(policy, (str, os.PathLike)):
        return Result(run("verify", os.fspath(policy), chosen, shown), folder)
    from .serving import serve

    with serve(policy) as server:
        # The report shows the address, so it ends with the policy's name.
        report = run("verify", f"{server.url}/{policy_name(policy)}", chosen, shown)
        return Result(report, folder, server.error)


def policy_name(policy: PolicyLike) -> str:
    """Returns the name of a policy for the report: that of its function or class.

    >>> policy_name(lambda observation: 0.0)
    'policy'
    >>> class Reach:
    ...     def act(self, observation): ...
    >>> policy_name(Reach()), policy_name(Reach)
    ('Reach', 'Reach')
    """
    name = getattr(policy, "__name__", None) or type(policy).__name__
    return str(name) if str(name).isidentifier() else "policy"


def numbers(
    *, episodes: int | None, seed: int | None, lanes: int | None = None, max_violation_probability: float | None
) -> list[str]:
    """Returns the options of the program for these numbers, of Python or numpy.

    >>> numbers(episodes=2, seed=None, max_violation_probability=0.1)
    ['--episodes=2', '--max-violation-probability=0.1']
    """
    chosen = []
    for name, value, low, high in (
        ("episodes", episodes, 1, MAX_EPISODE), ("seed", seed, 0, MAX_SEED), ("lanes", lanes, 1, MAX_EPISODE),
    ):  # fmt: skip
        if value is not None:
            chosen.append(f"--{name}={whole(name, value, low, high, InvalidArgument)}")
    if max_violation_probability is not None:
        chosen.append(f"--max-violation-probability={float(max_violation_probability)}")
    return chosen


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
