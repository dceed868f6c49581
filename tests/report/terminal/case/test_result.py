"""Lines of `hpcbench show` on the bytes that ranks exchange, and on the items that they get."""

from __future__ import annotations

from typing import Any

from hpcbench.report.terminal.case.result import _communication, _data

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


def test_checked_data_have_their_counts_and_the_bias_of_classes() -> None:
    row = {"repeated_items": 0, "missing_items": 2, "dropped_items": 30, "reshuffled": True, "class_bias_p_value": 0.25}
    text = "0 items repeated, 2 missing, 30 dropped, another order in each epoch"
    assert _data(row) == f"{text}; classes as in the data: p = 0.25"
    assert _data({**row, "class_bias_p_value": None}) == text
    assert _data({**row, "reshuffled": None}).startswith(
        text.replace("another order in each epoch", "order not compared")
    )
    assert not _data(dict.fromkeys(row))
