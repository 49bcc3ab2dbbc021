"""A WebSocket server whose argument selects its behaviour. Prints its port, and events that a test may wait for."""

import asyncio
import http
import os
import sys

import msgpack
import numpy as np
import websockets.asyncio.server as ws
from openpi_client import msgpack_numpy as mn

MODE = sys.argv[1]
ROBO = {
    "image_resolution": None, "needs_wrist_camera": MODE == "robo_camera", "n_external_cameras": 0,
    "needs_stereo_camera": False, "needs_session_id": True, "action_space": "joint_position",
}  # fmt: skip
GOOD = {"actions": np.array([[0.25, -0.5]])}


def actions(array):
    return mn.packb({"actions": array})


ANSWERS = {
    "nan": actions(np.array([[0.0, np.nan]])),
    "infinite": actions(np.array([[np.inf, 0.0]])),
    "wide": actions(np.zeros((2, 3))),
    "none": actions(np.zeros((0, 2))),
    "long": actions(np.zeros((1001, 2), dtype=np.uint8)),
    "cube": actions(np.zeros((1, 1, 2))),
    "batch": actions(np.zeros((2, 1, 2))),
    "number": actions(0.5),
    "bools": actions([[True, False]]),
    "words": actions([["left", "right"]]),
    "nil": actions([[0.5, None]]),
    "nothing": actions(None),
    "ragged": actions([[1.0, 2.0], [3.0]]),
    "no_key": mn.packb({"act": [0.0, 0.0], "\x1b[2Jlogits": 1}),
    "object": msgpack.packb({"actions": {b"__ndarray__": True, b"data": b"x", b"dtype": "|O", b"shape": [1]}}),
    "short": msgpack.packb({"actions": {b"__ndarray__": True, b"data": b"1234", b"dtype": "<f8", b"shape": [1, 2]}}),
    "text_keys": msgpack.packb({"actions": {"__ndarray__": True, "data": b"", "dtype": "<f8", "shape": [0]}}),
    "garbage": b"\xc6\xff\xff\xff\xff",
    "trailing": mn.packb(GOOD) + b"\x00",
    "scalar": msgpack.packb(7),
    "deep": b"\x91" * 5000,
    "large": b"\x00" * (2 * 1024 * 1024 + 1),
    "list": actions([[0.25, -0.5]]),
    "single": actions(np.array([0.25, -0.5], dtype=np.float32)),
    "half": actions(np.array([[0.25, -0.5]], dtype=np.float16)),
    "big_endian": actions(np.array([[0.25, -0.5]], dtype=">f4")),
    "robo_bare": mn.packb(np.array([[0.25, -0.5]])),
    "omni_error": msgpack.packb({"type": "error", "message": "the model is\x07 not loaded"}),
}


async def flood(socket):
    """Sends empty fragments without end: no message, no ping, only work. Reports once when they are no longer read."""
    socket.transport.write(b"\x02\x00")
    reported = False
    while not socket.transport.is_closing():
        socket.transport.write(b"\x00\x00" * 65536)
        for _ in range(100):
            await asyncio.sleep(0.01)
            if socket.transport.get_write_buffer_size() == 0:
                break
        else:
            # A slow reader looks the same, so the flood goes on.
            if not reported:
                print("flooded", flush=True)
            reported = True


async def flood_without_end(socket):
    """Sends empty fragments until the connection is closed."""
    socket.transport.write(b"\x02\x00")
    while not socket.transport.is_closing():
        socket.transport.write(b"\x00\x00" * 65536)
        while socket.transport.get_write_buffer_size() and not socket.transport.is_closing():
            await asyncio.sleep(0.001)


async def drip(socket):
    """Sends a message that never ends, one empty fragment at a time."""
    socket.transport.write(b"\x02\x00")
    while True:
        await asyncio.sleep(0.02)
        socket.transport.write(b"\x00\x00")


