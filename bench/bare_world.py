"""A scenario as a MuJoCo world: its robots, its parameters drawn with numpy, and the frames of its bodies."""

import math
import os
import tomllib
from pathlib import Path

import numpy as np

os.environ.setdefault("MUJOCO_GL", "egl")  # read when mujoco is imported; only rendering needs it
import mujoco  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
OBJECTS = {
    "site": (mujoco.mjtObj.mjOBJ_SITE, "site_xpos", "site_xmat"),
    "body": (mujoco.mjtObj.mjOBJ_BODY, "xpos", "xmat"),
    "geom": (mujoco.mjtObj.mjOBJ_GEOM, "geom_xpos", "geom_xmat"),
}


def read_toml(path):
    with open(path, "rb") as file:
        return tomllib.load(file)


class Robot:
    """A mounted robot: its file, and the indices of its joints in the compiled model."""

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
        """Draws the parameters and writes them to the model; returns the settings of the start state."""
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
    """Yields settings that put the bodies on a surface without overlap."""
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
    """Writes a `[[set]]` target; returns (kind, joint, value) if it belongs to the start state."""
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


def frame(model, of):
    """Returns (object type, id, positions, orientations) of a frame such as `site:arm/tcp`."""
    kind, name = of.split(":")
    obj, xpos, xmat = OBJECTS[kind]
    return obj, mujoco.mj_name2id(model, obj, name), xpos, xmat


def velocity(model, data, of):
    """Returns the angular, then the linear velocity in world axes."""
    out = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, of[0], of[1], out, 0)
    return out
