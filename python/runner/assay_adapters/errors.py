"""Errors of adapters."""


class AdapterError(Exception):
    """A problem of the policy's network or its files; the message is for its author."""

    def __init__(self, message: str, code: str | None = None) -> None:
        """`code` is that of the host's error, if it is not `adapter`."""
        super().__init__(message)
        self.code = code


def listed(names: list[str]) -> str:
    """Return names for a message, at most 20 of them."""
    shown = [repr(name) for name in names[:20]] + ["..."] * (len(names) > 20)
    return ", ".join(shown) or "none"
