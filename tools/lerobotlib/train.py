"""Loads a dataset with lerobot and trains an ACT policy on it for a few steps.

    train.py FOLDER

Runs in the environment of `tools/check-lerobot`. Prints what it loaded and the losses; fails if a loss is not finite or
does not fall.
"""

import json
import math
import os
import pathlib
import sys

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}

import numpy as np  # noqa: E402
import torch  # noqa: E402
from lerobot.configs.types import FeatureType  # noqa: E402
from lerobot.datasets.lerobot_dataset import LeRobotDataset  # noqa: E402
from lerobot.datasets.utils import dataset_to_policy_features  # noqa: E402
from lerobot.policies.act.configuration_act import ACTConfig  # noqa: E402
from lerobot.policies.act.modeling_act import ACTPolicy  # noqa: E402
from lerobot.policies.factory import make_pre_post_processors  # noqa: E402

CHUNK = 10
STEPS = 60
STEPS_WITH_IMAGES = 8
BATCH = 8


def load(folder: pathlib.Path) -> tuple[LeRobotDataset, ACTConfig]:
    info = json.loads((folder / "meta/info.json").read_text())
    features = dataset_to_policy_features({k: {**v, "shape": tuple(v["shape"])} for k, v in info["features"].items()})
    outputs = {key: feature for key, feature in features.items() if feature.type is FeatureType.ACTION}
    inputs = {key: feature for key, feature in features.items() if key not in outputs}
    config = ACTConfig(
        input_features=inputs,
        output_features=outputs,
        chunk_size=CHUNK,
        n_action_steps=CHUNK,
        dim_model=64,
        n_heads=4,
        dim_feedforward=128,
        n_encoder_layers=1,
        latent_dim=8,
        n_vae_encoder_layers=1,
        pretrained_backbone_weights=None,
        device="cpu",
    )
    # A chunk of actions for each frame, as LeRobot's own training loads them.
    deltas = {"action": [step / info["fps"] for step in range(CHUNK)]}
    dataset = LeRobotDataset("assay/check", root=folder, delta_timestamps=deltas)
    assert len(dataset) == info["total_frames"] and dataset.num_episodes == info["total_episodes"]
    return dataset, config


def check_items(dataset: LeRobotDataset, config: ACTConfig) -> None:
    for index in (0, len(dataset) // 2, len(dataset) - 1):
        item = dataset[index]
        assert item["index"].item() == index and isinstance(item["task"], str) and item["task"]
        assert item["action"].shape[0] == CHUNK and item["action"].isfinite().all()
        for key, feature in config.input_features.items():
            assert tuple(item[key].shape) == tuple(feature.shape), (key, item[key].shape, feature.shape)
            if feature.type is FeatureType.VISUAL:
                assert item[key].dtype == torch.float32 and 0 <= item[key].min() <= item[key].max() <= 1
                assert item[key].std() > 0.01, f"{key} shows nothing"
    assert dataset[len(dataset) - 1]["action_is_pad"].tolist() == [False] + [True] * (CHUNK - 1)


def train(dataset: LeRobotDataset, config: ACTConfig) -> list[float]:
    torch.manual_seed(0)
    policy = ACTPolicy(config)
    prepare, _ = make_pre_post_processors(config, dataset_stats=dataset.meta.stats)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=BATCH, shuffle=True, drop_last=True, generator=torch.Generator().manual_seed(0)
    )
    policy.train()
    losses, steps = [], STEPS_WITH_IMAGES if config.image_features else STEPS
    while len(losses) < steps:
        for batch in loader:
            loss, _ = policy.forward(prepare(batch))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if len(losses) == steps:
                break
    return losses


def main(folder: str) -> None:
    torch.set_num_threads(1)
    dataset, config = load(pathlib.Path(folder))
    check_items(dataset, config)
    losses = train(dataset, config)
    first, last = np.mean(losses[:3]), np.mean(losses[-3:])
    print(f"{dataset.num_episodes} episodes, {len(dataset)} frames, inputs {sorted(config.input_features)}")
    print(f"loss {first:.3f} -> {last:.3f} in {len(losses)} steps")
    assert all(map(math.isfinite, losses)) and last < first


main(*sys.argv[1:])