FRAME = 'Traceback (most recent call last):\n  File "serve.py", line 3, in infer\n    raise failure\n'
ERRORS = {
    "note": FRAME + "ValueError: no plan\nhint: scale the input\n",
    "group": """  + Exception Group Traceback (most recent call last):
  |   File "serve.py", line 3, in infer
  | ExceptionGroup: several (1 sub-exception)
  +-+---------------- 1 ----------------
    | ValueError: a
    +------------------------------------
""",
    "bad_action": "BadAction: action[0] is 'left' (str), not a number",
}
asked = []


async def answer(socket, request):
    if MODE in ANSWERS:
        await socket.send(ANSWERS[MODE])
    elif MODE in ERRORS:
        await socket.send(ERRORS[MODE])
        await socket.close(1011, "policy error")
    elif MODE == "traceback":
        await socket.send('Traceback (most recent call last):\n  File "serve.py"\nRuntimeError: CUDA out of memory\n')
        await socket.close(1011, "Internal server error")
    elif MODE == "flood_text":
        await socket.send("x" * 1_000_000)
    elif MODE == "silent":
        await asyncio.Event().wait()
    elif MODE == "dies":
        os._exit(3)
    elif MODE == "closes":
        await socket.close(1001, "going \x1b[1mhome")
    elif MODE == "doubled":
        await socket.send(mn.packb(GOOD))
        await socket.send(mn.packb(GOOD))
        print("doubled", flush=True)
    elif MODE == "closes_in_lines":
        await socket.close(1001, "bye\n\nVerdict: SAFE")
    elif MODE == "late_doubled":
        await socket.send(mn.packb(GOOD))
        if asked:
            await socket.send(mn.packb(GOOD))
        asked.append(request)
    elif MODE == "fragments":
        await flood_without_end(socket)
    elif MODE == "idle_fragments":
        await socket.send(mn.packb(GOOD))
        await flood(socket)
    elif MODE == "drips":
        await drip(socket)
    elif MODE == "dwells":
        await asyncio.sleep(0.3)
        await socket.send(mn.packb(GOOD))
    elif MODE == "tells_key":
        key = socket.request.headers["Authorization"].removeprefix("Api-Key ")
        await socket.send(f"Traceback\nDeniedError: {key} and {socket.request.path} are no good")
    elif MODE == "pings":
        for _ in range(1100):
            await socket.ping()
    elif MODE == "echo_time":
        now, left = request["observation/time"], request["observation/time_remaining"]
        await socket.send(actions(np.array([[now, left]])))
    else:
        await socket.send(mn.packb(GOOD))
        if MODE == "keep_alive":
            # The client is between two requests, as while physics runs.
            for _ in range(3):
                await asyncio.wait_for(await socket.ping(), 10)
            print("pongs 3", flush=True)


async def serve(socket):
    if MODE == "hello_drips":
        await drip(socket)
    if MODE == "no_hello":
        await asyncio.Event().wait()
    robo = MODE.startswith(("robo", "omni"))
    await socket.send(mn.packb(ROBO if robo else {}))
    if MODE == "early":
        await socket.send(mn.packb(GOOD))
        print("early", flush=True)
    async for message in socket:
        request = mn.unpackb(message)
        if robo and request["endpoint"] == "reset":
            assert request["session_id"]
            await socket.send(mn.packb({"status": "reset successful"}) if MODE == "omni" else "reset successful")
            continue
        if robo:
            assert request["endpoint"] == "infer" and request["session_id"], request
        await answer(socket, request)


def gate(connection, request):
    if MODE == "redirect":
        response = connection.respond(http.HTTPStatus.FOUND, "")
        response.headers["Location"] = "ws://127.0.0.1:1/"
        return response
    if MODE == "key" and request.headers.get("Authorization") != "Api-Key right":
        return connection.respond(http.HTTPStatus.UNAUTHORIZED, "no\n")
    if MODE == "busy":
        return connection.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, "later\n")
    return None


async def main():
    options = {"compression": None, "max_size": None, "ping_interval": None, "process_request": gate}
    async with ws.serve(serve, "127.0.0.1", 0, **options) as server:
        print(f"port {server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()


asyncio.run(main())
