#!/usr/bin/env python3
"""The same world, controller and policy as the service, in a bare MuJoCo loop in one Python process.

It is what the service's speed is compared with: no jail, no clauses, no trace. One JSON line says what a control step
costs in CPU time:

    python bench/bare_loop.py --scenario tabletop_reach --policy reference --episodes 3 --seed 1

    {"scenario": "tabletop_reach", "control_steps": 1500, "cpu_s": 0.29, "cpu_us_per_control_step": 191.4, "parts_us": {}}

Only the episodes' loops are timed; building worlds and importing the policy is not. The loop looks at no success, so
episodes last until the time limit, or `--control-steps N`. `--parts` says where the CPU time went (and costs some itself). With `--check` every signal is
computed at every physics step as well, and what the policies did is printed instead: a second, independent reading of
`scenario.toml`. `--png FILE` and `--sheet FILE` draw the first world and a strip of its episode.

Needs mujoco 3.17.0 and numpy (pillow to draw). Worlds are drawn by numpy's generator, so they are of the same kind as
the service's but not the same ones.
"""

import argparse
import importlib.util
import json
import math
import os
import sys
import time
import tomllib
from pathlib import Path

import numpy as np

os.environ.setdefault("MUJOCO_GL", "egl")  # read when mujoco is imported; only drawing needs it
import mujoco  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
LIMIT_MARGIN_RAD = 0.02  # room before a joint's position limit
BRAKE_SHARE = 0.5  # of the acceleration limit, to brake before it
LEAST_DAMPING_SQUARED = 1e-6
OBJECTS = {
    "site": (mujoco.mjtObj.mjOBJ_SITE, "site_xpos", "site_xmat"),
    "body": (mujoco.mjtObj.mjOBJ_BODY, "xpos", "xmat"),
    "geom": (mujoco.mjtObj.mjOBJ_GEOM, "geom_xpos", "geom_xmat"),
}


def read_toml(path):
    with open(path, "rb") as file:
        return tomllib.load(file)


