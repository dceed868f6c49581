"""A profile of a small network with the real PyTorch, from the experiment to the table and the report."""

from __future__ import annotations

import json
import os
import sysconfig
import threading
import time
import venv
from collections.abc import Iterator
from pathlib import Path

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
    assert "warning: profile: the clock cannot be changed; only the default state was profiled (" in done.stderr
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


# Sends the monitor, and only it, to the copy of a folder that virtual machines do not have.
REDIRECT = """
import glob
import sys

if "monitor" in sys.orig_argv:
    found = glob.glob
    glob.glob = lambda pattern, **options: found(pattern.replace("/sys/class/powercap", {folder!r}), **options)
"""
WATTS = {"intel-rapl:0": ("package-0", 100), "intel-rapl:0:0": ("dram", 10)}


@pytest.fixture
def rapl(tmp_path: Path) -> Iterator[Path]:
    """A folder with counters of a processor of 100 W and its memory of 10 W, which count until the test ends."""
    handles = {}
    for zone, (name, watts) in WATTS.items():
        folder = tmp_path / "powercap" / zone
        folder.mkdir(parents=True)
        (folder / "name").write_text(name + "\n")
        (folder / "max_energy_range_uj").write_text("262143328850\n")
        handles[os.open(folder / "energy_uj", os.O_WRONLY | os.O_CREAT)] = watts
    ended, start_s = threading.Event(), time.monotonic()

    def count() -> None:
        while not ended.wait(0.01):
            for handle, watts in handles.items():
                os.pwrite(handle, b"%020d\n" % (1e6 * watts * (time.monotonic() - start_s)), 0)

    counting = threading.Thread(target=count)
    counting.start()
    yield tmp_path / "powercap"
    ended.set()
    counting.join()
    for handle in handles:
        os.close(handle)


def redirected(folder: Path) -> Path:
    """Make a virtual environment with the packages of this one, and return its Python. The monitor is isolated (-I)."""
    made = folder.parent / "python"
    venv.create(made, symlinks=True)
    (packages,) = made.glob("lib/python*/site-packages")
    (packages / "redirect_rapl.py").write_text(REDIRECT.format(folder=str(folder)))
    (packages / "own.pth").write_text(f"{sysconfig.get_path('purelib')}\nimport redirect_rapl\n")
    return made / "bin" / "python"


@pytest.mark.alone  # a window of 2 s has no energy if the monitor reads the sensor more than 0.1 s late
def test_the_energy_of_operators_is_in_the_table_with_a_mock_sensor(command_line: CommandLine, rapl: Path) -> None:
    site = command_line.site(environments={"pytorch": {"python": str(redirected(rapl))}})
    name = command_line.experiment(matrix={"task": ["inference"]})
    done = command_line("profile", name, "--power", "2", "--site", site, "--local", "--name", "p")
    assert "wrote " in done.stderr
    frame = pd.read_parquet(command_line.workspace / "results" / "p" / "operators.parquet")
    measured = frame[frame["power_w"].notna()]
    assert sorted(measured["kind"].isin(["network", "idle"])) == [False, False, True, True]
    assert set(measured["power_scope"]) == {"cpu+memory"}
    assert measured["power_w"].to_list() == pytest.approx([110] * 4, rel=0.5), "as far as the thread kept up"
    assert measured["power_reason"].isna().all()
    busy = measured[measured["kind"] != "idle"]
    lengths_s = busy["window_end_s"] - busy["window_start_s"]
    energies_j = busy["power_w"] * lengths_s / busy["window_calls"]
    assert busy["energy_per_call_j"].to_list() == pytest.approx(energies_j.to_list())
    assert (busy["energy_uncertainty_j"] > 0).all()
    assert (frame[frame["power_w"].isna()]["power_reason"] == "no power window").all()
    (profile,) = json.loads(command_line("report", "p", "--json").stdout)["operators"]
    assert sum(kind["joules_per_step"] or 0 for kind in profile["kinds"]) > 0
