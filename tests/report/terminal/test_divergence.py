"""The divergence of trainings on a terminal, on the page, in JSON and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from hpcbench.analysis.results import Results
from hpcbench.analysis.training.divergence import Divergence, Recorded
from hpcbench.core.training.trajectory import Trajectory
from hpcbench.report.charts.curves import draw_divergence, figures_of_divergence
from hpcbench.report.charts.theme import ON_PAGE
from hpcbench.report.html.divergence import divergences_of
from hpcbench.report.terminal.divergence import print_divergences
from hpcbench.report.text.training.divergence import divergence_rows
from tests.report.synthetic_results import case, results

NORMS = [0.0, 1e-9, 2e-8, 5e-3]


def trained(*norms: Sequence[float], reason: str = "", stored: int = 9) -> Results:
    """Of two frameworks, of which the first has two runs, and of a pair per sequence of norms."""
    found = results(case(0.1, framework="jax", task="training"), case(0.2, framework="pytorch", task="training"))
    trajectory = Trajectory(weights=9, stored=stored)
    sweep = str(found.cases["sweep"].iat[0])
    first, second = Recorded(sweep, "case-0", 1, trajectory), Recorded(sweep, "case-1", 1, trajectory)
    pairs = [
        Divergence(first, other, reason, [0, 1, 2, 4], each, [0.0, 1e-9, 1e-8, 1e-3], [0.0, 0.0, 1e-8, 0.25])
        for each, other in zip(norms, (second, replace(first, run=2)), strict=False)
    ]
    return replace(found, divergences=tuple(pairs))


def printed(found: Results, capsys: pytest.CaptureFixture[Any], top: int = 10, width: int = 200) -> str:
    print_divergences(found, top, Console(width=width))
    return str(capsys.readouterr().out)


def test_a_row_has_the_differences_after_the_last_step(capsys: pytest.CaptureFixture[Any]) -> None:
    title, header, row, again = printed(trained(NORMS, [0.0] * 4), capsys).splitlines()
    assert title == "Divergence of trainings"
    assert "first step above rounding" in header
    assert row.split() == ["framework=jax", "framework=pytorch", "4", "5.00e-03", "1.00e-03", "2.50e-01", "4"]
    assert again.split()[:6] == ["framework=jax", "(run", "1)", "run", "2", "4"]
    assert again.split()[6] == "0"
    assert again.split()[-1] == "none"
    assert "... and 1 more" in printed(trained(NORMS, NORMS), capsys, top=1)
    assert printed(trained(), capsys) == ""


def test_a_narrow_terminal_wraps_the_names_and_keeps_the_first_step_above_rounding(
    capsys: pytest.CaptureFixture[Any],
) -> None:
    table = printed(trained(NORMS), capsys, width=52)
    words = table.split()
    assert {"steps", "relative", "above", "rounding"} <= set(words)
    assert not {"largest", "losses"} & set(words)
    assert words[-1] == "4"


def test_a_pair_that_was_not_compared_has_the_reason(capsys: pytest.CaptureFixture[Any]) -> None:
    assert "not compared (their initial weights differ)" in printed(
        trained(NORMS, reason="their initial weights differ"), capsys
    )
    assert "from a sample of 3 weights" in printed(trained(NORMS, stored=3), capsys)


def test_the_page_has_the_same_table() -> None:
    found = divergences_of(trained(NORMS))
    assert found is not None
    (table,) = found.tables
    assert table.title == "1 pair"
    assert table.places[0].cells[2:4] == ("4", "5.00e-03")
    assert divergences_of(trained()) is None


def test_json_has_all_steps() -> None:
    (row,) = divergence_rows(trained(NORMS))
    assert row["relative_l2"] == NORMS
    assert (row["first_case"], row["second_case"], row["first_step_above_rounding"]) == ("case-0", "case-1", 4)


def test_the_figure_has_a_line_per_pair_and_the_limit_of_rounding() -> None:
    (figure,) = figures_of_divergence(trained(NORMS, [0.0] * 4))
    assert figure.description.startswith("After the last step: framework=jax / framework=pytorch: 0.005; ")
    drawn = figure.draw(ON_PAGE).to_dict()
    limit, norms = (layer["data"]["name"] for layer in drawn["layer"])
    assert [row["step"] for row in drawn["datasets"][norms]] == [1, 2, 4]  # 0 is not on a logarithmic axis
    assert drawn["datasets"][limit][0]["value"] == pytest.approx(2 * 2.0**-24)
    assert list(figures_of_divergence(trained([0.0] * 4))) == []
    assert list(figures_of_divergence(trained(NORMS, reason="their initial weights differ"))) == []
    assert draw_divergence.__doc__
