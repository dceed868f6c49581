"""Curves of the values that programs logged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hpcbench.collect.curves import curves
from hpcbench.core.record import MetricValue, Record


def test_a_curve_has_the_logged_values_once_and_no_phases(make_record: Callable[..., Record]) -> None:
    loss = MetricValue(0.5, "", None, "last", values=[1.0, 0.5], steps=[1, 2])
    metrics = {
        "loss": loss,
        "lowest": replace(loss, reduce="min", better="lower"),
        "phase_data": replace(loss, unit="s"),
        "rate": MetricValue(5.0, "it/s", "higher", values=[5.0]),
    }
    found = curves({"a": replace(make_record(0), metrics=metrics), "b": make_record(1)})
    assert found.to_dict("list") == {"case": ["a"] * 2, "name": ["loss"] * 2, "step": [1, 2], "value": [1.0, 0.5]}


def test_commands_that_log_nothing_have_no_curves(make_record: Callable[..., Record]) -> None:
    assert curves({"a": make_record(0)}).empty
