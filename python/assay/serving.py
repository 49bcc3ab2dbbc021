"""Serves a policy from this process, over HTTP or openpi's WebSocket protocol.

A policy that is served runs outside of the jail, with all packages and the GPU of its machine. assay cannot know what ran, so
the identity in the report is `declared`.
"""

from __future__ import annotations

from . import _named_arrays
from ._policy_server import Episodes, PolicyServer
from .policy import PolicyLike

PROTOCOLS = ("http", "openpi")


def serve(
    policy: PolicyLike, *, host: str = "127.0.0.1", port: int = 0, protocol: str = "http", block: bool = False
) -> PolicyServer:
    """Serves a policy: a function of an observation, a class of policies (one object for each episode), or an object.

    `port` 0 chooses a free one, which `url` contains. `protocol` is `http` or `openpi` (which needs the packages of the extra
    `openpi`). With `block`, returns only after Ctrl-C. Other hosts can connect if `host` is an address of this machine; there
    is no key, so do that in trusted networks only.

    >>> import numpy as np
    >>> with serve(lambda observation: np.zeros(7)) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol {protocol!r}: choose one of {', '.join(PROTOCOLS)}")
    episodes = Episodes(policy)
    if protocol == "openpi":
        from .openpi import start

        server = start(episodes, host, port)
    else:
        server = _named_arrays.start(episodes, host, port)
    if block:
        server.wait()
    return server
