"""What a policy may return, and what becomes of its errors, at every door: the runner of the jail, the adapters of networks,
and the servers of both protocols.

One file on purpose: its table has each value once, beside the doors that take it.
"""

import ast
import base64
import collections
import contextlib
import decimal
import fractions
import http.client
import importlib
import inspect
import json
import math
import os
import pathlib
import struct
import sys
import tempfile
import textwrap
import types
import unittest
import warnings
from unittest import mock

import msgpack
import numpy as np
from websockets.sync import client as websocket

import assay
from assay import _answers, openpi, policy

RUNNER = pathlib.Path(__file__).resolve().parents[1] / "runner"
HEADER = struct.Struct("<4sBBHIIQ")
INIT = {"seed": 5, "scenario": "table", "instruction": "reach"}
#: The runner's observation: one array of two numbers.
ARRAYS = [{"name": "qpos", "dtype": "f64", "shape": [2]}]
OBSERVATION, ACTION, ERROR, CLOSE = 6, 7, 8, 9
NONCE = 7


def load_runner():
    """Imports the runner without starting it."""
    arguments = ["runner.py", "/nowhere", "0"]
    with mock.patch.object(sys, "argv", arguments), mock.patch.dict(os.environ, {"ASSAY_FORK_SERVER": ""}):
        spec = importlib.util.spec_from_file_location("assay_runner", RUNNER / "runner.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


runner = load_runner()


class Tensor:
    """What PyTorch's tensors have in common with this: they are converted by `detach`, and not by numpy."""

    def __init__(self, values, gradient=True, kind="float"):
        self.values, self.gradient, self.kind = values, gradient, kind

    def __array__(self, dtype=None, copy=None):
        if self.gradient:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return np.array(self.values, dtype)

    def detach(self):
        return Tensor(self.values, False, self.kind)

    def cpu(self):
        return self

    def double(self):
        return self

    def is_complex(self):
        return self.kind == "complex"

    def numpy(self):
        return np.array(self.values)

    def __repr__(self):
        return "tensor(...)"


async def coroutine():
    return [0.3]


def coroutine_of():
    made = coroutine()
    made.close()
    return made


ZEROS = np.zeros
HALF = [0.5]
#: An answer (made anew for each door), the size of an action, and the actions that it stands for, or what its error says.
TAKEN = [
    ("a number", lambda: 0.5, 1, [HALF]),
    ("a list", lambda: [0.5], 1, [HALF]),
    ("a tuple", lambda: (0.5,), 1, [HALF]),
    ("nested lists", lambda: [[0.5]], 1, [HALF]),
    ("a scalar of numpy", lambda: np.float32(0.5), 1, [HALF]),
    ("an array without dimensions", lambda: np.array(0.5), 1, [HALF]),
    ("three dimensions", lambda: np.full((1, 1, 1), 0.5), 1, [HALF]),
    ("a matrix", lambda: np.matrix([0.5]), 1, [HALF]),
    ("arrays in a list", lambda: [np.array([0.5])], 1, [HALF]),
    ("a bool", lambda: [True], 1, [[1.0]]),
    ("a large int", lambda: [10**30], 1, [[1e30]]),
    ("objects that are numbers", lambda: np.array([0.5], dtype=object), 1, [HALF]),
    ("float16", lambda: np.array([0.5], np.float16), 1, [HALF]),
    ("long double", lambda: np.array([0.5], np.longdouble), 1, [HALF]),
    ("a memoryview", lambda: memoryview(np.array([0.5])), 1, [HALF]),
    ("a range", lambda: range(1), 1, [[0.0]]),
    ("a deque", lambda: collections.deque([0.5]), 1, [HALF]),
    ("a big-endian array", lambda: np.array([0.5], ">f8"), 1, [HALF]),
    ("an array that is not contiguous", lambda: np.full((2, 7), 0.5)[:, ::7], 1, [HALF, HALF]),
    ("(D,)", lambda: ZEROS(7), 7, [[0.0] * 7]),
    ("(1, D)", lambda: ZEROS((1, 7)), 7, [[0.0] * 7]),
    ("(H, D)", lambda: np.arange(14.0).reshape(2, 7), 7, np.arange(14.0).reshape(2, 7).tolist()),
    ("(1, H, D)", lambda: np.arange(14.0).reshape(1, 2, 7), 7, np.arange(14.0).reshape(2, 7).tolist()),
    ("rows of one number", lambda: np.arange(3.0)[:, None], 1, [[0.0], [1.0], [2.0]]),
    ("numbers without dimensions", lambda: [np.array(0.0)] * 7, 7, [[0.0] * 7]),
    ("a tensor with a gradient", lambda: Tensor([0.5]), 1, [HALF]),
    ("tensors in a list", lambda: [Tensor(0.5)] * 7, 7, [[0.5] * 7]),
    ("a list with numpy's scalars and an int", lambda: [np.float16(0.5), np.int8(1)] + [0] * 5, 7, [[0.5, 1, 0, 0, 0, 0, 0]]),
    ("a masked array without a mask", lambda: np.ma.masked_array([0.5], mask=[False]), 1, [HALF]),
]
REFUSED = [
    ("None", lambda: None, 1, "not None (does the policy return anything?)"),
    ("a string", lambda: "0.3", 1, "the action must be numbers, not '0.3' (str)"),
    ("strings", lambda: [0.3, "0.3"], 2, "action[1] is '0.3' (str), not a number"),
    ("strings in an array", lambda: np.array(["a"] * 7), 7, "action[0] is np.str_('a') (str_), not a number"),
    ("Decimal", lambda: [decimal.Decimal("0.3")], 1, "action[0] is Decimal('0.3') (Decimal), not a number"),
    ("Fraction", lambda: [fractions.Fraction(1, 3)], 1, "action[0] is Fraction(1, 3) (Fraction), not a number"),
    ("objects", lambda: [1, object()], 2, "(object), not a number"),
    ("None among numbers", lambda: [0.1, None], 2, "action[1] is None, not a number"),
    ("None in a chunk", lambda: [[0.1, 0.2], [0.1, None]], 2, "action[1][1] is None, not a number"),
    ("a dict", lambda: {"action": [0.3]}, 1, "not a dict: return the array in it"),
    ("action and state", lambda: (np.array([0.3]), None), 1, "`model.predict` returns"),
    ("a set", lambda: {0.3}, 1, "not {0.3} (set)"),
    ("a generator", lambda: (x for x in [0.3]), 1, "a generator"),
    ("a coroutine", coroutine_of, 1, "define the policy without `async`"),
    ("a complex number", lambda: [0.3 + 1j], 1, "(complex), not a number"),
    ("a complex tensor", lambda: Tensor([1j], kind="complex"), 1, "(complex128), not a number"),
    ("a date", lambda: np.array(["2030-01-01"], "M8[ns]"), 1, "(datetime64), not a number"),
    ("a duration", lambda: [np.timedelta64(1, "s")], 1, "(timedelta64), not a number"),
    ("a record", lambda: np.zeros(1, [("x", "f8")]), 1, "(void), not a number"),
    ("ragged", lambda: [[0] * 7, [0] * 6], 7, "unequal lengths"),
    ("a list and a number", lambda: [[0.1, 0.2], 0.3], 2, "unequal lengths"),
    ("masked", lambda: np.ma.masked_array([0.3], mask=[True]), 1, "action[0] is nan"),
    ("NaN", lambda: np.array([0, 0, np.nan, 0, 0, 0, 0]), 7, "action[2] is nan: every number of an action must be finite"),
    ("infinity", lambda: [-math.inf], 1, "action[0] is -inf"),
    ("an int beyond all floats", lambda: [10**400], 1, "action[0] is inf"),
    ("NaN in a chunk", lambda: [[0.0, 0.0], [0.0, math.nan]], 2, "actions[1][1] is nan"),
    ("too few", lambda: ZEROS(6), 7, "(7,), or (H, 7) for H actions in turn"),
    ("a column", lambda: ZEROS((7, 1)), 7, "(7,), or (H, 7)"),
    ("several numbers for one", lambda: ZEROS(8), 1, "(1,), or (H, 1)"),
    ("a batch", lambda: ZEROS((2, 8, 7)), 7, "the action has shape (2, 8, 7)"),
    ("no actions", lambda: ZEROS((0, 1)), 1, "0 actions in one answer"),
    ("too many actions", lambda: ZEROS((1001, 1)), 1, "1001 actions in one answer; 1 to 1000"),
    ("an object whose text fails", lambda: [Unspeakable()], 1, "action[0] is a Unspeakable, not a number"),
    ("lists that contain themselves", lambda: endless(), 1, "more than 4 dimensions"),
]


class Unspeakable:
    def __repr__(self):
        raise RuntimeError("no")


def endless():
    made = [object()]
    made[0] = made
    return made


class Jail:
    """The runner as the lane sees it: frames go in, frames come out."""

    def __init__(self, found, dim, steps=None):
        self.found, self.init = found, INIT | {"action_dim": dim, "observation": ARRAYS}
        if steps is not None:
            self.init["replan_steps"] = steps

    def answers(self, count):
        """Runs an episode of `count` observations; returns its frames: READY, then an ACTION or ERROR for each."""
        length = runner.BEGINNING.size + 16
        frames = b""
        for seq in range(count):
            frames += struct.pack("<4sBBHIIQdd2d", b"ASY1", OBSERVATION, 0, 0, seq, length - HEADER.size, NONCE, seq, 9.0, 1, 2)
        frames += HEADER.pack(b"ASY1", CLOSE, 0, 0, count, 0, NONCE)
        to_runner, from_test = os.pipe()
        to_test, from_runner = os.pipe()
        try:
            os.write(from_test, frames)
            with mock.patch.multiple(runner, create=True, REQUESTS=to_runner, ANSWERS=from_runner):
                with mock.patch.object(sys, "stderr"):
                    runner.run(self.found, self.init, NONCE)
            os.close(from_runner)
            with open(to_test, "rb") as file:
                data = file.read()
        finally:
            os.close(to_runner)
            os.close(from_test)
        found, self.counts = [], []
        while data:
            _, kind, flags, reserved, seq, size, nonce = HEADER.unpack_from(data)
            self.check(kind, flags, reserved if kind != ACTION else 0, size, nonce)
            self.counts += [reserved] if kind == ACTION else []
            found.append((kind, seq, data[HEADER.size : HEADER.size + size]))
            data = data[HEADER.size + size :]
        return found

    def check(self, kind, flags, reserved, size, nonce):
        assert (flags, reserved, nonce) == (0, 0, NONCE)
        assert kind != ACTION or size == 8 * self.init["action_dim"]
        assert size <= 64 * 1024, "more than the host accepts"

    def actions(self, count):
        return [list(struct.unpack(f"<{len(data) // 8}d", data)) for kind, _, data in self.answers(count) if kind == ACTION]

    def fault(self):
        kind, _, data = self.answers(1)[-1]
        assert kind == ERROR, kind
        return json.loads(data)


def judged(array, dim):
    """Returns what the host makes of the rows of a server: actions, or an error."""
    return runner.ACTING.actions(array, dim).tolist()


def by_jail(_, answer, dim):
    jail = Jail(lambda observation: answer(), dim)
    (kind, _, data) = jail.answers(1)[-1]
    if kind == ERROR:
        fault = json.loads(data)
        assert fault["code"] == "bad_action", fault
        raise runner.ERRORS.BadAction(fault["message"])
    return Jail(lambda observation: answer(), dim).actions(len(judged(answer(), dim)))


class Servers:
    """A server of each protocol, whose policy gives the answer that is asked for."""

    def __init__(self):
        self.answer = None
        self.http, self.openpi = (assay.serve(lambda observation: self.answer(), protocol=name) for name in ("http", "openpi"))

    def close(self):
        self.http.close()
        self.openpi.close()


def by_http(servers, answer, dim):
    servers.answer = answer
    status, body = ask_http(servers.http, {"qpos": [1, 2]})
    if status != 200:
        raise said(body["error"])
    rows = body["actions"]
    if isinstance(rows, dict):
        rows = np.frombuffer(base64.b64decode(rows["__numpy__"]), rows["dtype"]).reshape(rows["shape"])
    return judged(np.array(rows, float), dim)


def ask_http(server, observation):
    address = server.url.removeprefix("http://")
    with contextlib.closing(http.client.HTTPConnection(address)) as connection:
        request = {"observation": observation, "instruction": "go", "episode_id": "1", "step": 0}
        connection.request("POST", "/act", json.dumps(request))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read().decode(), parse_constant=not_json)


