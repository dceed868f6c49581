"""What `hpcbench predictor show` prints: tables that fit a terminal, errors and flaws."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from hpcbench.predict.basis import Basis
from hpcbench.predict.fleet import fit
from hpcbench.predict.sets.data_set import DataSet
from hpcbench.predict.typical_errors import TypicalError
from hpcbench.report.predictor.basis_text import print_basis

ROWS = {
    "gemm": {"V100": 100_000, "T4": 2000},
    "batched_gemm": {"V100": 3},
    **{f"kind_{number}": {"T4": 1} for number in range(20)},
    "image network": {"RTX 3090": 5000},
    "listed network": {"V100": 33},
}
KINDS = tuple(name for name in ROWS if "network" not in name)


def printed(basis: Basis, *errors: TypicalError) -> str:
    console = Console(file=io.StringIO(), width=80)
    print_basis(replace(fit(DataSet()), basis=basis, typical_errors=errors), console)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_tables_of_many_kinds_fit_a_terminal() -> None:
    text = printed(Basis("ab" * 32, ROWS, KINDS, ("resnet50",), ("x.csv: 3 rows left out",)))
    lines = text.splitlines()
    assert max(len(line) for line in lines[2:]) <= 80
    assert lines[0] == f"data: 107,056 rows, SHA-256 {'ab' * 32}"
    rows = [line.split() for line in lines]
    assert ["V100", "100,003", "-", "33"] in rows
    assert ["RTX", "3090", "-", "5,000", "-"] in rows
    assert ["batched", "gemm", "3", "1"] in rows
    assert ["gemm", "102,000", "2"] in rows
    assert lines[-1] == "flaw: x.csv: 3 rows left out"


def test_typical_errors_are_printed_by_kind() -> None:
    error = TypicalError("time_s", "gemm", (9.6, 10.6), (40.0, 81.4))
    text = printed(Basis("ab" * 32, {"gemm": {"T4": 2}}, ("gemm",), (), ()), error)
    assert ["time:", "gemm", "-10", "to", "+11", "%", "-40", "to", "+81", "%"] in [
        line.split() for line in text.splitlines()
    ]


def test_without_data_it_says_so() -> None:
    text = printed(Basis("", {}, (), (), ()))
    assert "data: none (predictions are priors of hpcbench, from data sheets)" in text
    assert "rows of device" not in text
