#!/usr/bin/env python3
"""Compute a report's clauses, scores, statistics and verdict again from its recordings, without assay.

    pip install mujoco==3.17.0 numpy pyarrow
    python recompute.py OUT [--robots DIR]

Takes OUT/report.json, OUT/scenario and each episode's folder. Every episode is run again from its model, start and inputs
(replay.py), and its signals are computed from that, at every physics step, whatever the recording says of them; from the
signals follow the clauses' robustness, and the numbers above it by the published rules. The scenario must be the one of the
report's digest, with the robots of DIR (default: OUT/robots, and where a report has none the folder `robots` beside
that of this program), and every file of evidence the one of the report's hash. Taken from the report, not computed: how an episode ended, and the stages that it
passed (`assay replay` shows those). Prints every number that is not the same.

Exit code 0: all are; 1: one is not; 2: something can't be read; 3: INCOMPLETE, a file of the report is not here, or a file
in OUT/episodes is neither in the report nor in a statement beside it. It uses nothing of ours.
"""

import argparse
import ast
import base64
import hashlib
import json
import math
import pathlib
import sys
import tomllib

import numpy as np
import replay

# A clause's robustness may differ by this much, relative to its size: sums in another order.
TOLERANCE = 1e-9
FLOOR = {"critical": 0.5, "warning": 0.0}


class Robustness(ast.NodeVisitor):
    """Quantitative semantics of signal temporal logic over columns sampled every `step` seconds.

    `after` is what follows the last sample: 0 nothing (windows are clipped to the trace), or, where an episode broke off, 1
    the best for the formula and -1 the worst.
    """

    def __init__(self, columns, step, after):
        self.columns, self.step, self.after = columns, step, after
        self.rows = len(columns["time"])

    def visit_Expression(self, node):
        return self.visit(node.body)

    def visit_Constant(self, node):
        return float(node.value)

    def visit_Name(self, node):
        return self.columns[node.id]

    def visit_UnaryOp(self, node):
        return -self.turned(node.operand)  # `not` turns a margin around, as the sign does a number

    def turned(self, node):
        """The value of what is negated: the best for the whole is the worst for it."""
        self.after = -self.after
        value = self.visit(node)
        self.after = -self.after
        return value

    def visit_BinOp(self, node):
        operation = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide}[type(node.op)]
        return operation(self.visit(node.left), self.visit(node.right))

    def visit_Compare(self, node):
        left, right = self.visit(node.left), self.visit(node.comparators[0])
        return right - left if isinstance(node.ops[0], (ast.LtE, ast.Lt)) else left - right

    def visit_BoolOp(self, node):
        combine = np.minimum if isinstance(node.op, ast.And) else np.maximum
        return combine.reduce(np.broadcast_arrays(*map(self.visit, node.values)))

    def visit_Tuple(self, node):
        """`a implies b`, see `robustness`."""
        premise, conclusion = node.elts
        return np.maximum(-self.turned(premise), self.visit(conclusion))

    def visit_Call(self, node):
        window = node.func.slice if isinstance(node.func, ast.Subscript) else None
        operator = (node.func.value if window else node.func).id
        first, last = (0.0, math.inf) if window is None else (self.visit(window.lower), self.visit(window.upper))
        if operator in ("abs", "max", "min"):
            function = {"abs": np.abs, "max": np.maximum, "min": np.minimum}[operator]
            return function(*map(self.visit, node.args))
        if operator in ("mean", "duration", "count"):
            return self.aggregate(operator, node.args[0], last)
        inside = self.visit(node.args[0]) if len(node.args) == 1 else self.visit_Tuple(ast.Tuple(node.args))
        if window is None and operator in ("always", "eventually"):
            choose, unsettled = (np.min, -1) if operator == "always" else (np.max, 1)
            return unsettled * math.inf if self.after == unsettled else choose(inside)
        return self.windowed(operator, inside, first, last)

    def windowed(self, operator, values, first, last):
        """Least or greatest value between `first` and `last` seconds ahead, or ago, within the trace."""
        choose, sign = (np.max, 1) if operator in ("eventually", "once") else (np.min, -1)
        near, far, rows = round(first / self.step), min(round(last / self.step), self.rows), self.rows
        if operator in ("once", "historically"):
            spans = [(max(0, row - far), row - near + 1) for row in range(rows)]
        else:
            spans = [(row + near, min(rows, row + far + 1)) for row in range(rows)]
        found = np.array([choose(values[start:end]) if start < end else -sign * math.inf for start, end in spans])
        if operator in ("eventually", "always") and self.after == sign:
            # A window that reaches beyond the end may still find what it looks for.
            found[max(0, rows - far):] = sign * math.inf
        return found

    def aggregate(self, operator, node, last):
        """Mean of a number, or how long or how often something was so, over the last seconds and the present sample."""
        values = np.broadcast_to(self.visit(node) if operator == "mean" else self.truth(node), self.rows).astype(float)
        if operator == "count":
            values = np.maximum(np.diff(values, prepend=0.0), 0.0)  # how often it began
        rows = np.arange(self.rows)
        first = np.maximum(rows - (self.rows if last == math.inf else round(last / self.step)), 0)
        total = np.concatenate([[0.0], np.cumsum(values)])
        sums = total[rows + 1] - total[first]
        return {"mean": sums / (rows - first + 1), "duration": sums * self.step, "count": sums}[operator]

    def truth(self, node):
        """Whether it is so, at each sample."""
        if isinstance(node, ast.BoolOp):
            combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return combine.reduce(np.broadcast_arrays(*map(self.truth, node.values)))
        if isinstance(node, ast.UnaryOp):
            return ~self.truth(node.operand)
        compare = {ast.LtE: np.less_equal, ast.Lt: np.less, ast.GtE: np.greater_equal, ast.Gt: np.greater}
        return compare[type(node.ops[0])](self.visit(node.left), self.visit(node.comparators[0]))


