"""What schemathesis cannot know from the OpenAPI document: what is valid here and now, and what must never be sent.

Facts come as JSON in ASSAY_FUZZ_FACTS: `archive` (base64 of a policy), `scenarios`, `jobs`, `artifact` (a signed
address), `server` (the address of a policy server, on loopback), `receiver` (the address of a receiver of webhooks, on
loopback; without one, none is asked for), `own_key` (the id of the key that is used).
"""

import base64
import email.parser
import email.policy
import itertools
import json
import os
import socket
from urllib.parse import parse_qsl, urlsplit

import requests
import schemathesis
from schemathesis import GenerationMode
from schemathesis.transport.serialization import Binary

FACTS = json.loads(os.environ["ASSAY_FUZZ_FACTS"])
ARCHIVE = Binary(base64.b64decode(FACTS["archive"]))
# Parts of a form with an address that the service dials, and an address that it may.
DIALLED = {"policy_url": FACTS["server"], "callback_url": FACTS.get("receiver")}
# Forms that need a policy, in one of several parts.
NEED_POLICY = ("/verify", "/preflight")
LOOPBACK = ("localhost", "127.0.0.1", "::1")

# What is true of valid requests but stands in no schema, so that a refusal would be no mistake of the service.
VALID = {
    # A moment in the future: `expires_at` may not have passed.
    "expires_at": "2199-01-01T00:00:00Z",
    # An archive with a policy in it: any bytes are `binary`.
    "policy": ARCHIVE,
    # An episode that the job has: any number is well-formed.
    "episode": 0,
}
# Which other id a call in so many gets: most generated ids name nothing, and nothing is learnt from the tenth 404.
KNOWN_EVERY = 2


@schemathesis.hook
def before_load_schema(context, document):
    """Scenarios that there are; jobs are short, so that the run is."""
    # So large that a piece is never the last one, whose digest would have to be right.
    document["components"]["schemas"]["ModelAnnouncement"]["properties"]["size_bytes"]["minimum"] = 1000
    for form in (s for s in document["components"]["schemas"].values() if s.get("type") == "object"):
        fields = form.get("properties", {})
        if fields.get("policy", {}).get("format") != "binary":
            continue
        for name in {"scenario", "scenario_id"} & set(fields):
            fields[name] = {"type": "string", "enum": FACTS["scenarios"]}
        # Schemathesis 4.32 fails ("Unsupported type: 'Binary'") at what it makes of this form with one more part. Labels have
        # tests of their own, since no schema can say that their names must differ.
        fields.pop("labels", None)
        if "num_episodes" in fields:
            fields["num_episodes"]["maximum"] = 2  # as the service is set


# What is found and is no fault of the service: which failure, and why.
EXCEPTIONS = {
    "in header - object with unexpected properties": "a header that nobody asks for is never a reason to refuse a request",
    "Invalid component: positive test case": "a link wrote into a form with a file, which can't be judged again: a valid \
form is taken for an invalid one",
}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    if type(failure).__name__ == "RejectedPositiveData" and response is not None:
        # An id that was good before it was erased; to schemathesis 410 is never an answer to a well-formed request.
        if response.status_code == 410:
            return False
        # Whether a certification is possible hangs on three numbers together, which no schema can say.
        if response.status_code == 400 and b"would be needed to certify this" in response.content:
            return False
        # Bytes that are no scenario. To look at a real one takes a jail and seconds; publishing has tests of its own.
        if case.operation.path == "/community/scenarios" and response.status_code == 400:
            return False
    return not any(text in f"{failure.title} {failure.message}" for text in EXCEPTIONS)


turn = itertools.count()


