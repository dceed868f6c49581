"""Instances of PyTorch that share this machine, from the experiment to the table."""

from __future__ import annotations

import os
from typing import Any

import pytest

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs; not run: two instances of PyTorch"),
]


def test_two_instances_share_two_cpus_and_their_rates_add_up(command_line: Any) -> None:
    experiment = command_line.experiment(
        parameters={"cpus_per_task": 2, "batch_size": 8, "affinity": "cores", "intra_op_threads": 1},
        matrix={"instances": [1, 2], "task": ["inference", "training"]},
    )
    command_line("sweep", experiment, "--site", command_line.site())
    for record in command_line.records():
        instances = record["parameters"]["instances"]
        assert [rank["status"] for rank in record["ranks"]] == ["completed"] * instances
        assert [len(cpus) for cpus in record["affinity"]] == [1] * instances
        assert len({cpu for (cpu,) in record["affinity"]}) == instances, "each on a CPU of its own"
        assert record["work"]["items_per_step"] == 8 * instances
        assert record["threads"]["intra_op"] == 1
        # On a machine that others use, too, one instance may be slower than the other, and that is told.
        assert [each for each in record["warnings"] if not each.startswith("the step time of the slowest rank")] == []
    for row in command_line.report():
        rate = float(row["items_per_step"]) / float(row["time_median_s"])
        assert float(row["throughput_items_per_s"]) == pytest.approx(rate)
        assert (
            row["measurements_averaged_over"] in ({"1": ("", "steps"), "2": ("instances", "steps")}[row["instances"]])
        )
        assert (row["affinity"], row["effective_flush_denormals"], row["effective_onednn"]) == (
            "cores",
            "False",
            "True",
        )
        assert row["effective_openmp"].startswith("libgomp")


def test_settings_of_a_case_are_seen_in_its_record_and_do_not_change_its_work(command_line: Any) -> None:
    experiment = command_line.experiment(
        include=[
            {"flush_denormals": flush, "onednn": onednn, "wait_policy": policy}
            for flush, onednn, policy in (
                (None, True, None),
                (True, True, "passive"),
                (None, False, "passive"),
                (True, False, None),
            )  # each value with each of another parameter
        ]
    )
    command_line("sweep", experiment, "--site", command_line.site())
    records = command_line.records()
    assert len(records) == 4
    assert len({str(record["work"]) for record in records}) == 1
    for record in records:
        asked, found = record["parameters"], record["settings"]
        assert found["flush_denormals"] is bool(asked["flush_denormals"])
        assert found["onednn"] is asked["onednn"]
        assert (record["environment"].get("OMP_WAIT_POLICY") == "PASSIVE") is bool(asked["wait_policy"])
