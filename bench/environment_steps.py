#!/usr/bin/env python3
"""Steps an environment and prints the CPU time of a step, or the steps of a second, as a line of JSON.

    python bench/environment_steps.py fetch            gymnasium-robotics' FetchReach, and bare mj_step of the same
    python bench/environment_steps.py assay            assay/tabletop_reach, with the CPU time of its lane
    python bench/environment_steps.py vector           several of assay.envs' environments at a time, against one

Environments are made as users make them, with gymnasium's default wrappers, and get the same action in every step.
"""

import argparse
import json
import time
from statistics import median

import gymnasium
import numpy as np

NAME = "assay/tabletop_reach-v1"
# Steps of a turn: short, so that a busy moment of the machine spoils few turns, and shorter than FetchReach's episode
# of 50.
TURN = 40
TURNS = 60
# Environments at a time: one and four for each of two processors.
COUNTS = (2, 8)


def fetch():
    import gymnasium_robotics
    import mujoco

    gymnasium.register_envs(gymnasium_robotics)
    env = gymnasium.make("FetchReach-v4")
    inner = env.unwrapped
    full, physics = [], []
    # In turns, so that both are measured in the same moments of a shared machine.
    for _ in range(TURNS):
        full.append(cpu_of_steps(env, TURN, time.process_time))
        begun = time.process_time()
        for _ in range(TURN):
            mujoco.mj_step(inner.model, inner.data, nstep=inner.n_substeps)
        physics.append(1e6 * (time.process_time() - begun) / TURN)
    return {"step_us": median(full), "physics_us": median(physics), "substeps": inner.n_substeps}


def assay():
    import assay.envs  # noqa: F401

    env = gymnasium.make(NAME)
    lane = env.unwrapped._lane.process.pid
    full = [cpu_of_steps(env, TURN, lambda: time.process_time() + cpu_of_process(lane)) for _ in range(TURNS)]
    env.close()
    return {"step_us": median(full)}


def vector():
    import assay.envs  # noqa: F401

    envs = {1: gymnasium.make(NAME)} | {count: gymnasium.make_vec(NAME, num_envs=count) for count in COUNTS}
    for env in envs.values():
        env.reset(seed=1)
    turns = [{count: steps_per_s(env, count) for count, env in envs.items()} for _ in range(TURNS)]
    for env in envs.values():
        env.close()
    # The best turn of each, which other work on the machine disturbed least.
    return {count: max(turn[count] for turn in turns) for count in envs}


def cpu_of_steps(env, steps, clock):
    """Returns the CPU time of a step in us, from the begin of an episode, which is longer than `steps`."""
    action = np.zeros(env.action_space.shape)
    env.reset(seed=1)
    begun = clock()
    for _ in range(steps):
        env.step(action)
    return 1e6 * (clock() - begun) / steps


def steps_per_s(env, count):
    """Returns the steps of a second of `count` environments; a turn includes the reset of an episode that has ended."""
    action = np.zeros(env.action_space.shape)
    begun = time.perf_counter()
    for _ in range(TURN):
        _, _, terminated, truncated, _ = env.step(action)
        if count == 1 and (terminated or truncated):
            env.reset()
    return count * TURN / (time.perf_counter() - begun)


def cpu_of_process(pid):
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e9


def main():
    measurements = {"fetch": fetch, "assay": assay, "vector": vector}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=measurements)
    args = parser.parse_args()
    print(json.dumps(measurements[args.what]()))


if __name__ == "__main__":
    main()
