"""The server that the benchmark of idle streams compares with: the same stream, served by sse-starlette.

    sse_server.py        prints its port; GET /events waits, POST /publish sends one event to all and ends their streams
"""

import asyncio
import json
import socket

import uvicorn
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

STATE = {"status": "QUEUED", "done": False, "verdict": None, "progress": {"episodes_done": 0, "episodes_total": 3,
         "stage": "queued"}, "queue_position": 2, "eta_s": None, "message": "waiting for its turn",
         "at": "2026-11-21T09:30:00Z"}
END = STATE | {"status": "CANCELLED", "done": True, "message": "cancelled"}
published = asyncio.Event()


async def stream():
    yield {"id": "1", "data": json.dumps(STATE)}
    await published.wait()
    yield {"id": "2", "data": json.dumps(END)}


async def events(_request):
    return EventSourceResponse(stream(), ping=15)


async def publish(_request):
    published.set()
    return Response()


def main():
    app = Starlette(routes=[Route("/events", events), Route("/publish", publish, methods=["POST"])])
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main()
