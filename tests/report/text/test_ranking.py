"""The columns that identify the cases of a ranking."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from hpcbench.models.operators.catalog import sizes_of
from hpcbench.report.text.ranking import columns_in_words
from hpcbench.report.text.ranking_notes import ranking_notes
from tests.report.synthetic_results import case, results


def sizes_in_table(*cases: tuple[str | None, dict[str, object] | None]) -> list[str]:
    """Return the cells of the column `sizes`; records lack the sizes that are defaults."""
    rows = pd.DataFrame(
        {
            "operator": [operator for operator, _ in cases],
            "sizes": [None if sizes is None else json.dumps(sizes) for _, sizes in cases],
        }
    )
    (column,) = columns_in_words(rows, ["sizes"], [])
    return list(column.cells)


def test_a_size_that_one_row_of_an_operator_has_is_in_all_of_its_rows() -> None:
    n, c_in = (sizes_of("conv2d")[name] for name in ("n", "c_in"))
    found = sizes_in_table(("conv2d", {"n": 3}), ("conv2d", {"c_in": 5}), ("conv2d", {}), ("gemm", {"m": 7}))
    assert found == [f"c_in={c_in} n=3", f"c_in=5 n={n}", f"c_in={c_in} n={n}", "m=7"]


def test_operators_without_known_defaults_and_rows_of_networks_get_no_sizes() -> None:
    found = sizes_in_table(("mine.py", {"a": 1}), ("mine.py", {"b": 2}), (None, None), ("relu", {}))
    assert found == ["a=1", "b=2", "-", "default sizes"]


@pytest.mark.parametrize(("runs", "spread", "few"), [(2, 4.0, True), (6, 20.0, False)])
def test_a_ci_that_is_shown_as_unknown_has_a_reason(runs: int, spread: float, few: bool) -> None:
    wide = results(case(0.1, batch_size=8), case(0.2, batch_size=16), repetitions=runs, between=spread)
    notes = "\n".join(ranking_notes(wide))
    assert notes.startswith("95 % CI unknown for 2 cases: its limits differ by more than a factor of 1,000.")
    remedy = "With fewer than 6 runs, the CI is Student's t on the logarithms of the medians of the runs: set "
    assert (remedy in notes) == few


def test_a_ci_with_limits_needs_no_reason() -> None:
    assert not list(ranking_notes(results(case(0.1, batch_size=8), case(0.2, batch_size=16), repetitions=2)))