def load_policy(folder):
    """A maker of policies: one call for each episode."""
    spec = importlib.util.spec_from_file_location("policy", Path(folder) / "policy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "Policy"):
        return lambda seed, scenario: module.policy

    def make(seed, scenario):
        policy = module.Policy()
        if hasattr(policy, "reset"):
            policy.reset(seed=seed, scenario=scenario["id"], instruction=scenario.get("instruction"))
        return policy.act

    return make


class Robot:
    """A mounted robot: its file, and where its joints are in the compiled model."""

    def __init__(self, entry, file):
        self.name, self.mount, self.qpos, self.file = entry["name"], entry["mount"], np.array(entry["qpos"]), file

    def resolve(self, model):
        def name(part):
            return f"{self.name}/{part}"

        joints = [model.joint(name(j)) for j in self.file["joints"]]
        self.qadr = np.array([j.qposadr[0] for j in joints])
        self.dof = np.array([j.dofadr[0] for j in joints])
        self.actuators = np.array([model.actuator(name(j)).id for j in self.file["joints"]])
        self.tcp = model.site(name(self.file["tcp"])).id
        self.limits = {key: np.array(value) for key, value in self.file["limits"].items()}
        grip = self.file.get("gripper")
        if grip:
            self.open_m, self.finger_speed = grip["open_m"], grip.get("speed_m_per_s", math.inf)
            self.grip = model.actuator(name(grip["actuator"])).id
            self.fingers = np.array([model.joint(name(j)).qposadr[0] for j in grip["joints"]])


class World:
    """A scenario drawn with a seed: model, data and the start of the episode."""

    def __init__(self, folder, seed):
        self.scenario = read_toml(folder / "scenario.toml")
        spec = mujoco.MjSpec.from_file(str(folder / self.scenario["world"]["scene"]))
        spec.option.timestep = self.scenario["world"]["timestep_s"]
        self.robots = {}
        for entry in self.scenario.get("robot", []):
            home = ROOT / "robots" / entry["model"]
            file = read_toml(home / "robot.toml")
            child = mujoco.MjSpec.from_file(str(home / file["model"]))
            spec.site(entry["mount"]).attach_body(child.worldbody.first_body(), entry["name"] + "/", "")
            self.robots[entry["name"]] = Robot(entry, file)
        self.model = spec.compile()
        for robot in self.robots.values():
            robot.resolve(self.model)
        start = self.randomise(np.random.default_rng(seed))
        self.data = mujoco.MjData(self.model)
        mujoco.mj_setConst(self.model, self.data)
        mujoco.mj_resetData(self.model, self.data)
        self.place(start)
        mujoco.mj_forward(self.model, self.data)
        world = self.scenario["world"]
        self.decimation = round(1 / (world["control_hz"] * world["timestep_s"]))
        self.control_steps = round(self.scenario["time_limit_s"] * world["control_hz"])

    def randomise(self, rng):
        """Draws the parameters and writes them into the model; returns what concerns the start state."""
        drawn = {name: draw(rng, how) for name, how in self.scenario.get("parameters", {}).items()}
        settings = [s for p in self.scenario.get("placement", []) for s in placed(rng, p)]
        for entry in self.scenario.get("set", []):
            value = entry["value"]
            settings.append((entry["target"], eval(value, {}, drawn) if isinstance(value, str) else value))
        return [s for target, value in settings if (s := set_number(self.model, target, value))]

    def place(self, start):
        model, data = self.model, self.data
        for robot in self.robots.values():
            data.qpos[robot.qadr] = data.ctrl[robot.actuators] = robot.qpos
            if hasattr(robot, "grip"):
                data.qpos[robot.fingers] = data.ctrl[robot.grip] = robot.open_m
        for kind, joint, value in start:
            if kind == "qpos":
                data.qpos[model.joint(joint).qposadr[0]] = value
            else:
                data.qvel[model.joint(joint).dofadr[0]] = value


def draw(rng, how):
    if "uniform" in how:
        return rng.uniform(*how["uniform"])
    if "normal" in how:
        return float(np.clip(rng.normal(*how["normal"]), *how["clip"]))
    return how["choice"][rng.integers(len(how["choice"]))]


def placed(rng, placement):
    """Settings that put the bodies on a surface without overlap."""
    taken = [(a["x"], a["y"], a["radius"]) for a in placement.get("avoid", [])]
    for body in placement["bodies"]:
        for _ in range(10_000):
            x, y = rng.uniform(*placement["x"]), rng.uniform(*placement["y"])
            if all(math.hypot(x - tx, y - ty) >= radius for tx, ty, radius in taken):
                break
        else:
            raise SystemExit(f"placement: no room for {body}")
        taken.append((x, y, placement["spacing"]))
        yield from [(f"body:{body}.pos.x", x), (f"body:{body}.pos.y", y)]
        if "yaw" in placement:
            yield (f"body:{body}.yaw", rng.uniform(*placement["yaw"]))
        if "z" in placement:
            yield (f"body:{body}.pos.z", placement["z"])


def set_number(model, target, value):
    """Writes one `[[set]]` target; returns (kind, joint, value) when it belongs to the start state."""
    kind, rest = target.split(":")
    name, field = rest.split(".", 1)
    key, _, index = field.partition(".")
    if kind == "joint" and key in ("qpos", "qvel"):
        return key, name, value
    if kind == "joint":
        model.dof_damping[model.joint(name).dofadr[0]] = value
    elif kind == "body" and key == "pos":
        model.body(name).pos["xyz".index(index)] = value
    elif kind == "body" and key == "yaw":
        model.body(name).quat[:] = math.cos(value / 2), 0, 0, math.sin(value / 2)
    elif kind == "body" and key == "mass":
        body = model.body(name)
        body.inertia[:] *= value / body.mass[0]
        body.mass[:] = value
    elif kind == "geom" and key == "size":
        geom = model.geom(name)
        geom.size[int(index)] = value
        if geom.type[0] == mujoco.mjtGeom.mjGEOM_CAPSULE:
            model.geom_rbound[geom.id] = geom.size[0] + geom.size[1]
            model.geom_aabb[geom.id, 3:] = geom.size[0], geom.size[0], geom.size[0] + geom.size[1]
        else:
            raise SystemExit(f"{target}: the bare loop knows capsules only")
    elif kind == "geom" and key == "friction":
        model.geom(name).friction[int(index)] = value
    return None


class EeVelocity:
    """Damped least squares inverse kinematics with a leash, as the service's controller of that name."""

    def __init__(self, world):
        self.model, self.data = world.model, world.data
        self.robot = world.robots[world.scenario["control"]["robot"]]
        file, self.period = self.robot.file, world.decimation * world.model.opt.timestep
        self.ik, self.limits = file["ik"], self.robot.limits
        self.lead = np.array(file["servo"]["kd"]) / np.array(file["servo"]["kp"])
        self.top_speed = self.ik["velocity_share"] * self.limits["velocity"]
        self.top_change = self.ik["velocity_share"] * self.limits["acceleration"] * self.period
        self.low = self.limits["position_low"] + LIMIT_MARGIN_RAD
        self.high = self.limits["position_high"] - LIMIT_MARGIN_RAD
        self.brake = 2 * BRAKE_SHARE * self.limits["acceleration"]
        self.jacobian = np.zeros((6, self.model.nv))
        self.q_ref, self.qd_ref = self.robot.qpos.copy(), np.zeros(len(self.robot.dof))
        gain, bias = self.model.actuator_gainprm[self.robot.grip], self.model.actuator_biasprm[self.robot.grip]
        self.grip_ref, self.grip_speed, self.grip_lead = self.robot.open_m, 0.0, -bias[2] / gain[0]

    def act(self, action):
        """Once a control step. Kinematics must be current."""
        data, robot = self.data, self.robot
        self.q_ref += self.qd_ref * self.period
        q = data.qpos[robot.qadr]
        qd = self.resolve(q, action[:6])
        qd /= max(1.0, np.max(np.abs(qd) / self.top_speed))
        self.qd_ref += np.clip(qd - self.qd_ref, -self.top_change, self.top_change)
        up = np.sqrt(self.brake * np.maximum(self.high - self.q_ref, 0))
        down = np.sqrt(self.brake * np.maximum(self.q_ref - self.low, 0))
        self.qd_ref = np.clip(self.qd_ref, -down, up)
        self.q_ref = np.clip(self.q_ref, q - self.ik["leash_rad"], q + self.ik["leash_rad"])
        wanted, at = robot.open_m * (action[6] + 1) / 2, data.qpos[robot.fingers[0]]
        before = self.grip_ref + self.grip_speed * self.period
        self.grip_ref = at if (wanted - at) * (before - at) < 0 else before
        self.grip_speed = np.clip((wanted - self.grip_ref) / self.period, -robot.finger_speed, robot.finger_speed)

    def resolve(self, q, v):
        """Joint velocities for tool velocity v, and a pull to the start posture where that is free."""
        mujoco.mj_jacSite(self.model, self.data, self.jacobian[:3], self.jacobian[3:], self.robot.tcp)
        jac = self.jacobian[:, self.robot.dof]
        product = jac @ jac.T
        share = 1 - max(np.linalg.det(product), 0) / self.ik["manipulability_threshold"] ** 2
        damping = max(self.ik["damping"] ** 2 * share, LEAST_DAMPING_SQUARED)
        pull = np.asarray(self.ik["nullspace_gain"]) * (self.robot.qpos - q)
        return pull + jac.T @ np.linalg.solve(product + damping * np.eye(6), v - jac @ pull)

    def before_step(self, elapsed):
        self.data.ctrl[self.robot.actuators] = self.q_ref + self.qd_ref * (elapsed + self.lead)
        self.data.ctrl[self.robot.grip] = self.grip_ref + self.grip_speed * (elapsed + self.grip_lead)


class Actuator:
    """The action goes to named actuators as it is."""

    def __init__(self, world):
        self.data = world.data
        self.ids = np.array([world.model.actuator(a).id for a in world.scenario["control"]["actuators"]])

    def act(self, action):
        self.data.ctrl[self.ids] = action

    def before_step(self, elapsed):
        pass


def frame(model, of):
    """(object type, id, positions, orientations) of a frame such as `site:arm/tcp`."""
    kind, name = of.split(":")
    obj, xpos, xmat = OBJECTS[kind]
    return obj, mujoco.mj_name2id(model, obj, name), xpos, xmat


def velocity(model, data, of):
    """Angular, then linear velocity in world axes."""
    out = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, of[0], of[1], out, 0)
    return out


