"""That the judge, the comparison, the way that breaks and the matrix refuse what they should:
`python3 -m unittest discover -s peers/lib -p '*_test.py'`."""

import pathlib
import socket
import tempfile
import threading
import unittest

import alike
import matrix
from cut import Cutting
from expect import judge, mismatch


class Expectations(unittest.TestCase):
    def test_partial_match(self):
        def step(i):
            return {"progress": i, "total": 2, "message": f"at {i}"}

        cases = [
            ({"a": 1}, {"a": 1, "b": 2}, True),
            ({"a": 1}, {"b": 2}, False),
            ({"a": True}, {"a": 1}, False),
            ([1, 2], [1, 2], True),
            ([1, 2], [1, 2, 3], False),
            ({"$match": "^x"}, "xy", True),
            ({"$match": "^x"}, "yx", False),
            ({"$type": "number"}, True, False),
            ({"$bytes": 3}, "\u2028", True),
            ({"$says": "x"}, "x", True),
            ({"$says": "x"}, {"msg": "x", "extra": None}, True),
            ({"$says": "x"}, {"msg": "y"}, False),
            ({"$has": [{"n": 2}]}, [{"n": 1}, {"n": 2, "m": 3}], True),
            ({"$has": [{"n": 4}]}, [{"n": 1}], False),
            ({"$names": ["a"]}, [{"name": "a"}, {"name": "a"}], False),
            ({"$lacks": ["a"]}, [{"name": "b"}], True),
            ({"$lacks": ["a"]}, [{"name": "a"}, {"name": "b"}], False),
            ({"$distinct": "uri"}, [{"uri": 1}, {"uri": 1}], False),
            ({"$numbered": "c {i}", "count": 2}, ["c 0", "c 1"], True),
            ({"$numbered": "c {i}", "count": 2}, ["c 1", "c 0"], False),
            ({"$counted": 2, "least": 1}, [step(1), step(2), "result"], True),
            ({"$counted": 2, "least": 1}, [step(1), "result"], True),
            ({"$counted": 2, "least": 2}, [step(1), "result"], False),
            ({"$counted": 2, "least": 1}, [step(2), step(1), "result"], False),
            ({"$counted": 2, "least": 1}, [step(1), "result", step(2)], False),
            ({"$all": [{"$least": 1}, {"$length": 2}]}, [1], False),
        ]
        for want, got, fits in cases:
            with self.subTest(want=want, got=got):
                self.assertEqual(mismatch(want, got) is None, fits)

    def test_judge(self):
        step = {"name": "s", "expect": {"a": 1}, "within_ms": 50}
        refused = {"name": "s", "expect_error": {"legacy": -32002, "modern": -32602}}
        cases = [
            (step, {"ms": 1, "got": {"a": 1}}, "pass"),
            (step, {"ms": 51, "got": {"a": 1}}, "fail"),
            (step, {"ms": 1, "got": {"a": 2}}, "fail"),
            (step, {"ms": 1, "error": {"code": -32603, "message": "no"}}, "fail"),
            (step, {"ms": 1, "thrown": "no answer"}, "fail"),
            (step, {"ms": 1, "blank": "cannot"}, "blank"),
            (refused, {"ms": 1, "error": {"code": -32002, "message": "no"}}, "pass"),
            (refused, {"ms": 1, "error": {"code": -32602, "message": "no"}}, "fail"),
            (refused, {"ms": 1, "got": {}}, "fail"),
        ]
        for step, seen, status in cases:
            with self.subTest(seen=seen):
                self.assertEqual(judge(step, "legacy", "2025-11-25", seen)[0], status)


class Conversations(unittest.TestCase):
    def test_alike(self):
        steps = [{"name": "a", "alike": True}, {"name": "b"}]
        said = {"events": [{"ask": "x", "params": {"n": 1}}, "result"]}
        cases = [
            (said, said, "pass"),
            (said, {**said, "_meta": {}, "resultType": "complete"}, "pass"),
            (said, {"events": said["events"][:1]}, "fail"),
            (said, {"events": [{"ask": "x", "params": {"n": True}}, "result"]}, "fail"),
            (said, {**said, "isError": False}, "fail"),
            (said, None, "fail"),
        ]
        for one, other, status in cases:
            with self.subTest(other=other):
                seen = [{"a": {"got": got}, "b": {"got": i}} for i, got in enumerate((one, other))]
                self.assertEqual(alike.verdict(steps, *seen)[0], status)
        self.assertIsNone(alike.verdict(steps[1:], {}, {}))

    def test_a_way_breaks_once_and_says_whether_the_rest_was_taken_up(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(5)

            def serve():
                for _ in range(2):
                    near, _ = server.accept()
                    with near:
                        near.settimeout(5)
                        near.recv(1000)
                        near.sendall(b"at 3")
                        # The first asker closes only when the way does it.
                        near.recv(1000)
                        near.sendall(b", at 4")

            threading.Thread(target=serve, daemon=True).start()
            with Cutting(f"http://127.0.0.1:{server.getsockname()[1]}/mcp", "at 3") as way:
                port = int(way.url.split(":")[2].split("/")[0])
                answers, faults = [], [way.fault()]
                for asked in (b"POST\r\n", b"GET\r\nLast-Event-ID: 3\r\n"):
                    with socket.create_connection(("127.0.0.1", port), 5) as near:
                        near.sendall(asked)
                        answer = near.recv(4)
                        if answers:
                            near.sendall(b"more")
                        answers.append(answer + near.recv(100))
                        faults.append(way.fault())
        self.assertEqual(answers, [b"at 3", b"at 3, at 4"])
        self.assertEqual([fault is None for fault in faults], [False, False, True])


class Matrix(unittest.TestCase):
    def test_compare(self):
        cases = [
            ("pass", "pass", "passed"),
            ("pass", "fail", "failed"),
            ("pass", "blank", "failed"),
            ("blank: why", "pass", "failed"),
            ("blank: why", "fail", "skipped"),
            ("blank: why", "blank", "skipped"),
            ("blank: ", "fail", "failed"),
            ("pass", "absent", "skipped"),
            (None, "pass", "failed"),
        ]
        for want, status, outcome in cases:
            with self.subTest(want=want, status=status):
                self.assertEqual(matrix.compare(want, status, "detail")[0], outcome)

    def test_write_keeps_reasons_and_never_hides_a_failure(self):
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place) / "matrix.toml"
            old = {"p": {"e": {"t": {"a": "blank: by hand", "gone": "pass"}, "other": {"z": "pass"}}}}
            found = {("p", "e", "t"): {"a": ("fail", "x"), "b": ("fail", "y"), "c": ("blank", "no verb"), "d": ("pass", "")}}
            matrix.write(path, old, found, matrix.SERVERS)
            want = {"a": "blank: by hand", "b": "pass", "c": "blank: no verb", "d": "pass"}
            self.assertEqual(matrix.load(path), {"p": {"e": {"t": want, "other": {"z": "pass"}}}})


if __name__ == "__main__":
    unittest.main()
