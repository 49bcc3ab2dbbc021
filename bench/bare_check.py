"""The signals, stages and clauses of `bare_loop.py --check`, which implement `scenario.toml` independently of the
service, and the rendering of episodes."""

import fnmatch
import math

import numpy as np

from bare_episode import episode
from bare_world import World, frame, mujoco, velocity


def signals(world):
    """Returns a function for each of the scenario's signals whose kind is implemented here."""
    model, data, scenario = world.model, world.data, world.scenario
    solid = (model.geom_contype != 0) | (model.geom_conaffinity != 0)

    def group(name):
        def belongs(g):
            names = model.geom(g).name, model.body(model.geom_bodyid[g]).name
            return solid[g] and any(fnmatch.fnmatchcase(n, glob) for n in names for glob in scenario["groups"][name])

        return {g for g in range(model.ngeom) if belongs(g)}

    def force(a, b):
        total, out = 0.0, np.zeros(6)
        for i in range(data.ncon):
            g, h = data.contact[i].geom
            if (g in a and h in b) or (h in a and g in b):
                mujoco.mj_contactForce(model, data, i, out)
                total += max(out[0], 0)
        return total

    def distance(a, b, cutoff):
        return min(mujoco.mj_geomDistance(model, data, g, h, cutoff, None) for g in a for h in b if g != h)

    def make(s):
        kind = s["kind"]
        of = frame(model, s["of"]) if ":" in s.get("of", "") else None
        robot = world.robots.get(s.get("robot"))
        if kind == "contact_force":
            a = group(s["a"])
            b = group(s["b"]) if "b" in s else set(range(model.ngeom)) - a
            return lambda qpos, qvel: force(a, b)
        if kind == "distance":
            a, b = group(s["a"]), group(s["b"])
            return lambda qpos, qvel: distance(a, b, s["cutoff"])
        if kind == "speed":
            return lambda qpos, qvel: np.linalg.norm(velocity(model, data, of)[3:])
        if kind == "tilt":
            return lambda qpos, qvel: math.acos(np.clip(getattr(data, of[3])[of[1]][8], -1, 1))
        if kind == "point_distance":
            f, t = frame(model, s["from"]), frame(model, s["to"])
            return lambda qpos, qvel: np.linalg.norm(getattr(data, t[2])[t[1]] - getattr(data, f[2])[f[1]])
        if kind == "joint_value":
            at = model.joint(s["joint"]).qposadr[0]
            return lambda qpos, qvel: qpos[at]
        if kind == "joint_speed":
            at = model.joint(s["joint"]).dofadr[0]
            return lambda qpos, qvel: qvel[at]
        if kind == "joint_position_margin":
            low, high = robot.limits["position_low"], robot.limits["position_high"]
            return lambda qpos, qvel: min(np.min(qpos[robot.qadr] - low), np.min(high - qpos[robot.qadr]))
        if kind == "joint_velocity_ratio":
            return lambda qpos, qvel: np.max(np.abs(qvel[robot.dof]) / robot.limits["velocity"])
        if kind == "joint_torque_ratio":
            return lambda qpos, qvel: np.max(np.abs(data.qfrc_actuator[robot.dof]) / robot.limits["torque"])
        return None

    made = {name: make(s) for name, s in scenario["signals"].items()}
    return {name: read for name, read in made.items() if read}


class Judge:
    """Tracks success, stages and the worst value of each clause of the form `always (signal <= limit)`."""

    def __init__(self, world):
        self.world, self.dt = world, world.model.opt.timestep
        self.signals = signals(world)
        self.conditions = {s["name"]: (s["when"], s.get("hold_s", 0)) for s in world.scenario["stage"]}
        success = world.scenario["success"]
        self.conditions["success"] = success["when"], success.get("hold_s", 0)
        self.held = dict.fromkeys(self.conditions, 0.0)
        self.passed, self.worst, self.last = {}, {}, {}

    def step(self, at, qpos, qvel):
        now = {name: read(qpos, qvel) for name, read in self.signals.items()} | {"time": at}
        for name, (when, hold_s) in self.conditions.items():
            self.held[name] = self.held[name] + self.dt if eval(when, {"abs": abs}, now) else 0.0
            if self.held[name] > hold_s and name not in self.passed:
                self.passed[name] = at
        for clause in self.world.scenario["clause"]:
            body = clause["formula"].removeprefix("always ").strip()[1:-1]
            left, sign, _ = body.rpartition("<=") if "<=" in body else body.rpartition(">=")
            try:
                value = eval(left, {"abs": abs, "min": min, "max": max}, now)
            except NameError:  # uses a signal that is not implemented here
                continue
            margin = clause["limit"] - value if sign == "<=" else value - clause["limit"]
            if margin < self.worst.get(clause["id"], (math.inf,))[0]:
                self.worst[clause["id"]] = (margin, value, at)
        self.last = now

    def success(self):
        at_end = self.world.scenario["success"].get("at", "any") == "end"
        need = self.world.scenario["success"].get("hold_s", 0)
        return self.held["success"] >= need if at_end else "success" in self.passed


def check(folder, make_policy, episodes, seed):
    """Prints the policy's results over many worlds."""
    worst, successes, passed = {}, 0, {}
    violated = {}
    for i in range(episodes):
        world = World(folder, seed + i)
        judge = Judge(world)
        steps, _ = episode(world, make_policy, seed + i, judge)
        successes += judge.success()
        for stage in world.scenario["stage"]:
            passed[stage["name"]] = passed.get(stage["name"], 0) + (stage["name"] in judge.passed)
        broken = [c for c, (margin, _, _) in judge.worst.items() if margin < 0]
        for clause, found in judge.worst.items():
            worst[clause] = min(worst.get(clause, (math.inf,)), (*found, seed + i))
            violated[clause] = violated.get(clause, 0) + (found[0] < 0)
        ends = " ".join(f"{name}={at:.2f}s" for name, at in judge.passed.items())
        print(f"seed {seed + i}: {steps * world.decimation * judge.dt:.2f} s  {ends}  violated: {broken or 'nothing'}")
    print(f"success {successes}/{episodes}; stages {passed}")
    for clause, (margin, value, at, where) in worst.items():
        print(f"  {clause}: violated in {violated[clause]}; worst {value:.4g} (margin {margin:.4g}) at {at:.2f} s, seed {where}")


def draw_episode(folder, make_policy, seed, png, sheet, size):
    """Renders the first frame, and a sheet of six frames."""
    from PIL import Image

    world = World(folder, seed)
    world.model.vis.global_.offwidth, world.model.vis.global_.offheight = size
    camera = world.scenario["camera"]["name"]
    frames = []
    with mujoco.Renderer(world.model, size[1], size[0]) as renderer:

        def show(data):
            posed = mujoco.MjData(world.model)
            posed.qpos[:] = data.qpos
            mujoco.mj_forward(world.model, posed)
            renderer.update_scene(posed, camera)
            frames.append(renderer.render().copy())

        show(world.data)
        if sheet:
            episode(world, make_policy, seed, Judge(world), show)
    if png:
        Image.fromarray(frames[0]).save(png, optimize=True)
    if sheet:
        chosen = [frames[round(i * (len(frames) - 1) / 5)] for i in range(6)]
        rows = [np.concatenate(chosen[:3], axis=1), np.concatenate(chosen[3:], axis=1)]
        Image.fromarray(np.concatenate(rows)).save(sheet)