def observer(world, last_action):
    """A function that makes the policy's observation."""
    model, data, terms = world.model, world.data, []

    def quaternion(of):
        out = np.zeros(4)
        mujoco.mju_mat2Quat(out, getattr(data, of[3])[of[1]])
        return out

    for term in world.scenario["observation"]:
        kind = term["kind"]
        of = frame(model, term["of"]) if "of" in term else None
        if kind in ("joint_position", "joint_velocity"):
            robot = world.robots.get(term.get("robot"))
            joints = [model.joint(j) for j in term.get("joints", [])]
            if kind == "joint_position":
                at = robot.qadr if robot else np.array([j.qposadr[0] for j in joints])
                read = lambda at=at: data.qpos[at]
            else:
                at = robot.dof if robot else np.array([j.dofadr[0] for j in joints])
                read = lambda at=at: data.qvel[at]
        elif kind == "gripper_width":
            fingers = world.robots[term["robot"]].fingers
            read = lambda fingers=fingers: np.array([data.qpos[fingers].sum()])
        elif kind == "position":
            read = lambda of=of: getattr(data, of[2])[of[1]].copy()
        elif kind == "orientation":
            read = lambda of=of: quaternion(of)
        elif kind == "linear_velocity":
            read = lambda of=of: velocity(model, data, of)[3:]
        elif kind == "size":
            geom = model.geom(term["geom"]).id
            read = lambda geom=geom: model.geom_size[geom].copy()
        elif kind == "last_action":
            read = last_action.copy
        else:
            raise SystemExit(f"observation {term['name']}: the bare loop does not know {kind}")
        terms.append((term["name"], read))

    end, instruction = world.scenario["time_limit_s"], world.scenario.get("instruction")

    def observe():
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        seen = {name: read() for name, read in terms}
        seen["time"], seen["time_remaining"], seen["instruction"] = data.time, end - data.time, instruction
        return seen

    return observe