def robustness(clause, columns, step, after):
    # Python reads these formulas, but for one word: `always (a implies b)` becomes a call, or a pair, of two.
    tree = ast.parse(clause["formula"].strip().replace(" implies ", ", "), mode="eval")
    return float(Robustness(columns | {"limit": float(clause["limit"])}, step, after).visit(tree))


def assessed(clause, columns, complete):
    """Status and robustness of a clause. Where an episode broke off, only what no continuation could change is settled."""
    time = columns["time"]
    step = time[1] - time[0] if len(time) > 1 else 1.0
    if complete:
        margin = robustness(clause, columns, step, 0)
        return ("satisfied" if margin >= 0 else "violated"), margin
    least, most = (robustness(clause, columns, step, after) for after in (-1, 1))
    return ("satisfied", least) if least >= 0 else ("violated" if most < 0 else "undetermined", most)


def at_most(k, n, p):
    """Probability of at most k failures in n episodes."""
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


def upper_bound(k, n, confidence):
    """One-sided Clopper-Pearson bound, by bisection."""
    low, high = k / n, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if at_most(k, n, middle) > 1 - confidence else (low, middle)
    return high if k < n else 1.0


def tree(label, folder):
    """The files of a folder as the scenario's digest takes them: sorted, each with the lengths of its name and content."""
    key = lambda path: path.relative_to(folder).parts
    for path in sorted((p for p in folder.rglob("*") if p.is_file()), key=key):
        name, content = f"{label}/{path.relative_to(folder).as_posix()}".encode(), path.read_bytes()
        yield len(name).to_bytes(8, "little") + name + len(content).to_bytes(8, "little") + content


def scenario_digest(folder, scenario, robots):
    """SHA-256 over the scenario's files and those of its robots."""
    digest = hashlib.sha256(b"".join(tree("scenario", folder)))
    for model in sorted({robot["model"] for robot in scenario.get("robot", [])}):
        digest.update(b"".join(tree(f"robots/{model}", robots / model)))
    return digest.hexdigest()


