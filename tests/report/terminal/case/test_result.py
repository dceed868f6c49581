"""Lines of `hpcbench show` on the bytes that ranks exchange, and on the items that they get."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.analysis.predicted.columns import DEVICE, REASON, TIME
from hpcbench.report.terminal.case.result import _communication, _data, _learning, _predicted, _rate

ROW: dict[str, Any] = {
    "communication_algorithm": "ring all-reduce of the gradients",
    "expected_communication_bytes_per_step": 8 * 2**20,
    "communication_bytes_per_step": 8.5 * 2**20,
    "communication_ratio": 1.0625,
    "communication_reason": None,
    "communication_source": "tcp",
}


def test_measured_bytes_are_compared_with_those_of_the_algorithm() -> None:
    expected = "1.06 x the expected 8 MiB by ring all-reduce of the gradients"
    assert _communication(ROW) == f"8.5 MiB per task, step and direction; {expected}"


def test_bytes_at_the_ports_of_nodes_say_so() -> None:
    text = _communication({**ROW, "communication_source": "ports"})
    assert text.startswith("8.5 MiB per task, step and direction at the ports of the nodes; 1.06 x the expected")


def test_without_a_measurement_the_reason_is_shown() -> None:
    row = {**ROW, "communication_bytes_per_step": None, "communication_reason": "through NCCL"}
    assert _communication(row).startswith("not measured (through NCCL); expected per step and direction: 8 MiB by ring")


def test_a_case_of_one_task_has_no_such_line() -> None:
    assert not _communication(dict.fromkeys(ROW))


def test_a_small_rate_has_significant_digits_and_a_large_one_a_decimal() -> None:
    row = {"throughput_items_per_s": 1 / 15.1, "items_per_step": 1, "time_ci_low_s": 15.0, "time_ci_high_s": 16.0}
    assert _rate(row) == "0.0662 (95 % CI 0.0625 - 0.0667)"
    assert _rate({**row, "throughput_items_per_s": 1234.56, "time_ci_low_s": None}) == "1,234.6"


def test_one_epoch_is_singular() -> None:
    row = {"accuracy": 0.5, "epochs": 1.0, "models": 1}
    assert _learning(row) == "accuracy 0.5000 after 1 epoch"
    assert _learning({**row, "epochs": 2.0}) == "accuracy 0.5000 after 2 epochs"


def test_checked_data_have_their_counts_and_the_bias_of_classes() -> None:
    row = {"repeated_items": 0, "missing_items": 2, "dropped_items": 30, "reshuffled": True, "class_bias_p_value": 0.25}
    text = "0 items repeated, 2 missing, 30 dropped, reshuffled in each epoch"
    assert _data(row) == f"{text}; test for class bias: p = 0.25"
    assert _data({**row, "class_bias_p_value": None}) == text
    assert _data({**row, "reshuffled": None}).startswith(text.replace("reshuffled in each epoch", "order not compared"))
    assert not _data(dict.fromkeys(row))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "100 ms (90 % PI 50 ms - 150 ms) on l4; measured / predicted 2.00x (above PI); all runs had interference"),
        ({TIME.verdict: "inside"}, "100 ms (90 % PI 50 ms - 150 ms) on l4; measured / predicted 2.00x"),
        ({TIME.verdict: None, TIME.ratio: None}, "100 ms (90 % PI 50 ms - 150 ms) on l4; not measured"),
        ({TIME.column: None, REASON: "it is odd"}, "unknown (it is odd)"),
        ({TIME.column: None}, ""),
    ],
)
def test_a_case_has_its_predicted_time(changes: dict[str, Any], text: str) -> None:
    low, high = TIME.limits
    row = {TIME.column: 0.1, low: 0.05, high: 0.15, TIME.ratio: 2.0, TIME.verdict: "above", DEVICE: "l4", REASON: None}
    assert _predicted({**row, "framework": "pytorch", "interference": "interference", **changes}) == text


def test_a_case_of_a_sweep_without_predictions_has_no_such_line() -> None:
    assert not _predicted({})