class Parts:
    """Where the time of a loop goes: each lap belongs to what has just been done."""

    def __init__(self):
        self.ns, self.last = dict.fromkeys(("observation", "policy", "controller", "physics"), 0), 0

    def start(self):
        self.last = time.thread_time_ns()

    def lap(self, name):
        now = time.thread_time_ns()
        self.ns[name] += now - self.last
        self.last = now


def timed_step(world, policy, observe, controller, low, high, last, parts):
    """A control step as in `episode`, with a lap after each part."""
    parts.start()
    seen = observe()
    parts.lap("observation")
    action = policy(seen)
    parts.lap("policy")
    last[:] = np.clip(np.asarray(action, dtype=float), low, high)
    controller.act(last)
    parts.lap("controller")
    for k in range(1, world.decimation + 1):
        controller.before_step(k * world.model.opt.timestep)
        parts.lap("controller")
        mujoco.mj_step(world.model, world.data)
        parts.lap("physics")


def episode(world, make_policy, seed, judge=None, show=None, control_steps=None, parts=None):
    """Runs one episode; returns (control steps, CPU seconds)."""
    model, data, scenario = world.model, world.data, world.scenario
    mode = scenario["control"]["mode"]
    controller = EeVelocity(world) if mode == "ee_velocity" else Actuator(world)
    low = np.array([a["low"] for a in scenario["control"]["action"]])
    high = np.array([a["high"] for a in scenario["control"]["action"]])
    last = np.zeros(len(low))
    observe = observer(world, last)
    policy = make_policy(seed, scenario)
    done = 0
    begun = time.process_time()
    for done in range(1, (control_steps or world.control_steps) + 1):
        if parts:
            timed_step(world, policy, observe, controller, low, high, last, parts)
            continue
        last[:] = np.clip(np.asarray(policy(observe()), dtype=float), low, high)
        controller.act(last)
        for k in range(1, world.decimation + 1):
            controller.before_step(k * model.opt.timestep)
            if judge:
                qpos, qvel, at = data.qpos.copy(), data.qvel.copy(), data.time
                mujoco.mj_step(model, data)
                judge.step(at, qpos, qvel)
            else:
                mujoco.mj_step(model, data)
        if show:
            show(data)
        if judge and scenario["success"].get("at", "any") == "any" and judge.success():
            break
    return done, time.process_time() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", default="tabletop_reach", help="id, or a folder with scenario.toml")
    parser.add_argument("--policy", default="reference", help="name under examples/policies/SCENARIO, or a folder")
    parser.add_argument("--episodes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--control-steps", type=int, help="end each episode after so many")
    parser.add_argument("--parts", action="store_true", help="say where the time went")
    parser.add_argument("--check", action="store_true", help="print success, stages and margins instead")
    parser.add_argument("--png", help="draw the first world into this file")
    parser.add_argument("--sheet", help="draw six moments of the first episode into this file")
    parser.add_argument("--size", default="640x480", help="of a drawn frame")
    args = parser.parse_args()
    folder = Path(args.scenario) if Path(args.scenario, "scenario.toml").is_file() else ROOT / "scenarios" / args.scenario
    policy = Path(args.policy)
    if not (policy / "policy.py").is_file():
        policy = ROOT / "examples" / "policies" / folder.name / args.policy
    if not (folder / "scenario.toml").is_file() or not (policy / "policy.py").is_file():
        sys.exit(f"no scenario {folder} or no policy {policy}")
    make_policy = load_policy(policy)
    if args.check or args.png or args.sheet:
        sys.modules["bare_loop"] = sys.modules[__name__]  # one copy of this module, also when it runs as a script
        from bare_check import check, draw_episode
    if args.png or args.sheet:
        return draw_episode(folder, make_policy, args.seed, args.png, args.sheet, [int(n) for n in args.size.split("x")])
    if args.check:
        return check(folder, make_policy, args.episodes, args.seed)
    steps, cpu_s, parts = 0, 0.0, Parts() if args.parts else None
    for i in range(args.episodes):
        world = World(folder, args.seed + i)
        done, took = episode(world, make_policy, args.seed + i, control_steps=args.control_steps, parts=parts)
        steps, cpu_s = steps + done, cpu_s + took
    print(json.dumps({
        "scenario": folder.name,
        "policy": policy.name,
        "control_steps": steps,
        "cpu_s": round(cpu_s, 4),
        "cpu_us_per_control_step": round(1e6 * cpu_s / max(steps, 1), 2),
        "parts_us": {name: round(ns / 1e3 / max(steps, 1), 2) for name, ns in parts.ns.items()} if parts else {},
    }))
    return None


if __name__ == "__main__":
    main()
