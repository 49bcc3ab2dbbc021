"""The answers of policies of this process as numbers, and their errors as text.

The functions from `numbers` to `call` are those of the runner in the jail (python/runner/assay_adapters/acting.py), so that
an answer means the same at every door; a test compares them.
"""

from __future__ import annotations

import inspect
import operator
import os
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import BadAction

F64 = np.dtype("<f8")
#: Deepest nesting of an answer, and longest value shown in a message.
MAX_DEPTH, MAX_SHOWN_CHARS = 4, 40
#: Most actions in one answer.
MAX_ACTIONS = 1000
#: Characters of an error that are sent to assay, which keeps about as many.
MAX_ERROR_CHARS = 12_000
#: Errors of a group that its first line names, and most characters of one.
SHOWN_ERRORS, MAX_INNER_CHARS = 3, 200
PACKAGE = os.path.dirname(__file__) + os.sep


def rows(answer: Any) -> NDArray[np.float64]:
    """Returns an answer as rows, one for each action, whose length only the scenario knows."""
    array = numbers(answer)
    if array.ndim == 3 and len(array) == 1:
        array = array[0]
    if array.ndim > 2:
        raise BadAction(f"the action has shape {np.shape(answer)}; return one action, or rows of them")
    return np.atleast_2d(array)


def failure_text(error: BaseException) -> str:
    """Returns an exception for assay: its traceback without the lines of this package, with the message last.

    A surrogate, which no encoding has, is written as Python escapes it.

    >>> try:
    ...     raise ValueError("no plan")
    ... except ValueError as error:
    ...     failure_text(error).splitlines()[-1]
    'ValueError: no plan'
    """
    if isinstance(error, BadAction):
        return f"BadAction: {error}".encode("utf-8", "backslashreplace").decode()
    told = traceback.TracebackException.from_exception(error)
    todo = [told]
    for one in todo:
        frames = [frame for frame in one.stack if not frame.filename.startswith(PACKAGE)]
        one.stack = traceback.StackSummary.from_list(frames)
        nested = (one.__cause__, one.__context__, *(one.exceptions or ()))
        todo += [inner for inner in nested if inner is not None]
    text = "".join(told.format())
    if isinstance(error, BaseExceptionGroup):
        # The drawing of a group ends with a line, not with a message.
        text += line_of(error)
    if len(text) > MAX_ERROR_CHARS:
        half = MAX_ERROR_CHARS // 2
        text = f"{text[:half]}\n... ({len(text) - 2 * half} characters)\n{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode()


def line_of(error: BaseException) -> str:
    """Returns an exception in one line; for a group also its first ones."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, BaseExceptionGroup):
        text += ": " + "; ".join(line_of(one)[:MAX_INNER_CHARS] for one in error.exceptions[:SHOWN_ERRORS])
    return text


def numbers(answer: Any) -> NDArray[np.float64]:
    """Returns the numbers of an answer as a float64 array; raises BadAction that names the element that is none."""
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


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Types of ml_dtypes, such as bfloat16, are of the kind of raw memory, but have scalars of their own."""
    return dtype.kind in "fiub" or (dtype.kind == "V" and dtype.type is not np.void)


def bare(value: Any) -> Any:
    """Returns a tensor of PyTorch as an array, a masked array with NaN for what is masked, others as they are."""
    if isinstance(value, type):
        return value
    if callable(getattr(value, "detach", None)):
        tensor = value.detach().cpu()
        return tensor.numpy() if tensor.is_complex() else tensor.double().numpy()
    return value.astype(float).filled(np.nan) if callable(getattr(value, "filled", None)) else value


def plain(value: Any, name: str, depth: int) -> Any:
    """Returns an element as nested lists of floats; `name` is its name in messages."""
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


def described(answer: Any) -> str:
    name = type(answer).__name__
    hints = {
        "NoneType": "None (does the policy return anything?)",
        "dict": "a dict: return the array in it",
        "generator": "a generator: return a list of its numbers",
        "coroutine": "a coroutine: define the policy without `async`",
    }
    return hints.get(name) or shown(answer)


def shown(value: Any) -> str:
    """Returns a value and its type for a message."""
    if value is None:
        return "None"
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    text = text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "..."
    return f"{text} ({type(value).__name__})"


def replan_steps(policy: Any) -> int | None:
    """Returns the number of actions of an answer that a policy wants to be executed, by its attribute of this name."""
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


def call(function: Callable[..., Any], given: dict[str, Any]) -> None:
    """Calls a function with those of the `given` arguments that it takes; raises TypeError if it needs others.

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
