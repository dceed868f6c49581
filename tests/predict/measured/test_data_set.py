"""Profiles and records as one data set, with counts of what was left out."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from hpcbench.collect.predictor_data.table_file import read_table
from hpcbench.collect.profiles.typed import typed
from hpcbench.predict.measured.data_set import is_profile, of_profile, of_runs
from hpcbench.predict.tables.network_kinds import CLOCKED, LISTED, network_kinds
from tests.predict.measured.test_profiles import PRODUCT, profile
from tests.predict.measured.test_records import GEMM, runs

STEP = {"kind": "network", "stream_s": 2e-3, "hot_s": 2e-3}


def test_a_clock_that_was_not_requested_is_the_default() -> None:
    of_default = of_profile(profile({**PRODUCT, "stream_s": 2e-5}, STEP), "p")
    assert math.isnan(of_default.networks["clock_mhz"][0])
    assert math.isnan(of_default.operators["clock_mhz"][0])
    assert list(network_kinds(of_default.networks)) == [LISTED]
    locked = of_profile(
        profile(*({**each, "requested_clock_mhz": 1400} for each in (PRODUCT | {"stream_s": 1}, STEP))), "p"
    )
    assert list(network_kinds(locked.networks)) == [CLOCKED]
    assert locked.operators["clock_mhz"].tolist() == [1400]
    assert len(locked.lists) == 1


def test_runs_with_interference_are_left_out_and_counted() -> None:
    table = runs({"sweep": "s", "run": 1, "interference": "interference"}, {"sweep": "s", "run": 2})
    found = of_runs(table, "s", profile({**PRODUCT, "stream_s": 2e-5}, STEP))
    assert found.flaws == ("s: 2 rows left out (interference)", "s: 1 run left out (interference)")
    assert len(found.operators) == 0
    assert len(found.networks) == 1


def test_throttled_runs_and_windows_are_left_out_and_counted() -> None:
    table = runs({"sweep": "s", "run": 1, "interference": "unmonitored", "throttled": True}, {"sweep": "s", "run": 2})
    found = of_runs(table, "s", profile({**PRODUCT, "stream_s": 2e-5}))
    assert found.flaws == (
        "s: 1 row left out (interference)",
        "s: 1 run left out (throttled by heat, a power brake or a CPU quota)",
    )
    reasons = [None, "", "power cap", "power cap, software thermal slowdown", "power brake"]
    rows = [{**PRODUCT, "stream_s": 2e-5, "throttle_reasons": each} for each in reasons]
    found = of_profile(profile(*rows), "p")
    assert found.operators["row"].tolist() == [0, 1, 2], "a GPU may work at its power limit"
    assert found.flaws == ("p: 2 rows left out (throttled by heat, a power brake or a CPU quota)",)


def test_the_whole_step_of_a_profiled_run_is_that_of_the_profile() -> None:
    table = runs(
        {"sweep": "s", "run": 1, "case": "c1"}, {"sweep": "s", "run": 1, "case": "c2"}, {**GEMM, "sweep": "s", "run": 1}
    )
    found = of_runs(table, "s", profile({**PRODUCT, "stream_s": 2e-5}, STEP))
    assert sorted(found.networks["time_s"]) == [2e-3, 0.2]
    assert sorted(found.networks["list_id"]) == ["", "c1"]
    assert len(found.operators) == 2


def test_a_profile_from_csv_is_the_same(tmp_path: Path) -> None:
    whole = typed(profile({**PRODUCT, "stream_s": 2e-5}, {**STEP, "clock_moved": True}, STEP))
    whole.to_csv(tmp_path / "p.csv", index=False)
    read = read_table(tmp_path / "p.csv")
    assert is_profile(read)
    assert not is_profile(pd.DataFrame({"arguments": []}))
    one, other = of_profile(whole, "p"), of_profile(typed(read), "p")
    pd.testing.assert_frame_equal(one.operators, other.operators)
    pd.testing.assert_frame_equal(one.networks, other.networks)
    assert one.flaws == other.flaws == ("p: 1 row left out (the clock moved)",)
