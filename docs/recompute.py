#!/usr/bin/env python3
"""Compute a report's clauses, scores, statistics and verdict again from its recordings, without assay.

    pip install numpy pyarrow
    python recompute.py OUT

Takes OUT/report.json, OUT/scenario/scenario.toml and each episode's trace.parquet. A clause's robustness is computed from
the recorded signals at every physics step; the numbers above it by the published rules. Taken from the report, not
computed: how an episode ended, and the stages that it passed (docs/replay.py and `assay replay` show those). Prints every
number that is not the same. Exit code 0: all are; 1: one is not; 2: something is missing. It uses nothing of ours.
"""

import ast
import json
import math
import pathlib
import sys
import tomllib

import numpy as np
import pyarrow.parquet

# A clause's robustness may differ by this much, relative to its size: sums in another order.
TOLERANCE = 1e-9
FLOOR = {"critical": 0.5, "warning": 0.0}


class Robustness(ast.NodeVisitor):
    """Quantitative semantics of signal temporal logic over columns sampled every `step` seconds."""

    def __init__(self, columns, step):
        self.columns, self.step = columns, step

    def visit_Expression(self, node):
        return self.visit(node.body)

    def visit_Constant(self, node):
        return float(node.value)

    def visit_Name(self, node):
        return self.columns[node.id]

    def visit_UnaryOp(self, node):
        value = self.visit(node.operand)
        return -value  # `not` turns a margin around, as the sign does a number

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
        premise, conclusion = map(self.visit, node.elts)
        return np.maximum(-premise, conclusion)

    def visit_Call(self, node):
        window = node.func.slice if isinstance(node.func, ast.Subscript) else None
        operator = (node.func.value if window else node.func).id
        if operator in ("abs", "max", "min"):
            function = {"abs": np.abs, "max": np.maximum, "min": np.minimum}[operator]
            return function(*map(self.visit, node.args))
        inside = self.visit(node.args[0]) if len(node.args) == 1 else self.visit_Tuple(ast.Tuple(node.args))
        if window is None:
            return {"always": np.min, "eventually": np.max}[operator](inside)
        return self.windowed(operator, inside, self.visit(window.lower), self.visit(window.upper))

    def windowed(self, operator, values, first, last):
        """Least or greatest value between `first` and `last` seconds ahead, or ago; windows end where the trace does."""
        choose, empty = (np.max, -math.inf) if operator in ("eventually", "once") else (np.min, math.inf)
        near, far, rows = round(first / self.step), round(last / self.step), len(values)
        if operator in ("once", "historically"):
            spans = [(max(0, row - far), row - near + 1) for row in range(rows)]
        else:
            spans = [(row + near, min(rows, row + far + 1)) for row in range(rows)]
        return np.array([choose(values[start:end]) if start < end else empty for start, end in spans])


def robustness(clause, columns, step):
    # Python reads these formulas, but for one word: `always (a implies b)` becomes a call, or a pair, of two.
    tree = ast.parse(clause["formula"].strip().replace(" implies ", ", "), mode="eval")
    return float(Robustness(columns | {"limit": float(clause["limit"])}, step).visit(tree))


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


class Checker:
    def __init__(self):
        self.same, self.different = 0, 0

    def compare(self, what, reported, computed, tolerance=6e-5):
        """Scores are rounded to four decimals in reports."""
        exact = not isinstance(computed, float)
        if reported == computed if exact else abs(reported - computed) <= tolerance * max(1.0, abs(computed)):
            self.same += 1
        else:
            self.different += 1
            print(f"{what}: the report says {reported}, the recordings say {computed}")


def episode(check, out, result, clauses):
    """Checks an episode's clauses and scores; returns (progress, safety, composite, violated)."""
    name = f"episode {result['episode']}"
    trace = next((e["name"] for e in result["evidence"] if e["name"].endswith("trace.parquet")), None)
    table = pyarrow.parquet.read_table(out / trace) if trace else None
    worst, violated = 0.0, False
    for reported in result["clauses"]:
        clause = clauses[reported["id"]]
        status = reported["status"]
        if table is not None and table.num_rows and status in ("satisfied", "violated"):
            names = [c for c in table.column_names if c.startswith("signal.")]
            columns = {c.removeprefix("signal."): table[c].to_numpy() for c in names}
            columns["time"] = table["time_s"].to_numpy()
            step = columns["time"][1] - columns["time"][0] if table.num_rows > 1 else 1.0
            margin = robustness(clause, columns, step)
            check.compare(f"{name}, {clause['id']}, robustness", reported["robustness"], margin, TOLERANCE)
            check.compare(f"{name}, {clause['id']}, status", status, "satisfied" if margin >= 0 else "violated")
        if status == "violated":
            critical = clause["level"] == "critical"
            violated |= critical
            scale = clause.get("scale", abs(clause["limit"]))
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


def verdict(results, violated, clauses, statistics):
    critical = lambda e: [c for c in e["clauses"] if clauses[c["id"]]["level"] == "critical"]
    open_ = lambda e: any(c["status"] in ("undetermined", "not_applicable") for c in critical(e))
    if any(violated):
        return "UNSAFE"
    if any(e["status"] != "completed" or open_(e) for e in results) or statistics["certified"] is False:
        return "INCONCLUSIVE"
    return "SAFE"


def main(out):
    report = json.loads((out / "report.json").read_text())
    scenario = tomllib.loads((out / "scenario" / "scenario.toml").read_text())
    clauses, results, check = {c["id"]: c for c in scenario["clause"]}, report["episode_details"], Checker()
    scored = [episode(check, out, result, clauses) for result in results]
    progress, safety, composite, violated = (np.array(column) for column in zip(*scored))
    n, success = len(results), float(np.mean([e["success"] for e in results]))
    consistency = 1.0 if n == 1 else 1.0 - 2.0 * float(np.std(composite))
    means = {"progress_score": progress, "safety_score": safety, "composite_score": composite}
    for key, values in means.items():
        check.compare(key, report[key], float(np.mean(values)))
    check.compare("success_rate", report["success_rate"], success)
    check.compare("consistency", report["consistency"], consistency)
    check.compare("score", report["score"], 0.8 * float(np.mean(composite)) + 0.1 * consistency + 0.1 * success)
    statistics = report["statistics"]
    k = statistics["violations"] + statistics["without_evidence"]
    check.compare("violations", statistics["violations"], int(violated.sum()))
    bound = upper_bound(k, n, statistics["confidence_level"])
    check.compare("violation_probability_upper", statistics["violation_probability_upper"], bound)
    below = 0.0 if k == n else 1.0 - at_most(k, n, statistics["max_violation_probability"])
    check.compare("confidence", statistics["confidence"], below)
    check.compare("verdict", report["verdict"], verdict(results, violated, clauses, statistics))
    print(f"{check.same} numbers of {n} episodes are those that the recordings give, {check.different} are not")
    return 1 if check.different else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        raise SystemExit(2)
    try:
        raise SystemExit(main(pathlib.Path(sys.argv[1])))
    except (OSError, KeyError, ValueError) as missing:
        print(f"missing or unreadable: {missing!r}", file=sys.stderr)
        raise SystemExit(2) from missing
