"""Records demonstrations of the reference policy of `tabletop_reach`: pairs of observation and action.

    python3 examples/learned/tabletop_reach/record.py demonstrations.npz --episodes 200

Serves the reference policy over HTTP, and runs `assay verify` with its address. What the reference would do is recorded;
what the robot does is that with noise, so that the demonstrations also show the way back from small errors (DART, Laskey
et al. 2017). With `--policy FILE`, the network in FILE acts in every second episode instead, and the reference only
comments on it (DAgger, Ross et al. 2011).

Takes about a second per episode. `assay` must be on the PATH, or the variable ASSAY must name it.
"""

import argparse
import http.server
import importlib.util
import json
import os
import pathlib
import subprocess
import threading

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
REFERENCE = HERE.parents[1] / "policies" / "tabletop_reach" / "reference" / "policy.py"
# The inputs of the network, in this order. The first is the time in s.
STATE = ["time", "tcp_position", "tcp_orientation", "target_position"]
STATE += [f"post_{index}_{what}" for index in range(3) for what in ("position", "size")]
# Noise on linear (m/s) and angular velocity (rad/s): spread, and share that is kept from step to step.
NOISE = np.array([0.06, 0.06, 0.06, 0.15, 0.15, 0.15, 0.0])
KEPT = 0.95


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


class Recorder:
    """The policies of all episodes, and what they saw and did."""

    def __init__(self, act):
        self.teacher, self.act_instead = module(REFERENCE).Policy(), act
        self.noise, self.episodes, self.states, self.actions = {}, 0, [], []

    def begin(self, request):
        self.noise[request["episode_id"]] = (self.episodes, np.random.default_rng(self.episodes), np.zeros(7))
        self.episodes += 1
        return {}

    def act(self, request):
        observation = {name: np.array(value, dtype=float) for name, value in request["observation"].items()}
        state = np.concatenate([np.atleast_1d(observation[name]) for name in STATE])
        action = self.teacher.act(observation)
        self.states.append(state)
        self.actions.append(action)
        number, random, noise = self.noise[request["episode_id"]]
        if self.act_instead is not None and number % 2:
            return {"actions": [self.act_instead(state).tolist()]}
        # Every fifth episode is a clean demonstration.
        noise = KEPT * noise + np.sqrt(1 - KEPT**2) * random.normal(0, NOISE) * (number % 5 > 0)
        self.noise[request["episode_id"]] = (number, random, noise)
        return {"actions": [(action + noise).tolist()]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        self.answer({})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        recorder = self.server.recorder
        self.answer(recorder.begin(body) if self.path == "/reset" else recorder.act(body))

    def answer(self, content):
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        """Prints nothing."""


def main():
    parser = argparse.ArgumentParser(description="Records demonstrations of tabletop_reach.")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="seed of the worlds")
    parser.add_argument("--policy", type=pathlib.Path, help="weights.npz of a network, see train.py")
    options = parser.parse_args()
    act = module(HERE / "train.py").Network.load(options.policy).act if options.policy else None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.recorder = Recorder(act)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    command = [os.environ.get("ASSAY", "assay"), "verify", f"http://127.0.0.1:{server.server_address[1]}"]
    command += ["--scenario", "tabletop_reach", "--episodes", str(options.episodes), "--seed", str(options.seed)]
    subprocess.run([*command, "--record", "none"], stdout=subprocess.DEVNULL)
    recorder = server.recorder
    states, actions = np.array(recorder.states, np.float32), np.array(recorder.actions, np.float32)
    np.savez_compressed(options.out, states=states, actions=actions)
    print(f"{recorder.episodes} episodes, {len(states)} steps")


if __name__ == "__main__":
    main()
