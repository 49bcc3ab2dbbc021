"""Follows a job as Python clients do: follow.py BASE JOB, with the key in the environment (KEY). Prints what each was told."""

import json
import os
import sys

import httpx
import requests
from httpx_sse import connect_sse

base, job = sys.argv[1:]
path = f"{base}/verify/{job}/events"
headers = {"Authorization": f"Bearer {os.environ['KEY']}", "Last-Event-ID": "0"}


def with_requests():
    told = {}
    with requests.get(path, headers=headers, stream=True, timeout=300) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines(chunk_size=1, decode_unicode=True):
            name, _, value = line.partition(": ")
            if name == "data":
                told["last"] = json.loads(value)
            elif name == "id":
                told.setdefault("ids", []).append(int(value))
    return told


def with_httpx():
    told = {"ids": []}
    with httpx.Client(headers=headers, timeout=300) as client, connect_sse(client, "GET", path) as source:
        for event in source.iter_sse():
            told["last"] = event.json()
            # The last id stays what it was between events that are kept.
            if int(event.id) not in told["ids"]:
                told["ids"].append(int(event.id))
            assert event.event == "message"
    return told


print(json.dumps([with_requests(), with_httpx()]))