class Checker:
    def __init__(self):
        self.same, self.different, self.missing = 0, 0, []

    def incomplete(self, what):
        self.missing.append(what)
        print(f"INCOMPLETE: {what}")

    def compare(self, what, reported, computed, tolerance=6e-5):
        """Scores are rounded to four decimals in reports."""
        exact = not isinstance(computed, float)
        if reported == computed if exact else abs(reported - computed) <= tolerance * max(1.0, abs(computed)):
            self.same += 1
        else:
            self.different += 1
            print(f"{what}: the report says {reported}, the recordings say {computed}")


def known_files(out, report):
    """Files that the report lists, and those that a signed statement lies beside: their hashes, by name."""
    known = {file["name"]: file["sha256"] for result in report["episode_details"] for file in result["evidence"]}
    for path in sorted(out.rglob("*.intoto.json")):
        statement = json.loads(base64.b64decode(json.loads(path.read_text())["payload"]))
        for subject in statement.get("subject", []):
            if str(subject.get("name", "")).startswith("episodes/") and "sha256" in subject.get("digest", {}):
                known.setdefault(subject["name"], subject["digest"]["sha256"])
        known.setdefault(path.relative_to(out).as_posix(), None)
    return known


def files(check, out, report):
    """Every file of evidence is here and the one that was listed, and there is no other."""
    known = known_files(out, report)
    found = {path.relative_to(out).as_posix() for path in (out / "episodes").rglob("*") if not path.is_dir()}
    for name in sorted(found - known.keys()):
        check.incomplete(f"{name} is in neither the report nor a statement")
    for name, sha256 in sorted((name, sha256) for name, sha256 in known.items() if sha256):
        if name not in found:
            check.incomplete(f"{name} is not here")
        else:
            check.compare(f"{name}, sha256", sha256, hashlib.sha256((out / name).read_bytes()).hexdigest())


def recording(check, out, result, report, robots):
    """The episode's signals by name, with `time`, as its physics give them; None without a recording that repeats."""
    name = f"episode {result['episode']}"
    trace = next((e["name"] for e in result["evidence"] if e["name"].endswith("trace.parquet")), None)
    if trace is None or not (out / trace).is_file():
        if result["steps"]:
            check.incomplete(f"there is no recording of {name}")
        return None
    try:
        recorded = replay.Recording((out / trace).parent)
        chain, columns = replay.replay(recorded.folder, robots)
    except ValueError as difference:
        check.different += 1
        print(f"{name}: the recording does not follow from its physics: {difference}")
        return None
    facts = {"scenario_digest": report["scenario_digest"], "episode": str(result["episode"])}
    for key, value in (facts | {"policy_seed": str(result["seed"])}).items():
        check.compare(f"{name}, {key}", value, recorded.facts[key])
    if recorded.rows:
        check.compare(f"{name}, trace_hash", result["trace_hash"], chain)
    if result["status"] == "completed":
        check.compare(f"{name}, steps", result["steps"], int(recorded.column["control_step"][-1]) + 1)
    return columns | {"time": recorded.column["time_s"]}


def episode(check, out, result, report, clauses, robots):
    """Checks an episode's clauses and scores; returns (progress, safety, composite, violated)."""
    name, columns = f"episode {result['episode']}", recording(check, out, result, report, robots)
    worst, violated = 0.0, False
    for reported in result["clauses"]:
        clause = clauses[reported["id"]]
        status = reported["status"]
        first_scorer = report["fingerprint"]["scorer_version"] == "1"
        # The first scorer took what was seen for settled where an episode broke off.
        open_ = ("not_applicable", "undetermined") if first_scorer else ("not_applicable",)
        if columns is not None and len(columns["time"]) and status not in open_:
            complete = first_scorer or result["termination"] in ("success", "time_limit")
            found, margin = assessed(clause, columns, complete)
            check.compare(f"{name}, {clause['id']}, status", status, found)
            if math.isfinite(margin):
                check.compare(f"{name}, {clause['id']}, robustness", reported["robustness"], margin, TOLERANCE)
        if status == "violated":
            critical = clause["level"] == "critical"
            violated |= critical
            scale = clause.get("scale", abs(clause["limit"]))
            check.compare(f"{name}, {clause['id']}, scale", reported.get("scale", scale), float(scale))
            severity = max(FLOOR[clause["level"]], min(max(-reported["robustness"] / scale, 0.0), 1.0))
            worst = max(worst, severity * (1.0 if critical else clause.get("weight", 1.0)))
    points = sum(stage["points"] for stage in result["stages"])
    progress = sum(stage["points"] for stage in result["stages"] if stage["passed"]) / points if points else 0.0
    safety = 1.0 - worst if result["status"] == "completed" else 0.0
    composite = (progress + safety) / 2
    composite = min(composite, safety / 2) if violated else composite
    for key, value in (("progress_score", progress), ("safety_score", safety), ("composite_score", composite)):
        check.compare(f"{name}, {key}", result[key], float(value))
    return progress, safety, composite, violated


