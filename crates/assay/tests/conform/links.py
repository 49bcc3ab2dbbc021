"""What schemathesis reaches by the links of the OpenAPI document: hooks that let each list lead to what was prepared, and a
report of what answered.

Beside those of `hooks.py`, ASSAY_FUZZ_FACTS has `prepared`: `lists` (path: the queries to send, in turn), `ended` (ids of
jobs and submissions whose streams end), `erasable` (path: how many of its prepared things may be erased), `erased` (how many
were). The report goes to the file ASSAY_LINKS_REPORT: operation and number of calls that came by a link, with the link's values,
and were answered 2xx.
"""

import itertools
import json
import os
from collections import Counter
from pathlib import Path

import hooks
import schemathesis
from schemathesis import cli
from schemathesis.engine import events

PREPARED = hooks.FACTS["prepared"]
NOTHING = "019aa6f0-3c5e-7b21-9d4f-2b8c6e1a7f30"
# What was erased stays in some lists, and is passed over.
erased = Counter(PREPARED["erased"])
turns = {path: itertools.count() for path in PREPARED["lists"]}


@schemathesis.hook
def before_call(context, case, kwargs):
    path, method = case.operation.path, case.operation.method.upper()
    if method == "GET" and path in PREPARED["lists"]:
        queries = PREPARED["lists"][path]
        query = queries[next(turns[path]) % len(queries)]
        of = query.get("erased_of")
        case.query = {name: value for name, value in query.items() if name != "erased_of"}
        if of is not None:
            case.query["offset"] = erased[of]
    if isinstance(case.body, dict):
        # Jobs of few episodes.
        case.body.pop("max_violation_probability", None)
    parameters = case.path_parameters or {}
    if path.endswith("/events") and not set(parameters.values()) & set(PREPARED["ended"]):
        # A stream of what has just begun takes its time.
        case.path_parameters = {name: PREPARED["ended"][0] for name in parameters}
        if path.startswith("/submissions"):
            case.path_parameters = {name: NOTHING for name in parameters}
    if method == "DELETE" and erased[path] >= PREPARED["erasable"].get(path, erased[path] + 1):
        case.path_parameters = {name: NOTHING for name in parameters}
    case._record_starting_state()


@schemathesis.hook
def after_call(context, case, response):
    # Only prepared ones: an operation may also delete what the run created.
    ids = set((case.path_parameters or {}).values())
    is_prepared = case.operation.path.startswith("/community") or ids & set(PREPARED["ended"])
    if case.operation.method.upper() == "DELETE" and response.status_code == 204 and is_prepared:
        erased[case.operation.path] += 1


def sent_as_linked(node):
    """Whether the call carried all values that its link took from the answer before."""
    sent = {"path_parameters": node.value.path_parameters or {}, "query": node.value.query or {}}
    for place, values in node.transition.parameters.items():
        for name, extracted in values.items():
            value = extracted.value.ok() if hasattr(extracted.value, "ok") else None
            if value is None or str(sent.get(place, {}).get(name)) != str(value):
                return False
    return node.is_transition_applied


@cli.handler()
class Followed(cli.EventHandler):
    def __init__(self, *args, **params):
        self.reached = Counter()
        self.refused = Counter()

    def handle_event(self, ctx, event):
        if not isinstance(event, events.ScenarioFinished):
            return
        for id, node in event.recorder.cases.items():
            interaction = event.recorder.interactions.get(id)
            if node.transition is None or interaction is None or interaction.response is None:
                continue
            if not sent_as_linked(node):
                continue
            status = interaction.response.status_code
            if 200 <= status < 300:
                self.reached[node.value.operation.label] += 1
            else:
                self.refused[f"{node.value.operation.label}: {status}"] += 1

    def shutdown(self, ctx):
        report = {"reached": self.reached, "refused": self.refused}
        Path(os.environ["ASSAY_LINKS_REPORT"]).write_text(json.dumps(report))
