"""by_requests.py BASE KEY ARCHIVE SCENARIO: a verification with plain requests; prints its verdict."""

import sys
import time
import urllib.parse

import requests

LIMIT_S = 300

base, key, archive, scenario = sys.argv[1:]
session = requests.Session()
session.headers["Authorization"] = f"Bearer {key}"
with open(archive, "rb") as file:
    parts = {"scenario": scenario, "num_episodes": 1, "record": "none"}
    made = session.post(f"{base}/verify", data=parts, files={"policy": file}, timeout=LIMIT_S)
made.raise_for_status()
assert made.status_code == 201, made.text
until = time.monotonic() + LIMIT_S
address = urllib.parse.urljoin(f"{base}/", made.headers["Location"])
while (job := session.get(address, timeout=LIMIT_S).json())["status"] in ("QUEUED", "RUNNING", "JUDGING"):
    assert time.monotonic() < until, job
    time.sleep(0.2)
assert len(job["episode_details"]) == 1, job
print(job["verdict"])
