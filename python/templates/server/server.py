"""Serves policy.py over HTTP, with the standard library and numpy:

    python3 server.py --port 8000
    assay verify http://127.0.0.1:8000 --scenario {{scenario}}

Requests and answers are JSON:

    GET  /health                                                200
    POST /reset  {"episode_id", "seed", "instruction"}          200
    POST /act    {"episode_id", "observation", "instruction"}   {"actions": [[...], ...]}
"""
# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy"]
# ///

import argparse
import base64
import collections
import http.server
import json
import threading
import traceback

import numpy as np

from policy import Policy

# Images of all cameras together, encoded.
MAX_REQUEST_BYTES = 64 * 1024 * 1024
# Episodes at the same time, which is more than assay begins (--policy-concurrency).
MAX_EPISODES = 32


class Episodes:
    """The policies of the running episodes. No request announces the end of one, so the oldest is dropped in time."""

    def __init__(self):
        self.policies = collections.OrderedDict()
        self.lock = threading.Lock()

    def begin(self, request):
        policy = Policy()
        if hasattr(policy, "reset"):
            policy.reset(seed=request["seed"], scenario=None, instruction=request["instruction"])
        with self.lock:
            self.policies[request["episode_id"]] = policy
            while len(self.policies) > MAX_EPISODES:
                self.policies.popitem(last=False)
        return {}

    def act(self, request):
        with self.lock:
            policy = self.policies[request["episode_id"]]
        observation = {name: to_array(value) for name, value in request["observation"].items()}
        observation["instruction"] = request["instruction"] or ""
        actions = np.asarray(policy.act(observation), dtype=float)
        return {"actions": np.atleast_2d(actions).tolist()}


def to_array(value):
    """Returns a list as an array, and an image, which is encoded as json_numpy, as bytes (height, width, 3)."""
    if isinstance(value, dict):
        data = np.frombuffer(base64.b64decode(value["__numpy__"]), np.dtype(value["dtype"]))
        return data.reshape(value["shape"]).copy()
    return np.array(value, dtype=float) if isinstance(value, list) else value


class Handler(http.server.BaseHTTPRequestHandler):
    # An episode keeps its connection.
    protocol_version = "HTTP/1.1"
    # Otherwise each answer waits until its header has been acknowledged.
    disable_nagle_algorithm = True

    def do_GET(self):
        self.answer(200 if self.path == "/health" else 404, {})

    def do_POST(self):
        actions = {"/reset": self.server.episodes.begin, "/act": self.server.episodes.act}
        length = int(self.headers.get("Content-Length", 0))
        if length > MAX_REQUEST_BYTES:
            self.close_connection = True
            return self.answer(413, {"error": "the request is too large"})
        body = self.rfile.read(length)
        if self.path not in actions:
            return self.answer(404, {"error": f"there is no {self.path}"})
        try:
            status, answer = 200, actions[self.path](json.loads(body))
        except Exception:
            # assay shows it to the policy's author.
            status, answer = 500, {"error": traceback.format_exc()}
            print(answer["error"], flush=True)
        self.answer(status, answer)

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        """Prints nothing: there are many requests per second."""


def main():
    parser = argparse.ArgumentParser(description="Serves policy.py over HTTP.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8000, help="0 for any free port (default: 8000)")
    options = parser.parse_args()
    server = http.server.ThreadingHTTPServer((options.host, options.port), Handler)
    server.daemon_threads = True
    server.episodes = Episodes()
    port = server.server_address[1]
    print(f"port {port}", flush=True)
    print(f"assay verify http://{options.host}:{port} --scenario {{scenario}}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
