"""The public openpi-server with a policy of two numbers. Prints its port once it answers."""

import socket
import threading
import time
import urllib.request

import numpy as np
from openpi_server import WebsocketPolicyServer


class Policy:
    """Answers with three actions: the joint's first number, doubled, and the number of requests."""

    def __init__(self):
        self.asked = 0

    def infer(self, obs):
        if obs["prompt"] == "fail":
            raise ValueError("no such \x1b[31mskill\x1b[0m")
        self.asked += 1
        joint = obs["observation/joint_position"]
        assert joint.dtype == np.float64 and joint.shape == (2,), joint
        assert obs["observation/image"].dtype == np.uint8 and obs["observation/image"].shape == (4, 6, 3)
        return {"actions": np.array([[joint[0] * 2, self.asked]] * 3, dtype=np.float32)}


def announce(port):
    for _ in range(1000):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1).read()
            break
        except OSError:
            time.sleep(0.01)
    print(f"port {port}", flush=True)


with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
threading.Thread(target=announce, args=(port,)).start()
WebsocketPolicyServer(Policy(), host="127.0.0.1", port=port, metadata={"action_horizon": 3}).serve_forever()
