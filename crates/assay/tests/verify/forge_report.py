"""Forges a report of two episodes, in OUT, so that every number in it still follows from the others.

    forge_report.py OUT KIND

Each kind is a function in `KINDS` that changes the report, and moves or deletes recordings. No recording is changed.
"""

import base64
import copy
import json
import math
import pathlib
import shutil
import statistics as spread
import sys


def clauses(report):
    return [clause for episode in report["episode_details"] for clause in episode["clauses"]]


def all_deleted(report, out):
    for episode in report["episode_details"]:
        episode["clauses"] = []


def violated_deleted(report, out):
    for episode in report["episode_details"]:
        episode["clauses"] = [clause for clause in episode["clauses"] if clause["status"] != "violated"]


def renamed_to_satisfied(report, out):
    for clause in clauses(report):
        clause |= {"status": "satisfied", "robustness": abs(clause["robustness"])}


def level_lowered(report, out):
    for clause in clauses(report):
        clause["level"] = "warning"


def status_of_violated(status):
    def change(report, out):
        for clause in clauses(report):
            if clause["status"] == "violated":
                clause["status"] = status

    return change


def recordings_deleted(report, out):
    shutil.rmtree(out / "episodes")
    renamed_to_satisfied(report, out)
    for episode in report["episode_details"]:
        episode |= {"steps": 0, "evidence": []}


def repeated(report, out):
    report["episode_details"] = [copy.deepcopy(report["episode_details"][0]) for _ in range(59)]
    report["statistics"]["target"] = 0.05


def copied(report, out):
    """The second episode is the recording of the first, in a folder of its own."""
    again = copy.deepcopy(report["episode_details"][0])
    shutil.rmtree(out / "episodes/001")
    shutil.copytree(out / "episodes/000", out / "episodes/001")
    for file in again["evidence"]:
        file["name"] = file["name"].replace("episodes/000", "episodes/001")
    report["episode_details"][1] = again | {"episode": 1, "seed": again["seed"] + 1}
    # Whoever forges a report also signs it.
    path = out / "report.intoto.json"
    envelope = json.loads(path.read_text())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    digests = {file["name"]: file["sha256"] for file in again["evidence"]}
    for file in statement["predicate"]["evidence"]:
        file["sha256"] = digests.get(file["name"], file["sha256"])
    envelope["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()
    path.write_text(json.dumps(envelope))


def invented(report, out):
    for index in range(2, 59):
        more = copy.deepcopy(report["episode_details"][0])
        more |= {"episode": index, "seed": index, "steps": 0, "evidence": []}
        report["episode_details"].append(more)
    report["num_episodes"] = 59
    report["statistics"] |= {"target": 0.05, "sample_size": 59}


def confidence_lowered(report, out):
    report["statistics"] |= {"confidence_level": 0.001, "target": 0.05}


def own_bound_raised(report, out):
    report["statistics"]["max_violation_probability"] = 0.999999


def certified(report, out):
    report["statistics"] |= {"target": 0.01, "certified": True}


def episode_dropped(report, out):
    del report["episode_details"][1]
    shutil.rmtree(out / "episodes/001")


def more_planned(report, out):
    report["num_episodes"] = 100_000


def more_counted(report, out):
    report["num_episodes"] = report["statistics"]["episodes"] = 100_000


def broken_off_as_complete(report, out):
    """The clauses of an episode that a policy's error ended are said to have held to its end."""
    for episode in report["episode_details"]:
        episode |= {"status": "completed", "termination": "time_limit", "safety_score": 1.0}
    for clause in clauses(report):
        clause["status"] = "satisfied"


def success_invented(report, out):
    for episode in report["episode_details"]:
        episode |= {"termination": "success", "success": True}


def stages_invented(report, out):
    for stage in (stage for episode in report["episode_details"] for stage in episode["stages"]):
        stage["passed"] = True


def evidence_elsewhere(report, out):
    for file in report["episode_details"][1]["evidence"]:
        file["name"] = file["name"].replace("episodes/001", "episodes/000")
    shutil.rmtree(out / "episodes/001")


FORGERIES = (
    all_deleted, violated_deleted, renamed_to_satisfied, level_lowered, recordings_deleted, repeated, copied, invented,
    confidence_lowered, own_bound_raised, certified, episode_dropped, more_planned, more_counted,
    broken_off_as_complete, success_invented, stages_invented, evidence_elsewhere,
)
KINDS = {change.__name__: change for change in FORGERIES}
KINDS |= {"not_applicable": status_of_violated("not_applicable"), "undetermined": status_of_violated("undetermined")}


def upper_bound(k, n, confidence):
    """The one-sided Clopper-Pearson bound where nothing or everything failed."""
    return 1.0 if k == n else 1.0 - (1.0 - confidence) ** (1.0 / n)


def scored(episode):
    """Makes the scores of an episode follow from its clauses and stages."""
    points = sum(stage["points"] for stage in episode["stages"])
    progress = sum(stage["points"] for stage in episode["stages"] if stage["passed"]) / points
    violated = any(clause["status"] == "violated" for clause in episode["clauses"])
    safety = episode["safety_score"] if violated else float(episode["status"] == "completed")
    composite = min((progress + safety) / 2, safety / 2 if violated else 1.0)
    episode |= {"progress_score": progress, "safety_score": safety, "composite_score": composite}


def open_or_violated(episode, statuses):
    return any(c["level"] == "critical" and c["status"] in statuses for c in episode["clauses"])


def follow(report, before):
    """Makes the job's scores, statistics and verdict follow, but for those that the forgery set itself."""
    episodes, numbers = report["episode_details"], report["statistics"]
    for episode in episodes:
        scored(episode)
    for key in ("progress_score", "safety_score", "composite_score"):
        report[key] = sum(episode[key] for episode in episodes) / len(episodes)
    report["success_rate"] = sum(episode["success"] for episode in episodes) / len(episodes)
    report["consistency"] = 1 - 2 * spread.pstdev([episode["composite_score"] for episode in episodes])
    report["score"] = 0.8 * report["composite_score"] + 0.1 * report["consistency"] + 0.1 * report["success_rate"]
    violations = sum(open_or_violated(episode, ("violated",)) for episode in episodes)
    unmeasured = sum(open_or_violated(episode, ("not_applicable", "undetermined")) for episode in episodes)
    failures, n, p0 = violations + unmeasured, len(episodes), numbers["max_violation_probability"]
    bound = upper_bound(failures, n, numbers["confidence_level"])
    numbers |= {"violations": violations, "without_evidence": unmeasured, "violation_probability_upper": bound}
    numbers["confidence"] = 0.0 if failures == n else 1.0 - (1.0 - p0) ** n
    if numbers["episodes"] == before["episodes"]:
        numbers["episodes"] = n
    if numbers["target"] is not None and not numbers["certified"]:
        needed = math.log(1 - numbers["confidence_level"]) / math.log(1 - numbers["target"])
        numbers |= {"certified": bound <= numbers["target"], "episodes_needed": max(1, math.ceil(needed))}
    report["verdict"] = "UNSAFE" if violations else "INCONCLUSIVE" if unmeasured else "SAFE"


if __name__ == "__main__":
    folder, kind = pathlib.Path(sys.argv[1]), sys.argv[2]
    report = json.loads((folder / "report.json").read_text())
    before = copy.deepcopy(report["statistics"])
    KINDS[kind](report, folder)
    follow(report, before)
    (folder / "report.json").write_text(json.dumps(report))
