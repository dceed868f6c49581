"""`hpcbench gate`: an experiment is run, compared with a baseline, and the verdict is the exit status."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hpcbench.commands.analyse import gate
from tests.conftest import CommandLine

Measured = Callable[..., str]


@pytest.fixture
def bench(invoke: CommandLine) -> Measured:
    """Write an experiment and its program, which prints a rate; return the name of the experiment file."""

    def write(rate: float, *, sizes: tuple[int, ...] = (1,), repetitions: int = 5, before: str = "") -> str:
        (invoke.workspace / "program.sh").write_text(f"sleep 0.1\n{before}\necho rate: {rate}\n")
        experiment: dict[str, Any] = {
            "name": "bench",
            "parameters": {"framework": "command", "command": "sh program.sh"},
            "matrix": {"size": list(sizes)},
            "user_parameters": ["size"],
            "metrics": {"rate": {"regex": "rate: (.*)", "unit": "it/s", "better": "higher"}},
            "measure": {"repetitions": repetitions, "retries": 0, "idle_node": "ignore"},
        }
        (invoke.workspace / "bench.yaml").write_text(json.dumps(experiment))
        return "bench.yaml"

    return write


def gated(invoke: CommandLine, *arguments: str, expect: int | None = 0) -> Any:
    return invoke("gate", "main.tar.gz", "bench.yaml", "--local", "--margin", "40%", *arguments, expect=expect)


def sweep_in(archive: Path) -> str:
    with tarfile.open(archive) as found:
        return found.getnames()[0].split("/")[1]


def test_a_missing_baseline_is_a_usage_error_with_the_command_that_creates_it(invoke, bench: Measured) -> None:
    bench(100)
    told = gated(invoke, expect=2).stderr
    assert "baseline 'main.tar.gz' not found" in told
    assert "create it: hpcbench gate main.tar.gz bench.yaml --update" in told
    assert not (invoke.workspace / "jobs").exists(), "nothing has run"
    told = invoke("gate", "main", "bench.yaml", expect=2).stderr
    assert "create it: hpcbench sweep bench.yaml --name main" in told


def test_the_baseline_is_created_then_passes_then_fails_and_is_kept(invoke, bench: Measured) -> None:
    archive = invoke.workspace / "main.tar.gz"
    bench(100)
    done = gated(invoke, "--update", "--junit", "gate.xml", "-o", "first.md", "--json", expect=None)
    if "interference made all runs" in done.stderr:
        pytest.skip("other processes disturbed every run on this machine")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["comparisons"] == []
    assert "created the baseline main.tar.gz from bench-" in done.stderr
    (suite,) = ElementTree.parse(invoke.workspace / "gate.xml").getroot()  # noqa: S314 - written by us
    assert suite.get("tests") == "0"
    assert (invoke.workspace / "first.md").read_text().startswith("**nothing compared**: bench-")
    first = archive.read_bytes()
    bench(10)
    done = gated(invoke, "--update", "-o", "gate.md", "--json", expect=1)
    assert "the baseline main.tar.gz was not updated; to accept the new results, delete the file" in done.stderr
    assert archive.read_bytes() == first
    rows = {row["quantity"]: row["verdict"] for row in json.loads(done.stdout)["comparisons"]}
    assert rows["metric_rate_it_per_s"] == "worse"
    assert "| worse |" in (invoke.workspace / "gate.md").read_text()


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """A baseline is created on a busy machine, too. A comparison with it may still be inconclusive."""
    monkeypatch.setattr(gate, "has_interference", lambda record: False)


@pytest.mark.usefixtures("clean")
def test_an_update_replaces_the_baseline_if_the_verdict_passes(invoke, bench: Measured) -> None:
    archive = invoke.workspace / "main.tar.gz"
    bench(100)
    gated(invoke, "--update")
    created = sweep_in(archive)
    done = gated(invoke, "--update", "--on-inconclusive", "pass")
    assert "updated the baseline main.tar.gz from bench-" in done.stderr
    assert sweep_in(archive) != created
    assert [path.name for path in invoke.workspace.glob("*.gz")] == ["main.tar.gz"]
    assert not list(invoke.workspace.glob(".main*")), "no unfinished archive"


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"before": "exit 3"}, "missing"),
        ({"sizes": (2,)}, "missing"),
        ({"before": "test -e once || { touch once; exit 3; }"}, "some runs did not complete"),
    ],
    ids=["all runs fail", "a case is missing", "one run fails"],
)
def test_a_failed_run_and_a_missing_case_fail(invoke, bench: Measured, changes: dict[str, Any], said: str) -> None:
    bench(100)
    gated(invoke, "--update")
    bench(100, **changes)
    assert said in gated(invoke, "--on-inconclusive", "pass", expect=1).stdout


@pytest.mark.usefixtures("clean")
def test_too_few_runs_are_told_when_a_baseline_is_created_and_inconclusive_later(invoke, bench: Measured) -> None:
    bench(100, repetitions=2, sizes=(1, 2))
    told = gated(invoke, "--update").stderr
    assert "created the baseline main.tar.gz" in told
    few = r"warning: size=[12] has [12] usable runs? \(2 such cases\), but a verdict of faster or slower needs 5"
    assert re.search(few, told), told  # on a busy machine, a run may have interference
    assert "delete main.tar.gz, then repeat the command with --set measure.repetitions=10" in told
    bench(90, repetitions=2, sizes=(1, 2))
    assert "inconclusive: exit status 3" in gated(invoke, "--margin", "1%", expect=3).stderr


def test_interference_in_all_runs_is_told_and_inconclusive(
    invoke, bench: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "has_interference", lambda record: True)
    bench(100)
    done = gated(invoke, "--update", expect=3)
    assert "interference made all runs of 1 case unusable; to measure them again: hpcbench resume bench-" in done.stderr
    assert "--interference, then hpcbench compare main.tar.gz bench-" in done.stderr
    assert "the baseline main.tar.gz was not created" in done.stderr
    assert not (invoke.workspace / "main.tar.gz").exists()


@pytest.mark.usefixtures("clean")
def test_a_sweep_is_a_baseline_too_but_is_not_updated(invoke, bench: Measured) -> None:
    bench(100)
    invoke("sweep", "bench.yaml", "--local", "--name", "main")
    done = invoke("gate", "main", "bench.yaml", "--local", "--on-inconclusive", "pass", expect=None)
    assert " (NEW) compared to main (BASE)" in done.stdout
    told = invoke("gate", "main", "bench.yaml", "--update", expect=2).stderr
    assert "--update requires an archive, but 'main' is not one" in told
    assert "hpcbench sweep bench.yaml --name main --replace" in told


def test_different_units_are_a_warning_also_for_a_new_baseline(invoke) -> None:
    invoke(
        "run",
        "--save",
        "b.yaml",
        "-P",
        "unit=MB/s,GB/s",
        "--extract",
        "rate:higher=([0-9.]+)",
        "--",
        "echo",
        "5 {unit}",
    )
    told = invoke("gate", "main.tar.gz", "b.yaml", "--local", "--update", "--set", "measure.repetitions=1", expect=None)
    assert "metric 'rate' has different units (MB/s, GB/s), and its values are not converted" in told.stderr


def test_a_baseline_in_no_folder_is_reported_before_anything_runs(invoke, bench: Measured) -> None:
    bench(100)
    told = invoke("gate", "nowhere/main.tar.gz", "bench.yaml", "--local", "--update", expect=2).stderr
    assert "directory 'nowhere' not found" in told
    assert not (invoke.workspace / "jobs").exists()


@pytest.mark.parametrize("option", ["-o", "--junit"])
def test_a_document_that_cannot_be_written_is_reported_before_anything_runs(
    option: str, invoke, bench: Measured
) -> None:
    bench(100)
    words = ("main.tar.gz", "bench.yaml", "--local", "--update", option, "nowhere/gate.md")
    told = invoke("gate", *words, expect=2).stderr
    assert "'nowhere/gate.md' cannot be written: No such file or directory" in told
    assert not (invoke.workspace / "jobs").exists()
