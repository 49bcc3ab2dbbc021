"""The adapter `onnx`: a model that ONNX Runtime runs."""

import os
import re

import numpy as np

from . import observing, statistics
from .acting import Decoder
from .errors import AdapterError, listed

TYPES = {
    "tensor(float)": np.dtype(np.float32),
    "tensor(double)": np.dtype(np.float64),
    "tensor(float16)": np.dtype(np.float16),
    "tensor(uint8)": np.dtype(np.uint8),
}
LFS = b"version https://git-lfs"
MAX_DETAIL_CHARS = 300
# Names of inputs that are usually the state of a recurrent network.
STATE = re.compile(r"(^|[_.])(h|c|hx|cx|hidden|cell|state|states|memory|lstm|gru|rnn)([_.]?(in|0|n|t))?\d*$")


def load(folder: str, table: dict) -> type:
    """Return the policy's class; its network is loaded."""
    import onnxruntime

    name, action = table["model"], table["action"]
    session = open_session(onnxruntime, folder, name)
    inputs = {value.name: value for value in session.get_inputs()}
    declared = [one["name"] for one in table["inputs"]]
    for missing, known, where in (
        ([one for one in declared if one not in inputs], list(inputs), f"{name} has no input"),
        ([one for one in inputs if one not in declared], declared, "adapter.inputs has no input"),
    ):
        if missing:
            remedy = remedy_for(inputs.get(missing[0]), session.get_outputs(), action["output"])
            raise AdapterError(f"{where} {missing[0]!r}, only {listed(known)}; {remedy}")
    observers = [(one["name"], observer(folder, name, one, inputs[one["name"]])) for one in table["inputs"]]
    outputs, output = [value.name for value in session.get_outputs()], action["output"]
    if output not in outputs:
        raise AdapterError(f"{name} has no output {output!r}, only {listed(outputs)}; correct adapter.action.output")
    size = len(action["units"])
    of_action = statistics.read(folder, action, size, "the action")
    decoder = Decoder(action, of_action, f"the output {output!r} of {name}")

    def infer(observation: dict) -> np.ndarray:
        feed = {one: observe(observation) for one, observe in observers}
        try:
            (value,) = session.run([output], feed)
        except Exception as error:
            raise explained(error, onnxruntime.__version__, name) from None
        return decoder.decode(value)

    steps = action.get("replan_steps", decoder.chunk_size)

    class Policy:
        replan_steps = steps
        act = staticmethod(infer)

    return Policy


def remedy_for(value: object, outputs: list, action: str) -> str:
    """Return what to do about an input that is not declared, or, if there is no such input, about a declaration."""
    if value is None:
        return "declare the inputs of the model"
    others = [one for one in outputs if one.name != action]
    if any((one.type, one.shape) == (value.type, value.shape) for one in others) or STATE.search(value.name):
        return (
            f"{value.name!r} seems to be recurrent state, which an adapter does not keep: write a policy.py that runs the "
            "model with onnxruntime, and returns the state to it at each step"
        )
    if value.type not in TYPES:
        return (
            f"{value.name!r} is a {value.type}, which no part of an observation is: write a policy.py that runs the model with "
            "onnxruntime, or export it without this input"
        )
    return "declare the inputs of the model"


def open_session(onnxruntime: object, folder: str, name: str) -> object:
    options = onnxruntime.SessionOptions()
    # A policy has one processor; more threads would only wait for each other.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    # Problems are exceptions; the log would repeat them.
    options.log_severity_level = 4
    path = f"{folder}/{name}"
    with open(path, "rb") as file:
        if file.read(len(LFS)) == LFS:
            raise AdapterError(f"{name} is a pointer of Git LFS, not the model; run `git lfs pull`")
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if "/proc/self/fd" not in str(error):
            raise explained(error, onnxruntime.__version__, name) from None
    # To read weights from other files, ONNX Runtime looks for their names in /proc, which a jail lacks.
    others = weights_beside(path)
    options.add_external_initializers_from_files_in_memory(*others)
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise explained(error, onnxruntime.__version__, name) from None


