#!/usr/bin/env python3
"""Runs the same world, controller and policy as the service, in a bare MuJoCo loop in one Python process.

The benchmarks compare the service's speed with this loop, which has no jail, no clauses and no trace. It prints the CPU
time of a control step as a line of JSON:

    python bench/bare_loop.py --scenario tabletop_reach --policy reference --episodes 3 --seed 1

    {"scenario": "tabletop_reach", "control_steps": 1500, "cpu_s": 0.29, "cpu_us_per_control_step": 191.4, "parts_us": {}}

Only the episodes' loops are timed, not the building of worlds or the import of the policy. The loop does not evaluate
success, so episodes last until the time limit, or `--control-steps N`. `--parts` splits the CPU time by part (and takes
some itself). With `--check`, every signal is computed at every physics step too, and the policy's results are printed
instead, as a second, independent implementation of `scenario.toml`. `--png FILE` and `--sheet FILE` render the first
world and frames of its episode.

`bare_world.py` builds the worlds, `bare_episode.py` contains the loop, `bare_check.py` the signals and the rendering.

Needs mujoco 3.17.0 and numpy (and pillow for rendering). Worlds are drawn with numpy's generator, so they have the same
distribution as the service's but are not the same ones.
"""

import argparse
import json
import sys
from pathlib import Path

from bare_episode import Parts, episode, load_policy
from bare_world import ROOT, World


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", default="tabletop_reach", help="id, or a folder with scenario.toml")
    parser.add_argument("--policy", default="reference", help="name under examples/policies/SCENARIO, or a folder")
    parser.add_argument("--packages", help="folder with further packages of the policy, as site-packages")
    parser.add_argument("--episodes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--control-steps", type=int, help="end each episode after this many control steps")
    parser.add_argument("--parts", action="store_true", help="also print the CPU time of each part")
    parser.add_argument("--check", action="store_true", help="print success, stages and margins instead")
    parser.add_argument("--png", help="render the first world to this file")
    parser.add_argument("--sheet", help="render six frames of the first episode to this file")
    parser.add_argument("--size", default="640x480", help="size of a rendered frame")
    args = parser.parse_args()
    folder = Path(args.scenario) if Path(args.scenario, "scenario.toml").is_file() else ROOT / "scenarios" / args.scenario
    policy = Path(args.policy)
    if not (policy / "policy.py").is_file():
        policy = ROOT / "examples" / "policies" / folder.name / args.policy
    if not (folder / "scenario.toml").is_file() or not (policy / "policy.py").is_file():
        sys.exit(f"the scenario {folder} or the policy {policy} does not exist")
    if args.packages:
        sys.path.append(args.packages)
    make_policy = load_policy(policy)
    if args.check or args.png or args.sheet:
        from bare_check import check, draw_episode  # imported here so that the timed loop does not load it
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