def not_json(word):
    raise ValueError(f"{word} is not JSON")


def by_openpi(servers, answer, dim):
    servers.answer = answer
    reply = ask_openpi(servers.openpi)
    if isinstance(reply, str):
        raise said(reply)
    return judged(msgpack.unpackb(reply, object_hook=openpi.unpacked)["actions"], dim)


def ask_openpi(server):
    with websocket.connect(server.url, compression=None) as socket:
        socket.recv()
        sent = {"observation/qpos": openpi.packed(np.array([1.0, 2.0])), "observation/images/top": openpi.packed(ZEROS(2, np.uint8))}
        socket.send(msgpack.packb(sent | {"prompt": "go"}))
        return socket.recv()


def said(text):
    """Returns the error that a server reports; the host takes those that are named so for its own `bad_action`."""
    assert text.startswith("BadAction: "), text
    return assay.errors.BadAction(text.removeprefix("BadAction: "))


def by_adapter(_, answer, dim):
    units = {"units": ["1"] * dim, "chunk_size": len(judged(answer(), dim))}
    return runner.ACTING.Decoder(units, None, "the output").decode(answer()).tolist()


DOORS = {"jail": by_jail, "HTTP": by_http, "openpi": by_openpi, "adapter": by_adapter}


class Actions(unittest.TestCase):
    """One rule at every door."""

    def setUp(self):
        self.servers = Servers()
        self.addCleanup(self.servers.close)

    def test_what_is_taken(self):
        for name, answer, dim, expected in TAKEN:
            for door, ask in DOORS.items():
                with self.subTest(name, door=door):
                    self.assertEqual(ask(self.servers, answer, dim), expected)

    def test_what_is_refused(self):
        for name, answer, dim, expected in REFUSED:
            for door, ask in DOORS.items():
                with self.subTest(name, door=door), self.assertRaises((runner.ERRORS.BadAction, assay.errors.BadAction)) as refused:
                    ask(self.servers, answer, dim)
                # A server does not know the scenario, so the host names the shape of its rows.
                if door in ("jail", "adapter") or "shape" not in str(refused.exception):
                    self.assertIn(expected, str(refused.exception), f"{name}, {door}")

    def test_the_rule_is_written_once_and_copied(self):
        for name in ("numbers", "is_numeric", "bare", "plain", "described", "shown", "replan_steps", "call"):
            ours, jails = (code_of(getattr(module, name)) for module in (_answers, runner.ACTING))
            self.assertEqual(ours, jails, name)

    def test_types_of_ml_dtypes(self):
        # Their kind is that of raw memory, but their scalars have a class of their own.
        self.assertFalse(runner.ACTING.is_numeric(np.dtype("V2")))
        self.assertFalse(runner.ACTING.is_numeric(np.dtype([("x", "f8")])))


