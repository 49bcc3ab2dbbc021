"""session.py record|check FIXTURE BASE KEY ARCHIVE: a session of requests as clients send them, with the answers.

`record` sends the requests below to a server and writes them, with their answers, to FIXTURE. `check` sends those of FIXTURE
to another server, and says which answer is not what clients of then were told: another status, a field that is gone, a value
of another type or another value. Fields may have been added. What differs from run to run (ids, times, hashes, addresses,
costs), and texts for people, must be of the same type.
"""

import json
import re
import sys
import time
from pathlib import Path

import requests

LIMIT_S = 300
# Processors add up in other orders.
TOLERANCE = 1e-6
FINAL = ("COMPLETED", "FAILED", "CANCELLED")
SCENARIO = "cartpole_keepin"
NOBODY = "019aa6f0-3c5e-7b21-9d4f-2b8c6e1a7f30"
FORM = {"scenario": SCENARIO, "num_episodes": "2", "seed": "7", "record": "none", "policy_name": "entry"}
# `form` is sent with the archive; `keep` names values of the answer for later paths; `until` asks again.
STEPS = [
    {"ask": "GET /healthz"},
    {"ask": "GET /"},
    {"ask": "GET /scenarios"},
    {"ask": f"GET /scenarios/{SCENARIO}"},
    {"ask": f"GET /scenarios/{SCENARIO}/spec"},
    {"ask": "GET /scenarios/nothing"},
    {"ask": "GET /collections"},
    {"ask": "GET /community/scenarios"},
    {"ask": "GET /runtimes"},
    {"ask": "GET /models"},
    {"ask": "GET /webhooks/deliveries"},
    {"ask": "POST /keys", "json": {"name": "ci", "scopes": ["read", "verify"]}, "keep": {"key": "id"}},
    {"ask": "POST /keys", "json": {"name": "ci", "scopes": []}},
    {"ask": "GET /keys"},
    {"ask": "POST /verify", "form": FORM, "keep": {"job": "job_id"}},
    {"ask": "POST /verify", "form": {"scenario": "nothing"}},
    {"ask": "GET /verify/{job}", "until": FINAL},
    {"ask": "GET /verify/{job}/episodes"},
    {"ask": "GET /verify/{job}/report.json"},
    {"ask": "GET /verify/{job}/attestation"},
    {"ask": "GET /verify?limit=5"},
    {"ask": "GET /verify?limit=0"},
    {"ask": "POST /verify/{job}/replay", "json": {"episode": 1}},
    {"ask": "POST /verify/{job}/cancel"},
    {"ask": f"GET /verify/{NOBODY}"},
    {"ask": "POST /preflight", "form": {"scenario": SCENARIO}},
    {"ask": "POST /submissions", "form": {"scenario_id": SCENARIO, "name": "entry"}, "keep": {"submission": "submission_id"}},
    {"ask": "POST /submissions/{submission}/cancel"},
    {"ask": "GET /submissions/{submission}"},
    {"ask": "GET /submissions?limit=5"},
    {"ask": "GET /seasons"},
    {"ask": f"GET /leaderboard?scenario={SCENARIO}"},
    {"ask": "GET /leaderboard"},
    {"ask": "DELETE /keys/{key}"},
    {"ask": "DELETE /verify/{job}"},
    {"ask": "GET /verify/{job}"},
]
# What one run differs in from another, and texts that people read.
VARYING = re.compile(
    r"(^|_)(ms|us|cpu|latency|eta_s|wall_time_s|size_bytes|queue_position|description|message|advice|title|fingerprint"
    r"|payload|sig|text|url|progress|version|last_used_at|started_at)$|_ms$|latency"
)
VARYING_TEXT = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "<time>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<hash>"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "<key>"),
    (re.compile(r"assay_[0-9a-f]+_\w+"), "<secret>"),
    (re.compile(r"expires=\d+&signature=\w+"), "<signature>"),
    # Addresses are absolute where the service knows its own, which clients of then met with `public_url`.
    (re.compile(r"^http://127\.0\.0\.1:\d+(?=/)"), ""),
    (re.compile(r"127\.0\.0\.1:\d+"), "<host>"),
)


class Session:
    """Sends the steps of a session to a server."""

    def __init__(self, base, key, archive):
        self.base, self.archive, self.kept = base, Path(archive).read_bytes(), {}
        self.http = requests.Session()
        self.http.headers["Authorization"] = f"Bearer {key}"

    def answer(self, step):
        """Returns status and document of the answer to a step, once it is what the step waits for."""
        until = time.monotonic() + LIMIT_S
        while True:
            answer = self.send(step)
            if step.get("until") is None or answer["body"].get("status") in step["until"]:
                break
            assert time.monotonic() < until, answer
            time.sleep(0.2)
        self.kept |= {name: answer["body"][field] for name, field in step.get("keep", {}).items()}
        return answer

    def send(self, step):
        method, path = step["ask"].split(" ", 1)
        more = {"json": step["json"]} if "json" in step else {}
        if "form" in step:
            more = {"data": step["form"], "files": {"policy": ("policy.zip", self.archive, "application/zip")}}
        answer = self.http.request(method, self.base + path.format(**self.kept), timeout=LIMIT_S, **more)
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return {"status": answer.status_code, "body": steady(answer.json()) if is_json else None} | (
            {"body": answer.json()} if is_json and ("keep" in step or "until" in step) else {}
        )


def steady(value):
    """Returns a document without what differs from run to run."""
    if isinstance(value, dict):
        return {name: steady(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [steady(inner) for inner in value]
    if isinstance(value, str):
        for pattern, word in VARYING_TEXT:
            value = pattern.sub(word, value)
    return value


def differences(then, now, place=""):
    """Lists what clients of then would miss."""
    if isinstance(then, dict) and isinstance(now, dict):
        gone = [f"{place}/{name} is gone" for name in then if name not in now]
        return gone + [d for name in then if name in now for d in differences(then[name], now[name], f"{place}/{name}")]
    if isinstance(then, list) and isinstance(now, list):
        # A machine has the features that it has.
        if place.endswith("/cpu_features"):
            return []
        if len(now) < len(then):
            return [f"{place} has {len(now)} items, {len(then)} then"]
        return [d for index, inner in enumerate(then) for d in differences(inner, now[index], f"{place}/{index}")]
    if kind(then) != kind(now):
        return [f"{place} is {now!r}, {then!r} then"] if then is not None and not varies(place) else []
    if isinstance(then, float) or isinstance(now, float):
        same = abs(then - now) <= TOLERANCE * max(1.0, abs(then))
    else:
        same = then == now
    return [] if same or varies(place) else [f"{place} is {now!r}, {then!r} then"]


def kind(value):
    return float if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value)


def varies(place):
    return any(VARYING.search(name) for name in place.split("/"))


def main(what, fixture, base, key, archive):
    session, fixture = Session(base, key, archive), Path(fixture)
    if what == "record":
        answers = [step | {"answer": steady(session.answer(step))} for step in STEPS]
        fixture.write_text(json.dumps(answers, indent=1) + "\n")
        print(f"{len(answers)} answers")
        return 0
    wrong = []
    for step in json.loads(fixture.read_text()):
        then, now = step["answer"], steady(session.answer(step))
        wrong += [f"{step['ask']}: {difference}" for difference in differences(then, now)]
    print("\n".join(wrong) or "the same")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
