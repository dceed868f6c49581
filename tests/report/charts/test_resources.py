"""What cases take, as charts: time against energy and price, rooflines; that each can be drawn at all."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import vl_convert

from hpcbench.analysis.cases.observations import Observations
from hpcbench.analysis.results import Results
from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.report.charts import cases, encoding, resources, roofline, trade_off
from hpcbench.report.charts.components import Figure
from hpcbench.report.charts.figures import chosen, figures_of
from hpcbench.report.charts.resources import figures_of_resources
from hpcbench.report.charts.theme import AS_FILE, IN_PAPER, ON_PAGE, PlotSize
from hpcbench.report.export.figure_files import specification
from tests.report import vega_lite
from tests.report.charts.test_over_time import power, samples, titles
from tests.report.made import repetitions_of, results
from tests.report.synthetic_results import case
from tests.report.synthetic_results import results as made_up

pytestmark = pytest.mark.integration

LONG = "a name that goes on and on " * 8
PLACES = {"file": AS_FILE, "paper": IN_PAPER, "page": ON_PAGE}
JOULES = {"energy_measured_j": 12.0, "energy_measured_j_per_item": 2.0, "energy_scope": "cpu"}
BY = ("numpy", "n1", "2026-11-01T00:00:00+00:00")
PEAKS = [
    MachinePeaks(
        "a CPU",
        8,
        None,
        tuple(Peak("cpu", cpus, "float32", 5e10 * cpus, 8e9 * cpus**0.6, *BY) for cpus in (1, 2, 4, 8)),
    )
]


@cache
def metered(*names: str, threads: tuple[int, ...] = (1, 2, 4, 8), **changes: Any) -> Results:
    """Cases of some frameworks and threads, with energy and prices; more threads are faster and take more power."""
    cases = []
    for number, (framework, count) in enumerate(product(names or ("pytorch", "jax", "mxnet"), threads)):
        time = 0.04 / count**0.8 * (1 + 0.2 * (number // len(threads)))
        measured = {
            "energy_measured_j": 12.0,
            "energy_measured_j_per_item": time * (40 + 15 * count) / 32,
            "energy_scope": "cpu and memory",
            "currency": "EUR",
            "price_per_hour": 0.05 * count,
            "flops_per_item": 10**7,
            "model_options": "{}",
        }
        own = {"framework": framework, "intra_op_threads": count, "cpus_per_task": count}
        rows = repetitions_of(number, time, **{**measured, **own, **changes})
        noisy = np.random.default_rng(number).normal(1, 0.03, len(rows))
        for row, part in zip(rows, noisy, strict=True):
            row["energy_measured_j_per_item"] *= part
        cases.append(rows)
    return results(*cases)


def figures(found: Results, observed: Observations | None = None) -> dict[str, Figure]:
    return {figure.id: figure for figure in figures_of_resources(found, observed or Observations(peaks=PEAKS))}


@cache
def usual() -> dict[str, Figure]:
    return figures(metered())


def picture_of(spec: dict[str, Any]) -> str:
    svg = vl_convert.vegalite_to_svg(spec)
    assert ElementTree.fromstring(svg).tag.endswith("svg")  # noqa: S314 - of our own making
    return svg


def rows(figure: Figure) -> list[pd.DataFrame]:
    return [pd.DataFrame(data) for data in specification(figure, AS_FILE)["datasets"].values()]


ALL = {
    "time-energy-per-million-items-1": ("time per million items (s)", "energy per million items (kWh)"),
    "time-price-per-million-items-1": ("time per million items (s)", "price per million items (EUR)"),
    "energy-j-per-item-1": ("intra op threads", "energy per item (mJ)"),
    "energy-delay-j-s-per-item2-1": ("intra op threads", "energy-delay product per item (uJ s)"),
    "roofline": ("arithmetic intensity (FLOP/byte)", "achieved rate of one node or GPU (GFLOP/s)"),
}


def test_of_what_was_metered_and_paid_there_is_a_figure_each() -> None:
    assert list(usual()) == list(ALL)


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("name", ALL)
def test_each_chart_has_units_on_its_axes(name: str, place: PlotSize) -> None:
    spec = specification(usual()[name], place)
    vega_lite.check(spec)
    found = dict(titles(spec))
    assert (found["x"], found["y"]) == ALL[name]


@pytest.mark.parametrize("name", ALL)
def test_each_chart_is_drawn(name: str) -> None:
    svg = picture_of(specification(usual()[name], AS_FILE))
    assert all(title in svg for title in ALL[name])


def test_what_is_not_known_has_no_figure() -> None:
    assert figures(metered(), Observations()).keys() == ALL.keys() - {"roofline"}
    assert figures(metered(price_per_hour=None, currency=None), Observations()).keys() == ALL.keys() - {
        "roofline",
        "time-price-per-million-items-1",
    }
    unmetered = metered(energy_measured_j=np.nan, energy_measured_j_per_item=np.nan)
    assert list(figures(unmetered, Observations())) == ["time-price-per-million-items-1"]
    assert figures(results(repetitions_of(0, 0.1, status="failed"))) == {}


def test_of_a_case_alone_there_is_nothing_to_trade() -> None:
    assert list(figures(metered("pytorch", threads=(1,)), Observations())) == []


def test_names_are_drawn_short_and_cases_stay_different() -> None:
    found = metered(threads=(1, 2))
    notes = [f"{LONG}{number}" for number in range(len(found.cases))]
    found = replace(found, cases=found.cases.assign(param_note=notes), shown=["param_note"])
    for name, figure in figures(found).items():
        spec = specification(figure, AS_FILE)
        assert LONG in spec.pop("description"), name
        assert LONG not in json.dumps(spec), name
    shown = max(rows(figures(found)["time-price-per-million-items-1"]), key=len)["name"]
    assert shown.is_unique
    assert shown.str.len().max() < 60


def test_the_front_has_names_and_what_is_off_it_only_by_noise_is_told_apart() -> None:
    found = metered()
    figure = figures(found)["time-energy-per-million-items-1"]
    on_front = found.cases["pareto"].eq("front").sum()
    assert f"{on_front} of 12 cases are on the Pareto front" in figure.caption
    drawn = max(rows(figure), key=len)
    assert set(drawn["standing"]) <= set(trade_off.STANDINGS.values())
    named = drawn[drawn["named"]]
    assert set(named["standing"]) == {"on the front"}
    assert set(named["label"]) <= {"1", "2", "4", "8"}, "all of them are of pytorch"
    assert "case, by its intra op threads" in json.dumps(specification(figure, AS_FILE))


def test_names_on_the_front_do_not_cover_each_other() -> None:
    found = metered("pytorch", threads=tuple(range(1, 41)))
    drawn = max(rows(figures(found)["time-price-per-million-items-1"]), key=len)
    assert 5 < drawn["named"].sum() <= 20
    heights = np.sort(drawn.loc[drawn["named"], "value"])
    assert np.diff(np.log(heights)).min() > 0 < np.diff(heights).min()


def test_stairs_are_drawn_of_two_quantities_alone() -> None:
    three = usual()["time-energy-per-million-items-1"]
    two = figures(metered(price_per_hour=None, currency=None))["time-energy-per-million-items-1"]
    assert "step-after" not in str(specification(three, AS_FILE))
    assert "step-after" in str(specification(two, AS_FILE))


def test_of_very_many_cases_the_best_are_drawn_and_all_of_the_front(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (encoding, trade_off, roofline):
        monkeypatch.setattr(module, "MAX_POINTS", 8)
    found = metered()
    made = figures(found)
    assert "energy-j-per-item-1" not in made
    drawn = max(rows(made["time-price-per-million-items-1"]), key=len)
    assert len(drawn) == 8
    assert drawn["standing"].eq("on the front").sum() == found.cases["pareto"].eq("front").sum() > 0
    assert [len(each) for each in rows(made["roofline"]) if "share" in each] == [8]


def test_the_roofs_are_those_below_which_cases_stand() -> None:
    found = metered(threads=(1, 2))
    drawn = next(each for each in rows(figures(found)["roofline"]) if "roof" in each)
    assert set(drawn["roof"]) == {"1 core: 50 GFLOP/s", "2 cores: 100 GFLOP/s"}


def test_cases_of_which_no_roof_is_known_are_no_figure() -> None:
    assert "roofline" not in figures(metered(cpu_model="another CPU"))


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_the_best_case_over_time(place: PlotSize) -> None:
    windows = pd.DataFrame([(1, 1.0, 2.5, "cpu, memory")], columns=["run", "start_s", "end_s", "causes"])
    observed = Observations("nodes=1", samples(2, 50), windows, power(2, 1, ["gpu0", "cpu0"]))
    made = figures(metered(), observed)
    assert made["measurements-over-time"].title == "Measurements over time: nodes=1"
    assert "Shaded: windows with interference; a run with over 20 % of them" in made["measurements-over-time"].caption
    for name, title in (("measurements-over-time", "step time (ms)"), ("power-over-time", "power (W)")):
        spec = specification(made[name], place)
        vega_lite.check(spec)
        assert ("y", title) in titles(spec)


def test_few_samples_show_nothing_over_time() -> None:
    few = Observations("nodes=1", samples(1, resources.MIN_SAMPLES - 1))
    assert "measurements-over-time" not in figures(metered(), few)


def test_of_very_many_cases_the_best_are_drawn_as_parallel_coordinates(monkeypatch: pytest.MonkeyPatch) -> None:
    found = metered(threads=(1, 2))
    assert "over" not in figures_of(found)[0].title
    monkeypatch.setattr(encoding, "MAX_POINTS", 5)
    assert figures_of(found)[0].title == "Throughput over 2 axes"
    assert "step" not in json.dumps(specification(figures_of(found)[0], AS_FILE))


def test_a_plot_that_was_asked_for_has_no_more_points_than_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "MAX_POINTS", 5)
    (figure,) = chosen(metered(), "x=intra_op_threads,color=framework")
    assert figure.caption.endswith("The figure shows the best 5 of 12 cases.")
    assert [len(each) for each in rows(figure)] == [5]


def test_kinds_of_work_whose_long_names_begin_alike_have_figures_of_their_own() -> None:
    cases = [
        case(
            0.1 * n,
            math_mode=mode,
            model="m" * 60,
            intra_op_threads=n,
            price_per_hour=1.0 * n**2,
            currency="EUR",
            **JOULES,
        )
        for mode in ("highest", "medium")
        for n in (1, 2)
    ]
    made = figures_of_resources(made_up(*cases), Observations())
    assert len(made) > 2
    assert len({figure.id for figure in made}) == len(made)
