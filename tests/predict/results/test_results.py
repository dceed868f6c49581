"""The table of results: refusals, reasons of missing quantities, shares, and what it recommends."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.calibration.intervals import ALL, Calibration
from hpcbench.predict.choice.ratios import RatioErrors
from hpcbench.predict.choice.states import SEEN, UNSEEN, StateErrors
from hpcbench.predict.devices.device import CPU, Device
from hpcbench.predict.results import table
from hpcbench.predict.results.cases import asked
from hpcbench.predict.results.choices import best_device, best_states, by_case, within
from hpcbench.predict.results.predictions import Predictions
from hpcbench.predict.results.state import DEFAULT, State, clocks_of, limits_of

# Half widths of the ratio at a distance of log(1.2 / (0.8 / 1.2)) = 0.588: 0.05 + 0.05 x 0.588 = 0.0794, times 1 or 4.
STATES = StateErrors(frozenset({"a"}), {SEEN: Calibration(5, 0.0, {ALL: 1.0}), UNSEEN: Calibration(5, 0.0, {ALL: 4.0})})
SLOWER_CLOCK, LIMIT = State(clock_mhz=960), State(power_limit_w=150)
CASES = pd.DataFrame(
    {
        "case": ["c1", "c2"],
        "label": ["batch_size=8", "batch_size=16"],
        "items_per_step": [8, 16],
        "refused": ["", "task: operator has no network"],
        "image_network": "",
        "unlisted": "",
        "network": "resnet50",
        "list_id": ["c1", "c2"],
    }
)


def predictions(values: list[float], factor: float = 1.1, reason: str = "") -> pd.DataFrame:
    found = np.array(values, dtype="float64")
    return pd.DataFrame(
        {
            "predicted": found,
            "lower": found / factor,
            "upper": found * factor,
            "reason": np.where(np.isnan(found), reason, ""),
        }
    )


def explained(
    *limits: str, unknown: float = 0.0, compute: float = math.nan, clock: tuple[float, ...] = ()
) -> table.Explanation:
    """Return an explanation of rows with these limits, which rest on nothing."""
    basis = pd.DataFrame(index=range(len(limits)))
    return table.Explanation(
        pd.Series(limits),
        pd.Series([unknown] * len(limits)),
        pd.Series(["mine.secret"] * len(limits)),
        basis,
        pd.Series([compute] * len(limits)),
        pd.Series(clock or [math.nan] * len(limits), dtype="float64"),
    )


def one_case(times: dict[str, list[float]], energies: dict[str, list[float]], factor: float = 1.1) -> pd.DataFrame:
    """Return the results of a case on devices, at the default state and at SLOWER_CLOCK if there are two values."""
    rows = asked(CASES.head(1), {name: [SLOWER_CLOCK][: len(values) - 1] for name, values in times.items()})
    flat = {
        name: [value for values in given.values() for value in values]
        for name, given in ((table.TIME, times), (table.ENERGY, energies))
    }
    return table.results(rows, {name: predictions(values, factor, "no power") for name, values in flat.items()})


def test_each_case_has_a_row_for_each_device_and_state() -> None:
    rows = asked(CASES, {"a": [SLOWER_CLOCK, DEFAULT], "b": []})
    assert rows[["case", "device", "state"]].to_numpy().tolist() == [
        ["c1", "a", ""],
        ["c1", "a", "960 MHz"],
        ["c1", "b", ""],
        ["c2", "a", ""],
        ["c2", "a", "960 MHz"],
        ["c2", "b", ""],
    ]
    assert rows["clock_mhz"].tolist()[:2] == [pytest.approx(math.nan, nan_ok=True), 960]
    assert set(rows["unit"]) == {"step"}


def test_refused_rows_have_a_reason_and_no_values() -> None:
    rows = asked(CASES, {"a": []})
    found = table.results(rows, {table.TIME: predictions([0.1, 0.2]), table.ENERGY: predictions([10, 20])})
    assert found["reason"].tolist() == ["", "task: operator has no network"]
    assert found[table.TIME].tolist() == [0.1, pytest.approx(math.nan, nan_ok=True)]
    assert found[table.ENERGY].isna().tolist() == [False, True]


@pytest.mark.parametrize(("share", "is_refused"), [(0.05, False), (0.10, False), (0.25, True)])
def test_a_network_of_unknown_operators_is_refused(share: float, is_refused: bool) -> None:
    rows = asked(CASES.head(1), {"a": []})
    found = table.results(rows, {table.TIME: predictions([0.1])}, explained("compute", unknown=share))
    reason = "operators of unknown kind take 25 % of the predicted time (limit: 10 %): mine.secret"
    assert (found["reason"][0] == reason) == is_refused
    assert found[table.TIME].isna()[0] == is_refused


def test_a_missing_quantity_has_its_reason() -> None:
    rows = asked(CASES.head(1), {"a": []})
    given = {
        table.TIME: predictions([0.1]),
        table.POWER: predictions([math.nan], reason="no row; price: none"),
        table.PRICE: predictions([math.nan], reason="no price"),
        table.ENERGY: predictions([math.nan], reason="no idle power"),
    }
    (found,) = table.results(rows, given)[["missing", "missing_of_site"]].to_numpy().tolist()
    assert found == [
        "power not predicted: no row; price: none; energy not predicted: no idle power",
        "price not predicted: no price",
    ]


def test_a_power_limit_that_slows_the_case_down_is_what_limits_it() -> None:
    rows = asked(CASES.head(1), {"a": [LIMIT], "b": [LIMIT]})
    given = {table.TIME: predictions([0.1, 0.2, 0.1, 0.1])}
    found = table.results(rows, given, explained(*["compute"] * 4))
    assert found["limit"].tolist() == ["compute", "power limit", "compute", "compute"]


@pytest.mark.parametrize(
    ("usual", "compute", "time", "expected"),
    [
        ("launch", 0.6, 0.101, "launch"),
        ("launch", 0.6, 0.13, "compute"),
        ("launch", 0.4, 0.13, "memory"),
        ("memory", 0.6, 0.13, "compute"),
        ("latency", 0.6, 0.13, "latency"),
    ],
)
def test_the_limit_is_that_of_the_state(usual: str, compute: float, time: float, expected: str) -> None:
    rows = asked(CASES.head(1), {"a": [SLOWER_CLOCK]})
    given = {table.TIME: predictions([0.1, time])}
    found = table.results(rows, given, explained(usual, usual, compute=compute))
    assert found["limit"].tolist() == [usual, expected]


@pytest.mark.parametrize(("time", "expected"), [(0.2, "compute"), (0.12, "memory"), (0.1, "memory")])
def test_compute_limits_a_case_most_of_whose_time_scales_with_the_clock(time: float, expected: str) -> None:
    rows = asked(CASES.head(1), {"a": [SLOWER_CLOCK]})
    given = {table.TIME: predictions([0.1, time])}
    found = table.results(rows, given, explained("memory", "memory", compute=0.4, clock=(math.nan, 0.4)))
    assert found["limit"].tolist() == ["memory", expected]


def test_shares_have_the_largest_first() -> None:
    rows = asked(CASES.head(1), {"a": [], "b": []})
    shares = pd.DataFrame({"conv": [0.2, 0.9], "gemm": [0.8, 0.1], "rnn": [0.0, 0.0]})
    assert table.shares_by_kind(rows, shares).to_numpy().tolist() == [
        ["c1", "a", "gemm", 0.8],
        ["c1", "a", "conv", 0.2],
        ["c1", "b", "conv", 0.9],
        ["c1", "b", "gemm", 0.1],
    ]


def test_time_and_energy_have_their_own_best_devices() -> None:
    found = one_case({"fast": [1.0], "slow": [2.0]}, {"fast": [300.0], "slow": [100.0]})
    by_time, by_energy = best_device(found, table.TIME), best_device(found, table.ENERGY)
    assert by_time is not None
    assert by_energy is not None
    assert (by_time.best.device, by_energy.best.device) == ("fast", "slow")
    assert by_time.others[0].ratio.value == pytest.approx(0.5)
    assert best_device(found, table.MEMORY) is None


def test_ratios_have_the_errors_of_the_model_that_predicts_the_times() -> None:
    found = one_case({"a": [1.0], "b": [2.0]}, {"a": [50.0], "b": [10.0]})
    lists, names = RatioErrors(3, 3, 0.1), RatioErrors(3, 3, 0.2)
    made = Predictions("x", found, found, errors={table.OF_LIST: lists, table.OF_NAME: names})
    named = found.assign(**{table.SOURCE: table.OF_NAME})
    assert made.errors_of(found, table.TIME) == lists
    assert made.errors_of(named, table.TIME) == names
    assert made.errors_of(pd.concat([found, named]), table.TIME) is None  # errors of different models are independent
    assert made.errors_of(found, table.ENERGY) is None
    assert replace(made, errors={table.OF_LIST: lists}).errors_of(named, table.TIME) is None


def test_the_best_state_of_a_device_is_compared_with_its_default() -> None:
    found = one_case({"a": [1.0, 1.2], "b": [1.0]}, {"a": [100.0, 80.0], "b": [90.0]})
    (best,) = best_states(found, STATES)
    assert (best.device, best.setting, best.state, best.is_certain) == ("a", "clock", "960 MHz", True)
    assert best.energy.value == pytest.approx(0.8)
    assert best.energy.low == pytest.approx(0.8 * math.exp(-0.0794), rel=1e-4)
    assert best.time == pytest.approx(1.2)


def test_a_device_without_measured_states_is_less_certain() -> None:
    found = one_case({"other": [1.0, 1.2]}, {"other": [100.0, 80.0]})
    (best,) = best_states(found, STATES)
    assert best.energy.high == pytest.approx(0.8 * math.exp(4 * 0.0794), rel=1e-4)
    assert not best.is_certain


def test_clocks_and_power_limits_have_best_states_of_their_own() -> None:
    rows = asked(CASES.head(1), {"a": [SLOWER_CLOCK, LIMIT]})
    given = {table.TIME: predictions([1.0, 1.2, 1.1]), table.ENERGY: predictions([100.0, 101.0, 90.0])}
    clock, limit = best_states(table.results(rows, given), STATES)
    assert (clock.setting, clock.state, clock.energy.value, clock.is_certain) == ("clock", "", 1.0, False)
    assert (limit.setting, limit.state) == ("power limit", "150 W")


def test_within_a_limit_the_candidate_of_least_energy_counts() -> None:
    times, energies = {"a": [1.0, 1.2], "b": [1.05], "c": [2.0]}, {"a": [100.0, 80.0], "b": [10.0], "c": [1.0]}
    found = within(one_case(times, energies), 1.12, STATES)
    assert [each.label for each in found.limited.within] == ["a"]
    assert [each.label for each in found.limited.uncertain] == ["a at 960 MHz", "b"]
    assert [each.label for each in found.limited.above] == ["c"]
    assert found.best is not None
    assert (found.best.best.label, found.state) == ("a", None)
    assert within(one_case(times, energies), 0.1, STATES).best is None


def test_within_a_limit_each_device_takes_part_in_its_best_state() -> None:
    times, energies = {"a": [1.0, 1.2], "b": [1.05]}, {"a": [100.0, 80.0], "b": [95.0]}
    found = within(one_case(times, energies), 2.0, STATES)
    assert found.best is not None
    assert found.best.best.label == "a at 960 MHz"
    assert [each.candidate.label for each in found.best.others] == ["b"]
    assert found.state is not None
    assert (found.state.state, found.state.energy.value) == ("960 MHz", pytest.approx(0.8))


@pytest.mark.parametrize(("size", "expected"), [(4e9, "no"), (5.4e9, "maybe"), (8e9, "yes"), (math.nan, "")])
def test_a_case_fits_a_device_or_not(size: float, expected: str) -> None:
    rows = asked(CASES.head(1), {"a": []})
    given = {table.TIME: predictions([0.1]), table.MEMORY: predictions([5e9])}
    found = table.results(rows, given, memory_bytes={"a": size})
    assert found["fits"].tolist() == [expected]


def test_a_device_without_room_is_never_recommended() -> None:
    rows = asked(CASES.head(1), {"small": [SLOWER_CLOCK], "large": []})
    times, energies = predictions([0.1, 0.1, 0.2]), predictions([10.0, 5.0, 20.0])
    given = {table.TIME: times, table.ENERGY: energies, table.MEMORY: predictions([5e9] * 3)}
    found = table.results(rows, given, memory_bytes={"small": 4e9, "large": 8e9})
    for quantity in (table.TIME, table.ENERGY):
        best = best_device(found, quantity)
        assert best is not None
        assert (best.best.device, best.others) == ("large", ())
    assert best_states(found, STATES) == []
    assert [each.label for each in within(found, 1.0, STATES).limited.within] == ["large"]


def test_a_device_may_be_of_one_kind_of_cases() -> None:
    cases = CASES.assign(device_kind=["cpu", "gpu"])
    rows = asked(cases, {"node (CPUs)": [], "node (GPU)": [], "c": []}, {"node (CPUs)": "cpu", "node (GPU)": "gpu"})
    assert rows[["case", "device"]].to_numpy().tolist() == [
        ["c1", "node (CPUs)"],
        ["c1", "c"],
        ["c2", "node (GPU)"],
        ["c2", "c"],
    ]


def test_rows_are_grouped_by_case() -> None:
    rows = asked(CASES, {"a": [], "b": []})
    found = table.results(rows, {table.TIME: predictions([1, 2, 3, 4])})
    assert {case: len(each) for case, each in by_case(found).items()} == {"c1": 2, "c2": 2}


def test_clocks_are_between_the_lowest_and_the_boost_clock() -> None:
    device = Device("a", "nvidia", "x", 2020, 100, 1000.0, 1e13, 1e10, 1e12, 1e7, 300.0, lowest_mhz=200.0)
    clocks = [each.clock_mhz for each in clocks_of(device)]
    assert (clocks[0], len(clocks)) == (400, 8)
    assert clocks == sorted(clocks)
    assert clocks[-1] < 1000
    assert clocks_of(replace(device, lowest_mhz=None)) == clocks_of(device)
    assert clocks_of(replace(device, kind=CPU)) == ()


def test_power_limits_are_between_the_lowest_limit_and_the_board_power() -> None:
    device = Device("a", "nvidia", "x", 2020, 100, 1000.0, 1e13, 1e10, 1e12, 1e7, 250.0, lowest_power_limit_w=100.0)
    assert [each.label for each in limits_of(device)] == ["100 W", "125 W", "150 W", "175 W", "200 W", "225 W"]
    assert limits_of(replace(device, lowest_power_limit_w=None)) == ()
    assert limits_of(replace(device, kind=CPU)) == ()
