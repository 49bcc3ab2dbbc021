#!/usr/bin/env python3
"""Run the physics of recorded episodes at half the step, and see how far each clause's margin moves.

    pip install mujoco==3.17.0 numpy pyarrow
    python half_step.py OUT --trust-model [--robots DIR] [--every S] [--json]

MuJoCo reads the models of OUT in this process: --trust-model allows it, for models with the digests that were signed
(see replay.py).

Steps through each episode of OUT as recorded (see replay.py). Every S seconds (default 0.1) it starts twice from the state
reached, with the recorded inputs: at the scenario's step and at half of it. For each clause it compares the two margins over
these S seconds, as a share of the clause's scale. Margins beyond the scale count as the scale, since no score tells them apart.
A rule whose margin follows the step says something about the solver, not about the policy.

Exit code 0: no critical clause's margin moves by more than 5 % of its scale in the median and the 95th percentile; 1: one does;
2: something is missing.
"""

import argparse
import json
import pathlib
import sys
import tomllib

import replay

# Most by which half the step may move a critical clause's margin, as a share of its scale, in the 95th percentile.
MOST_SHIFT = 0.05


class Rehearsal:
    """Short runs from a state of an episode, at any step."""

    def __init__(self, recording, scenario_folder, robots, trust_model):
        import mujoco
        import numpy as np

        self.recording, self.scenario_folder, self.robots = recording, scenario_folder, robots
        self.model = replay.load_model(recording.folder, trust_model)
        self.data = mujoco.MjData(self.model)
        self.step_s = self.model.opt.timestep
        self.acting = list(recording.recorded_inputs())
        self.action = recording.group("action")
        self.state = np.fromfile(replay.plain(recording.folder / "state.bin"), "<f8")

    def set_inputs(self, row):
        for name, index, rows in self.acting:
            getattr(self.data, name).flat[index] = rows[row]

    def run(self, state, first, rows, parts):
        """Signals by name over `rows` physics steps from `state`, each cut into `parts`."""
        import mujoco
        import numpy as np
        from signals import Signals

        integration = mujoco.mjtState.mjSTATE_INTEGRATION
        self.model.opt.timestep = self.step_s / parts
        try:
            signals = Signals(self.model, self.scenario_folder, self.robots)
            mujoco.mj_setState(self.model, self.data, state, integration)
            columns = []
            for row in range(first, first + rows):
                self.set_inputs(row)
                for _ in range(parts):
                    qpos, qvel, time_s = self.data.qpos.copy(), self.data.qvel.copy(), self.data.time
                    mujoco.mj_step(self.model, self.data)
                    values = signals.measure(self.data, qpos, qvel, time_s, self.action[row])
                    columns.append(values | {"time": time_s})
        finally:
            self.model.opt.timestep = self.step_s
        return {name: np.array([values[name] for values in columns]) for name in columns[0]}

    def states(self, every):
        """The episode's states, one each `every` rows: (row, state)."""
        import mujoco

        integration = mujoco.mjtState.mjSTATE_INTEGRATION
        state = self.state.copy()
        for row in range(0, self.recording.rows - every + 1, every):
            yield row, state
            mujoco.mj_setState(self.model, self.data, state, integration)
            for following in range(row, row + every):
                self.set_inputs(following)
                mujoco.mj_step(self.model, self.data)
            state = state.copy()
            mujoco.mj_getState(self.model, self.data, state, integration)


def shifts(folder, scenario, scenario_folder, robots, every_s, trust_model):
    """Of each clause: (shift as a share of its scale, whether its status changes) for each state of the episode."""
    from recompute import robustness

    rehearsal = Rehearsal(replay.Recording(folder), scenario_folder, robots, trust_model)
    every, found = round(every_s / rehearsal.step_s), {clause["id"]: [] for clause in scenario["clause"]}
    for row, state in rehearsal.states(every):
        whole, half = (rehearsal.run(state, row, every, parts) for parts in (1, 2))
        for clause in scenario["clause"]:
            scale = float(clause.get("scale", abs(clause["limit"])))
            a = robustness(clause, whole, rehearsal.step_s, 0)
            b = robustness(clause, half, rehearsal.step_s / 2, 0)
            near, far = (min(max(margin / scale, -1.0), 1.0) for margin in (a, b))
            found[clause["id"]].append((abs(near - far), (a < 0) != (b < 0)))
    return found


def table(out, robots, every_s, trust_model):
    """A row of figures for each clause, over all episodes of OUT."""
    import numpy as np

    scenario = tomllib.loads(replay.plain(out / "scenario" / "scenario.toml").read_text())
    found = {clause["id"]: [] for clause in scenario["clause"]}
    for folder in sorted((out / "episodes").iterdir()):
        for clause, pairs in shifts(folder, scenario, out / "scenario", robots, every_s, trust_model).items():
            found[clause] += pairs
    rows = []
    for clause in scenario["clause"]:
        shift = np.array([shift for shift, _ in found[clause["id"]]])
        rows.append(
            {
                "clause": clause["id"],
                "level": clause["level"],
                "restarts": len(shift),
                "median": float(np.median(shift)),
                "p95": float(np.percentile(shift, 95)),
                "greatest": float(shift.max()),
                "flips": sum(flips for _, flips in found[clause["id"]]),
            }
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--robots", type=pathlib.Path)
    parser.add_argument("--every", type=float, default=0.1, metavar="S")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--trust-model", action="store_true", help="read models that were signed")
    arguments = parser.parse_args()
    replay.hold_the_c_library()
    try:
        out = arguments.out.resolve()
        rows = table(out, arguments.robots or replay.robots_of(out), arguments.every, arguments.trust_model)
    except replay.Untrusted as untrusted:
        print(f"half_step.py: {untrusted}", file=sys.stderr)
        return 2
    except (ImportError, OSError, LookupError, ValueError) as missing:
        print(f"half_step.py: {missing!r}", file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(rows))
    else:
        print(f"{'clause':24} {'level':9} {'restarts':>8} {'median':>8} {'p95':>8} {'greatest':>8} {'flips':>5}")
        for row in rows:
            figures = " ".join(f"{row[key]:8.2%}" for key in ("median", "p95", "greatest"))
            print(f"{row['clause']:24} {row['level']:9} {row['restarts']:8} {figures} {row['flips']:5}")
    moved = [row for row in rows if row["level"] == "critical" and row["p95"] > MOST_SHIFT]
    return 1 if moved else 0


if __name__ == "__main__":
    sys.exit(main())
