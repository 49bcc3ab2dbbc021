"""Compute a scenario's signals from MuJoCo's model and state, without assay: `pip install mujoco numpy`.

Used by replay.py and recompute.py. What each kind of signal means stands in docs/scenarios.md; here it is written a second
time, from that text, with nothing but the `mujoco` package of PyPI. A signal belongs to the start of a physics step: measure
after `mj_step`, which leaves poses and contacts of the step's start, with the positions and velocities copied before it.
"""

import collections
import functools
import math
import pathlib
import re
import tomllib

import mujoco
import numpy as np

OBJECT = {"site": mujoco.mjtObj.mjOBJ_SITE, "body": mujoco.mjtObj.mjOBJ_XBODY, "geom": mujoco.mjtObj.mjOBJ_GEOM}


class Frame:
    """A site, body or geom, written as in `site:arm/tcp`."""

    def __init__(self, model, text):
        self.kind, _, name = text.partition(":")
        self.index = getattr(model, self.kind)(name).id
        body = {"site": model.site_bodyid, "geom": model.geom_bodyid, "body": range(model.nbody)}[self.kind][self.index]
        # Bodies that are moved by hand have no velocity of their own.
        self.is_actor = model.body_mocapid[model.body_rootid[body]] >= 0

    def position(self, data):
        return {"site": data.site_xpos, "body": data.xpos, "geom": data.geom_xpos}[self.kind][self.index].copy()

    def rotation(self, data):
        return {"site": data.site_xmat, "body": data.xmat, "geom": data.geom_xmat}[self.kind][self.index].reshape(3, 3)

    def velocity(self, model, data):
        """Angular, then linear velocity in world axes."""
        result = np.zeros(6)
        mujoco.mj_objectVelocity(model, data, OBJECT[self.kind], self.index, result, 0)
        return result


@functools.cache
def table(path):
    """The file's TOML, read once: half_step.py measures from thousands of states."""
    return tomllib.loads(path.read_text())


def length(vector):
    return math.sqrt(sum(float(x) * float(x) for x in vector))


