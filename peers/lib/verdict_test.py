"""That the judge and the matrix refuse what they should: `python3 -m unittest discover -s peers/lib -p '*_test.py'`."""

import pathlib
import tempfile
import unittest

import matrix
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
            ({"$has": [{"n": 2}]}, [{"n": 1}, {"n": 2, "m": 3}], True),
            ({"$has": [{"n": 4}]}, [{"n": 1}], False),
            ({"$names": ["a"]}, [{"name": "a"}, {"name": "a"}], False),
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
            matrix.write(path, old, found)
            want = {"a": "blank: by hand", "b": "pass", "c": "blank: no verb", "d": "pass"}
            self.assertEqual(matrix.load(path), {"p": {"e": {"t": want, "other": {"z": "pass"}}}})


if __name__ == "__main__":
    unittest.main()
