"""The picture of a result in notebooks. Everything that a policy or scenario wrote is escaped."""

from __future__ import annotations

import base64
import pathlib
from html import escape

from .models import JobReport

COLOURS = {"SAFE": "#1a7f37", "UNSAFE": "#c62828", "INCONCLUSIVE": "#9a6700"}
#: Larger videos and pictures are left out, so that notebooks stay small.
MAX_PICTURE_BYTES = 3_000_000


def table(report: JobReport, margins: dict[str, float | None], folder: pathlib.Path) -> str:
    """Returns the verdict, a video or picture if there is one, and the clauses with their margins, worst first."""
    verdict = str(report.verdict)
    sure = "" if report.policy_identity == "measured" else " · policy identity <b>declared</b>: it ran outside of the jail"
    head = (
        f'<p><b style="color:{COLOURS.get(verdict, "inherit")};font-size:1.4em">{escape(verdict)}</b> '
        f"{escape(str(report.reason or ''))}<br>{escape(str(report.policy_name))} on {escape(str(report.scenario))} "
        f"{escape(str(report.scenario_version))}, {count(len(report.episode_details))}, score {number(report.score)}{sure}</p>"
    )
    clauses = {clause.id: clause for episode in report.episode_details for clause in episode.clauses}
    ordered = sorted(margins.items(), key=lambda pair: (pair[1] is None, pair[1] if pair[1] is not None else 0.0))
    rows = "".join(
        f"<tr><td>{escape(id_)}</td><td>{escape(str(clauses[id_].level))}</td>"
        f'<td style="text-align:right;color:{"#c62828" if margin is not None and margin < 0 else "inherit"}">{number(margin)}'
        f"{unit(clauses[id_].unit)}</td></tr>"
        for id_, margin in ordered
    )
    return (
        f"{head}{picture(folder)}<table><thead><tr><th>clause</th><th>level</th><th>margin</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def count(episodes: int) -> str:
    """Returns a number of episodes.

    >>> count(1), count(29)
    ('1 episode', '29 episodes')
    """
    return f"{episodes} episode{'' if episodes == 1 else 's'}"


def unit(name: str | None) -> str:
    """Returns a unit as it follows a number; that of a ratio is not shown.

    >>> unit("m/s"), unit("1")
    (' m/s', '')
    """
    return "" if name in (None, "", "1") else f" {escape(str(name))}"


def number(value: float | None) -> str:
    """Returns a number in few digits.

    >>> number(0.040210), number(None)
    ('0.04021', 'undetermined')
    """
    return "undetermined" if value is None else f"{value:.4g}"


def picture(folder: pathlib.Path) -> str:
    """Returns the video of the first episode that has one, or else the scenario's picture, as part of the page."""
    for file in sorted((folder / "episodes").glob("*/video.mp4")):
        if file.stat().st_size <= MAX_PICTURE_BYTES:
            return f'<video controls muted width="480" src="{address(file, "video/mp4")}"></video>'
    still = folder / "scenario" / "thumbnail.png"
    if still.is_file() and still.stat().st_size <= MAX_PICTURE_BYTES:
        shown = f'<img alt="the scenario" width="480" src="{address(still, "image/png")}">'
        return f"{shown}<br><small>The scenario; no episode has a video.</small>"
    return ""


def address(file: pathlib.Path, kind: str) -> str:
    """Returns the content of a file as an address."""
    return f"data:{kind};base64,{base64.b64encode(file.read_bytes()).decode()}"
