"""A FastAPI server whose argument selects its behaviour. Prints its port."""

import json
import os
import socket
import sys

import fastapi
import json_numpy
import numpy as np
import uvicorn
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse

MODE = sys.argv[1]
app = fastapi.FastAPI()
clients = set()
resets = []

if not MODE.startswith(("openvla", "autoeval")):

    @app.get("/health")
    async def health(request: fastapi.Request):
        if MODE == "key" and request.headers.get("authorization") != "Bearer right":
            return PlainTextResponse("no", status_code=401)
        return PlainTextResponse("loading", status_code=503) if MODE == "loading" else {"status": "ok"}


if not MODE.startswith("openvla") and MODE != "no_reset":

    @app.post("/reset")
    async def reset(request: fastapi.Request):
        resets.append(await request.json())
        return {}


ANSWERS = {
    "list": {"actions": [[0.25, -0.5]]},
    "single": {"action": [0.25, -0.5]},
    "numpy": {"actions": json.loads(json_numpy.dumps(np.array([[0.25, -0.5]], dtype=np.float32)))},
    "twice": json_numpy.dumps({"actions": np.array([[0.25, -0.5]])}),
    "openvla_error": "error",
    "error_key": {"error": "no \x1b[31mGPU"},
    "wide": {"actions": [[1, 2, 3]]},
    "words": {"actions": [["a", "b"]]},
    "null": {"actions": [[0.25, None]]},
    "null_row": {"actions": [None]},
    "null_all": {"actions": None},
    "nested": {"actions": [[{"x": 1}, 0]]},
    "batch_of_one": {"actions": [[[0.25, -0.5]]]},
    "named_type": {"actions": json.loads(json_numpy.dumps(np.array([[0.25, -0.5]]))) | {"dtype": "float64"}},
    "bools": {"actions": [[True, False]]},
    "empty": {},
}


# What JSON has no word for.
TEXTS = {
    "nan": '{"actions": [[NaN, 0]]}',
    "infinity": '{"actions": [[0, -Infinity]]}',
    "too_large": '{"actions": [[0, 1e999]]}',
}
FAILURES = {
    "error": 'Traceback (most recent call last):\n  File "p.py", line 3, in act\n    x\nValueError: no plan\nhint: scale it\n',
    "bad_action": "BadAction: action[0] is 'left' (str), not a number",
}


@app.post("/act")
async def act(request: fastapi.Request):
    body = await request.json()
    clients.add(request.client.port)
    if MODE in ANSWERS:
        return JSONResponse(ANSWERS[MODE])
    if MODE == "fails":
        raise RuntimeError("boom")
    if MODE == "refuses":
        raise fastapi.HTTPException(422, "image is missing")
    if MODE == "redirect":
        return RedirectResponse("http://127.0.0.1:1/act")
    if MODE == "html":
        return PlainTextResponse("<html>")
    if MODE in TEXTS:
        return PlainTextResponse(TEXTS[MODE], media_type="application/json")
    if MODE in FAILURES:
        return JSONResponse({"error": FAILURES[MODE]}, 500)
    if MODE == "large":
        return PlainTextResponse(" " * (2 * 1024 * 1024 + 1))
    if MODE == "dies":
        os._exit(3)
    if MODE == "hangs_up":
        return JSONResponse({"actions": [[len(clients), 0.0]]}, headers={"Connection": "close"})
    if MODE in ("openvla", "autoeval"):
        image = json_numpy.loads(json.dumps(body["image"]))
        assert image.shape == (4, 6, 3) and image.dtype == np.uint8 and body["instruction"] == "go"
        proprio = json_numpy.loads(json.dumps(body["proprio"]))
        assert body.get("unnorm_key") == "bridge", body
        answer = np.array([proprio[0], len(resets)])
        return JSONResponse(json.loads(json_numpy.dumps(answer)) if MODE == "openvla" else answer.tolist())
    seen = body["observation"]
    assert body["instruction"] == "go" and body["episode_id"] and seen["time_remaining"] == 1.0, body
    assert resets == [] or resets[0]["seed"] == 7 and resets[0]["episode_id"] == body["episode_id"], resets
    image = json_numpy.loads(json.dumps(seen["image"]))
    assert image.shape == (4, 6, 3), image
    return {"actions": [[seen["joint_position"][0], body["step"]]]}


listener = socket.create_server(("127.0.0.1", 0))
print(f"port {listener.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])
