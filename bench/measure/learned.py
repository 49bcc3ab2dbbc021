"""Measures what trained networks cost: an ONNX model beyond bare physics and inference, and many short episodes with PyTorch
against one process that runs all of them."""

import json
import subprocess
from pathlib import Path

from .common import LIMIT_S, SCENARIO, environment, result, torch_runtimes
from .overhead import EPISODES, Served, archive, children_cpu, cpu_of, serve

ONNX_TARGET, TORCH_TARGET = ("<=", 130), ("<=", 1.3)
SHORT_EPISODES = 20


def run(bench):
    return [onnx(bench), *filter(None, [torch(bench)])]


def onnx(bench):
    """The model of `examples/learned/tabletop_reach/onnx`, which has no code: microseconds of CPU per control step."""
    packages = site_packages(bench.root / "vendor" / "runtimes" / "onnx")
    served = Served(SCENARIO, archive(bench.root / "examples" / "learned" / SCENARIO / "onnx"))
    command = [bench.python, "bench/learned_process.py", "onnx", "--packages", packages]
    beyond = []
    for _ in range(bench.repetitions):
        bare = json.loads(output(bench, command))
        used, steps = cpu_of(bench, served, EPISODES)
        beyond.append(used / steps - bare["cpu_us_per_control_step"])
    detail = {
        "all, us": used / steps, "bare, us": bare["cpu_us_per_control_step"], "of it inference, us": bare["inference_us"],
    }
    name = "tabletop_reach, ONNX: CPU per control step beyond mj_step and inference"
    return result(name, beyond, ONNX_TARGET, " us", detail)


def torch(bench):
    """The same network in PyTorch: a job of short episodes, against one process that imports PyTorch once and runs them all.

    A job uses the fork server that was started during the job before, and during it one is started for the next. So the job is
    the second of a service, less the first, which pays for two; that one is printed too."""
    runtimes = torch_runtimes(bench)
    if runtimes is None:
        print("no runtime with PyTorch: `tools/test-long runtime` builds it, or ASSAY_LEROBOT_RUNTIMES names its folder")
        return None
    policy = bench.root / "examples" / "learned" / SCENARIO / "torch"
    served = Served(SCENARIO, archive(policy), runtimes)
    # The first job copies the runtime into memory, where it stays.
    cpu_of(bench, served, 1)
    ratios = []
    for _ in range(bench.repetitions):
        idle = serve(bench, served, 0)[0]
        first, steps = serve(bench, served, SHORT_EPISODES)
        used = serve(bench, served, SHORT_EPISODES, jobs=2)[0] - first
        packages = site_packages(runtimes / "lerobot")
        command = [bench.python, "bench/bare_loop.py", "--scenario", SCENARIO, "--policy", policy, "--packages", packages]
        command += ["--episodes", str(SHORT_EPISODES), "--control-steps", str(round(steps / SHORT_EPISODES))]
        before = children_cpu()
        output(bench, command)
        one = 1e6 * (children_cpu() - before)
        ratios.append(used / one)
    detail = {
        "a job, s": used / 1e6,
        "a service's first job, s": (first - idle) / 1e6,
        "one process, s": one / 1e6,
        "control steps of an episode": steps / SHORT_EPISODES,
    }
    name = f"PyTorch: a job of {SHORT_EPISODES} short episodes, CPU against one process for all"
    return result(name, ratios, TORCH_TARGET, "x", detail)


def site_packages(runtime):
    (found,) = Path(runtime, "py", "lib").glob("python3*/site-packages")
    return found


def output(bench, command):
    done = subprocess.run(
        command, cwd=bench.root, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{command[1]} failed: {done.stderr}")
    return done.stdout
