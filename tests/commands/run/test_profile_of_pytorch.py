"""A profile of a small network with the real PyTorch, from the experiment to the table and the report."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from tests.conftest import CommandLine

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """A workspace with the finished sweep `p`: a profile of a small network in inference and training."""
    command_line = CommandLine(tmp_path_factory.mktemp("profiled"))
    experiment = command_line.experiment(matrix={"task": ["inference", "training"], "framework": ["pytorch", "jax"]})
    done = command_line("profile", experiment, "--local", "--name", "p", "--clocks", "2")
    assert "2 cases cannot be profiled and are left out" in done.stderr
    assert f"to {command_line.workspace / 'results' / 'p' / 'operators.parquet'}" in done.stderr
    assert "next: hpcbench report p" in done.stderr
    return command_line


def test_the_table_has_the_operators_of_all_phases(profiled: CommandLine) -> None:
    frame = pd.read_parquet(profiled.workspace / "results" / "p" / "operators.parquet")
    phases = {task: set(rows["phase"]) for task, rows in frame.groupby("task")}
    assert phases["inference"] == {"forward"}
    assert {"forward", "backward", "optimizer"} <= phases["training"]
    gemms = frame[(frame["kind"] == "gemm") & (frame["task"] == "inference")]
    assert (gemms["stream_s"] > 0).all()
    assert (gemms["flops"] > 0).all()
    assert frame[frame["kind"] == "network"].groupby("case").size().to_list() == [1, 1]
    unknown = frame[frame["power_w"].isna()]
    assert unknown["power_reason"].notna().all()
    assert frame["environment"].map(json.loads).map(lambda found: "torch" in found["packages"]).all()


def test_the_record_has_the_reason_if_no_clock_can_be_set(profiled: CommandLine) -> None:
    """On virtual machines, and for users without the rights of root."""
    records = [
        json.loads(line) for file in profiled.workspace.glob("results/p/records/*/*.jsonl") for line in file.open()
    ]
    assert len(records) == 2
    for record in records:
        (reason,) = (warning for warning in record["warnings"] if "clock" in warning)
        assert reason.startswith("profile: the clock cannot be changed; only the default state was profiled (")
    frame = pd.read_parquet(profiled.workspace / "results" / "p" / "operators.parquet")
    assert frame["requested_clock_mhz"].isna().all()


def test_every_operator_was_timed_or_has_the_reason(profiled: CommandLine) -> None:
    frame = pd.read_parquet(profiled.workspace / "results" / "p" / "operators.parquet")
    operators = frame[~frame["kind"].isin(["network", "idle"])]
    assert (operators["hot_s"].notna() | operators["reason"].notna()).all()


def test_the_report_shows_the_sum_of_the_operators(profiled: CommandLine) -> None:
    text = profiled("report", "p").stdout
    assert "operators of " in text
    assert "Sum of all operators over the time of the whole step: stream " in text
    profiles = json.loads(profiled("report", "p", "--json").stdout)["operators"]
    assert len(profiles) == 2
    assert all(profile["step_time_s"] > 0 and profile["sum_of_operators_s"] > 0 for profile in profiles)
    assert all({each["kind"] for each in profile["kinds"]} >= {"gemm", "relu"} for profile in profiles)


def test_the_figures_and_the_page_can_be_written(profiled: CommandLine) -> None:
    profiled("report", "p", "--html", "page.html", "--figures", "figures")
    assert '<section id="operators"' in (profiled.workspace / "page.html").read_text()
    assert {"operators-shares.svg", "operators-roofline.svg"} <= {
        path.name for path in (profiled.workspace / "figures").iterdir()
    }
