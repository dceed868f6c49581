"""Figures of logged values."""

from __future__ import annotations

import pandas as pd

from hpcbench.report.charts import curves
from hpcbench.report.charts.theme import ON_PAGE


def frame(*names: str, points: int = 3, axis: str = "step") -> pd.DataFrame:
    rows = [(case, name, axis, step, 1 / (1 + step)) for name in names for case in ("a", "b") for step in range(points)]
    return pd.DataFrame(rows, columns=["case", "name", "axis", "step", "value"])


def test_each_logged_name_has_a_figure_with_a_line_per_case() -> None:
    (figure,) = curves.figures_of_curves(frame("val_loss"))
    assert figure.title == "Val loss over steps"
    assert figure.description == "Last values: a: 0.3333; b: 0.3333."
    assert figure.caption == "Values logged by the program: the first run of 2 cases."
    drawn = curves.draw(frame("val_loss"), ON_PAGE).to_dict()
    assert drawn["mark"]["type"] == "line"
    assert drawn["encoding"]["color"]["scale"]["domain"] == ["a", "b"]


def test_curves_of_trainings_are_over_epochs() -> None:
    (figure,) = curves.figures_of_curves(frame("training loss", axis="epoch"))
    assert figure.title == "Training loss over epochs"
    assert figure.caption == "Values of each epoch: the first run of 2 cases."
    assert curves.draw(frame("training loss", axis="epoch"), ON_PAGE).to_dict()["encoding"]["x"]["title"] == "epoch"


def test_few_points_are_no_curve_and_many_names_are_counted() -> None:
    assert list(curves.figures_of_curves(frame("loss", points=2))) == []
    figures = list(curves.figures_of_curves(frame(*(f"m{number}" for number in range(curves.MAX_FIGURES + 1)))))
    assert len(figures) == curves.MAX_FIGURES
    assert figures[-1].caption.endswith("The table has the last values of 1 more name.")


def test_an_epoch_is_a_whole_number() -> None:
    drawn = curves.draw(frame("accuracy", axis="epoch"), ON_PAGE).to_dict()
    assert drawn["encoding"]["x"]["axis"]["tickMinStep"] == 1
