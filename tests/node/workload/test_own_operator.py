"""The file of a user's operator: its arrays, sizes and counts, and messages for what is wrong in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcbench.models.operators import values
from hpcbench.node.errors import BadModel
from hpcbench.node.workload import own_operator

FILE = """
import numpy

WEIGHTS = ("w",)

def inputs(random, rows=3, columns=4):
    return {
        "x": random.standard_normal((rows, columns)),
        "w": numpy.ones(columns),
        "places": random.randint(0, rows, 5),
    }

def forward(x, w, places): ...

def reference(x, w, places):
    return (x * w)[places]

def terms(columns):
    return {"x": columns}

def flops(rows, columns, phase):
    return {"forward": 1, "both": 2}.get(phase, 0) * rows * columns

def bytes_moved(rows, dtype_bytes):
    return rows * dtype_bytes
"""


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def loaded(text: str = FILE, seed: int = 0, rank: int = 0, **sizes: Any) -> own_operator.OwnOperator:
        path = tmp_path / "ops" / "axpy.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return own_operator.load(str(path), sizes, seed, rank)

    return loaded


def test_inputs_are_the_arrays_and_its_arguments_the_sizes(load: Any) -> None:
    operator = load(rows=2)
    arrays = operator.arrays()
    assert {name: (array.shape, array.role) for name, array in arrays.items()} == {
        "x": ((2, 4), "input"),
        "w": ((4,), "weight"),
        "places": ((5,), "index"),
    }
    assert operator.output().shape == (5, 4)
    assert operator.known_phases() == ["forward", "backward_inputs", "backward_weights", "both"]
    assert (operator.gradients("both"), operator.gradients("backward_weights")) == (("x", "w"), ("w",))
    assert [operator.flops(phase) for phase in ("forward", "both")] == [8, 16]
    assert (operator.bytes_moved("forward", 4), operator.bytes_moved("both", 4)) == (8, 4 * (20 + 8 + 4 + 5 + 8 + 4))
    assert (operator.terms("x"), operator.terms("w"), operator.tolerance("float32")) == (4, 1, None)


def test_constants_of_the_right_types_are_accepted(load: Any) -> None:
    of_types = "WEIGHTS = ['x', 'w']\nTOLERANCE = {'bfloat16': numpy.float32(0.5), 'float32': 1}\n"
    operator = load(FILE + of_types + "def terms():\n    return numpy.int64(7)\n")
    assert operator.gradients("backward_weights") == ("x", "w")
    assert (operator.tolerance("bfloat16"), operator.tolerance("float16"), operator.terms("output")) == (0.5, None, 7)


def test_values_depend_on_seed_and_rank_and_are_exact_in_the_data_type(load: Any) -> None:
    arrays = [values.arrays_of(load(seed=seed, rank=rank), 0, 0, "bfloat16")["x"] for seed, rank in [(1, 0), (1, 1)]]
    assert not np.array_equal(*arrays)
    assert not (arrays[0].view(np.uint32) & 0xFFFF).any()
    assert np.array_equal(load(seed=1).values["x"], load(seed=1).values["x"])


def test_the_fingerprint_covers_the_file_and_its_sources(load: Any, tmp_path: Path) -> None:
    first, other = load().fingerprint(), load(FILE + "\n# changed").fingerprint()
    assert first == load().fingerprint() != other
    source = tmp_path / "ops" / "axpy.cpp"
    source.write_text("int one;")
    operator = load(FILE + 'SOURCES = ["axpy.cpp"]\n')
    before = operator.fingerprint()
    source.write_text("int two;")
    assert operator.fingerprint() != before
    source.unlink()
    with pytest.raises(BadModel, match=r"axpy\.py: SOURCES: .*axpy\.cpp"):
        operator.fingerprint()


@pytest.mark.parametrize(
    ("text", "sizes", "message"),
    [
        ("def inputs(): ...\ndef forward(): ...", {}, r"function 'reference' not found in .*axpy\.py"),
        (FILE, {"depth": 3}, r"'inputs' \(.*axpy\.py:6\) has no argument 'depth' for the size; it has: rows, columns"),
        (FILE, {"rows": -1}, r"axpy\.py:8: 'inputs' failed: ValueError"),
        (FILE.replace("import numpy", "import nmpy"), {}, r"axpy\.py:2: importing it failed: ModuleNotFoundError"),
        ("def inputs(:", {}, r"axpy\.py:1: importing it failed: SyntaxError"),
        (FILE.replace('"w": numpy.ones(columns)', '"w": [1.0]'), {}, "an object of type list for 'w', not an array"),
        (FILE.replace("return (x * w)[places]", "return 'text'"), {}, "returned an object of type str, not an array"),
        (
            FILE.replace("reference(x,", "reference(z, x,"),
            {},
            "has the unknown argument 'z'; known arguments: rows, columns,",
        ),
        (FILE.replace("(x * w)[places]", "x @ w[:2]"), {}, r"axpy\.py:16: 'reference' failed: ValueError: matmul"),
        (FILE.replace('"x": random', '"rows": random'), {}, "'rows' is a size and an array"),
        (
            FILE.replace("rows * dtype_bytes", "None"),
            {},
            r"'bytes_moved' \(.*axpy\.py:24\) returned None, not a number",
        ),
        (FILE.replace('("w",)', '"w"'), {}, r"axpy\.py: WEIGHTS is 'w', not a list .*; use WEIGHTS = \('w',\)"),
        (FILE.replace('("w",)', "(1,)"), {}, r"axpy\.py: WEIGHTS is \(1,\), not a list or tuple of names"),
        (FILE.replace('("w",)', '["v"]'), {}, r"axpy\.py: array 'v' of WEIGHTS not found; arrays are: x, w, places"),
        (FILE + "SOURCES = 'a.cpp'", {}, r"axpy\.py: SOURCES is 'a\.cpp', not a .*; use SOURCES = \('a\.cpp',\)"),
        (
            FILE + "TOLERANCE = '1e-3'",
            {},
            r"axpy\.py: TOLERANCE is '1e-3'; use a positive number, or a dictionary by data type",
        ),
        (FILE + "TOLERANCE = 0", {}, "TOLERANCE is 0; use a positive"),
        (FILE + "TOLERANCE = float('nan')", {}, "TOLERANCE is nan; use a positive"),
        (FILE + "TOLERANCE = {'float32': -1}", {}, "TOLERANCE is {'float32': -1}; use a positive"),
        (FILE + "TOLERANCE = {'single': 1e-3}", {}, r"by data type \(float32, bfloat16, float16, float64\)"),
        (
            FILE.replace("randint(0, rows, 5)", "randint(0, rows, 5) + 2**31"),
            {},
            "integers for 'places' that do not fit into 32 bits",
        ),
        (
            FILE.replace("randint(0, rows, 5)", "randint(0, rows, 5) - 2**40"),
            {},
            "integers for 'places' that do not fit into 32 bits",
        ),
        (
            FILE,
            {"columns": 0},
            r"'inputs' \(.*axpy\.py:6\) returned an empty array \(shape \(3, 0\)\) for 'x'",
        ),
        (
            FILE.replace("(x * w)[places]", "x[:, :0]"),
            {},
            r"'reference' \(.*\) returned an empty array \(shape \(3, 0\)\)",
        ),
    ],
)
def test_errors_name_the_file_and_the_line(load: Any, text: str, sizes: dict[str, Any], message: str) -> None:
    def use() -> None:
        operator = load(text, **sizes)
        operator.output()
        operator.bytes_moved("forward", 4)

    with pytest.raises(BadModel, match=message):
        use()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadModel, match=r"'none\.py' not found in "):
        own_operator.load("none.py", {}, 0, 0)
