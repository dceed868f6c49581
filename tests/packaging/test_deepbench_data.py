"""DeepBench's problem sizes in configs/data/deepbench."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from hpcbench.config.matrix.csv_file import CsvTable, parse_csv, read_text
from hpcbench.config.matrix.row_filter import matching_rows
from hpcbench.config.yaml_document import plain_value
from hpcbench.models.operators.catalog import operator_of
from hpcbench.models.operators.operator import Operator
from hpcbench.models.operators.products import SparseGemm
from hpcbench.util.package_data import shipped
from tests.conftest import CommandLine

FOLDER = shipped("configs") / "data" / "deepbench"
REPOSITORY = Path(__file__).parents[2]
Row = dict[str, str]
SETS = ("training_set", "inference_server_set", "inference_device_set")
COUNTS = {
    "conv": dict(zip(SETS, (94, 107, 17), strict=True)),
    "gemm": dict(zip(SETS, (160, 75, 13), strict=True)),
    "rnn": dict(zip(SETS, (53, 69, 3), strict=True)),
    "sparse_gemm": dict(zip(SETS[1:], (24, 8), strict=True)),
    "all_reduce": {"": 7},
}
SIZES = {
    "conv": "w h c_in n c_out filter_w filter_h pad_w pad_h stride_w stride_h",
    "gemm": "m n k a_trans b_trans",
    "rnn": "hidden batch timesteps",
    "sparse_gemm": "m n k sparsity",
    "all_reduce": "floats",
}
PER_WEIGHT = {"rnn_cell": 2, "lstm_cell": 8, "gru_cell": 6}


def rows_of(name: str) -> list[Row]:
    with (FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def size(row: Row, name: str) -> int:
    return int(row[f"sizes.{name}"])


def of_operator(row: Row) -> Operator:
    sizes = {name.removeprefix("sizes."): plain_value(cell) for name, cell in row.items() if name.startswith("sizes.")}
    return operator_of(row["operator"], sizes)


def product(row: Row, *names: str) -> int:
    result = 1
    for name in names:
        result *= size(row, name)
    return result


def of_gemm(row: Row) -> Decimal:
    return Decimal(2 * product(row, "m", "n", "k"))


def of_sparse_gemm(row: Row) -> Decimal:
    return of_gemm(row) * (1 - Decimal(row["sizes.sparsity"]))


def of_conv(row: Row) -> Decimal:
    width, height = (
        (size(row, side) + 2 * size(row, f"pad_{side}") - size(row, f"filter_{side}")) // size(row, f"stride_{side}")
        + 1
        for side in "wh"
    )
    return Decimal(2 * product(row, "n", "c_out", "c_in", "filter_w", "filter_h") * width * height)


def of_rnn(row: Row) -> Decimal:
    return Decimal(PER_WEIGHT[row["operator"]] * product(row, "hidden", "hidden", "batch", "timesteps"))


FLOPS: dict[str, Callable[[Row], Decimal]] = {
    "gemm": of_gemm,
    "sparse_gemm": of_sparse_gemm,
    "conv": of_conv,
    "rnn": of_rnn,
}


@pytest.mark.parametrize("name", COUNTS)
def test_each_list_has_all_cases_and_sizes(name: str) -> None:
    rows = rows_of(name)
    assert Counter(row.get("set", "") for row in rows) == COUNTS[name]
    sizes = [column.removeprefix("sizes.") for column in rows[0] if column.startswith("sizes.")]
    assert sizes == SIZES[name].split()
    others = {column for column in rows[0] if not column.startswith("sizes.")}
    assert others <= {"set", "gflop", "operator"}


def test_there_are_630_cases() -> None:
    assert sum(len(rows_of(name)) for name in COUNTS) == 630


@pytest.mark.parametrize("name", FLOPS)
def test_the_operations_are_those_of_the_sizes(name: str) -> None:
    found = [Decimal(row["gflop"]) * 10**9 for row in rows_of(name)]
    assert found == [FLOPS[name](row) for row in rows_of(name)]


@pytest.mark.parametrize("name", FLOPS)
def test_each_row_is_an_operator_with_the_operations_of_the_row(name: str) -> None:
    for row in rows_of(name):
        operator = of_operator(row)
        operator.check_phase("forward")
        rounding = size(row, "n") if isinstance(operator, SparseGemm) else 0  # half of a nonzero element of A
        assert abs(operator.forward_flops() - Decimal(row["gflop"]) * 10**9) <= rounding, row


def test_rows_of_the_training_lists_have_the_phases_of_training() -> None:
    rows = [row for name in FLOPS for row in rows_of(name) if row["set"] == "training_set"]
    assert len(rows) == 307
    assert all({"backward_inputs", "backward_weights"} <= {*of_operator(row).known_phases()} for row in rows)


@pytest.mark.parametrize(("name", "cases"), [("deepbench-small", 283), ("deepbench", 953)])
def test_the_experiments_plan_all_rows(name: str, cases: int, invoke: CommandLine) -> None:
    done = invoke("sweep", name, "--local", "--dry-run", "--json")
    found = json.loads(done.stdout)["cases"]
    assert len(found) == cases
    assert "ignored" not in done.stderr
    phases = {(case["parameters"]["operator"], case["parameters"]["phase"]) for case in found}
    of_training = {
        (each, phase) for each in ("conv2d", *PER_WEIGHT) for phase in ("backward_inputs", "backward_weights")
    }
    of_training |= {(each, "both") for each in PER_WEIGHT}
    forward = {(each, "forward") for each in ("conv2d", "gemm", "sparse_gemm", *PER_WEIGHT)}
    assert phases == (forward | of_training if name == "deepbench" else forward)


def test_values_are_those_of_the_source() -> None:
    assert rows_of("gemm")[0] == {
        "set": "training_set",
        "operator": "gemm",
        "sizes.m": "1760",
        "sizes.n": "16",
        "sizes.k": "1760",
        "sizes.a_trans": "false",
        "sizes.b_trans": "false",
        "gflop": "0.0991232",
    }
    assert {row["sizes.m"] for row in rows_of("sparse_gemm")} >= {"7860", "7680"}
    assert Counter(row["operator"] for row in rows_of("rnn")).keys() == PER_WEIGHT.keys()
    assert [row["sizes.floats"] for row in rows_of("all_reduce")][::6] == ["100000", "64500000"]


@pytest.mark.parametrize(("name", "small"), [("gemm", 107), ("conv", 169), ("rnn", 23), ("sparse_gemm", 16)])
def test_small_cases_can_be_selected(name: str, small: int) -> None:
    table = CsvTable.of({name: parse_csv(read_text(FOLDER / f"{name}.csv"))})
    assert len(matching_rows(table, "{{ gflop < 2 }}")) == small


def test_the_license_and_the_notice_are_next_to_the_lists() -> None:
    assert (FOLDER / "LICENSE").read_text("utf-8") == (REPOSITORY / "LICENSE").read_text("utf-8")
    readme = (FOLDER / "README.md").read_text("utf-8")
    assert all(each in readme for each in ("Copyright Baidu Research", "Apache License, Version 2.0", "da81ba7"))


def test_init_writes_the_lists_with_their_license(invoke: CommandLine) -> None:
    invoke("init", "study", env={"PATH": "/nowhere"})
    copies = invoke.workspace / "study" / "configs" / "data" / "deepbench"
    names = {f"{name}.csv" for name in COUNTS} | {"README.md", "LICENSE"}
    assert {file.name for file in copies.iterdir()} == names
    assert all((copies / name).read_bytes() == (FOLDER / name).read_bytes() for name in names)
