"""An asynchronous policy server (openpi) with a policy of this project's examples.

    policy_server.py POLICY.PY [--together N] [--delay-ms T] [--key K] [--tls PEM] [--leak] [--horizon H]

Answers each request after T milliseconds with H times the same action; the first requests of its connections only once N
of them wait. With a key, refuses who does not show it. A leaky one puts its key into an error message.
Prints its port, and `together N` when N connections asked at the same time.
"""

import argparse
import asyncio
import http
import importlib.util
import ssl

import numpy as np
import websockets.asyncio.server as ws
from openpi_client import msgpack_numpy as mn

parser = argparse.ArgumentParser()
parser.add_argument("policy")
parser.add_argument("--together", type=int, default=1)
parser.add_argument("--delay-ms", type=float, default=0)
parser.add_argument("--key")
parser.add_argument("--tls", help="a PEM file with certificate and key")
parser.add_argument("--leak", action="store_true")
parser.add_argument("--horizon", type=int, default=1)
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
        if options.leak:
            await socket.send(f"Traceback\nPermissionError: the key {options.key} has no credit left")
            return
        actions = np.tile(np.atleast_2d(policy.act(observation)), (options.horizon, 1))
        await socket.send(mn.packb({"actions": actions}))


async def counted(messages):
    number = 0
    async for message in messages:
        yield number, message
        number += 1


def gate(connection, request):
    if options.key and request.headers.get("Authorization") != f"Api-Key {options.key}":
        return connection.respond(http.HTTPStatus.UNAUTHORIZED, "no\n")
    return None


async def main():
    tls = None
    if options.tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(options.tls)
    settings = {"ssl": tls, "compression": None, "max_size": None, "process_request": gate}
    async with ws.serve(serve, "127.0.0.1", 0, **settings) as server:
        print(f"port {server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()


asyncio.run(main())
