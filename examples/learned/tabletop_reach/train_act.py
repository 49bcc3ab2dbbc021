"""Trains a small ACT of LeRobot to imitate demonstrations of `tabletop_reach`, and saves it as LeRobot does.

    pip install "lerobot>=0.4,<0.5"
    python3 examples/learned/tabletop_reach/record.py one.npz --episodes 200
    python3 examples/learned/tabletop_reach/train_act.py one.npz
    assay verify examples/learned/tabletop_reach/act --adapter lerobot \
        --map examples/learned/tabletop_reach/act.toml --scenario tabletop_reach

Takes several minutes; the checkpoint here was trained with `--rounds 2500`. The network sees no images:
`observation.state` is the time and the tool, and `observation.environment_state` the target and the posts. It returns
chunks of 20 actions, of which 10 are executed.
"""

import argparse
import pathlib

import numpy as np
import torch
from lerobot.configs.types import FeatureType, NormalizationMode, PolicyFeature
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.policies.factory import make_pre_post_processors

HERE = pathlib.Path(__file__).resolve().parent
STATE, ENVIRONMENT, ACTION = "observation.state", "observation.environment_state", "action"
# Parts of the state that record.py writes: time, tool; target, posts.
PARTS = {STATE: slice(0, 8), ENVIRONMENT: slice(8, 29)}
CHUNK, EXECUTED = 20, 10
BATCH, LEARNING_RATE = 64, 1e-3


def config():
    """A network of about a megabyte."""
    mode = NormalizationMode.MEAN_STD
    return ACTConfig(
        input_features={
            STATE: PolicyFeature(type=FeatureType.STATE, shape=(8,)),
            ENVIRONMENT: PolicyFeature(type=FeatureType.ENV, shape=(21,)),
        },
        output_features={ACTION: PolicyFeature(type=FeatureType.ACTION, shape=(7,))},
        normalization_mapping={"STATE": mode, "ENV": mode, "ACTION": mode},
        chunk_size=CHUNK,
        n_action_steps=EXECUTED,
        use_vae=False,
        dim_model=96,
        n_heads=4,
        dim_feedforward=192,
        n_encoder_layers=2,
        n_decoder_layers=1,
        dropout=0.0,
        device="cpu",
        push_to_hub=False,
    )


def chunks(states, actions):
    """Returns the actions from each step on, and which of them lie behind the end of the episode."""
    starts = np.flatnonzero(states[:, 0] == 0)
    ends = np.repeat(np.append(starts[1:], len(states)), np.diff(np.append(starts, len(states))))
    steps = np.arange(len(states))[:, None] + np.arange(CHUNK)
    return actions[np.minimum(steps, ends[:, None] - 1)], steps >= ends[:, None]


def statistics(values):
    mean, std = values.mean(axis=0), values.std(axis=0)
    return {"mean": torch.from_numpy(mean), "std": torch.from_numpy(np.where(std < 1e-3, 1.0, std).astype(np.float32))}


def train(states, actions, rounds):
    torch.manual_seed(0)
    torch.set_num_threads(2)
    plans, is_pad = chunks(states, actions)
    data = {name: torch.from_numpy(states[:, part]) for name, part in PARTS.items()} | {ACTION: torch.from_numpy(plans)}
    stats = {name: statistics(states[:, part]) for name, part in PARTS.items()} | {ACTION: statistics(actions)}
    data = {name: (values - stats[name]["mean"]) / stats[name]["std"] for name, values in data.items()}
    data["action_is_pad"] = torch.from_numpy(is_pad)
    policy = ACTPolicy(config()).train()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=LEARNING_RATE, weight_decay=1e-5)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, rounds)
    for step in range(1, rounds + 1):
        chosen = torch.randint(0, len(states), (BATCH,))
        loss, _ = policy.forward({name: values[chosen] for name, values in data.items()})
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
        optimizer.step()
        schedule.step()
        if step % 500 == 0:
            print(f"{step}: loss {loss.item():.4f}", flush=True)
    return policy.eval(), stats


def main():
    parser = argparse.ArgumentParser(description="Trains an ACT on demonstrations of tabletop_reach.")
    parser.add_argument("demonstrations", type=pathlib.Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=6000)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "act")
    options = parser.parse_args()
    files = [np.load(path) for path in options.demonstrations]
    states, actions = (np.concatenate([file[name] for file in files]) for name in ("states", "actions"))
    policy, stats = train(states, actions, options.rounds)
    policy.save_pretrained(options.out)
    for processor in make_pre_post_processors(policy.config, dataset_stats=stats):
        processor.save_pretrained(options.out)


if __name__ == "__main__":
    main()