class Signals:
    """The signals of the scenario in `folder`; `robots` is the folder with the robots' data sheets (robot.toml)."""

    def __init__(self, model, folder, robots):
        self.model, self.robots_folder = model, pathlib.Path(robots)
        self.scenario = table(pathlib.Path(folder) / "scenario.toml")
        self.robots = {robot["name"]: robot["model"] for robot in self.scenario.get("robot", [])}
        self.groups = {name: self.geoms(globs) for name, globs in self.scenario.get("groups", {}).items()}
        self.timestep_s = float(model.opt.timestep)
        makers = {name: getattr(self, s["kind"])(s) for name, s in self.scenario.get("signals", {}).items()}
        # First what the physics tells, then what is made of that.
        derived = [name for name in makers if self.scenario["signals"][name]["kind"] in ("rate", "exposure", "reversals")]
        self.makers = {name: makers[name] for name in [*(n for n in makers if n not in derived), *derived]}

    def measure(self, data, qpos, qvel, time_s, action):
        """Returns the value of each signal, by name, at the start of the step that `data` has made under `action`."""
        self.action_now = action
        self.data, self.qpos, self.qvel, self.time_s, self.values = data, qpos, qvel, time_s, {}
        for name, value in self.makers.items():
            self.values[name] = float(value())
        return self.values

    # Names

    def geoms(self, globs):
        """Colliding geoms whose name, or whose body's, fits one of the patterns; `*` stands for anything."""
        model = self.model
        patterns = [re.compile(".*".join(map(re.escape, glob.split("*"))), re.DOTALL) for glob in globs]
        collides = lambda geom: model.geom_contype[geom] or model.geom_conaffinity[geom]
        names = lambda geom: (model.geom(geom).name, model.body(model.geom_bodyid[geom]).name)
        fits = lambda geom: any(p.fullmatch(name) for p in patterns for name in names(geom) if name)
        return {geom for geom in range(model.ngeom) if collides(geom) and fits(geom)}

    def joints(self, robot):
        """Indices in qpos and qvel of the robot's joints, and its limits."""
        sheet = table(self.robots_folder / self.robots[robot] / "robot.toml")
        joints = [self.model.joint(f"{robot}/{name}") for name in sheet["joints"]]
        return [int(j.qposadr[0]) for j in joints], [int(j.dofadr[0]) for j in joints], sheet["limits"]

    # Kinds of signals: each returns a function of the current step

    def point_distance(self, s):
        a, b = Frame(self.model, s["from"]), Frame(self.model, s["to"])
        return lambda: length(b.position(self.data) - a.position(self.data))

    def position(self, s):
        of, axis = Frame(self.model, s["of"]), "xyz".index(s["axis"])
        return lambda: of.position(self.data)[axis]

    def displacement(self, s):
        of, start = Frame(self.model, s["of"]), []

        def value():
            now = of.position(self.data)
            start[:] = start or [now]
            return length(now - start[0])

        return value

    def speed(self, s):
        of = Frame(self.model, s["of"])
        return lambda: length(of.velocity(self.model, self.data)[3:])

    def angular_speed(self, s):
        of = Frame(self.model, s["of"])
        return lambda: length(of.velocity(self.model, self.data)[:3])

    def acceleration(self, s):
        """Change of velocity over the window; before the start the frame moved as it did then."""
        of, steps, past = Frame(self.model, s["of"]), round(s["window_s"] / self.timestep_s), collections.deque()

        def value():
            now = of.velocity(self.model, self.data)[3:]
            if not past:
                past.extend([now] * steps)
            past.append(now)
            return length(now - past.popleft()) / s["window_s"]

        return value

    def apparent_tilt(self, s):
        """Angle between the frame's z axis and what weighs there: the change of velocity over the window, less gravity."""
        of, steps, past = Frame(self.model, s["of"]), round(s["window_s"] / self.timestep_s), collections.deque()

        def value():
            now = of.velocity(self.model, self.data)[3:]
            if not past:
                past.extend([now] * steps)
            past.append(now)
            up = (now - past.popleft()) / s["window_s"] - self.model.opt.gravity
            axis = of.rotation(self.data)[:, 2]
            return math.atan2(length(np.cross(axis, up)), float(axis @ up)) if length(up) > 0.0 else math.pi / 2

        return value

    def agitation(self, s):
        """Sum of the sizes of the velocity's changes from step to step, by the window's length."""
        of, steps = Frame(self.model, s["of"]), round(s["window_s"] / self.timestep_s)
        before, changes = [], collections.deque(maxlen=steps)

        def value():
            now = of.velocity(self.model, self.data)[3:]
            changes.append(length(now - (before[0] if before else now)))
            before[:] = [now]
            return math.fsum(changes) / s["window_s"]

        return value

    def approach_speed(self, s):
        """Velocity of each nearest point of `a` towards its counterpart on `b`; all of it where there is no between."""
        pairs = [(i, j) for i in sorted(self.groups[s["a"]]) for j in sorted(self.groups[s["b"]]) if i != j]
        points, twist = np.zeros(6), np.zeros(6)

        def towards(one, two):
            apart = mujoco.mj_geomDistance(self.model, self.data, one, two, s["within"], points)
            if apart >= s["within"]:
                return 0.0
            mujoco.mj_objectVelocity(self.model, self.data, mujoco.mjtObj.mjOBJ_GEOM, one, twist, 0)
            velocity = twist[3:] + np.cross(twist[:3], points[:3] - self.data.geom_xpos[one])
            way = points[3:] - points[:3]
            if apart <= 0.0 or length(way) <= 1e-9:
                return length(velocity)
            return max(float(velocity @ way) / length(way), 0.0)

        # Bounding spheres this far apart need no closer look.
        near = lambda i, j: (
            length(self.data.geom_xpos[j] - self.data.geom_xpos[i]) - sum(self.model.geom_rbound[[i, j]]) < s["within"]
            or not self.model.geom_rbound[[i, j]].all()
        )
        return lambda: max([0.0, *(towards(i, j) for i, j in pairs if near(i, j))])

    def greatest_speed(self, s):
        """Of the ends of capsules' and cylinders' axes, the corners of boxes, the middles of all else."""
        model, twist = self.model, np.zeros(6)

        def points(geom):
            size, kind = model.geom_size[geom], mujoco.mjtGeom(model.geom_type[geom])
            if kind in (mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER):
                return np.array([[0.0, 0.0, size[1]], [0.0, 0.0, -size[1]]])
            if kind == mujoco.mjtGeom.mjGEOM_BOX:
                return np.array([size * (1 - 2 * np.array(corner)) for corner in np.ndindex(2, 2, 2)])
            return np.zeros((1, 3))

        of = {geom: points(geom) for geom in sorted(self.groups[s["of"]])}

        def fastest(geom):
            mujoco.mj_objectVelocity(model, self.data, mujoco.mjtObj.mjOBJ_GEOM, geom, twist, 0)
            arms = of[geom] @ self.data.geom_xmat[geom].reshape(3, 3).T
            x, y, z = twist[:3]
            turning = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])  # arms @ turning is the cross product with the arms
            velocities = twist[3:] + arms @ turning
            return math.sqrt(float((velocities * velocities).sum(1).max()))

        return lambda: max([0.0, *map(fastest, of)])

    def action(self, s):
        index = [number["name"] for number in self.scenario["control"]["action"]].index(s["name"])
        return lambda: self.action_now[index]

    def relative_speed(self, s):
        a, b, last = Frame(self.model, s["from"]), Frame(self.model, s["to"]), {"value": 0.0}
        if not (a.is_actor or b.is_actor):
            velocity = lambda frame: frame.velocity(self.model, self.data)[3:]
            return lambda: length(velocity(b) - velocity(a))

        def value():
            now = b.position(self.data) - a.position(self.data)
            if "at" in last and self.time_s > last["time"]:
                last["value"] = length(now - last["at"]) / (self.time_s - last["time"])
            last.update(at=now, time=self.time_s)
            return last["value"]

        return value

    def tilt(self, s):
        of = Frame(self.model, s["of"])
        return lambda: math.acos(min(max(of.rotation(self.data)[2, 2], -1.0), 1.0))

    def inside(self, s):
        """Number of frames in the box; along each axis of the box a column of its rotation."""
        frames, box = [Frame(self.model, of) for of in s["of"]], self.model.geom(s["within"]).id

        def is_inside(frame):
            way = (frame.position(self.data) - self.data.geom_xpos[box]) @ self.data.geom_xmat[box].reshape(3, 3)
            return bool((abs(way) <= self.model.geom_size[box]).all())

        return lambda: sum(map(is_inside, frames))

    def geofence(self, s):
        of, low, high = Frame(self.model, s["of"]), np.array(s["low"]), np.array(s["high"])
        return lambda: min((of.position(self.data) - low).min(), (high - of.position(self.data)).min())

    def visited(self, s):
        of, frames, reached = Frame(self.model, s["of"]), [Frame(self.model, f) for f in s["frames"]], [0]

        def value():
            if reached[0] < len(frames):
                near = frames[reached[0]].position(self.data) - of.position(self.data)
                reached[0] += length(near) <= s["radius"]
            return reached[0]

        return value

    def crossed(self, s):
        """Openings passed through from behind their y-z plane to its front, where the way meets the plane within them."""
        of, frames, count, before = Frame(self.model, s["of"]), [Frame(self.model, f) for f in s["frames"]], [0], []

        def value():
            if count[0] < len(frames):
                frame = frames[count[0]]
                now = (of.position(self.data) - frame.position(self.data)) @ frame.rotation(self.data)
                passed = bool(before) and before[0][0] < 0.0 <= now[0]
                if passed:
                    then = before[0]
                    at = then + then[0] / (then[0] - now[0]) * (now - then)
                    passed = bool((abs(at[1:]) <= s["half_size"]).all())
                before[:] = [] if passed else [now]
                count[0] += bool(passed)
            return count[0]

        return value

    def joint_value(self, s):
        index = int(self.model.joint(s["joint"]).qposadr[0])
        return lambda: self.qpos[index]

    def joint_speed(self, s):
        index = int(self.model.joint(s["joint"]).dofadr[0])
        return lambda: self.qvel[index]

    def joint_position_margin(self, s):
        qpos, _, limits = self.joints(s["robot"])
        low, high = np.array(limits["position_low"]), np.array(limits["position_high"])
        return lambda: min((self.qpos[qpos] - low).min(), (high - self.qpos[qpos]).min())

    def joint_velocity_ratio(self, s):
        _, dof, limits = self.joints(s["robot"])
        return lambda: (abs(self.qvel[dof]) / np.array(limits["velocity"])).max()

    def joint_torque_ratio(self, s):
        _, dof, limits = self.joints(s["robot"])
        return lambda: (abs(self.data.qfrc_actuator[dof]) / np.array(limits["torque"])).max()

    def contacts(self, s):
        """Contacts between the two groups, or between the first and whatever is not in it."""
        a, b = self.groups[s["a"]], self.groups[s["b"]] if "b" in s else None
        other = lambda geom: geom in b if b is not None else geom not in a
        for index in range(self.data.ncon):
            one, two = map(int, self.data.contact.geom[index])
            if (one in a and other(two)) or (two in a and other(one)):
                yield index

    def contact_force(self, s):
        force = np.zeros(6)

        def normal(index):
            mujoco.mj_contactForce(self.model, self.data, index, force)
            return max(float(force[0]), 0.0)

        return lambda: sum(map(normal, self.contacts(s)))

    def force(self, s):
        """Size of each pair of bodies' force, summed, behind a two-pole Butterworth filter."""
        w = math.tan(math.pi * s["bandwidth_hz"] * self.model.opt.timestep)
        gain = 1.0 + math.sqrt(2.0) * w + w * w
        ahead = np.array([1.0, 2.0, 1.0]) * w * w / gain
        back = np.array([2.0 * (1.0 - w * w), math.sqrt(2.0) * w - 1.0 - w * w]) / gain
        inputs, outputs, wrench = np.zeros(3), np.zeros(2), np.zeros(6)

        def value():
            pairs = {}
            for index in self.contacts(s):
                one, two = (int(self.model.geom_bodyid[geom]) for geom in self.data.contact.geom[index])
                mujoco.mj_contactForce(self.model, self.data, index, wrench)
                force = self.data.contact.frame[index].reshape(3, 3).T @ wrench[:3] * (1.0 if one <= two else -1.0)
                bodies = min(one, two), max(one, two)
                pairs[bodies] = pairs.get(bodies, 0.0) + force
            inputs[:] = sum(map(length, pairs.values())), *inputs[:2]
            outputs[:] = ahead @ inputs + back @ outputs, outputs[0]
            return max(float(outputs[0]), 0.0)

        return value

    def penetration(self, s):
        return lambda: max([0.0, *(-float(self.data.contact.dist[index]) for index in self.contacts(s))])

    def distance(self, s):
        """Least distance between two groups' geoms, up to the cutoff; bounding spheres leave out what is too far."""
        pairs = np.array([(i, j) for i in sorted(self.groups[s["a"]]) for j in sorted(self.groups[s["b"]]) if i != j])
        radius = self.model.geom_rbound[pairs]
        unbounded = (radius <= 0.0).any(1)

        def value():
            centres = self.data.geom_xpos[pairs]
            bound = np.linalg.norm(centres[:, 1] - centres[:, 0], axis=1) - radius.sum(1)
            bound[unbounded] = -math.inf
            least = s["cutoff"]
            for index in np.argsort(bound):
                if bound[index] >= least:
                    break
                one, two = map(int, pairs[index])
                least = min(least, mujoco.mj_geomDistance(self.model, self.data, one, two, least, None))
            return least

        return value

    def rate(self, s):
        last = {"value": 0.0}

        def value():
            now = self.values[s["signal"]]
            if "of" in last and self.time_s > last["time"]:
                last["value"] = (now - last["of"]) / (self.time_s - last["time"])
            last.update(of=now, time=self.time_s)
            return last["value"]

        return value

    def reversals(self, s):
        """Turns by more than the band since the signal's last extreme, of the last window."""
        seen, turns = {"rises": None}, collections.deque()

        def value():
            x = self.values[s["signal"]]
            high, low = max(seen.get("high", x), x), min(seen.get("low", x), x)
            down, up = high - x > s["band"], x - low > s["band"]
            if seen["rises"] is None and (up or down):
                seen["rises"], high, low = up, x, x
            elif (seen["rises"] is True and down) or (seen["rises"] is False and up):
                seen["rises"], high, low = not seen["rises"], x, x
                turns.append(self.time_s)
            seen.update(high=high, low=low)
            while turns and self.time_s - turns[0] >= s["window_s"]:
                turns.popleft()
            return len(turns)

        return value

    def exposure(self, s):
        last = {"time": 0.0, "total": 0.0}

        def value():
            if self.values[s["signal"]] < s["below"]:
                last["total"] += self.time_s - last["time"]
            last["time"] = self.time_s
            return last["total"]

        return value
