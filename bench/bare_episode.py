"""An episode in a bare loop: the scenario's controller, the policy's observations, and the loop itself."""

import importlib.util
import time
from pathlib import Path

import numpy as np

from bare_world import frame, mujoco, velocity

LIMIT_MARGIN_RAD = 0.02  # margin to a joint's position limit
BRAKE_SHARE = 0.5  # fraction of the acceleration limit used for braking before it
LEAST_DAMPING_SQUARED = 1e-6


def load_policy(folder):
    """Returns a function that creates a policy, which is called once per episode."""
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


class EeVelocity:
    """Damped least squares inverse kinematics with a leash, as in the service's controller of the same name."""

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
        """Sets the references of a control step. The kinematics must be up to date."""
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
        """Returns joint velocities for tool velocity v, with a pull to the start posture in the null space."""
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
    """Writes the action unchanged to the named actuators."""

    def __init__(self, world):
        self.data = world.data
        self.ids = np.array([world.model.actuator(a).id for a in world.scenario["control"]["actuators"]])

    def act(self, action):
        self.data.ctrl[self.ids] = action

    def before_step(self, elapsed):
        pass


def observer(world, last_action):
    """Returns a function that computes the policy's observation."""
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
    """The CPU time of the loop's parts. Each lap is added to the part that has just ended."""

    def __init__(self):
        self.ns, self.last = dict.fromkeys(("observation", "policy", "controller", "physics"), 0), 0

    def start(self):
        self.last = time.thread_time_ns()

    def lap(self, name):
        now = time.thread_time_ns()
        self.ns[name] += now - self.last
        self.last = now


def timed_step(world, policy, observe, controller, low, high, last, parts):
    """Runs a control step as in `episode`, with a lap after each part."""
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
