"""Accuracy after equal epochs, on a terminal, on the page and as a figure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rich.console import Console

from hpcbench.analysis.cases.observations import Observations
from hpcbench.analysis.results import Results
from hpcbench.report.charts.curves import MAX_ARMS, draw, figures_of_equal_epochs
from hpcbench.report.charts.resources import figures_of_resources
from hpcbench.report.charts.theme import ON_PAGE
from hpcbench.report.export.report_json import report_json
from hpcbench.report.html.training_tables import equal_epochs_of
from hpcbench.report.terminal.training_tables import print_training_tables
from hpcbench.report.text.training.equal_epochs import curves_of
from hpcbench.report.text.training.equal_epochs import equal_epochs_of as rows_of
from tests.analysis.training.test_equal_epochs import ONE, TWO, trained


def two_seeds() -> Results:
    return trained((ONE, [[0.5, 0.8, 0.89], [0.5, 0.8, 0.89]]), (TWO, [[0.4, 0.6, 0.7], [0.4, 0.6, 0.71]]))


def test_the_terminal_has_a_row_per_comparison(capsys: pytest.CaptureFixture[Any]) -> None:
    print_training_tables(two_seeds(), 10, Console(width=200))
    title, header, row = str(capsys.readouterr().out).splitlines()
    assert title == "Accuracy after equal epochs"
    assert header.split()[:6] == ["strategy", "ranks", "batch", "size", "equal", "epoch"]
    assert row.split()[:9] == ["ddp", "2", "32", "batch", "per", "rank", "3", "0.7050", "0.8900"]
    assert "-0.1850" in row
    assert "2 seeds" in row
    assert "missed" in row.split()  # two ranks never reached 0.9


def test_the_page_has_the_same_table() -> None:
    found = equal_epochs_of(two_seeds())
    assert found is not None
    (table,) = found.tables
    assert table.title == "1 comparison"
    assert table.places[0].cells[0] == "ddp"
    assert equal_epochs_of(trained((TWO, [[0.5]]))) is None


def test_the_figure_has_a_line_per_arm() -> None:
    found = two_seeds()
    curves = curves_of(found, rows_of(found))
    (figure,) = figures_of_equal_epochs(curves)
    assert figure.description == "Last values: single, 1 rank x 32: 0.89; ddp, 2 ranks x 32: 0.705."
    drawn = draw(curves, ON_PAGE).to_dict()
    assert drawn["encoding"]["color"]["scale"]["domain"] == ["single, 1 rank x 32", "ddp, 2 ranks x 32"]
    many = [({**TWO, "averaging_period": count}, [[0.1, 0.2, 0.3]]) for count in range(MAX_ARMS + 1)]
    found = trained((ONE, [[0.5, 0.8, 0.85]]), *many)
    (figure,) = figures_of_equal_epochs(curves_of(found, rows_of(found)))
    assert figure.caption.endswith(f"The figure shows the first {MAX_ARMS} of {MAX_ARMS + 2} trainings.")


def test_trainings_with_the_same_label_are_lines_of_their_own_with_what_tells_them_apart() -> None:
    arms = [({**each, "environment": name}, [[0.5, accuracy, 0.8]]) for name, accuracy in (("a", 0.6), ("b", 0.7))
            for each in (ONE, TWO)]  # fmt: skip
    found = trained(*arms)
    curves = curves_of(found, rows_of(found))
    assert curves[curves["step"].eq(2)].set_index("case")["value"].to_dict() == {
        "single, 1 rank x 32, environment a": 0.6,
        "ddp, 2 ranks x 32, environment a": 0.6,
        "single, 1 rank x 32, environment b": 0.7,
        "ddp, 2 ranks x 32, environment b": 0.7,
    }


def test_the_line_of_one_rank_is_that_of_the_longest_comparison() -> None:
    quick = {**TWO, "strategy": "local_sgd"}
    found = trained((ONE, [[0.5, 0.6, 0.7]]), (quick, [[0.6, 0.9]]), (TWO, [[0.5, 0.6, 0.7]]))
    curves = curves_of(found, rows_of(found))
    assert curves.groupby("case", sort=False)["step"].max().to_dict() == {
        "single, 1 rank x 32": 3,
        "local_sgd, 2 ranks x 32": 1,
        "ddp, 2 ranks x 32": 3,
    }


def test_json_has_the_comparisons() -> None:
    document = json.loads(report_json(two_seeds(), [], []))
    (row,) = document["equal_epochs"]
    assert row["cases"] == ["case-2", "case-3"]
    assert row["difference"] == pytest.approx(-0.185)
    assert json.loads(report_json(trained((TWO, [[0.5]])), [], []))["equal_epochs"] == []


def test_a_narrow_terminal_keeps_strategy_difference_and_verdict(capsys: pytest.CaptureFixture[Any]) -> None:
    print_training_tables(two_seeds(), 10, Console(width=100))
    _, *header, row = str(capsys.readouterr().out).splitlines()
    text = " ".join(header)
    assert all(name in text for name in ("strategy", "difference", "verdict"))
    assert "target" not in text
    assert row.split()[0] == "ddp"


def test_without_a_ci_there_is_no_column_of_it(capsys: pytest.CaptureFixture[Any]) -> None:
    print_training_tables(trained((ONE, [[0.5, 0.9]]), (TWO, [[0.4, 0.7]])), 10, Console(width=200))
    _, header, row = str(capsys.readouterr().out).splitlines()
    assert "95 % CI" not in header
    assert "1 run  " in row
    assert "inconclusive (one seed)" in row


def test_the_figure_is_one_of_the_report() -> None:
    assert "equal-epochs" in [figure.id for figure in figures_of_resources(two_seeds(), Observations())]
    alone = figures_of_resources(trained((TWO, [[0.5, 0.6, 0.7]])), Observations())
    assert "equal-epochs" not in [figure.id for figure in alone]
