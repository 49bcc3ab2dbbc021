"""Errors of policies, and the text of an error that its author gets."""

import errno
import linecache
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator

# Frames of a deep recursion shown at each end, and most characters of a traceback.
SHOWN_FRAMES, MAX_TRACEBACK_CHARS = 8, 16000
# Errors of a group in its message, and most characters of one.
SHOWN_ERRORS, MAX_ERROR_CHARS = 3, 200
# Errors that are looked at: a chain can be as long as its author likes.
MAX_ERRORS = 100


class AdapterError(Exception):
    """A problem of the policy's network or its files; the message is for its author."""

    def __init__(self, message: str, code: str | None = None) -> None:
        """`code` is that of the host's error, if it is not `adapter`."""
        super().__init__(message)
        self.code = code


class BadAction(AdapterError):
    """The policy returned something other than actions."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "bad_action")


def listed(names: list[str]) -> str:
    """Return names for a message, at most 20 of them."""
    shown = [repr(name) for name in names[:20]] + ["..."] * (len(names) > 20)
    return ", ".join(shown) or "none"


def line_of(error: BaseException) -> str:
    """ "ValueError: what it says", even when saying it fails; for a group also its first errors."""
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001
        text = "(its message can't be shown)"
    if isinstance(error, BaseExceptionGroup):
        inner = [line_of(one)[:MAX_ERROR_CHARS] for one in error.exceptions[:SHOWN_ERRORS]]
        text = f"{text}: {'; '.join(inner)}"
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def own_traceback(error: BaseException, folder: str, called: Callable | None) -> str:
    """Return the traceback with only the frames of files below `folder`, under their names in it.

    If it has none, because the function that was `called` does not take its arguments, that function's line is shown.
    """
    told = traceback.TracebackException.from_exception(error, limit=None, compact=True)
    todo = [told]
    for one in todo:
        frames = [frame for frame in one.stack if frame.filename.startswith(folder + "/")]
        if len(frames) > 2 * SHOWN_FRAMES:
            frames = frames[:SHOWN_FRAMES] + frames[-SHOWN_FRAMES:]
        if one is told and not frames:
            frames = definition(called, folder)
        one.stack = traceback.StackSummary.from_list(
            [traceback.FrameSummary(short(f.filename, folder), f.lineno, f.name, line=f.line) for f in frames]
        )
        if isinstance(getattr(one, "filename", None), str):
            one.filename = short(one.filename, folder)
        todo += [nested for nested in (one.__cause__, one.__context__, *(one.exceptions or ())) if nested is not None]
    return shortened("".join(told.format()), MAX_TRACEBACK_CHARS)


def definition(called: Callable | None, folder: str) -> list[traceback.FrameSummary]:
    """Return the place of a function's or class's first line, as a frame, if it is in the policy's files."""
    function = called.__init__ if isinstance(called, type) else called
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None) or getattr(getattr(function, "__call__", None), "__code__", None)
    if code is None or not code.co_filename.startswith(folder + "/"):
        return []
    line = linecache.getline(code.co_filename, code.co_firstlineno)
    return [traceback.FrameSummary(code.co_filename, code.co_firstlineno, code.co_name, line=line)]


def short(filename: str, folder: str) -> str:
    return filename.removeprefix(folder + "/")


def shortened(text: str, limit: int) -> str:
    """Return both ends of a long text: the first has the author's lines, the last the message."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n... ({len(text) - 2 * half} characters)\n{text[-half:]}"


def related(error: BaseException) -> Iterator[BaseException]:
    """Return the error, those it came from, and those of its group."""
    todo, seen = [error], set()
    while todo and len(seen) < MAX_ERRORS:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        todo += [one.__cause__, one.__context__]
        todo += one.exceptions[:MAX_ERRORS] if isinstance(one, BaseExceptionGroup) else ()


def explain(error: BaseException, folder: str) -> None:
    """Say in the messages of an error what Python's do not: which file is meant, and what to do."""
    for one in related(error):
        try:
            if isinstance(one, ModuleNotFoundError):
                explain_module(one, folder)
            elif isinstance(one, ImportError):
                explain_import(one, folder)
            elif isinstance(one, AttributeError):
                explain_attribute(one, folder)
            elif isinstance(one, OSError):
                explain_call(one)
        except Exception:  # noqa: BLE001, S112
            # Of an error with a hostile class; the message stays as it is.
            continue


