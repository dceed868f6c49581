"""Remarks on predictions: unknown operators, data types without a rate, unused cores, and states of a device."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from hpcbench.predict.devices.device import CPU, Device
from hpcbench.predict.results import table
from hpcbench.predict.results.remarks import remarks
from hpcbench.predict.results.state import State

T4 = Device("t4", "NVIDIA", "Turing", 2018, 40, 1590, 8e12, 16e9, 320e9, 4e6, 70, matrix_flops_per_s={"float16": 65e12})
CLOCK, LIMIT = State(clock_mhz=960), State(power_limit_w=60)


def remarks_on(
    states: dict[str, Sequence[State]],
    devices: dict[str, Device],
    dtype: str = "float32",
    unknown: float = 0.0,
    reason: str = "",
    source: str = table.OF_LIST,
    threads: float = math.nan,
    as_eager: bool = False,
    kind: str = "",
    limit: str = "",
) -> list[str]:
    rows = [(name, each) for name, own in states.items() for each in (State(), *own)]
    asked = pd.DataFrame(
        {
            "device": [name for name, _ in rows],
            "dtype": dtype,
            "threads": threads,
            "set_device_kind": kind,
            "clock_mhz": [each.clock_mhz for _, each in rows],
            "power_limit_w": [each.power_limit_w for _, each in rows],
        }
    )
    results = pd.DataFrame({"reason": reason, table.SOURCE: source}, index=asked.index)
    shares, names = (pd.Series(each, index=asked.index) for each in (unknown, "mine.weird"))
    limits, nothing = pd.Series(limit, index=asked.index), shares * math.nan
    explained = table.Explanation(limits, shares, names, pd.DataFrame(index=asked.index), nothing, nothing)
    return remarks(asked, results, explained, devices, [as_eager] * len(asked))


def test_a_data_type_without_a_rate_has_a_remark() -> None:
    expected = "rate of bfloat16 matrix products unknown (predicted at the rate of float32)"
    assert remarks_on({"t4": []}, {"t4": T4}, "bfloat16") == [expected]
    assert remarks_on({"t4": []}, {"t4": T4}, "bfloat16", reason="no list") == [""]
    assert remarks_on({"t4": []}, {"t4": T4}, "float16") == [""]
    assert remarks_on({"t4": []}, {"t4": T4}, "float32") == [""]
    assert remarks_on({"other": []}, {"t4": T4}, "bfloat16") == [""]


def test_cores_that_a_case_does_not_use_have_a_remark() -> None:
    cpus = Device(**{**vars(T4), "kind": CPU, "units": 64})
    assert remarks_on({"a": []}, {"a": cpus}, threads=2) == [
        "predicted on 2 of 64 cores (set by cpus_per_task or intra_op_threads)"
    ]
    assert remarks_on({"a": []}, {"a": cpus}, threads=65) == [
        "predicted on 64 cores: the case has 65, more than the device (cpus_per_task)"
    ]
    assert remarks_on({"a": []}, {"a": cpus}, threads=64) == [""]
    assert remarks_on({"a": []}, {"a": cpus}) == [""]
    assert remarks_on({"a": []}, {"a": cpus}, threads=2, reason="no list") == [""]
    assert remarks_on({"t4": []}, {"t4": T4}, threads=2) == [""]


def test_peaks_under_load_have_a_remark() -> None:
    loaded = Device(**{**vars(T4), "kind": CPU, "peaks_under_load": True})
    words = "peaks measured under load: the predicted time may be too long (next: hpcbench doctor on an idle machine)"
    assert remarks_on({"node": []}, {"node": loaded}) == [words]
    assert remarks_on({"node": []}, {"node": loaded}, reason="no list") == [""]
    assert remarks_on({"node": []}, {"node": Device(**{**vars(T4), "kind": CPU})}) == [""]


def test_steps_that_wait_for_each_other_have_a_remark() -> None:
    (found,) = remarks_on({"t4": []}, {"t4": T4}, limit="latency")
    assert found.startswith("time steps of a recurrent layer run one after another: unless the layer")
    assert remarks_on({"t4": []}, {"t4": T4}, limit="launch") == [""]


def test_unknown_operators_are_named_with_their_share() -> None:
    words = "of the predicted time in operators of unknown kind (predicted from bytes or FLOPs): mine.weird"
    assert remarks_on({"t4": []}, {"t4": T4}, unknown=0.034) == [f"3.4 % {words}"]
    assert remarks_on({"t4": []}, {"t4": T4}, unknown=0.0004) == [f"under 0.1 % {words}"]
    assert remarks_on({"t4": []}, {"t4": T4}, unknown=0.05, source=table.OF_NAME) == [""]


def test_compiled_networks_with_the_time_of_eager_ones_have_a_remark() -> None:
    words = "effect of compilation unknown (predicted as fast as in eager execution)"
    assert remarks_on({"t4": []}, {"t4": T4}, as_eager=True) == [words]
    assert remarks_on({"t4": []}, {"t4": T4}, as_eager=True, reason="no list") == [""]


def test_states_that_a_device_may_not_support_have_a_remark() -> None:
    known = Device(**{**vars(T4), "lowest_mhz": 300})
    cpus = Device(**{**vars(T4), "kind": CPU})
    devices = {"a": T4, "b": known, "c": cpus}
    clocks = "lowest clock unknown: the device may not support all predicted clocks"
    limits = "power limits not searched (lowest limit unknown)"
    assert remarks_on({"a": [CLOCK], "b": [CLOCK, LIMIT], "c": []}, devices) == [
        *[f"{clocks}; {limits}"] * 2,
        *[""] * 4,
    ]
    assert remarks_on({"a": [], "b": []}, devices) == ["", ""]


def test_another_kind_of_device_than_the_experiment_sets_has_a_remark() -> None:
    cpus = Device(**{**vars(T4), "kind": CPU})
    assert remarks_on({"t4": []}, {"t4": T4}, kind="cpu") == [
        "predicted on the GPU, although the case sets device: cpu"
    ]
    assert remarks_on({"a": []}, {"a": cpus}, kind="gpu") == [
        "predicted on the CPUs, although the case sets device: gpu"
    ]
    assert remarks_on({"t4": []}, {"t4": T4}, kind="gpu") == [""]
    assert remarks_on({"t4": []}, {"t4": T4}) == [""]
