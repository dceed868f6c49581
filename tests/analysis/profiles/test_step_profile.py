"""Shares, sums and energies of operators, calculated by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from hpcbench.analysis.profiles.step_profile import HOT, IN_NETWORK, STREAM, Sum, step_profiles
from hpcbench.core.profiling.operator_row import NO_WINDOW
from tests.operator_tables import operator_rows

NETWORK = {"kind": "network", "operator": "network", "hot_s": 0.010}
GEMM = {
    "kind": "gemm",
    "calls_per_step": 4,
    "stream_s": 0.001,
    "hot_s": 0.0008,
    "flops": 2_000_000,
    "bytes_moved": 1000,
}
GEMM_BACK = {"kind": "gemm", "phase": "backward", "calls_per_step": 2, "stream_s": 0.002, "hot_s": 0.002}
LSTM = {"kind": "lstm", "calls_per_step": 1, "in_network_s": 0.0005, "reason": "no replay"}
VIEW = {"kind": "other", "operator": "aten.view.default", "calls_per_step": 7, "reason": "view"}
ENERGY = {"energy_per_call_j": 0.2, "power_w": 250.0, "power_uncertainty_w": 5.0, "power_reason": None}


def profile(*rows: dict[str, Any], **changes: Any) -> Any:
    (found,) = step_profiles(operator_rows(*rows, **changes))
    return found


def test_time_by_kind_and_its_share_of_the_step() -> None:
    found = profile(NETWORK, GEMM, GEMM_BACK, LSTM, VIEW)
    expected = [["forward", "gemm", 1, 4, 0.004], ["backward", "gemm", 1, 2, 0.004], ["forward", "lstm", 1, 1, 0.0005]]
    kinds = found.kinds
    assert kinds[["phase", "kind", "operators", "calls", "step_s"]].to_numpy().tolist() == expected
    assert kinds["share"].to_list() == pytest.approx([0.4, 0.4, 0.05])


def test_the_sum_of_operators_against_the_whole_step_and_the_overhead() -> None:
    found = profile(NETWORK, GEMM, GEMM_BACK, LSTM, VIEW)
    assert found.network_s == 0.010
    assert found.sum_s == pytest.approx(0.0085)
    assert found.overhead == pytest.approx(0.15)
    assert found.sums[STREAM] == pytest.approx(Sum(0.008, 0.8, 1))
    assert found.sums[HOT] == pytest.approx(Sum(0.0072, 0.72, 1))
    assert found.sums[IN_NETWORK] == pytest.approx(Sum(0.0005, 0.05, 2))
    assert "cold" not in found.sums


def test_the_step_is_the_one_in_turn_with_timed_steps() -> None:
    found = profile({**NETWORK, "stream_s": 0.016}, GEMM, GEMM_BACK)
    assert found.network_s == 0.016
    assert found.overhead == pytest.approx(0.5)
    assert found.kinds["share"].to_list() == pytest.approx([0.25, 0.25])


def test_each_operator_has_rate_intensity_and_how_it_was_timed() -> None:
    operators = profile(NETWORK, GEMM, GEMM_BACK, LSTM, VIEW).operators
    assert operators["kind"].to_list() == ["gemm", "gemm", "lstm", "other"]
    assert operators["timed"].fillna("").to_list() == [STREAM, STREAM, IN_NETWORK, ""]
    assert operators["flops_per_s"][0] == pytest.approx(2e9)
    assert operators["intensity_flops_per_byte"][0] == pytest.approx(2000)
    assert pd.isna(operators["flops_per_s"][1])


def test_operators_that_were_not_timed_alone_by_reason() -> None:
    found = profile(NETWORK, GEMM, LSTM, VIEW, {**VIEW, "operator": "aten.t.default", "calls_per_step": 3}).not_alone
    assert found.to_dict("records") == [
        {"reason": "no replay", "operators": 1, "calls": 1, "step_s": 0.0005, "share": pytest.approx(0.05)},
        {"reason": "view", "operators": 2, "calls": 10, "step_s": 0.0, "share": 0.0},
    ]


def test_energy_by_kind_of_the_operators_that_have_one() -> None:
    found = profile(NETWORK, {**GEMM, **ENERGY}, {**GEMM, "arguments": "[2]"}, GEMM_BACK)
    assert found.joules_per_step == pytest.approx(1.0)  # 250 W in 4 ms; the energy of hot calls would be 0.8 J
    assert found.operators["joules_uncertainty"].to_list()[0] == pytest.approx(0.02)
    assert found.energy_covers == pytest.approx(4 / 12)
    kinds = found.kinds
    assert kinds["joules_per_step"].to_list()[0] == pytest.approx(1.0)
    assert pd.isna(kinds["joules_per_step"][1])
    assert kinds["energy_covers"].to_list() == pytest.approx([0.5, 0.0])
    assert found.no_energy is None


def test_without_energy_there_is_the_most_frequent_reason() -> None:
    found = profile(NETWORK, {**GEMM, "power_reason": "no sensor"}, {**GEMM_BACK, "power_reason": "no sensor"}, LSTM)
    assert found.joules_per_step is None
    assert found.no_energy == "no sensor"


def test_the_reason_of_an_operator_with_a_power_window_comes_first() -> None:
    rows = ({**GEMM, "power_reason": NO_WINDOW}, {**GEMM_BACK, "power_reason": NO_WINDOW})
    assert profile(NETWORK, *rows, {**LSTM, "power_reason": "no sensor"}).no_energy == "no sensor"
    assert profile(NETWORK, *rows).no_energy == NO_WINDOW


def test_without_energy_and_reason_there_is_what_is_missing() -> None:
    assert profile(NETWORK).no_energy == "the profile has no operator"
    assert profile(GEMM).no_energy == "the table has neither a power nor a reason"
    assert profile({**VIEW, **ENERGY}).no_energy == "the operators whose power was measured have no time"


def test_of_several_runs_the_medians_count() -> None:
    runs = [{**GEMM, "run": run, "stream_s": time} for run, time in ((1, 0.001), (2, 0.009), (3, 0.002))]
    found = profile(*runs, *({**NETWORK, "run": run} for run in (1, 2, 3)))
    assert found.runs == 3
    assert found.operators["call_s"].to_list() == [0.002]
    assert found.operators["calls_per_step"].to_list() == [4]


def test_cases_and_device_states_are_apart() -> None:
    table = operator_rows(GEMM, {**GEMM, "case": "c2"}, {**GEMM, "requested_clock_mhz": 900})
    found = step_profiles(table)
    assert [(each.case, each.state, len(each.operators)) for each in found] == [
        ("c1", "", 1),
        ("c2", "", 1),
        ("c1", "900 MHz", 1),
    ]


def test_without_the_whole_step_shares_are_of_the_sum() -> None:
    found = profile(GEMM, GEMM_BACK, {"kind": "idle", "power_w": 40.0})
    assert found.overhead is None
    assert found.operators["share"].to_list() == pytest.approx([0.5, 0.5])
    assert found.sums[STREAM].ratio is None
    assert found.idle["power_w"] == 40.0


def test_a_table_without_rows_has_no_profiles() -> None:
    assert step_profiles(operator_rows()) == []


def test_operators_without_any_time_take_none() -> None:
    found = profile(NETWORK, VIEW)
    assert found.sum_s == 0
    assert found.overhead == 1
    assert found.kinds.empty
    assert found.sums == {}
    assert found.energy_covers == 0
