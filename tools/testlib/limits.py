"""Limits of the tests' waits. They only end what hangs, and measure nothing: a slow or busy machine takes ten times as long as
usual, and `tools/test` finds what hangs by its progress.
"""

#: For a command, an answer or a condition.
PATIENCE_S = 600
#: For a suite of tests, or a build.
SUITE_PATIENCE_S = 7200
