"""A problem that whoever builds a runtime has to fix."""


class Failure(Exception):
    """Its message says what is wrong and how to mend it."""
