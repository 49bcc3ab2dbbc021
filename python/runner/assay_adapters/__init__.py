"""Adapters: policies without code, declared in the table `[adapter]` of policy.toml.

`load` turns the declaration of an accepted policy into a class like that of a policy.py. The host has checked the
declaration (crates/assay-policy/src/adapter), and compares it with the scenario before each episode. What remains is
what only a loaded network shows: its inputs, outputs and errors, and files with statistics. Every such problem is an
AdapterError, whose message is for the policy's author.

These modules import nothing slow before a policy needs it: the fork server imports them for all its children.
"""

import tomllib

from . import lerobot_checkpoint, onnx_model
from .errors import AdapterError

__all__ = ["AdapterError", "load"]

KINDS = {"onnx": onnx_model.load, "lerobot": lerobot_checkpoint.load}


def load(folder: str) -> type | None:
    """Return the policy's class, or None if policy.toml declares no adapter."""
    try:
        with open(f"{folder}/policy.toml", "rb") as file:
            table = tomllib.loads(file.read().decode("utf-8-sig")).get("adapter")
    except FileNotFoundError:
        return None
    except ValueError as error:
        # The host's parser accepts what newer versions of TOML allow.
        raise AdapterError(f"policy.toml is not TOML 1.0, which Python reads: {error}") from None
    if table is None:
        return None
    return KINDS[table["kind"]](folder, table)
