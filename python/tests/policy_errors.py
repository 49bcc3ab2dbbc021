"""What the author of a policy is told of an error: type, message, line, notes and causes, at every door."""

import json
import os
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

from answers import INIT, Jail, ask_http, ask_openpi, runner

import assay

ACT = "def policy(observation):\n"
#: Name, policy.py, and what message and traceback say.
RAISED = [
    ("an exception", ACT + "    raise ValueError('no plan')\n", "ValueError: no plan", ["policy.py", "line 2"]),
    ("a note", ACT + "    e = ValueError('x'); e.add_note('hint: scale it'); raise e\n", "ValueError: x", ["hint: scale it"]),
    (
        "a group",
        ACT + "    raise ExceptionGroup('several', [ValueError('a'), KeyError('b')])\n",
        "ExceptionGroup: several (2 sub-exceptions): ValueError: a; KeyError: 'b'",
        ["ValueError: a", "KeyError: 'b'"],
    ),
    (
        "a group with causes in a library",
        "import json\n" + ACT + "    try: json.loads('{')\n    except Exception as e: raise ExceptionGroup('s', [e])\n",
        "ExceptionGroup: s (1 sub-exception): JSONDecodeError: ",
        ["JSONDecodeError"],
    ),
    (
        "a cause",
        "import json\n" + ACT + "    try: json.loads('{')\n    except Exception as e: raise RuntimeError('bad config') from e\n",
        "RuntimeError: bad config",
        ["JSONDecodeError", "direct cause"],
    ),
    ("a surrogate", ACT + "    raise ValueError('caf\\udce9 \\ud800')\n", "ValueError: caf\\udce9 \\ud800", ["caf\\udce9"]),
    ("control characters", ACT + "    raise ValueError('a\\0b \\x1b[31m')\n", "ValueError: a\0b", ["line 2"]),
    ("a huge message", ACT + "    raise ValueError('x' * 5_000_000)\n", "ValueError: xxx", ["policy.py", "line 2"]),
    ("a huge message without ASCII", ACT + "    raise ValueError('\\U0001f600' * 500_000)\n", "ValueError: \U0001f600", ["line 2"]),
    ("a huge message of NUL", ACT + "    raise ValueError('\\0' * 500_000)\n", "ValueError: \0", ["line 2"]),
    ("a message of lines", ACT + "    raise ValueError('a\\n  b\\nc')\n", "ValueError: a", ["line 2"]),
    ("exit", ACT + "    raise SystemExit(3)\n", "SystemExit: 3", ["line 2"]),
    ("an interrupt", ACT + "    raise KeyboardInterrupt\n", "KeyboardInterrupt", ["line 2"]),
    ("the end of a generator", ACT + "    raise GeneratorExit\n", "GeneratorExit", ["line 2"]),
    ("no arguments", "def policy():\n    return [0.0]\n", "TypeError: policy() takes 0 positional arguments but 1 was given", []),
]
#: Name, files of the policy, and what message and traceback say in the jail.
IN_JAIL = [
    ("act without observation", {"policy.py": "class Policy:\n    def act(self):\n        return 0.0\n"}, "takes 1 positional", "line 2, in act"),
    ("a constructor that needs something", {"policy.py": "class Policy:\n    def __init__(self, net):\n        pass\n    def act(self, o):\n        pass\n"}, "'net'", "line 2, in __init__"),
    ("no arguments", {"policy.py": "def policy():\n    return 0.0\n"}, "takes 0 positional", "line 1, in policy"),
    ("a relative import", {"policy.py": "from . import net\n", "net.py": ""}, "`import net` instead of `from . import net`", "line 1"),
    ("a package policy", {"policy.py": "import policy.net\n", "net.py": ""}, "policy.py is a file, not a package; net.py is beside it: `import net`", "line 1"),
    ("a module in src", {"policy.py": "import mypkg\n", "src/mypkg/__init__.py": ""}, 'src/mypkg is in the policy, but', "line 1"),
    ("another case", {"policy.py": "import net\n", "Net.py": ""}, "Net.py has other capital letters", "line 1"),
    ("the folder's name", {"policy.py": "from b2.net import X\n", "net.py": "X = 1\n"}, "not a package 'b2', and net.py is beside policy.py: `import net`", "line 1"),
    ("a module without the part", {"policy.py": "import net.layers\n", "net.py": ""}, "net.py is in the policy, but has no layers", "line 1"),
    ("a name of Python's", {"policy.py": "import statistics\nX = statistics.MINE\n", "statistics.py": "MINE = 1\n"}, "the policy's statistics.py was not imported, since Python has a module 'statistics'", "line 2"),
    ("a name from a module of Python's", {"policy.py": "from queue import MINE\n", "queue.py": "MINE = 1\n"}, "the policy's queue.py was not imported", "line 1"),
    ("a module that is nowhere", {"policy.py": "import torch_of_mine\n"}, "No module named 'torch_of_mine'", "line 1"),
    ("a pickle of another program", {"policy.py": "import pickle\nX = pickle.loads(b'c__main__\\nNet\\n.')\n"}, "Can't get attribute 'Net': the file was pickled by a program", "line 2"),
    ("an event loop", {"policy.py": "import asyncio\nasyncio.run(asyncio.sleep(0))\n"}, "an event loop of asyncio needs sockets", "line 2"),
    ("asyncio's error from elsewhere", {"policy.py": "raise OSError(38, 'Function not implemented')\n"}, "[Errno 38] Function not implemented", "line 1"),
]