def explain_module(error: ModuleNotFoundError, folder: str) -> None:
    """Of a module that is among the policy's files, say where it is."""
    first, *rest = error.name.split(".")
    # Of `import a.b`, Python names only the a that it did not find.
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.startswith(folder + "/")]
    deeper = re.search(rf"\b{re.escape(first)}\.(\w+)", frames[-1].line or "") if frames and not rest else None
    rest = [deeper[1]] if deeper else rest
    top = found(folder, first)
    if first == "policy" and rest:
        top = found(folder, rest[0])
        if top and "/" not in top:
            error.msg = f"{error.name}: policy.py is a file, not a package; {top} is beside it: `import {rest[0]}`"
    elif top and top in (f"{first}.py", first):
        if rest:
            error.msg = f"{error.name}: {top} is in the policy, but has no {'.'.join(rest)}"
    elif top and "/" not in top:
        error.msg = f"{error.name}: the policy's {top} has other capital letters; rename it, or import it as it is written"
    elif top:
        above = top.rpartition("/")[0]
        error.msg = (
            f"{error.name}: {top} is in the policy, but modules are looked for beside policy.py; move it there, or begin "
            f'policy.py with `import pathlib, sys; sys.path.append(str(pathlib.Path(__file__).parent / "{above}"))`'
        )
    elif rest and found(folder, rest[0]) in (f"{rest[0]}.py", rest[0]):
        error.msg = (
            f"{error.name}: the policy's folder is not a package {first!r}, and {found(folder, rest[0])} is beside policy.py: "
            f"`import {rest[0]}`"
        )


def explain_import(error: ImportError, folder: str) -> None:
    if "attempted relative import" in str(error):
        error.msg = f"{error.msg}; policy.py is not in a package: `import net` instead of `from . import net`"
    elif str(error).startswith("cannot import name") and (hidden := shadowed(error.name, folder)):
        error.msg = f"{error.msg}; {hidden}"


def explain_attribute(error: AttributeError, folder: str) -> None:
    text = str(error)
    if "Can't get attribute" in text:
        name = re.search(r"attribute '([^']*)'", text)[1]
        error.args = (
            f"Can't get attribute {name!r}: the file was pickled by a program that defined {name} itself; define or import "
            f"{name} in policy.py before the file is loaded",
        )
    elif isinstance(error.obj, type(sys)) and (hidden := shadowed(error.obj.__name__, folder)):
        error.args = (f"{text}; {hidden}",)


def shadowed(module: str | None, folder: str) -> str | None:
    """Of a module that was imported instead of a file of the policy, say so."""
    if not module or "." in module:
        return None
    own = next((name for name in (f"{module}.py", module) if os.path.exists(f"{folder}/{name}")), None)
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    if own is None or file.startswith(folder + "/"):
        return None
    return f"the policy's {own} was not imported, since Python has a module {module!r} of its own: rename yours"


def explain_call(error: OSError) -> None:
    frames = traceback.extract_tb(error.__traceback__)
    if error.errno == errno.ENOSYS and any("/asyncio/" in frame.filename for frame in frames):
        error.strerror = "an event loop of asyncio needs sockets, which a policy does not have; call its functions directly"


def found(folder: str, module: str) -> str | None:
    """Return the file or folder of a module among the policy's files, beside policy.py if there is one."""
    wanted, places = module.casefold(), []
    for inside, folders, files in os.walk(folder):
        names = [name for name in files if name.casefold() == f"{wanted}.py"]
        names += [name for name in folders if name.casefold() == wanted]
        places += [os.path.relpath(f"{inside}/{name}", folder) for name in names]
    return min(places, key=lambda place: (place.count("/"), module not in place, place), default=None)
