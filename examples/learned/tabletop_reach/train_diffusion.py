"""Trains a small Diffusion policy of LeRobot to imitate demonstrations of `tabletop_reach`, and saves it as LeRobot does.

    pip install "lerobot>=0.4,<0.5" diffusers
    python3 examples/learned/tabletop_reach/record.py one.npz --episodes 80
    python3 examples/learned/tabletop_reach/train_diffusion.py one.npz
    assay verify examples/learned/tabletop_reach/diffusion --adapter lerobot \
        --map examples/learned/tabletop_reach/act.toml --scenario tabletop_reach

Takes several minutes; the checkpoint here was trained with `--rounds 1000`, and shows that such a checkpoint loads
and runs, not that it is good. Its features are those of the ACT (train_act.py), so both have one map. It sees the last
two observations, and returns 16 actions, of which 8 are executed.
"""

import argparse
import pathlib

import numpy as np
import torch
from lerobot.configs.types import FeatureType, NormalizationMode, PolicyFeature
from lerobot.policies.diffusion.configuration_diffusion import DiffusionConfig
from lerobot.policies.diffusion.modeling_diffusion import DiffusionPolicy
from lerobot.policies.factory import make_pre_post_processors

from train_act import ACTION, ENVIRONMENT, HERE, PARTS, STATE

SEEN, HORIZON, EXECUTED = 2, 16, 8
BATCH, LEARNING_RATE = 64, 1e-3


def config():
    """A network of about three megabytes."""
    mode = NormalizationMode.MIN_MAX
    return DiffusionConfig(
        input_features={
            STATE: PolicyFeature(type=FeatureType.STATE, shape=(8,)),
            ENVIRONMENT: PolicyFeature(type=FeatureType.ENV, shape=(21,)),
        },
        output_features={ACTION: PolicyFeature(type=FeatureType.ACTION, shape=(7,))},
        normalization_mapping={"STATE": mode, "ENV": mode, "ACTION": mode},
        n_obs_steps=SEEN,
        horizon=HORIZON,
        n_action_steps=EXECUTED,
        down_dims=(32, 64),
        n_groups=8,
        diffusion_step_embed_dim=32,
        noise_scheduler_type="DDIM",
        num_train_timesteps=50,
        num_inference_steps=5,
        device="cpu",
        push_to_hub=False,
    )


def windows(states):
    """Returns the rows that the network sees and answers at each step: a window stays in its episode."""
    starts = np.flatnonzero(states[:, 0] == 0)
    lengths = np.diff(np.append(starts, len(states)))
    first = np.repeat(starts, lengths)[:, None]
    last = np.repeat(starts + lengths, lengths)[:, None] - 1
    steps = np.arange(len(states))[:, None] + np.arange(1 - SEEN, HORIZON + 1 - SEEN)
    return np.clip(steps, first, last), steps > last


def limits(values):
    """The range of each number; one that never changes is not amplified."""
    low, high = values.min(axis=0), values.max(axis=0)
    high = np.where(high - low < 1e-3, low + 1.0, high)
    return {"min": torch.from_numpy(low), "max": torch.from_numpy(high.astype(np.float32))}


def train(states, actions, rounds):
    torch.manual_seed(0)
    rows, is_pad = windows(states)
    parts = {name: states[:, part] for name, part in PARTS.items()} | {ACTION: actions}
    stats = {name: limits(values) for name, values in parts.items()}
    data = {
        name: 2 * (torch.from_numpy(values) - stats[name]["min"]) / (stats[name]["max"] - stats[name]["min"]) - 1
        for name, values in parts.items()
    }
    rows, is_pad = torch.from_numpy(rows), torch.from_numpy(is_pad)
    policy = DiffusionPolicy(config()).train()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=LEARNING_RATE, weight_decay=1e-6)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, rounds)
    for step in range(1, rounds + 1):
        chosen = rows[picked := torch.randint(0, len(states), (BATCH,))]
        batch = {name: data[name][chosen[:, :SEEN]] for name in PARTS}
        loss, _ = policy.forward(batch | {ACTION: data[ACTION][chosen], "action_is_pad": is_pad[picked]})
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"{step}: loss {loss.item():.4f}", flush=True)
    return policy.eval(), stats


def main():
    parser = argparse.ArgumentParser(description="Trains a Diffusion policy on demonstrations of tabletop_reach.")
    parser.add_argument("demonstrations", type=pathlib.Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=6000)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "diffusion")
    options = parser.parse_args()
    files = [np.load(path) for path in options.demonstrations]
    states, actions = (np.concatenate([file[name] for file in files]) for name in ("states", "actions"))
    policy, stats = train(states, actions, options.rounds)
    policy.save_pretrained(options.out)
    for processor in make_pre_post_processors(policy.config, dataset_stats=stats):
        processor.save_pretrained(options.out)


if __name__ == "__main__":
    main()