def code_of(function):
    """Returns a function's statements, without its docstring."""
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    body = found.body
    return [ast.dump(one) for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]


class Chunks(unittest.TestCase):
    """Several actions of one answer, in the jail."""

    def test_the_policy_is_asked_again_after_the_last(self):
        for steps, asked_at in ((None, [0, 3, 6]), (2, [0, 2, 4, 6]), (1, list(range(7))), (9, [0, 3, 6])):
            asked = []

            def plan(observation):
                asked.append(observation["time"])
                return observation["time"] + np.arange(3.0)[:, None]

            actions = Jail(plan, 1, steps).actions(7)
            self.assertEqual(asked, asked_at, steps)
            self.assertEqual(actions, [[float(time)] for time in range(7)], steps)

    def test_what_the_policy_declares(self):
        class Plan:
            replan_steps = None

            def act(self, observation):
                return observation["time"] + np.arange(3.0)[:, None]

        for steps, counts in ((None, [3, 0, 0, 3, 0, 0]), (2, [3, 0, 3, 0, 3, 0]), (np.int64(1), [3] * 6), (9, [3, 0, 0] * 2)):
            Plan.replan_steps = steps
            jail = Jail(Plan, 1)
            self.assertEqual(jail.actions(6), [[float(time)] for time in range(6)], steps)
            self.assertEqual(jail.counts, counts, steps)
            with assay.serve(Plan) as server:
                status, body = ask_http(server, {"qpos": [1, 2], "time": 0.0})
                self.assertEqual((status, len(body["actions"])), (200, min(steps or 3, 3)), body)
        # The host's number is that of the files, which goes before the object's.
        jail = Jail(Plan, 1, 2)
        jail.answers(4)
        self.assertEqual(jail.counts, [3, 0, 3, 0])
        for steps, error in ((0, "replan_steps must be from 1 to 1000, not 0"), ("2", "replan_steps must be a whole number, not '2'")):
            Plan.replan_steps = steps
            self.assertIn(error, Jail(Plan, 1).fault()["message"])
            with assay.serve(Plan) as server:
                self.assertIn(error, ask_http(server, {"qpos": [1, 2], "time": 0.0})[1]["error"])

    def test_an_answer_of_one_action_counts_one(self):
        for answer in (np.zeros(2), [0.0, 0.0], np.zeros((1, 2)), np.zeros((1, 1, 2))):
            jail = Jail(lambda observation, answer=answer: answer, 2)
            jail.answers(2)
            self.assertEqual(jail.counts, [1, 1])

    def test_an_episode_begins_without_the_actions_of_another(self):
        jail = Jail(lambda observation: observation["time"] + np.arange(9.0)[:, None], 1)
        self.assertEqual(jail.actions(2), jail.actions(2))

    def test_a_bad_row_is_refused_before_the_first_is_executed(self):
        fault = Jail(lambda observation: [[0.0], [0.0], [math.nan]], 1).fault()
        self.assertEqual((fault["code"], fault["message"][:19]), ("bad_action", "actions[2][0] is na"))


