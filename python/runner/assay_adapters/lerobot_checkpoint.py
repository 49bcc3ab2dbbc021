"""The adapter `lerobot`: a checkpoint of LeRobot (ACT or Diffusion), as it saves it in `pretrained_model`.

Its saved processors normalise the observation and restore the units of the action. Written for LeRobot 0.4.
"""

import importlib
import json
import os

import numpy as np

from . import observing
from .acting import Decoder
from .errors import AdapterError

# Module and name of each architecture's configuration and policy, below lerobot.policies.
KINDS = {
    "act": (("act.configuration_act", "ACTConfig"), ("act.modeling_act", "ACTPolicy")),
    "diffusion": (
        ("diffusion.configuration_diffusion", "DiffusionConfig"),
        ("diffusion.modeling_diffusion", "DiffusionPolicy"),
    ),
}
MAX_DETAIL_CHARS = 600


def load(folder: str, table: dict) -> type:
    """Return the policy's class; its network is loaded."""
    name = table.get("checkpoint", "checkpoint")
    try:
        return load_checkpoint(f"{folder}/{name}", table)
    except AdapterError:
        raise
    except MemoryError:
        raise
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())[:MAX_DETAIL_CHARS]
        raise AdapterError(f"LeRobot could not load {name}: {text}; was it saved by LeRobot 0.4?") from None


def load_checkpoint(path: str, table: dict) -> type:
    # PyTorch creates this folder unless it exists, for compiled code that no policy here has; its users look for a home.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", path)
    os.environ.setdefault("HOME", "/")
    import torch

    # A policy has one processor; more threads would only wait for each other.
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    config, network = read_network(path, table["action"])
    before, after = read_processors(path, config)
    observers = [(one["name"], observer(torch, one, config)) for one in table["inputs"]]
    decoder = Decoder({**table["action"], "chunk_size": 1}, None, "the action of the checkpoint")

    class Policy:
        # The network keeps the actions that are not executed yet.
        answer_size = getattr(config, "chunk_size", None) or getattr(config, "horizon", None) or 1

        def reset(self, *, seed: int, scenario: str, instruction: str | None) -> None:
            torch.manual_seed(seed)
            network.reset()
            self.task = instruction or ""

        @torch.inference_mode()
        def act(self, observation: dict) -> np.ndarray:
            batch = {name: observe(observation) for name, observe in observers}
            batch["task"] = self.task
            action = after(network.select_action(before(batch)))
            return decoder.decode(action.cpu().numpy())[0]

    return Policy


def read_network(path: str, action: dict) -> tuple[object, object]:
    """Return configuration and network. LeRobot's own loader writes a temporary file; a jail allows none."""
    import draccus

    with open(f"{path}/config.json", "rb") as file:
        fields = json.load(file)
    config_class, policy_class = (of_lerobot(*place) for place in KINDS[fields.pop("type")])
    # The trained weights are in model.safetensors; LeRobot would download those of the backbone first.
    fields |= {"device": "cpu", "use_amp": False, "pretrained_backbone_weights": None}
    if "replan_steps" in action:
        fields["n_action_steps"] = action["replan_steps"]
    config = draccus.decode(config_class, fields)
    return config, policy_class.from_pretrained(path, config=config).eval()


def of_lerobot(module: str, name: str) -> type:
    return getattr(importlib.import_module(f"lerobot.policies.{module}"), name)


def read_processors(path: str, config: object) -> tuple[object, object]:
    from lerobot.policies.factory import make_pre_post_processors

    on_cpu = {"device_processor": {"device": "cpu"}}
    return make_pre_post_processors(config, pretrained_path=path, preprocessor_overrides=on_cpu)


def observer(torch: object, table: dict, config: object) -> object:
    """Return the function that makes a feature from an observation."""
    if "image" not in table:
        size = observing.size_of(table)
        numbers = observing.numbers(table, (size,), np.dtype(np.float32), None)
        # The network may keep it for its next inference.
        return lambda observation: torch.from_numpy(numbers(observation).copy())
    shape = tuple(config.input_features[table["name"]].shape)
    name = table["image"]

    def observe(observation: dict) -> object:
        image = torch.from_numpy(observation[name]).permute(2, 0, 1).float() / 255
        if tuple(image.shape) == shape:
            return image
        return torch.nn.functional.interpolate(image[None], size=shape[1:], mode="bilinear", antialias=True)[0]

    return observe
