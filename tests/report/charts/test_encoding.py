"""Which column becomes what: chosen by the axes of the matrix, or said with --plot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.cases.quantities import MEMORY, QUANTITIES, THROUGHPUT, TIME, Quantity
from hpcbench.analysis.results import Workload
from hpcbench.config.names import USER_PARAMETER
from hpcbench.errors import UserError
from hpcbench.report.charts.components import is_geometric, is_numeric
from hpcbench.report.charts.encoding import MAX_COLOURS, MAX_FACETS, MAX_NAMES, Encoding, choose, parse
from hpcbench.report.charts.figures import chosen
from tests.report.synthetic_results import METRIC, case, results, shape, threads


def crossed(**axes: list[Any]) -> Workload:
    """The cases of a full matrix."""
    frame = pd.MultiIndex.from_product(list(axes.values()), names=list(axes)).to_frame(index=False).astype(object)
    return Workload("", "", frame, list(axes))


def chosen_of(**axes: list[Any]) -> tuple[str | None, ...] | None:
    found = choose(crossed(**axes), THROUGHPUT)
    return None if found is None else (found.x, found.colour, found.facet, "heat" if found.heat else None)


def test_one_axis_is_points_or_a_line() -> None:
    assert chosen_of(framework=["pytorch", "jax"]) == (None, "framework", None, None)
    assert chosen_of(nodes=[1, 2, 4]) == ("nodes", None, None, None)
    assert chosen_of(param_kind=["a", "b"]) == (None, None, None, None)


def test_two_axes_are_lines() -> None:
    assert chosen_of(nodes=[1, 2, 4], framework=["pytorch", "jax"]) == ("nodes", "framework", None, None)
    assert chosen_of(nodes=[1, 2], execution=["eager", "compiled"]) == ("nodes", "execution", None, None)


def test_two_numbers_are_a_heat_map() -> None:
    assert chosen_of(intra=[1, 2, 4], inter=[1, 2]) == ("intra", "inter", None, "heat")


def test_two_numbers_that_fill_no_grid_are_none() -> None:
    work = crossed(intra=[1, 2, 4, 8], inter=[1, 2, 4, 8])
    diagonal = Workload("", "", work.cases[work.cases["intra"] == work.cases["inter"]], work.shown)
    found = choose(diagonal, THROUGHPUT)
    assert found is not None
    assert not found.heat


def test_three_axes_are_facets() -> None:
    found = chosen_of(nodes=[1, 2, 4], framework=["pytorch", "jax"], execution=["eager", "compiled"])
    assert found == ("nodes", "framework", "execution", None)


def test_the_number_with_most_values_is_on_the_axis() -> None:
    assert chosen_of(nodes=[1, 2], batch=[8, 16, 32], kind=["a", "b"]) == ("batch", "kind", "nodes", None)


def test_more_axes_are_parallel_coordinates() -> None:
    axes = {f"axis{place}": [1, 2] for place in range(4)}
    assert chosen_of(**axes) is None
    (figure,) = chosen(shape("50 axes"), None)
    assert "axes" in figure.title
    assert "The figure shows the first 8 of" in figure.caption


def test_what_has_too_many_values_is_no_colour_and_no_facet() -> None:
    many = [f"k{place}" for place in range(MAX_COLOURS + 1)]
    assert chosen_of(nodes=[1, 2], kind=many) == (None, None, None, None)
    most = [f"k{place}" for place in range(MAX_FACETS + 1)]
    assert chosen_of(nodes=[1, 2], framework=["jax", "mxnet"], kind=most) == (None, None, None, None)
    assert chosen_of(nodes=[1, 2], framework=["jax", "mxnet"], kind=most[:-1]) == ("nodes", "framework", "kind", None)


@pytest.mark.parametrize(
    ("values", "numeric"),
    [
        ([1, 2], True),
        ([1, 2.5], True),
        ([np.int64(1), np.float64(2)], True),
        ([1, "2"], False),
        ([True, False], False),
        ([0, False], False),
        ([1, None], False),
        ([1, float("nan")], False),
        ([1, float("inf")], False),
        ([1, 10**400], False),
    ],
)
def test_only_what_counts_is_a_number(values: list[Any], *, numeric: bool) -> None:
    assert is_numeric(pd.Series(values, dtype=object)) is numeric


@pytest.mark.parametrize(
    ("values", "geometric"),
    [
        ([1, 2, 4, 8], True),
        ([1e-5, 1e-4, 1e-3], True),
        ([1, 2, 3, 4], False),
        ([100, 200, 300], False),
        ([0, 1, 2, 4], False),
        ([1, 1000], False),
        ([4, 1, 2, 2, 1], True),
    ],
)
def test_what_grows_by_factors_stands_on_a_logarithmic_axis(values: list[float], *, geometric: bool) -> None:
    assert is_geometric(pd.Series(values)) is geometric


CASES = pd.DataFrame(
    {
        "nodes": [1, 2],
        "framework": ["jax", "mxnet"],
        "model": ["a", "b"],
        USER_PARAMETER + "size": [1, 2],
        "threads": [1, None],
        "unknown": [None, None],
    }
)


def parsed(text: str, known: dict[str, Quantity] = QUANTITIES) -> Encoding:
    return parse(text, CASES, known, TIME)


def test_a_plot_says_each_column() -> None:
    found = parsed("x=nodes,y=throughput,color=framework,facet=model")
    assert found == Encoding(THROUGHPUT, "nodes", "framework", "model")


def test_what_a_plot_does_not_say_is_that_of_the_ranking_or_none() -> None:
    assert parsed("x=nodes") == Encoding(TIME, "nodes")
    assert parsed(" facet = model , colour = framework ") == Encoding(TIME, None, "framework", "model")


def test_a_tag_is_called_as_its_user_did() -> None:
    assert parsed("x=size").x == parsed(f"x={USER_PARAMETER}size").x == USER_PARAMETER + "size"


def test_a_user_parameter_comes_before_a_column_of_results() -> None:
    cases = CASES.assign(**{"runs": [3, 3], USER_PARAMETER + "runs": [1, 2]})
    assert parse("x=runs", cases, QUANTITIES, TIME).x == USER_PARAMETER + "runs"


@pytest.mark.parametrize(
    ("word", "quantity"),
    [
        ("throughput_items_per_s", THROUGHPUT),
        ("throughput", THROUGHPUT),
        ("time_median_s", TIME),
        ("p99", QUANTITIES["time_p99_s"]),
        ("p999", QUANTITIES["time_p999_s"]),
        ("speedup", QUANTITIES["speedup"]),
        ("peak", MEMORY),
        ("rate", METRIC),
        ("metric_rate_it_per_s", METRIC),
    ],
)
def test_a_quantity_is_called_by_its_column_or_its_first_word(word: str, quantity: Quantity) -> None:
    assert parsed(f"y={word}", {**QUANTITIES, METRIC.column: METRIC}).quantity == quantity


def test_a_number_that_some_cases_lack_can_be_an_axis() -> None:
    assert parsed("x=threads").x == "threads"


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("nodes", "'nodes' is not one of x=COLUMN, y=COLUMN, color=COLUMN, facet=COLUMN", "as in: --plot x=nodes"),
        ("x=", "'x=' is not one of", "as in"),
        ("x=nodes,x=nodes", "each at most once", "as in"),
        ("z=nodes", "'z=nodes' is not one of", "as in"),
        ("", "'' is not one of", "as in"),
        ("x=nodse", "unknown column 'nodse'", "nodes"),
        ("color=framwork", "unknown column 'framwork'", "framework"),
        ("y=trouhgput", "'trouhgput' is not a quantity", "throughput"),
        ("y=nodes", "'nodes' is not a quantity", ""),
        ("x=unknown", "--plot x=: no case has a value of unknown", "--csv"),
        ("color=unknown", "--plot color=: no case has a value of unknown", "--csv"),
        ("facet=unknown", "--plot facet=: no case has a value of unknown", "--csv"),
    ],
)
def test_a_mistake_in_a_plot_is_told(text: str, what: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        parsed(text)
    assert what in str(caught.value)
    assert hint in str(caught.value)
    assert "--plot" in str(caught.value)


def test_names_may_be_side_by_side_as_far_as_there_is_room() -> None:
    cases = pd.DataFrame({"kind": [f"k{place}" for place in range(MAX_NAMES + 1)]})
    assert parse("x=kind", cases.head(MAX_NAMES), QUANTITIES, TIME).x == "kind"
    with pytest.raises(UserError, match=f"'kind' has {MAX_NAMES + 1} values that are not numbers"):
        parse("x=kind", cases, QUANTITIES, TIME)


def test_there_is_room_for_so_many_facets() -> None:
    cases = pd.DataFrame({"kind": [f"k{place}" for place in range(MAX_FACETS + 1)]})
    with pytest.raises(UserError, match=f"'kind' has {MAX_FACETS + 1} values"):
        parse("facet=kind", cases, QUANTITIES, TIME)
    assert parse("facet=kind", cases.head(MAX_FACETS), QUANTITIES, TIME).facet == "kind"


def test_two_metrics_of_one_name_have_to_be_told_apart() -> None:
    known = {name: Quantity(name, "rate") for name in ("metric_rate_a", "metric_rate_b")}
    with pytest.raises(UserError, match="is not a quantity"):
        parsed("y=rate", known)
    assert parsed("y=metric_rate_b", known).quantity.column == "metric_rate_b"


def test_a_heat_map_is_chosen_for_threads() -> None:
    work = results(*(threads(a, inter_op_threads=b) for a in (1, 2) for b in (1, 2)), repetitions=2).workloads[0]
    assert choose(work, THROUGHPUT) == Encoding(THROUGHPUT, "intra_op_threads", "inter_op_threads", heat=True)


def test_cases_of_one_framework_have_no_colour() -> None:
    found = choose(results(case(0.1), case(0.2, strategy="ddp"), repetitions=2).workloads[0], THROUGHPUT)
    assert found == Encoding(THROUGHPUT)
