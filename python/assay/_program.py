"""Finds the command line program."""

from __future__ import annotations

import os
import pathlib
import shutil

from . import _home
from .errors import ProgramError

VARIABLE = "ASSAY_PROGRAM"


def find() -> pathlib.Path:
    """Returns the program: that of ASSAY_PROGRAM, of this package, or of the PATH.

    Raises:
        ProgramError: there is none, or this machine cannot run it.
    """
    given = os.environ.get(VARIABLE)
    if given:
        if not os.access(given, os.X_OK):
            raise ProgramError(f"{VARIABLE}={given} is not a program")
        return pathlib.Path(given)
    if _home.PROGRAM.is_file():
        try:
            return _home.program()
        except _home.InstallationError as error:
            raise ProgramError(str(error)) from error
    found = shutil.which("assay")
    if found is None:
        raise ProgramError(f"the program assay was not found: install the wheel, which contains it, or set {VARIABLE}")
    return pathlib.Path(found)
