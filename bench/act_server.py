"""A policy server over HTTP that uses only asyncio: it answers each POST /act with an example policy after a delay,
regardless of the number of concurrent requests. Prints its port.

    act_server.py POLICY.PY DELAY_MS
"""

import asyncio
import importlib.util
import json
import sys

import numpy as np

spec = importlib.util.spec_from_file_location("policy", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
DELAY_S = float(sys.argv[2]) / 1000


async def request(reader):
    """Returns path and body of the next request."""
    path, length = (await reader.readline()).split(b" ")[1], 0
    while (line := (await reader.readline()).strip()) != b"":
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return path, await reader.readexactly(length)


async def serve(reader, writer):
    policy = module.Policy()
    try:
        while True:
            path, body = await request(reader)
            answer = {}
            if path == b"/act":
                seen = {name: np.array(value) for name, value in json.loads(body)["observation"].items()}
                await asyncio.sleep(DELAY_S)
                answer = {"action": np.asarray(policy.act(seen)).tolist()}
            text = json.dumps(answer).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
            await writer.drain()
    except (IndexError, OSError, asyncio.IncompleteReadError):
        # The client has disconnected.
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
