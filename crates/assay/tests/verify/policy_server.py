"""An asynchronous policy server (openpi) with a policy of this project's examples.

    policy_server.py POLICY.PY [--together N] [--delay-ms T]

Answers each request after T milliseconds; the first requests of its connections only once N of them wait.
Prints its port, and `together N` when N connections asked at the same time.
"""

import argparse
import asyncio
import importlib.util

import numpy as np
import websockets.asyncio.server as ws
from openpi_client import msgpack_numpy as mn

parser = argparse.ArgumentParser()
parser.add_argument("policy")
parser.add_argument("--together", type=int, default=1)
parser.add_argument("--delay-ms", type=float, default=0)
options = parser.parse_args()
spec = importlib.util.spec_from_file_location("policy", options.policy)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
barrier = asyncio.Barrier(options.together)


async def serve(socket):
    policy = module.Policy()
    await socket.send(mn.packb({}))
    async for number, message in counted(socket):
        request = mn.unpackb(message)
        if number == 0 and await barrier.wait() == 0:
            print(f"together {options.together}", flush=True)
        prefix = "observation/"
        observation = {name.removeprefix(prefix): value for name, value in request.items() if name.startswith(prefix)}
        await asyncio.sleep(options.delay_ms / 1000)
        await socket.send(mn.packb({"actions": np.atleast_2d(policy.act(observation))}))


async def counted(messages):
    number = 0
    async for message in messages:
        yield number, message
        number += 1


async def main():
    async with ws.serve(serve, "127.0.0.1", 0, compression=None, max_size=None) as server:
        print(f"port {server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()


asyncio.run(main())
