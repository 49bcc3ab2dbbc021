"""The service tuned for speed: FastAPI's routing, but SQLite called inline on one connection, no models, no
dependencies, keys in memory, and plain ASGI middleware.

    jobs_tuned.py FOLDER KEY        prints its port
"""

import json
import os
import sqlite3
import sys
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import Response

import jobs_service as service

FOLDER, KEY = Path(sys.argv[1]), sys.argv[2]
COLUMNS = "header, status, episodes_done"

db = sqlite3.connect(FOLDER / "jobs.db", isolation_level=None, cached_statements=64)
app, rates, keys = FastAPI(), service.Rates(), {}
encode = json.JSONEncoder(separators=(",", ":")).encode


def prepare():
    for pragma in service.PRAGMAS:
        db.execute(f"PRAGMA {pragma}")
    db.executescript(service.SCHEMA)
    key_id, digest = service.digest_of(f"Bearer {KEY}")
    db.execute("INSERT INTO keys VALUES (?, ?, ?)", (key_id, "lab", digest))
    keys.update({key: (account, digest) for key, account, digest in db.execute("SELECT * FROM keys")})


def caller(request):
    """Returns the account, and the rate limit headers."""
    key_id, digest = service.digest_of(request.headers.get("authorization"))
    account, known = keys.get(key_id, ("", ""))
    if known != digest:
        raise service.Refused(401, "UNAUTHORIZED", "the API key is not known")
    return account, rates.admit(key_id)


def answer(body, status=200, headers=None):
    return Response(encode(body), status, headers, "application/json")


def shown(row):
    return service.job(json.loads(row[0]), row[1], row[2])


@app.exception_handler(service.Refused)
async def refused(_request, error):
    return answer(error.body, error.status)


@app.post("/verify")
async def create(request: Request):
    account, headers = caller(request)
    async with request.form() as form:
        data = await form["policy"].read()
        scenario, num_episodes = form["scenario"], int(form["num_episodes"])
    service.checked(data)
    digest = service.keep(FOLDER, data)
    header = service.header(scenario, num_episodes, digest)
    row = (header["job_id"], account, scenario, "QUEUED", encode(header), digest, num_episodes, 0, 0)
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    db.execute("INSERT INTO shards VALUES (?, 0, 0, ?, 'QUEUED')", (header["job_id"], num_episodes))
    db.execute("COMMIT")
    headers["location"] = f"/verify/{header['job_id']}"
    return answer(service.job(header, "QUEUED", 0), 201, headers)


@app.get("/verify/{job_id}")
async def read(request: Request):
    account, headers = caller(request)
    wanted = (request.path_params["job_id"], account)
    row = db.execute(f"SELECT {COLUMNS} FROM jobs WHERE job_id = ? AND account = ?", wanted).fetchone()
    if row is None:
        raise service.Refused(404, "NOT_FOUND", "there is no such job")
    return answer(shown(row), headers=headers)


@app.get("/verify")
async def listed(request: Request):
    account, headers = caller(request)
    limit, offset = int(request.query_params.get("limit", 20)), int(request.query_params.get("offset", 0))
    sql = f"SELECT {COLUMNS} FROM jobs WHERE account = ? ORDER BY job_id DESC LIMIT ? OFFSET ?"
    jobs = [shown(row) for row in db.execute(sql, (account, limit, offset))]
    (total,) = db.execute("SELECT count(*) FROM jobs WHERE account = ?", (account,)).fetchone()
    return answer({"jobs": jobs, "total": total, "limit": limit, "offset": offset}, headers=headers)


class Observed:
    """Middleware that adds the headers of every answer."""

    def __init__(self, inner):
        self.inner = inner

    async def __call__(self, scope, receive, send):
        async def marked(message):
            if message["type"] == "http.response.start":
                message["headers"] += [
                    (b"x-request-id", os.urandom(16).hex().encode()), (b"x-content-type-options", b"nosniff"),
                    (b"cache-control", b"no-store"),
                ]
            await send(message)

        await self.inner(scope, receive, marked)


if __name__ == "__main__":
    prepare()
    service.serve(Observed(app), FOLDER, KEY)
