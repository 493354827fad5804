"""Every operation of openapi.json has a method, or stands in left_out.json with a reason; and the reverse."""

import inspect
import json
import re
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the tree stays as it is
root = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(root / "clients" / "python"))

from pawl import Answer, Client, Filter, JobHandle, Start, Worker  # noqa: E402

document = json.loads((root / "src" / "serve" / "openapi.json").read_text())
left_out = json.loads((root / "clients" / "left_out.json").read_text())

# What stands for arguments that are no text.
samples = {"filter": Filter(), "starts": [Start("g")], "answers": [Answer("t", "complete")], "topics": ["t"], "data": {}}


class Recorded(Exception):
    pass


def operations():
    """(method, pattern of its path) to operation id."""
    return {
        (method.upper(), path): operation["operationId"]
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def operation_of(method, path):
    """The one whose path fits; one that is written out goes before one with a {name}."""
    found = [
        (pattern.count("{"), id)
        for (its, pattern), id in operations().items()
        if its == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", pattern), path)
    ]
    return min(found)[1] if found else None


class Recorder:
    """A transport that keeps what would be sent, and sends nothing."""

    timeout = 1.0

    def __init__(self):
        self.sent = []

    def record(self, method, path, **_):
        self.sent.append((method, path))
        raise Recorded

    json = exchange = open = record


def call(method):
    parameters = inspect.signature(method).parameters.values()
    needed = [one for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    try:
        made = method(*[samples.get(one.name, "x") for one in needed])
        if inspect.isgenerator(made):
            next(made)
    except Recorded:
        pass


class OperationsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Client()
        cls.recorder = cls.client.transport = Recorder()
        for thing in (cls.client, JobHandle(cls.client, "x", run="7")):
            for name, method in inspect.getmembers(thing, inspect.ismethod):
                if not name.startswith("_") and name not in ("close", "job"):
                    call(method)
        # `Worker` takes by long poll or by stream.
        worker = Worker(cls.client, stream=True)
        worker.serve("t", lambda input: None)
        call(worker._stream_loop)

    def test_every_operation_has_a_method_or_a_reason(self):
        asked = {operation_of(method, path) for method, path in self.recorder.sent}
        everything = set(operations().values())
        self.assertEqual(everything - asked - set(left_out), set(), "neither a method nor a reason")
        self.assertEqual(asked & set(left_out), set(), "it has a method: take it out of left_out.json")
        self.assertEqual(set(left_out) - everything, set(), "there is no such operation")
        self.assertTrue(all(left_out.values()))

    def test_no_method_asks_for_what_the_server_does_not_have(self):
        for method, path in self.recorder.sent:
            self.assertIsNotNone(operation_of(method, path), f"{method} {path}")


if __name__ == "__main__":
    unittest.main()
