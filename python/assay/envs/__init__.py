"""Gymnasium environments of scenarios: `gymnasium.make("assay/tabletop_reach-v1")` after `import assay.envs`."""

import gymnasium

from ._environment import AssayEnv, world_seed
from ._lane import installation
from ._vector import AssayVectorEnv
from .errors import EnvironmentFailure, InvalidAction, InvalidArgument, LaneEnded, NeedsReset, NotInstalled, ScenarioRefused

__all__ = [
    "AssayEnv", "AssayVectorEnv", "EnvironmentFailure", "InvalidAction", "InvalidArgument", "LaneEnded", "NeedsReset", "NotInstalled",
    "ScenarioRefused", "register", "world_seed",
]


def register() -> None:
    """Registers an environment for each scenario of the installation; none if there is no installation."""
    try:
        folders = sorted((installation() / "scenarios").iterdir())
    except NotInstalled:
        return
    for folder in folders:
        name = f"assay/{folder.name}-v1"
        if (folder / "scenario.toml").is_file() and name not in gymnasium.registry:
            # The lane itself ends episodes and checks the order of calls.
            gymnasium.register(
                name, entry_point="assay.envs:AssayEnv", vector_entry_point="assay.envs:AssayVectorEnv",
                kwargs={"scenario": folder.name}, order_enforce=False,
            )  # fmt: skip


register()
