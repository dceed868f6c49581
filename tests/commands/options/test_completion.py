"""What a shell is given to complete a word, as it asks for it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click
import pytest

from hpcbench import cli
from hpcbench.commands.options.completion import complete_devices
from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.store.machine_peaks import keep_peaks
from hpcbench.store.sweep import load
from hpcbench.store.workspace import Workspace
from tests.conftest import CommandLine

ROOT = Path(__file__).parents[3]


@pytest.fixture
def planned(invoke: CommandLine) -> CommandLine:
    """A workspace with an experiment of a command, and a sweep of it, `first`, that has not run."""
    experiment = {
        "name": "trial",
        "parameters": {"framework": "command", "command": "./bench {{ size }}"},
        "matrix": {"size": [1, 2]},
        "metrics": {"rate": {"regex": "rate=(.*)", "unit": "it/s"}, "depth": {"regex": "depth=(.*)"}},
    }
    (invoke.workspace / "trial.yaml").write_text(json.dumps(experiment))
    site = invoke.workspace / "configs" / "sites" / "mine.yaml"
    site.parent.mkdir(parents=True)
    site.write_text("name: mine\nscheduler: local\n")
    invoke("sweep", "trial.yaml", "--site", "mine", "--render-only", "--name", "first")
    return invoke


def completed(invoke: CommandLine, *words: str) -> list[str]:
    """Return the completions of the last word; files as `file:` and the word."""
    variables = {
        "_HPCBENCH_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["hpcbench", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = invoke(env=variables, expect=None)
    assert done.stderr == ""
    pairs = [line.partition(",") for line in done.stdout.splitlines() if line]
    return [f"file:{word}" if kind == "file" else word for kind, _, word in pairs]


def test_sweeps_are_completed_by_their_names_and_experiments(planned: CommandLine) -> None:
    for command in ("status", "resume", "cancel", "archive", "rm", "open", "report", "compare"):
        assert completed(planned, command, "f") == ["first"], command
        assert completed(planned, command, "t") == ["trial"], command
    assert completed(planned, "sweep", "--from", "") == ["first", "trial", "latest"]
    assert completed(planned, "report", "lstm.tar") == ["file:lstm.tar"]


def test_cases_are_completed_by_id_and_parameters(planned: CommandLine) -> None:
    sweep = load(Workspace(planned.workspace).paths("first"))
    ids = [run.case_id for run in sweep.runs("job-001")]
    for words in (("show", "first"), ("logs", "trial")):
        assert set(completed(planned, *words, "c")) == set(ids)
        assert completed(planned, *words, "si") == ["size=1", "size=2"]
    assert set(completed(planned, "logs", "")) == {"first", "trial", "latest", *ids, "size=1", "size=2"}
    assert completed(planned, "report", "first", "--baseline-case", "si") == ["size=1", "size=2"]


def test_experiments_and_sites_are_own_and_shipped(planned: CommandLine) -> None:
    assert completed(planned, "sweep", "quick") == ["quickstart"]
    assert completed(planned, "tune", "tri") == ["trial.yaml"]
    assert completed(planned, "sweep", "folder/x") == ["file:folder/x"]
    assert completed(planned, "sweep", "--site", "m") == ["mine"]
    assert completed(planned, "doctor", "-s", "lap") == ["laptop"]


def test_devices_are_described_ones_and_measured_nodes_after_each_comma(tmp_path: Path) -> None:
    peak = Peak("cpu", 4, "float32", 4e11, 2e10, "numpy", "n7", "2026-11-01")
    keep_peaks(Workspace(tmp_path), MachinePeaks("Some CPU", 4, None, (peak,)))
    context = click.Context(click.Command("predict"))
    context.params["workspace"] = str(tmp_path)

    def found(incomplete: str) -> list[str]:
        return [item.value for item in complete_devices(context, click.Option(["--device"]), incomplete)]

    assert found("a100-sxm-") == ["a100-sxm-40", "a100-sxm-80"]
    assert found("a100-sxm-40,a100-sxm-") == ["a100-sxm-40,a100-sxm-80"]
    assert found("t4,n") == ["t4,n7"]
    assert found("some") == ["some-cpu-4-cpus"]


def test_metrics_are_built_in_or_of_the_experiment(planned: CommandLine) -> None:
    assert completed(planned, "report", "--metric", "p9") == ["p90", "p95", "p99", "p999"]
    assert completed(planned, "report", "first", "--metric", "ra") == ["rate"]
    assert completed(planned, "tune", "trial.yaml", "--metric", "") == [
        *("throughput", "time", "rate", "depth:higher", "depth:lower")
    ]
    assert completed(planned, "history", "trial", "--metric", "d") == ["depth:higher", "depth:lower"]


def test_keys_of_set_are_parameters_and_keys_of_sections(planned: CommandLine) -> None:
    assert completed(planned, "sweep", "--set", "batch") == ["batch_size="]
    assert completed(planned, "sweep", "trial.yaml", "--set", "si") == ["size=", "sizes="]
    assert completed(planned, "sweep", "--set", "m")[-2:] == ["matrix.", "measure."]
    assert completed(planned, "tune", "--set", "measure.rep") == ["measure.repetitions="]
    assert completed(planned, "sweep", "--set", "slurm.part") == ["slurm.partition="]
    assert completed(planned, "sweep", "--set", "matrix.nod") == ["matrix.nodes="]


def test_commands_are_completed_without_importing_them(invoke: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.LazyGroup, "get_command", None)
    assert completed(invoke, "s") == ["sweep", "status", "show", "schema"]
    assert completed(invoke, "--col") == ["--color"]


def test_an_error_completes_nothing_and_prints_nothing(planned: CommandLine) -> None:
    (planned.workspace / "jobs" / "first" / "sweep.json").write_text("{")
    assert completed(planned, "report", "first", "--baseline-case", "c") == []
    assert completed(planned, "nonsense", "x") == []
    (planned.workspace / "bad.yaml").write_text("- 1\n")
    assert completed(planned, "tune", "bad.yaml", "--metric", "thr") == ["throughput"]


@pytest.mark.alone
def test_a_thousand_sweeps_are_completed_quickly(planned: CommandLine) -> None:
    text = (planned.workspace / "jobs" / "first" / "sweep.json").read_text()
    for number in range(1000):
        folder = planned.workspace / "jobs" / f"s-{number:04}"
        folder.mkdir()
        (folder / "sweep.json").write_text(text)
    completed(planned, "status", "s")  # imports
    begun = time.process_time()
    assert len(completed(planned, "status", "s-")) == 1000
    assert time.process_time() - begun < 1.0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_installed_files_are_what_the_command_prints(shell: str, invoke: CommandLine) -> None:
    assert (ROOT / "completions" / f"hpcbench.{shell}").read_text() == invoke("completion", shell).stdout