class Policies:
    """Folders of policies, loaded like in the jail."""

    def __init__(self, test):
        self.folder = test.enterContext(tempfile.TemporaryDirectory())

    def loaded(self, files):
        folder = tempfile.mkdtemp(dir=self.folder)
        for name, text in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        values = {"FOLDER": folder, "MAIN": folder + "/policy.py"}
        for name in {os.path.basename(name).removesuffix(".py") for name in files} | {"src", "mypkg", "b2"}:
            if name not in sys.stdlib_module_names:
                sys.modules.pop(name, None)
        return values

    def fault(self, files):
        """Loads a policy and runs its first step; returns the error that it reports."""
        values = self.loaded(files)
        sent, path = [], sys.path[:]
        with mock.patch.multiple(runner, **values), mock.patch.object(sys, "stderr"):
            try:
                # As where the runner is the program.
                with mock.patch.dict(sys.modules, {"__main__": runner}):
                    found = runner.load(5)
            except BaseException as error:  # noqa: BLE001
                with mock.patch.object(runner, "send", lambda kind, seq, nonce, payload: sent.append(payload)):
                    runner.report_exception(error, "import_error", 0, 0)
                assert len(sent[0]) <= 64 * 1024
                return json.loads(sent[0])
            finally:
                sys.path[:] = path
            return Jail(found, 1).fault()


class InTheJail(unittest.TestCase):
    def test_what_is_raised(self):
        policies = Policies(self)
        for name, source, message, parts in RAISED:
            with self.subTest(name):
                fault = policies.fault({"policy.py": source})
                self.assertIn(message, fault["message"])
                for part in [*parts, "policy.py", "line "]:
                    self.assertIn(part, fault["traceback"])
                for foreign in ("runner.py", "assay_adapters", "/json/", policies.folder):
                    self.assertNotIn(foreign, fault["traceback"])

    def test_what_python_says_is_explained(self):
        policies = Policies(self)
        for name, files, message, place in IN_JAIL:
            with self.subTest(name):
                socket = mock.patch("asyncio.events.new_event_loop", side_effect=no_sockets) if name == "an event loop" else mock.MagicMock()
                with socket:
                    fault = policies.fault(files)
                self.assertIn(message, fault["message"])
                self.assertIn(place, fault["traceback"])
                if "No module named" in fault["message"]:
                    self.assertEqual(name, "a module that is nowhere")

    def test_objects_pickled_by_a_program_find_their_class_in_the_policy(self):
        source = "import pickle\nclass Net:\n    pass\nX = pickle.loads(b'c__main__\\nNet\\n.')\n" + ACT + "    return [float(X is Net)]\n"
        self.assertEqual(self.actions(source), [[1.0]])

    def test_an_object_is_a_policy_like_its_class(self):
        for end in ("policy = P()", "Policy = P()", "Policy = P", "policy = P"):
            with self.subTest(end):
                source = "class P:\n    def reset(self):\n        self.x = 2.0\n    def act(self, o):\n        return self.x\n" + end
                self.assertEqual(self.actions(source), [[2.0]])

    def actions(self, source):
        values = Policies(self).loaded({"policy.py": source})
        with mock.patch.multiple(runner, **values), mock.patch.object(sys, "path", sys.path[:]):
            with mock.patch.dict(sys.modules, {"__main__": runner}):
                return Jail(runner.load(5), 1).actions(1)


def no_sockets():
    raise OSError(38, "Function not implemented")


class Served(unittest.TestCase):
    """A server of this package reports the exception, and nothing of the package."""

    def test_what_is_raised(self):
        for name, source, message, parts in RAISED:
            values = {}
            exec(compile(source, "/home/me/policy.py", "exec"), values)
            for protocol in ("http", "openpi"):
                with self.subTest(name, protocol=protocol), assay.serve(values["policy"], protocol=protocol) as server:
                    if protocol == "http":
                        status, body = ask_http(server, {"qpos": [1, 2]})
                        self.assertEqual(status, 500)
                        text = body["error"]
                    else:
                        text = ask_openpi(server)
                    self.assertIsInstance(text, str)
                    self.assertIn(message, text)
                    for part in parts:
                        self.assertIn(part, text)
                    self.assertNotIn("_named_arrays", text)
                    self.assertNotIn("_policy_server", text)
                    if name.startswith("a group"):
                        self.assertIn(message, text.splitlines()[-1])
                    self.assertIsInstance(server.error, BaseException)

    def test_it_serves_on_after_an_exit(self):
        def leave(observation):
            raise SystemExit(3)

        with assay.serve(leave) as server:
            self.assertEqual([ask_http(server, {})[0] for _ in range(2)], [500, 500])


class Names(unittest.TestCase):
    def test_a_server_answers_below_the_name_of_its_policy(self):
        from assay import _named_arrays

        for path in ("/act", "/lean/act", "/a/b/act"):
            self.assertEqual(_named_arrays.operation(path), "act")


if __name__ == "__main__":
    unittest.main()
