"""The table of an evaluation: a line per test, choice and reason."""

from __future__ import annotations

import io

import pandas as pd
from rich.console import Console

from hpcbench.predict.basis import basis_of
from hpcbench.predict.evaluation.choices import Choice
from hpcbench.predict.evaluation.evaluate import Evaluation
from hpcbench.predict.evaluation.scores import Score
from hpcbench.predict.sets.data_set import DataSet
from hpcbench.report.predictor.scores_table import print_evaluation

NAN = float("nan")


def printed(result: Evaluation) -> list[str]:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    print_evaluation(result, console)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def evaluation(scores: list[Score], choices: list[Choice], reasons: dict[str, int]) -> Evaluation:
    return Evaluation(pd.DataFrame(), scores, choices, basis_of(DataSet()), reasons)


def test_a_line_has_the_figures_of_a_test_and_dashes_for_unknown_ones() -> None:
    whole = Score("a.csv", "time_ms", "all", "seen NVIDIA", 1200, 10.04, 7.0, -1.5, 0.9, NAN, 0.5, 3)
    part = Score("a.csv", "time_ms", "training", "seen NVIDIA", 0, NAN, NAN, NAN, NAN, NAN, NAN, 1)
    header, first, second = printed(evaluation([whole, part], [], {}))
    assert " ".join(header.split()) == "test devices n MAPE % median % bias % coverage worst width refused"
    assert " ".join(first.split()) == "a.csv time_ms seen NVIDIA 1,200 10.0 7.0 -1.5 0.90 - 0.50 3"
    assert " ".join(second.split()) == "training seen NVIDIA 0 - - - - - - 1"


def test_choices_and_reasons_follow() -> None:
    choice = Choice("a.csv", "energy_j", "best clock", 24, 0.75, 1.25, 6.0)
    lines = printed(evaluation([], [choice], {f"reason {number}": 2 for number in range(12)}))
    assert lines[0] == "no targets to compare: predictions only"
    assert " ".join(lines[3].split()) == "a.csv energy_j: best clock 24 75.0 1.2 6.0"
    assert lines[5] == "refused: 2 predictions: reason 0"
    assert lines[-1] == "refused: 2 further reasons"
    undescribed = printed(evaluation([], [], {"description of device 'X' not found": 2}))
    assert undescribed[-1].startswith("to describe devices: ")
