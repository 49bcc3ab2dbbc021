"""A policy server over HTTP with a policy of a test: the server of `assay init --template server`, on a free port.

http_server.py POLICY.PY
"""

import importlib.util
import pathlib
import sys

TEMPLATE = pathlib.Path(__file__).parents[4] / "python/templates/server/server.py"


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


load("policy", sys.argv[1])
server = load("server", TEMPLATE)
sys.argv[1:] = ["--port", "0"]
server.main()