class Networks(unittest.TestCase):
    """What an ONNX model needs that an adapter does not have."""

    def value(self, name, shape, kind="tensor(float)"):
        return types.SimpleNamespace(name=name, shape=shape, type=kind)

    def test_inputs_that_no_observation_has(self):
        remedy = runner.ADAPTED.onnx_model.remedy_for
        outputs = [self.value("action", [1, 7]), self.value("new", [1, 1, 64])]
        for value, part in (
            (self.value("h_in", [1, 1, 32]), "'h_in' seems to be recurrent state"),
            (self.value("x", [1, 1, 64]), "'x' seems to be recurrent state"),
            (self.value("lstm.c0", ["batch", 64]), "write a policy.py that runs the model with onnxruntime"),
            (self.value("hidden_state", [1, 8]), "recurrent state"),
            (self.value("gru_h", [1, 8]), "recurrent state"),
            (self.value("step", [1], "tensor(int64)"), "'step' is a tensor(int64), which no part of an observation is"),
            (self.value("prompt", [1], "tensor(string)"), "write a policy.py"),
            (self.value("chassis", [1, 7]), "declare the inputs of the model"),
            (self.value("estate", [1, 3]), "declare the inputs of the model"),
            (None, "declare the inputs of the model"),
        ):
            self.assertIn(part, remedy(value, outputs, "action"), value)

    def test_a_fixed_batch(self):
        table = {"name": "obs", "arrays": [{"name": "qpos", "size": 7}]}
        for shape, part in (
            ([32, 7], "its batch is fixed to 32, and a policy has one observation at a time"),
            ([32, 8], "its arrays have shape [1, 7] together"),
            ([1, 8], "its arrays have shape [1, 7] together"),
        ):
            with self.assertRaises(runner.ADAPTED.AdapterError) as refused:
                runner.ADAPTED.onnx_model.observer("/", "model.onnx", table, self.value("obs", shape))
            self.assertIn(part, str(refused.exception))
        image = {"name": "top", "image": "images/top", "shape": [3, 8, 8]}
        with self.assertRaisesRegex(runner.ADAPTED.AdapterError, "its batch is fixed to 4"):
            runner.ADAPTED.onnx_model.observer("/", "model.onnx", image, self.value("top", [4, 3, 8, 8]))