def weights_beside(model: str) -> tuple[list[str], list[np.ndarray], list[int]]:
    """Return the names, contents and sizes of the files that may have a model's weights: those below its folder."""
    folder, names = os.path.dirname(model), []
    for inside, _, files in os.walk(folder):
        names += [os.path.relpath(os.path.join(inside, file), folder) for file in files]
    sizes = {name: os.path.getsize(os.path.join(folder, name)) for name in names}
    names = [name for name in names if sizes[name] and not name.endswith((".onnx", ".toml"))]
    return names, [np.memmap(os.path.join(folder, name), np.uint8, "r") for name in names], [sizes[name] for name in names]


def observer(folder: str, model: str, table: dict, value: object) -> object:
    """Return the function that makes the input `value` of the model from an observation."""
    name, dtype = table["name"], TYPES.get(value.type)
    is_image = "image" in table
    if dtype is None or (dtype == np.uint8 and not is_image):
        raise AdapterError(
            f"the input {name!r} of {model} is a {value.type}; export it with float32 inputs, or write a policy.py that runs the "
            "model with onnxruntime"
        )
    wanted = tuple(table["shape"]) if is_image else (observing.size_of(table),)
    shape = (1, *wanted) if len(value.shape) == len(wanted) + 1 else wanted
    if len(shape) != len(value.shape) or any(
        isinstance(size, int) and size != given for size, given in zip(value.shape, shape, strict=True)
    ):
        batch = value.shape[0] if len(value.shape) == len(wanted) + 1 else 1
        if isinstance(batch, int) and batch > 1 and list(value.shape[1:]) == list(wanted):
            raise AdapterError(
                f"the input {name!r} of {model} has shape {value.shape}: its batch is fixed to {batch}, and a policy has one "
                "observation at a time; export the model with a batch of 1, or with a dynamic one"
            )
        if is_image:
            given = f"an image of shape {list(shape)} (channels, height, width) is declared; correct its shape, or export"
        else:
            arrays = ", ".join(f"{array['name']} [{array['size']}]" for array in table["arrays"])
            given = f"its arrays have shape {list(shape)} together ({arrays}); list those it was trained with, or export"
        raise AdapterError(f"the input {name!r} of {model} has shape {value.shape}, but {given} the model for them")
    size = 3 if is_image else wanted[0]
    known = statistics.read(folder, table, size, f"the input {name!r}")
    if not is_image:
        return observing.numbers(table, shape, dtype, known)
    if known is not None and dtype == np.uint8:
        raise AdapterError(f"the input {name!r} of {model} takes bytes, which have no mean and std; remove them")
    return observing.pixels(table["image"], shape, dtype, known)


def explained(error: Exception, version: str, name: str) -> AdapterError:
    """Return an error of ONNX Runtime in words that say what to do."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", str(error)).removeprefix(f"Load model from {name} failed:")
    operator = re.search(r"Fatal error: (\S+?)\(|No Op registered for (\S+)", text)
    if "Protobuf parsing failed" in text or "No graph was found" in text:
        return AdapterError(f"{name} is no ONNX model, or incomplete; export it again, and compare its size")
    if operator:
        kind = (operator[1] or operator[2]).removeprefix(":")
        return AdapterError(
            f"{name} has the operator {kind}, which ONNX Runtime {version} does not have, and custom operators can't be "
            "loaded; export the network with standard operators"
        )
    if any(part in text for part in ("External data path", "External initializer", "/proc/self/fd", "out of bounds")):
        detail = text.rsplit("Error: ", 1)[-1].rsplit("cc:", 1)[-1].split(" ", 1)[-1]
        return AdapterError(
            f"{name} keeps weights in another file, which must be complete, in the policy's folder, and have the name that "
            f"the model says ({detail[:MAX_DETAIL_CHARS]}); add it, or save the model as one file"
        )
    if "IR version" in text or "*guarantees*" in text:
        return AdapterError(f"{name} is newer than ONNX Runtime {version}; export it with a lower opset or IR version")
    if "Failed to allocate memory" in text or "bad_alloc" in text:
        return AdapterError(f"{name} needs more memory than a policy has; use a smaller network", "memory")
    return AdapterError(f"{name}: {type(error).__name__}: {' '.join(text.split())[:MAX_DETAIL_CHARS]}")
