"""assay verifies robot-control policies in simulation. This package has the command line, a client of the service, and

- `verify`: verifies a policy on this machine, in one call;
- `connect`: lets a service elsewhere verify a policy of this machine, which it need not reach;
- `serve`: serves a policy over HTTP or WebSocket, for `assay verify` and services;
- `Client`, `AsyncClient`: use a service;
- `assay.envs`: the scenarios as Gymnasium environments;
- `errors`: the errors, each of which says what to do next.

>>> import assay
>>> assay.Client("http://127.0.0.1:8080").url
'http://127.0.0.1:8080'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import errors, models
    from ._policy_server import PolicyServer
    from .aio import AsyncClient
    from .client import Client
    from .connecting import connect
    from .errors import AssayError
    from .local import Result, verify
    from .policy import Policy
    from .serving import serve

__all__ = [
    "AssayError", "AsyncClient", "Client", "Policy", "PolicyServer", "Result", "connect", "errors", "models", "serve", "verify",
]  # fmt: skip

# Loaded when first used: importing the package takes a few milliseconds.
_FROM = {
    "AssayError": "errors", "AsyncClient": "aio", "Client": "client", "Policy": "policy", "PolicyServer": "_policy_server",
    "Result": "local", "connect": "connecting", "serve": "serving", "verify": "local",
}  # fmt: skip
_MODULES = ("errors", "models")


if not TYPE_CHECKING:  # type checkers know the names above, and refuse others

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f".{name}", __name__)
        if name in _FROM:
            return getattr(import_module(f".{_FROM[name]}", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