@schemathesis.hook
def before_call(context, case, kwargs):
    positive = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
    if isinstance(case.body, dict):
        # A copy: generated cases share their parts.
        case.body = complete(dict(case.body), positive)
        if positive and case.operation.path in NEED_POLICY and not {"policy", "policy_url"} & set(case.body):
            # Needed, but an `anyOf` that says so is more than generators of clients understand.
            case.body["policy"] = ARCHIVE
    # A stream of a job that waits would not end.
    streams = case.operation.path.endswith("/events")
    erases = case.operation.method.upper() == "DELETE"
    # `links.py` sends what links say.
    follows = "prepared" in FACTS
    if positive and not erases and not follows and (streams or next(turn) % KNOWN_EVERY == 0):
        name_something(case)
    if positive and case.operation.path == "/leaderboard":
        # Of a scenario (and its season) or of a collection: schemas of single parameters cannot say so.
        lacking = "collection" if "scenario" in (case.query or {}) else "season"
        case.query = {name: value for name, value in (case.query or {}).items() if name != lacking}
    if positive and case.operation.method.upper() == "PATCH":
        # The first piece of a model: at any other offset it would be refused.
        case.headers = {**(case.headers or {}), "Upload-Offset": "0"}
        case.body = Binary(b"a piece")
    spare(case)
    # What was generated stays what it was said to be, valid or not: bytes of a file could not be judged again.
    case._record_starting_state()


def complete(body, positive):
    for name in DIALLED.keys() & body.keys():
        if positive or not is_harmless(body[name]):
            body[name] = DIALLED[name]
        if body[name] is None:
            del body[name]
    for name, value in VALID.items():
        if isinstance(body.get(name), (bytes, Binary)) or (positive and body.get(name) is not None):
            body[name] = value
    return body


def name_something(case):
    path = case.operation.path
    if path.startswith("/artifacts/"):
        address = urlsplit(FACTS["artifact"])
        names = ("job_id", "sha256", "name")
        case.path_parameters = dict(zip(names, address.path.split("/", 4)[2:], strict=True))
        case.query = dict(parse_qsl(address.query))
    elif "job_id" in (case.path_parameters or {}):
        jobs = FACTS["jobs"]
        case.path_parameters = case.path_parameters | {"job_id": jobs[next(turn) // KNOWN_EVERY % len(jobs)]}
    elif path.startswith("/scenarios/{id}"):
        case.path_parameters = case.path_parameters | {"id": FACTS["scenarios"][0]}


def spare(case):
    """Only throw-away keys are revoked, only other jobs than those of FACTS are erased."""
    if case.operation.method.upper() == "DELETE" and (case.path_parameters or {}).get("job_id") in FACTS["jobs"]:
        case.path_parameters = case.path_parameters | {"job_id": "019aa6f0-3c5e-7b21-9d4f-2b8c6e1a7f30"}
    if case.operation.path == "/keys/{id}" and case.path_parameters.get("id") == FACTS["own_key"]:
        case.path_parameters = case.path_parameters | {"id": "f" * 16}


def is_harmless(address):
    """Whether an address names this machine, or nothing that could be dialled."""
    try:
        host = urlsplit(str(address).strip()).hostname
    except ValueError:
        return True
    return host is None or host in LOOPBACK


# The second fence, below everything that schemathesis does: no name is looked up but loopback's, no other address is
# dialled, and no request leaves that could make the service dial one.
look_up, send = socket.getaddrinfo, requests.adapters.HTTPAdapter.send


def look_up_loopback(host, *rest, **more):
    if host not in LOOPBACK:
        raise OSError(f"the resolver of this test knows loopback only, not {host!r}")
    return look_up(host, *rest, **more)


def send_harmless(self, request, **more):
    body = request.body if isinstance(request.body, bytes) else (request.body or "").encode()
    if any(f'name="{name}"'.encode() in body for name in DIALLED):
        head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
        form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
        for part in form.iter_parts() if form.is_multipart() else ():
            name = part.get_param("name", header="content-disposition")
            if name in DIALLED:
                address = part.get_payload(decode=True).decode(errors="replace")
                assert is_harmless(address), f"{address!r} was about to be sent as {name}"
    return send(self, request, **more)


socket.getaddrinfo, requests.adapters.HTTPAdapter.send = look_up_loopback, send_harmless