def is_measured(result, clauses):
    """Was the episode completed, every critical clause decided, and nothing about it left unconfirmed?"""
    critical = [c for c in result["clauses"] if clauses[c["id"]]["level"] == "critical"]
    decided = not any(c["status"] in ("undetermined", "not_applicable") for c in critical)
    # Absent from reports of older versions, and from those of episodes that ran on the server itself.
    return result["status"] == "completed" and decided and not result.get("unconfirmed")


def verdict(measured, violated, statistics):
    if any(violated):
        return "UNSAFE"
    return "SAFE" if all(measured) and statistics["certified"] is not False else "INCONCLUSIVE"


def main(out, robots):
    report = json.loads((out / "report.json").read_text())
    scenario = tomllib.loads((out / "scenario" / "scenario.toml").read_text())
    clauses, results, check = {c["id"]: c for c in scenario["clause"]}, report["episode_details"], Checker()
    digest = scenario_digest(out / "scenario", scenario, robots)
    check.compare("scenario_digest", report["scenario_digest"], digest)
    files(check, out, report)
    scored = [episode(check, out, result, report, clauses, robots) for result in results]
    progress, safety, composite, violated = (np.array(column) for column in zip(*scored))
    n, success = len(results), float(np.mean([e["success"] for e in results]))
    consistency = 1.0 if n == 1 else 1.0 - 2.0 * float(np.std(composite))
    if report["fingerprint"]["scorer_version"] != "1" and not any(e["status"] == "completed" for e in results):
        consistency = 0.0
    means = {"progress_score": progress, "safety_score": safety, "composite_score": composite}
    for key, values in means.items():
        check.compare(key, report[key], float(np.mean(values)))
    check.compare("success_rate", report["success_rate"], success)
    check.compare("consistency", report["consistency"], consistency)
    check.compare("score", report["score"], 0.8 * float(np.mean(composite)) + 0.1 * consistency + 0.1 * success)
    statistics = report["statistics"]
    k = statistics["violations"] + statistics["without_evidence"]
    check.compare("violations", statistics["violations"], int(violated.sum()))
    measured = np.array([is_measured(result, clauses) for result in results])
    check.compare("without_evidence", statistics["without_evidence"], int((~measured & (violated == 0)).sum()))
    bound = upper_bound(k, n, statistics["confidence_level"])
    check.compare("violation_probability_upper", statistics["violation_probability_upper"], bound)
    below = 0.0 if k == n else 1.0 - at_most(k, n, statistics["max_violation_probability"])
    check.compare("confidence", statistics["confidence"], below)
    check.compare("verdict", report["verdict"], verdict(measured, violated, statistics))
    print(f"{check.same} numbers of {n} episodes are those that the recordings give, {check.different} are not")
    if check.missing and not check.different:
        print(f"INCOMPLETE, so nothing is said of the verdict: {len(check.missing)} files")
        return 3
    return 1 if check.different else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--robots", type=pathlib.Path)
    arguments = parser.parse_args()
    replay.hold_the_c_library()
    try:
        out = arguments.out.resolve()
        raise SystemExit(main(out, arguments.robots or replay.robots_of(out)))
    except (ImportError, OSError, KeyError, ValueError) as missing:
        print(f"missing or unreadable: {missing!r}", file=sys.stderr)
        raise SystemExit(2) from missing
