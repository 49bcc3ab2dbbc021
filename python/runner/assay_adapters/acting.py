"""Turns the answers of policies into actions, one for each control step.

`numbers` is the rule of every door: policies served from Python have the same text of it (python/assay/_answers.py), and
a test compares them.
"""

import inspect
import operator
from collections.abc import Callable

import numpy as np

from .errors import AdapterError, BadAction

F64 = np.dtype("<f8")
# Most actions in one answer, as for policy servers.
MAX_ACTIONS = 1000
# Deepest nesting of an answer, and longest value shown in a message.
MAX_DEPTH, MAX_SHOWN_CHARS = 4, 40


def numbers(answer: object) -> np.ndarray:
    """Return the numbers of an answer as a float64 array; raise BadAction that names the element that is none."""
    try:
        array = answer if type(answer) is np.ndarray else np.asarray(bare(answer))
    except Exception:
        # Lists of tensors that can't be converted as a whole, or of unequal lengths.
        array = np.asarray(None)
    if is_numeric(array.dtype):
        return array.astype(F64, copy=False)
    parts = plain(array if array.ndim and not isinstance(answer, (list, tuple)) else answer, "action", 0)
    try:
        return np.array(parts, F64)
    except ValueError:
        raise BadAction("the action can't be made an array: its lists have unequal lengths") from None


def is_numeric(dtype: np.dtype) -> bool:
    """Types of ml_dtypes, such as bfloat16, are of the kind of raw memory, but have scalars of their own."""
    return dtype.kind in "fiub" or (dtype.kind == "V" and dtype.type is not np.void)


def bare(value: object) -> object:
    """Return a tensor of PyTorch as an array, a masked array with NaN for what is masked, others as they are."""
    if isinstance(value, type):
        return value
    if callable(getattr(value, "detach", None)):
        tensor = value.detach().cpu()
        return tensor.numpy() if tensor.is_complex() else tensor.double().numpy()
    return value.astype(float).filled(np.nan) if callable(getattr(value, "filled", None)) else value


def plain(value: object, name: str, depth: int) -> object:
    """Return an element as nested lists of floats; `name` is its name in messages."""
    try:
        value = bare(value)
        if hasattr(value, "__array__") and not isinstance(value, np.generic):
            value = np.asarray(value)
            value = list(value) if value.ndim else value[()]
    except Exception as error:
        raise BadAction(f"{name} can't be made an array: {type(error).__name__}: {error}") from None
    if isinstance(value, (list, tuple)):
        if depth == MAX_DEPTH:
            raise BadAction(f"the action has more than {MAX_DEPTH} dimensions")
        if depth == 0 and len(value) == 2 and value[1] is None and not np.isscalar(value[0]):
            raise BadAction("the action is a pair with None, such as `model.predict` returns: return its first element")
        return [plain(item, f"{name}[{number}]", depth + 1) for number, item in enumerate(value)]
    if is_numeric(value.dtype) if isinstance(value, np.generic) else isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return np.inf if value > 0 else -np.inf
    if depth == 0:
        raise BadAction(f"the action must be numbers, not {described(value)}")
    raise BadAction(f"{name} is {shown(value)}, not a number")


def described(answer: object) -> str:
    name = type(answer).__name__
    hints = {
        "NoneType": "None (does the policy return anything?)",
        "dict": "a dict: return the array in it",
        "generator": "a generator: return a list of its numbers",
        "coroutine": "a coroutine: define the policy without `async`",
    }
    return hints.get(name) or shown(answer)


def shown(value: object) -> str:
    """Return a value and its type for a message."""
    if value is None:
        return "None"
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    text = text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "..."
    return f"{text} ({type(value).__name__})"


