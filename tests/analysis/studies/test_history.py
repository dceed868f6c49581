"""A case over many sweeps: its values, its changes, and what else changed."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest

from hpcbench.analysis.cases.quantities import THROUGHPUT, TIME, Quantity
from hpcbench.analysis.stats.change_points import SHORTEST
from hpcbench.analysis.studies.history import case_histories, history_points, points, shifts

Row = dict[str, Any]
FACTS = {
    "framework_version": "2.5.1",
    "software": "python 3.11.2, numpy 2.4.6, torch 2.5.1",
    "hpcbench_version": "0.1.0",
    "git_commit": "f0cfe52",
    "kernel": "6.1.0",
    "cpu_model": "a CPU",
    "cpu_governor": "performance",
    "cpu_turbo": "off",
    "gpu_model": None,
    "outside_variables": "none",
    "nodes_used": "n1",
}


def row(sweep: int, time_s: float, **changes: Any) -> Row:
    """A run of the only case, with three measurements about this one."""
    return {
        "sweep": f"sweep-{sweep:02}",
        "started_at": f"2026-01-{sweep + 1:02}T00:00:00.000+00:00",
        "case": "case-0",
        "run": 1,
        "status": "completed",
        "error": None,
        "warnings": None,
        "interference": "clean",
        "items_per_step": 32,
        "work": (100, 200, "float32", "matmul highest"),
        "on_gpus": False,
        **FACTS,
        "times_s": np.array([0.9, 1.0, 1.2]) * time_s,
        **changes,
    }


def nights(change: int, ratio: float = 1.1, **new: Any) -> list[Row]:
    """Twenty sweeps of three runs, whose times differ by up to 0.4 %; from `change` on all is slower and new."""
    return [
        row(
            night,
            (1 + 0.001 * (7 * (night + number) % 5)) * (ratio if night >= change else 1),
            **(new if night >= change else {}),
        )
        for night in range(20)
        for number in range(3)
    ]


def told(rows: list[Row], drivers: dict[str, tuple[str, ...]] | None = None) -> Any:
    """The only change of the only case."""
    (history,) = case_histories(points(rows, TIME, intervals=False))
    (shift,) = shifts(history, TIME, drivers or {})
    return shift


def test_a_point_is_the_median_of_the_repetitions_medians() -> None:
    """Medians of 1, 2 and 4 s: by hand, 2 s, and 16 items a second."""
    rows = [row(0, time_s) for time_s in (1.0, 4.0, 2.0)]
    (time,) = points(rows, TIME, intervals=True)
    (rate,) = points(rows, THROUGHPUT, intervals=True)
    assert (time.value, rate.value, time.runs) == (2.0, 16.0, 3)
    assert time.low is not None
    assert time.high is not None
    assert (rate.low, rate.high) == (32 / time.high, 32 / time.low)
    (quick,) = points(rows, TIME, intervals=False)
    assert (quick.value, quick.low, quick.high) == (2.0, None, None)


def test_disturbed_and_failed_repetitions_do_not_speak_and_are_counted() -> None:
    rows = [row(0, 1.0), row(0, 9.0, interference="interference"), row(0, 7.0, status="failed", error="it broke")]
    (point,) = points(rows, TIME, intervals=False)
    assert (point.value, point.runs, point.interference_runs) == (1.0, 1, 1)
    assert (point.status, point.error) == ("failed", "it broke")


def test_a_case_that_never_completed_has_points_without_values_and_no_change() -> None:
    rows = [row(night, 1.0, status="timeout", times_s=np.array(())) for night in range(15)]
    (history,) = case_histories(points(rows, TIME, intervals=False))
    assert [point.value for point in history.points] == [None] * 15
    assert (history.compared, history.changes) == ([], [])


@pytest.mark.parametrize(("found", "value"), [([3.0, 1.0, 2.0], 2.0), ([math.nan, 4.0, None], 4.0)])
def test_a_metric_has_the_median_of_its_numbers(found: list[float | None], value: float) -> None:
    rows = [row(0, 1.0, metric_rate=number) for number in found]
    assert points(rows, Quantity("metric_rate", "rate", more_is_better=True), intervals=False)[0].value == value


def test_a_change_has_the_ratio_of_both_sides_and_its_sweeps() -> None:
    shift = told(nights(12))
    assert (shift.before.sweep, shift.after.sweep, shift.word) == ("sweep-11", "sweep-12", "slower")
    assert shift.ratio.estimate == pytest.approx(1.1, rel=0.003)
    assert shift.ratio.low < 1.1 < shift.ratio.high
    assert shift.also_changed == {}


@pytest.mark.parametrize(
    ("quantity", "word"),
    [
        (TIME, "slower"),
        (THROUGHPUT, "faster"),
        (Quantity("m", "m", more_is_better=True), "better"),
        (Quantity("m", "m", more_is_better=False), "worse"),
        (Quantity("m", "m", more_is_better=None), ""),
    ],
)
def test_the_word_depends_on_what_is_better(quantity: Quantity, word: str) -> None:
    (history,) = case_histories(points(nights(12), TIME, intervals=False))
    assert shifts(history, quantity, {})[0].word == word


def test_what_changed_beside_it_is_told_and_of_software_only_what_differs() -> None:
    software = "python 3.11.2, numpy 2.4.7, torch 2.6.0"
    new = {"framework_version": "2.6.0", "software": software, "kernel": "6.8.0", "git_commit": "abc"}
    assert told(nights(12, **new)).also_changed == {
        "numpy": ("2.4.6", "2.4.7"),
        "torch": ("2.5.1", "2.6.0"),
        "git_commit": ("f0cfe52", "abc"),
        "kernel": ("6.1.0", "6.8.0"),
    }


def test_a_version_that_no_package_tells_is_told_itself_and_so_is_a_package_that_came() -> None:
    new = {"framework_version": "2.6.0", "software": f"{FACTS['software']}, triton 3.0"}
    assert told(nights(12, **new)).also_changed == {"framework_version": ("2.5.1", "2.6.0"), "triton": ("none", "3.0")}


def test_what_changed_for_some_repetitions_only_or_is_not_known_before_is_not_told() -> None:
    rows = nights(12, cpu_governor="powersave", gpu_model="A100")
    for each in rows[::3]:
        each["cpu_governor"] = "performance"
    assert told(rows).also_changed == {}


def test_a_change_counts_the_values_next_to_it_whose_runs_all_had_interference() -> None:
    assert told(nights(8)).interference_runs == 0
    assert told(nights(8, interference="interference", interference_causes="cpu")).interference_runs == SHORTEST


def test_other_nodes_are_told_only_where_they_stay() -> None:
    assert told(nights(12, nodes_used="n2")).also_changed == {"nodes_used": ("n1", "n2")}
    wandering = [{**each, "nodes_used": f"n{place // 3 % 4}"} for place, each in enumerate(nights(13))]
    assert told(wandering).also_changed == {}


def test_the_driver_is_told_of_cases_on_gpus_only() -> None:
    drivers = {"sweep-11": ("550.54",), "sweep-12": ("570.86",)}
    assert told(nights(12), drivers).also_changed == {}
    on_gpus = [{**each, "on_gpus": True} for each in nights(12)]
    assert told(on_gpus, drivers).also_changed == {"driver": ("550.54", "570.86")}
    assert told(on_gpus, {}).also_changed == {}


def test_other_work_is_not_compared_with_that_of_the_latest_sweep() -> None:
    rows = nights(12)
    for each in rows[:9]:
        each["work"] = (100, 200, "float32", "TF32")
    (history,) = case_histories(points(rows, TIME, intervals=False))
    assert (len(history.points), len(history.compared), history.other_work) == (20, 17, 3)
    assert history.compared[history.changes[0].place].sweep == "sweep-12"


def test_a_value_that_is_not_above_zero_has_no_ratio_and_no_change() -> None:
    rows = [{**each, "metric_gain": -1.0 if place >= 36 else 1.0} for place, each in enumerate(nights(12))]
    (history,) = case_histories(points(rows, Quantity("metric_gain", "gain", more_is_better=True), intervals=False))
    assert (history.has_ratios, history.changes) == (False, [])


def test_the_points_of_a_plot() -> None:
    found = case_histories(points([row(0, 1.0), row(1, 2.0, status="failed")], TIME, intervals=True))
    frame = history_points(found, {("sweep-01", "case-0"): "2x slower"}, {"case-0": "batch_size=8"})
    assert list(frame) == ["sweep", "started_at", "case", "label", "value", "low", "high", "level", "is_change", "note"]
    assert frame["label"].tolist() == ["batch_size=8"] * 2
    assert frame["is_change"].tolist() == [False, True]
    assert frame["note"].dropna().tolist() == ["2x slower"]
    assert frame["value"].isna().tolist() == [False, True]


def test_a_level_is_the_median_between_two_changes() -> None:
    (history,) = case_histories(points(nights(8, 1.5), TIME, intervals=False))
    levels = history.levels
    place = history.changes[0].place
    for side in (history.compared[:place], history.compared[place:]):
        median = statistics.median(point.value for point in side if point.value is not None)
        assert [levels[point.sweep] for point in side] == [pytest.approx(median)] * len(side)


def test_no_points_make_an_empty_frame() -> None:
    assert history_points([], {}, {}).empty
