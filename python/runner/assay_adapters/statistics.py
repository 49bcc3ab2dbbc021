"""Mean and standard deviation of an input or an action: in the declaration, or in a file of the policy."""

import json

import numpy as np

from .errors import AdapterError, listed

# Largest file with statistics, in bytes.
MAX_FILE_BYTES = 64 << 20


def read(folder: str, table: dict, size: int, what: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return mean and standard deviation, each of `size` numbers, or None if `table` declares none."""
    if "mean" in table:
        return np.array(table["mean"], float), np.array(table["std"], float)
    if "statistics" not in table:
        return None
    source = table["statistics"]
    name, keys = source["file"], [source.get(key, key) for key in ("mean", "std")]
    try:
        arrays = read_npz(folder, name, keys) if name.endswith(".npz") else read_json(folder, name, keys)
    except AdapterError:
        raise
    except Exception as error:
        kind = "numpy arrays, as np.savez writes them" if name.endswith(".npz") else "JSON with lists of numbers"
        raise AdapterError(f"{name} is damaged, or not {kind} ({type(error).__name__}); save it again") from None
    for key, array in zip(keys, arrays, strict=True):
        if array.shape != (size,):
            raise AdapterError(
                f"{name}: {key!r} has shape {list(array.shape)}, but {what} has shape [{size}]; save the statistics of "
                "these numbers"
            )
        if not np.isfinite(array).all():
            raise AdapterError(f"{name}: {key!r} has numbers that are not finite; save the statistics again")
    if not (arrays[1] > 0).all():
        raise AdapterError(f"{name}: {keys[1]!r} has numbers that are not positive; use 1 where nothing varies")
    return arrays[0], arrays[1]


def read_npz(folder: str, name: str, keys: list[str]) -> list[np.ndarray]:
    with np.load(f"{folder}/{name}", allow_pickle=False) as file:
        absent = [key for key in keys if key not in file.files]
        if absent:
            raise AdapterError(f"{name} has no array {absent[0]!r}; it has {listed(file.files)}")
        return [np.asarray(file[key], float) for key in keys]


def read_json(folder: str, name: str, keys: list[str]) -> list[np.ndarray]:
    """A key is a path of names: 'observation.state/mean'."""
    with open(f"{folder}/{name}", "rb") as file:
        text = file.read(MAX_FILE_BYTES + 1)
    if len(text) > MAX_FILE_BYTES:
        raise AdapterError(f"{name} is larger than {MAX_FILE_BYTES} bytes")
    document, arrays = json.loads(text), []
    for key in keys:
        value = document
        for part in key.split("/"):
            if not isinstance(value, dict) or part not in value:
                known = listed(list(value)) if isinstance(value, dict) else "no names"
                raise AdapterError(f"{name} has no {key!r}: there is no {part!r} among {known}")
            value = value[part]
        arrays.append(np.asarray(value, float))
    return arrays
