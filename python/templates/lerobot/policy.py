"""A LeRobot checkpoint (ACT) for {{id}}: {{name}}.

{{description}}

The folder `checkpoint` beside this file is what LeRobot saves as `pretrained_model`. Its saved processors normalise the
observation and restore the units of the action.
"""
# /// script
# requires-python = ">=3.11"
# dependencies = ["lerobot>=0.4,<0.5", "torch>=2.2", "numpy"]
# [tool.assay]
# runtime = "lerobot"
# ///

import json
import pathlib

import draccus
import numpy as np
import torch
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.policies.factory import make_pre_post_processors

# A policy has one processor; more threads would only wait for each other.
torch.set_num_threads(1)
torch.set_num_interop_threads(1)

# A relative path would be looked up in the current folder, which is not the policy's.
CHECKPOINT = pathlib.Path(__file__).with_name("checkpoint")
FILES = ("config.json", "model.safetensors", "policy_preprocessor.json", "policy_postprocessor.json")
ACTION_DIM = {{dim}}

# The arrays that become `observation.state`, in the order of the training data. The scenario offers:
# {{observations}}
STATE = {{state}}
# The camera of the scenario, and the key of its images in the training data.
IMAGES = {{images}}


def read_config():
    """Returns the checkpoint's configuration. LeRobot's own loader writes a temporary file; a jail allows none."""
    missing = [name for name in FILES if not (CHECKPOINT / name).is_file()]
    if missing:
        raise FileNotFoundError(
            f"checkpoint/ beside policy.py lacks {', '.join(missing)}: copy the folder pretrained_model of a training "
            "run there (see README.md)"
        )
    fields = json.loads((CHECKPOINT / "config.json").read_text())
    kind = fields.pop("type", None)
    if kind != "act":
        raise ValueError(f"checkpoint/config.json is of the type {kind!r}, but policy.py loads ACT: adapt its imports")
    fields["device"] = "cpu"
    # The trained weights are in model.safetensors; LeRobot would download those of the backbone first.
    fields["pretrained_backbone_weights"] = None
    return draccus.decode(ACTConfig, fields)


def check(config):
    """Compares the checkpoint's features with what the scenario offers; the state's length is checked in act()."""
    known = {"observation.state", *IMAGES.values()}
    unknown = sorted(set(config.input_features) - known)
    if unknown:
        raise ValueError(f"the checkpoint also needs {unknown}: add them to IMAGES, or choose another scenario")
    absent = sorted(set(IMAGES.values()) - set(config.input_features))
    if absent:
        raise ValueError(f"the checkpoint was trained without {absent}: correct IMAGES")
    length = config.output_features["action"].shape[0]
    if length != ACTION_DIM:
        raise ValueError(f"the checkpoint returns {length} numbers, but an action has {ACTION_DIM}")


CONFIG = read_config()
check(CONFIG)
POLICY = ACTPolicy.from_pretrained(CHECKPOINT, config=CONFIG).eval()
PREPROCESS, POSTPROCESS = make_pre_post_processors(
    CONFIG, pretrained_path=str(CHECKPOINT), preprocessor_overrides={"device_processor": {"device": "cpu"}}
)


def to_image(pixels, shape):
    """Returns bytes (height, width, 3) as numbers from 0 to 1 of `shape` (3, height, width)."""
    image = torch.from_numpy(pixels).permute(2, 0, 1).float() / 255
    if tuple(image.shape) == tuple(shape):
        return image
    resized = torch.nn.functional.interpolate(image[None], size=tuple(shape[1:]), mode="bilinear", antialias=True)
    return resized[0]


class Policy:
    def reset(self, *, seed, scenario, instruction):
        """Called once before the first observation; drops the actions that are still queued."""
        torch.manual_seed(seed)
        POLICY.reset()
        self.instruction = instruction or ""

    @torch.inference_mode()
    def act(self, observation):
        """Called {{hz}} times per simulated second; returns {{numbers}}."""
        # {{actions}}
        state = np.concatenate([np.ravel(observation[name]) for name in STATE]).astype(np.float32)
        expected = CONFIG.input_features["observation.state"].shape[0]
        if len(state) != expected:
            raise ValueError(f"the checkpoint takes {expected} numbers, but the arrays of STATE have {len(state)}")
        batch = {"observation.state": torch.from_numpy(state), "task": self.instruction}
        for camera, key in IMAGES.items():
            batch[key] = to_image(observation[camera], CONFIG.input_features[key].shape)
        action = POSTPROCESS(POLICY.select_action(PREPROCESS(batch)))
        return action[0].double().cpu().numpy()
