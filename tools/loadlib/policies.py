"""Policies and scenarios for the load, which are small and have a known verdict."""

import pathlib
import random

from testlib.service import archive

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCENARIO = "cartpole_keepin"
SEASON_ID, SEASON_EPISODES = "arena_pole", 2

# Sleeps at each step, so that there is time to cancel it.
SLOW = "import time\nimport numpy as np\n\n\ndef policy(observation):\n    time.sleep(0.05)\n    return np.zeros(1)\n"
# Ends with an error, so that its video is short.
SHORT = """import numpy as np


def policy(observation):
    if observation["time"] > 0.5:
        raise RuntimeError("seen enough")
    return np.zeros(1)
"""
# Possible verdicts of a job, by policy.
VERDICTS = {"reference": ("SAFE",), "reckless": ("UNSAFE",), "idle": ("SAFE",), "short": ("INCONCLUSIVE",)}


def source(name: str) -> str:
    """Returns the source of an example policy, or of one of the above."""
    if name in ("slow", "short"):
        return {"slow": SLOW, "short": SHORT}[name]
    return (ROOT / "examples/policies" / SCENARIO / name / "policy.py").read_text()


def policy(name: str, dice: random.Random) -> bytes:
    """Returns a unique archive of a policy."""
    return archive({"policy.py": f"# {dice.getrandbits(64):x}\n{source(name)}"})


def scenario(name: str, version: str, arena_episodes: int | None = None) -> bytes:
    """Returns the archive of a scenario: the cart-pole under another id and version."""
    folder = ROOT / "scenarios" / SCENARIO
    texts = {part: (folder / part).read_text() for part in ("scenario.toml", "scene.xml", "README.md")}
    toml = texts["scenario.toml"].replace(f'id = "{SCENARIO}"', f'id = "{name}"', 1)
    toml = toml.replace('version = "1.0.0"', f'version = "{version}"', 1)
    if arena_episodes:
        toml = toml.replace("[arena]", f"[arena]\nepisodes = {arena_episodes}", 1)
    return archive(texts | {"scenario.toml": toml})
