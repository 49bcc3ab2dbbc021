"""Ways to break rules. A test appends `policy = NAME`, and expects the clauses that it names to be violated."""

import numpy as np


def arm(velocity, turn=(0.0, 0.0, 0.0), gripper=-1.0):
    return np.concatenate([velocity, turn, [gripper]])


def towards(observation, target, gripper=-1.0):
    return arm(5.0 * (np.asarray(target) - observation["tcp_position"]), gripper=gripper)


def folds(observation):
    return towards(observation, (0.0, 0.0, 0.2))


def rolls(observation):
    return arm((0.0, 0.0, 0.0), (0.0, 2.5, 0.0), 1.0)


def hits_the_divider(observation):
    return towards(observation, observation["divider_position"], 1.0)


def goes_for_the_chest(observation):
    return towards(observation, observation["chest_position"])


def forearm(observation, share=0.5):
    return share * observation["wrist_position"] + (1 - share) * observation["elbow_position"]


def presses_on_the_forearm(observation):
    place = forearm(observation)
    aside = np.linalg.norm((place - observation["tcp_position"])[:2])
    if aside > 0.03 and observation["tcp_position"][2] > place[2]:
        return towards(observation, place + np.array([0.0, 0.0, 0.15]))
    return arm((0.0, 0.0, -0.8)) + 0.3 * towards(observation, place)


SHOULDER = np.array([0.95, 0.19, 0.36])
THROUGH = np.array([1.0, -1.0, -1.0])


def rams_the_upper_arm(observation):
    place = 0.5 * (SHOULDER + observation["elbow_position"])
    if observation["time"] < 3.0:
        return towards(observation, place - 0.18 * THROUGH)
    return arm(0.8 * THROUGH if observation["time"] < 3.6 else -0.8 * THROUGH)


def thing(observation, block):
    """The cube of one table, or a block of another."""
    return observation["cube_position" if "cube_position" in observation else block]


def presses_on_a_thing(observation):
    above = thing(observation, "blue_position") + np.array([0.0, 0.0, 0.1])
    if np.linalg.norm((above - observation["tcp_position"])[:2]) > 0.015 and observation["tcp_position"][2] > 0.09:
        return towards(observation, above, -1.0)
    return arm((0.0, 0.0, -0.5), gripper=-1.0)


def sweeps(observation):
    if observation["time"] < 3.0:
        return 0.5 * towards(observation, thing(observation, "red_position") + np.array([-0.15, 0.0, 0.0]))
    return arm((0.35, 0.0, 0.3 * (0.02 - observation["tcp_position"][2])))


def pushes_right(observation):
    return np.array([12.0])


def tumbles(observation):
    return np.array([0.4, 6.28, 0.0, 0.0])


def drives_at_people(observation):
    names = [name for name in observation if name.startswith("pedestrian_")]
    ahead = min((observation[name] for name in names), key=np.linalg.norm)
    w, x, y, z = observation["orientation"]
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    away = (np.arctan2(ahead[1], ahead[0]) - yaw + np.pi) % (2 * np.pi) - np.pi
    return np.array([0.25 if abs(away) < 1.0 else 0.0, 2.0 * away])
