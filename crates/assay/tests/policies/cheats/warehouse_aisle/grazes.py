"""Crosses directly in front of and behind the worker at full speed."""

CLEAR_M = 0.02
BODY = 0.23