class Observations(unittest.TestCase):
    """A policy may change what it gets."""

    def test_at_every_door(self):
        def change(observation):
            observation["qpos"] -= 0.5
            for name in observation:
                if name.startswith("images/"):
                    observation[name] //= 2
            seen.append(observation["qpos"].tolist())
            return [0.0]

        seen = []
        self.assertEqual(Jail(change, 1).actions(2), [[0.0], [0.0]])
        picture = {"__numpy__": base64.b64encode(bytes(12)).decode(), "dtype": "|u1", "shape": [2, 2, 3]}
        with assay.serve(change) as server:
            self.assertEqual(ask_http(server, {"qpos": [1, 2], "images/top": picture})[0], 200, server.error)
        with assay.serve(change, protocol="openpi") as server:
            self.assertIsInstance(ask_openpi(server), bytes, server.error)
        self.assertEqual(seen, [[0.5, 1.5]] * 4)


class Resets(unittest.TestCase):
    """`reset` is called with what it takes."""

    def forms(self):
        got = {}

        class Form:
            def act(self, observation):
                return [0.0]

        def form(function):
            return type("Policy", (Form,), {"reset": function})

        def keep(**found):
            got.clear()
            got.update(found)

        seed, everything = {"seed": 5}, {"seed": 5, "scenario": "table", "instruction": "reach"}
        return got, [
            (form(lambda self: keep()), {}),
            (form(lambda self, seed=None, options=None: keep(seed=seed)), seed),
            (form(lambda self, seed, options: keep(seed=seed, options=options)), seed | {"options": None}),
            (form(lambda self, *, seed, scenario, instruction: keep(seed=seed, scenario=scenario)), {"seed": 5, "scenario": "table"}),
            (form(lambda self, seed, scenario, instruction: keep(seed=seed)), seed),
            (form(lambda self, **found: keep(**found)), everything),
            (form(lambda self, seed, **found: keep(seed=seed, **found)), everything),
            (form(lambda self, *found: keep(found=found)), {"found": ()}),
            (form(lambda self, seed, /: keep(seed=seed)), seed),
            (form(lambda self, task=None: keep(task=task)), {"task": None}),
            (form(staticmethod(lambda seed=1: keep(seed=seed))), seed),
            (form(classmethod(lambda cls, instruction="": keep(instruction=instruction))), {"instruction": "reach"}),
            (form(False), {}),
        ]

    def test_at_every_door(self):
        got, forms = self.forms()
        for number, (made, expected) in enumerate(forms):
            with self.subTest(number):
                got.clear()
                Jail(made, 1).actions(1)
                self.assertEqual(got, expected)
                got.clear()
                policy.for_episode(made, seed=5, instruction="reach")
                self.assertEqual(got, expected | ({"scenario": None} if "scenario" in expected else {}))

    def test_one_that_needs_more_says_so(self):
        class Needing:
            def reset(self, goal):
                raise AssertionError

            def act(self, observation):
                return [0.0]

        self.assertEqual(
            Jail(Needing, 1).fault()["message"],
            "TypeError: reset() needs 'goal', but is called with seed, scenario, instruction",
        )

    def test_an_object_that_keeps_state_is_told(self):
        class Queue:
            def __init__(self):
                self.queue, self.steps = collections.deque(), 0

            def act(self, observation):
                self.steps += 1
                return [0.0]

        class Emptied(Queue):
            def reset(self):
                self.steps = 0

        def of(made, episodes=3):
            with warnings.catch_warnings(record=True) as caught, assay.serve(made) as server:
                warnings.simplefilter("always")
                for episode in range(episodes):
                    server._episodes.reset(str(episode), seed=0, instruction=None)
                    server._episodes.act(str(episode), {})
            return [str(one.message) for one in caught if issubclass(one.category, UserWarning)]

        (warning,) = of(Queue())
        self.assertIn("Queue has no method reset, and keeps steps from one episode to the next", warning)
        for quiet in (Queue, Emptied(), lambda observation: [0.0]):
            self.assertEqual(of(quiet), [])
        self.assertEqual(of(Queue(), 1), [])


if __name__ == "__main__":
    unittest.main()