def actions(answer: object, size: int) -> np.ndarray:
    """Return an answer as rows of `size` numbers, one for each action; raise BadAction if it is something else."""
    array = numbers(answer)
    shape = array.shape
    rows = array[0] if array.ndim == 3 and shape[0] == 1 else array
    if rows.shape == (size,) or (size == 1 and rows.shape == ()):
        rows = rows.reshape(1, size)
    if rows.ndim != 2 or rows.shape[1] != size:
        needed = f"({size},), or (H, {size}) for H actions in turn"
        raise BadAction(f"the action has shape {shape}, this scenario needs {needed}")
    if not 1 <= len(rows) <= MAX_ACTIONS:
        raise BadAction(f"{len(rows)} actions in one answer; 1 to {MAX_ACTIONS} are allowed")
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        where = f"action[{column}]" if len(rows) == 1 else f"actions[{row}][{column}]"
        raise BadAction(f"{where} is {rows[row, column]}: every number of an action must be finite")
    return rows


def replan_steps(policy: object) -> int | None:
    """Return the number of actions of an answer that a policy wants to be executed, by its attribute of this name."""
    steps = getattr(policy, "replan_steps", None)
    if steps is None:
        return None
    try:
        steps = operator.index(steps)
    except TypeError:
        raise TypeError(f"replan_steps must be a whole number, not {shown(steps)}") from None
    if not 1 <= steps <= MAX_ACTIONS:
        raise ValueError(f"replan_steps must be from 1 to {MAX_ACTIONS}, not {steps}")
    return steps


def call(function: Callable, given: dict[str, object]) -> None:
    """Call a function with those of the `given` arguments that it takes; raise TypeError if it needs others.

    `options`, which `reset` of Gymnasium's environments has too, is None where it is needed.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # It has none that Python knows.
        function(**given)
        return
    arguments = inspect.BoundArguments(signature, {})
    for name, one in signature.parameters.items():
        is_needed = one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        if one.kind is one.VAR_KEYWORD:
            arguments.arguments[name] = {key: value for key, value in given.items() if key not in signature.parameters}
        elif name in given or (is_needed and name == "options"):
            arguments.arguments[name] = given.get(name)
        elif is_needed:
            called = getattr(function, "__name__", "reset")
            raise TypeError(f"{called}() needs {name!r}, but is called with {', '.join(given)}")
    function(*arguments.args, **arguments.kwargs)


class Decoder:
    """Checks outputs and restores the units of their actions."""

    def __init__(self, table: dict, statistics: tuple[np.ndarray, np.ndarray] | None, output: str) -> None:
        """`table` is that of the action; `output` names the output in messages."""
        self.size, self.output, self.statistics = len(table["units"]), output, statistics
        self.chunk_size = table.get("chunk_size", 1)
        self.low, self.high = (np.array(table[key], float) if key in table else None for key in ("low", "high"))

    def decode(self, output: np.ndarray) -> np.ndarray:
        """Return actions of shape (chunk_size, size) in the scenario's units."""
        actions = numbers(output)
        if actions.ndim == 3 and actions.shape[0] == 1:
            actions = actions[0]
        elif actions.ndim == 1 or (actions.ndim == 0 and self.size == 1):
            actions = actions.reshape(1, -1)
        if actions.shape != (self.chunk_size, self.size):
            raise AdapterError(self.wrong_shape(list(np.shape(output)), actions), "bad_action")
        if not np.isfinite(actions).all():
            chunk, number = np.argwhere(~np.isfinite(actions))[0]
            where = f"number {number}" if self.chunk_size == 1 else f"number {number} of action {chunk}"
            raise AdapterError(f"{self.output} is not finite: {where} is {actions[chunk, number]}", "bad_action")
        if self.statistics is not None:
            actions = actions * self.statistics[1] + self.statistics[0]
        if self.low is not None:
            actions = np.maximum(actions, self.low)
        if self.high is not None:
            actions = np.minimum(actions, self.high)
        return actions

    def wrong_shape(self, shape: list[int], actions: np.ndarray) -> str:
        expected = f"{self.output} has shape {shape}, but {self.chunk_size} x {self.size} is declared (chunk_size, units)"
        if actions.ndim == 2 and actions.shape[1] == self.size:
            return f"{expected}; set chunk_size = {actions.shape[0]}, and replan_steps to how many of them to execute"
        return f"{expected}; an output has the shape [{self.size}], [1, {self.size}] or [1, chunk_size, {self.size}]"
