"""`hpcbench compare` as it is called, on sweeps whose records are written through the node's own code."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from click.testing import CliRunner

from hpcbench import cli
from hpcbench.commands.analyse import compare
from hpcbench.core import run_spec
from hpcbench.core.record import Evidence, Interference, Record, RecordKey
from hpcbench.node.results import record_writer
from hpcbench.node.results.outcome import Outcome
from hpcbench.store.workspace import SweepPaths
from tests.conftest import CommandLine

SAMPLES = 20
Sweep = Callable[..., None]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jobs of a sweep of an mlp with two batch sizes, planned once: five runs of each."""
    folder = tmp_path_factory.mktemp("rendered")
    experiment = {
        "name": "trial",
        "parameters": {"framework": "pytorch", "model": "mlp"},
        "matrix": {"batch_size": [4, 8]},
        "measure": {"repetitions": 5},
    }
    (folder / "trial.yaml").write_text(json.dumps(experiment))
    planning = CommandLine(folder, here=True)
    planning("sweep", "trial.yaml", "--site", planning.site(), "--render-only", "--name", "trial")
    return folder / "jobs" / "trial"


@pytest.fixture
def sweep(invoke, rendered: Path) -> Sweep:
    """Makes a sweep whose steps take `step_s`, by batch size, with 0.3 % of noise; what is not in it has not run."""

    def make(name: str, step_s: dict[int, float], /, repetitions: int = 5, facts: Any = None) -> None:
        jobs = invoke.workspace / "jobs" / name
        shutil.copytree(rendered, jobs)
        plan, generator = {**json.loads((jobs / "sweep.json").read_text()), "name": name}, random.Random(name)
        (jobs / "sweep.json").write_text(json.dumps(plan))
        for job in plan["jobs"]:
            for element, line in enumerate((jobs / f"{job}.jsonl").read_text().splitlines()):
                run = run_spec.parse(line)
                size = run.parameters["batch_size"]
                if size in step_s and run.run <= repetitions:
                    step = step_s[size] * generator.gauss(1, 0.003)
                    times = [step * generator.gauss(1, 0.003) for _ in range(SAMPLES)]
                    made = written(plan, RecordKey(job, element, job, 1), run, times, facts or {})
                    path = invoke.workspace / "results" / name / "records" / job / "local.jsonl"
                    record_writer.append(made, str(path))

    return make


def written(plan: Any, key: RecordKey, run: Any, times: list[float], facts: dict[str, Any]) -> Record:
    shape = {"items_per_step": run.parameters["batch_size"], "input_shapes": {"input": [32, 784]}, "dtype": "float32"}
    found = {
        "status": "completed",
        "measurements": {
            "times_s": times,
            "windows": [[0.0, 1.0, SAMPLES]],
            "steps_per_measurement": 1,
            "first_step_s": 0.1,
        },
        "work": {"parameter_count": 1, "flops_per_item": 2, "math_mode": "matmul highest", **shape},
        "threads": {"intra_op": 1, "inter_op": 1},
        "framework_version": "2.13.0",
        "warnings": [],
        **facts,
    }
    node = {"hostname": "n1", "cpu_model": facts.get("cpu_model", "a CPU")}
    rank = {"rank": 0, "host": "n1", "facts": found, "node": node, "exit_code": 0, "signal": None, "stopped_by": None}
    rank |= {"started_at": 0.0, "ended_at": 1.0}
    outcome = Outcome("completed", None)
    return record_writer.assemble(run, plan, key, [rank], outcome, 1.0, {})


BASE = {4: 0.01, 8: 0.02}
SLOWER = {4: 0.01, 8: 0.022}


def verdicts(invoke, *arguments: str, expect: int = 0) -> dict[int, str]:
    document = json.loads(invoke("compare", *arguments, "--json", expect=expect).stdout)
    return {row["batch_size"]: row["verdict"] for row in document["comparisons"]}


def test_a_case_that_got_slower_is_told_from_one_that_did_not(invoke, sweep: Sweep):
    sweep("main", BASE)
    sweep("next", SLOWER)
    lines = invoke("compare", "main", "next", "--margin", "2%", expect=1).stdout.splitlines()
    assert lines[0] == "next (NEW) compared to main (BASE)"
    assert lines[2].split()[0] == "8"
    assert lines[2].split()[-1] == "slower"
    assert lines[3].split()[-1] == "same"
    assert lines[-1].startswith("1 slower, 1 same (margin 2 %, false discovery rate 1 %")
    assert verdicts(invoke, "next", "main", "--margin", "2%") == {8: "faster", 4: "same"}


def test_sweeps_are_named_as_everywhere(invoke, sweep: Sweep):
    sweep("main", BASE)
    sweep("next", SLOWER)
    by_prefix, by_name = (invoke("compare", *names, expect=1) for names in (("ma", "latest"), ("main", "next")))
    assert by_prefix.stdout == by_name.stdout


@pytest.mark.parametrize(
    ("base", "new", "expect"),
    [
        (BASE, SLOWER, 1),
        (BASE, BASE, 0),
        (SLOWER, BASE, 0),
        (BASE, {4: 0.01}, 1),
        ({4: 0.01}, BASE, 3),
        ({4: 0.01}, {8: 0.01}, 1),
        (SLOWER, {4: 0.02}, 1),
    ],
    ids=["slower", "same", "faster", "missing", "only in NEW", "nothing in common", "slower and missing"],
)
def test_the_exit_status_is_that_of_the_worst_verdict(
    invoke, sweep: Sweep, base: dict[int, float], new: dict[int, float], expect: int
):
    sweep("main", base)
    sweep("next", new)
    done = invoke("compare", "main", "next", "--margin", "2%", expect=expect)
    assert ("inconclusive: exit status 3" in done.stderr) == (expect == 3)


@pytest.mark.parametrize(("option", "expect"), [([], 3), (["fail"], 1), (["pass"], 0)])
def test_too_few_repetitions_are_inconclusive(invoke, sweep: Sweep, option: list[str], expect: int):
    sweep("main", BASE, repetitions=3)
    sweep("next", SLOWER, repetitions=3)
    asked = [word for value in option for word in ("--on-inconclusive", value)]
    done = invoke("compare", "main", "next", *asked, "--junit", "compare.xml", expect=expect)
    assert "3 runs per side are too few for a verdict; about 5 runs per side would suffice" in done.stdout
    (suite,) = ElementTree.parse(invoke.workspace / "compare.xml").getroot()  # noqa: S314 - written by us
    assert (suite.get("failures") == "0") == (expect != 1)


def test_what_is_slower_fails_whatever_is_inconclusive(invoke, sweep: Sweep):
    sweep("main", {8: 0.02})
    sweep("next", SLOWER)
    for asked in ("pass", "fail"):
        done = invoke("compare", "main", "next", "--on-inconclusive", asked, expect=1)
        assert "slower" in done.stdout


def test_a_comparison_of_nothing_is_no_success(invoke, sweep: Sweep):
    sweep("main", {4: 0.01})
    sweep("next", {8: 0.01})
    done = invoke("compare", "main", "next", "--on-inconclusive", "pass", expect=1)
    assert "no case could be compared" in done.stderr
    assert "missing batch_size=4: not measured in NEW (planned)" in done.stdout
    invoke("compare", "main", "next", "--junit", "compare.xml", "-o", "compare.json", expect=1)
    (suite,) = ElementTree.parse(invoke.workspace / "compare.xml").getroot()  # noqa: S314 - written by us
    assert suite.get("failures") == "1"
    assert json.loads((invoke.workspace / "compare.json").read_text())["compared"] == 0


def test_runs_with_interference_are_repeated_by_a_command_with_the_name_of_their_sweep(
    invoke, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
):
    def noisy(paths: SweepPaths) -> list[Record]:
        found = [Evidence(["cpu"], "another process", 1, 1.0)]
        return [replace(record, interference=Interference("interference", found=found)) for record in latest(paths)]

    latest = compare.latest_records
    monkeypatch.setattr(compare, "latest_records", noisy)
    sweep("main", {4: 0.01})
    sweep("next", {4: 0.01})
    told = invoke("compare", "main", "next", "--on-inconclusive", "pass", expect=None).stdout
    again = "; ".join(f"measure again: hpcbench resume {name} --interference" for name in ("main", "next"))
    assert f"interference in every run of BASE and of NEW (cpu); {again}\n" in told
    invoke("archive", "main", "-o", "main.tar.gz")
    told = invoke("compare", "main.tar.gz", "next", "--on-inconclusive", "pass", expect=None).stdout
    assert "(cpu); measure main.tar.gz again on an idle machine; measure again: hpcbench resume next" in told


def test_other_work_behind_the_same_parameters_is_not_compared(invoke, sweep: Sweep):
    work = {
        "parameter_count": 1,
        "flops_per_item": 2,
        "items_per_step": 4,
        "input_shapes": {"input": [1]},
        "dtype": "float32",
    }
    sweep("main", {4: 0.01})
    sweep("next", {4: 0.01}, facts={"work": {**work, "math_mode": "TF32"}})
    told = invoke("compare", "main", "next", expect=3).stdout
    assert "not compared" in told
    assert "different workload: math_mode matmul highest in BASE, TF32 in NEW" in told


def test_another_machine_or_version_is_told(invoke, sweep: Sweep):
    sweep("main", BASE)
    sweep("next", BASE, facts={"cpu_model": "another CPU", "framework_version": "2.14.0", "gpus": ["A100"]})
    told = invoke("compare", "main", "next").stdout
    assert "warning: cpu_model is a CPU in BASE and another CPU in NEW" in told
    assert "framework_version: 2.13.0 in BASE, 2.14.0 in NEW" in told


def test_documents_go_to_files_and_the_table_to_stdout(invoke, sweep: Sweep):
    sweep("main", BASE)
    sweep("next", SLOWER)
    files = ["--junit", "compare.xml", "-o", "compare.json", "-o", "compare.csv", "-o", "compare.parquet"]
    done = invoke("compare", "main", "next", "--margin", "2%", *files, expect=1)
    for file in files[1::2]:
        assert f"wrote 2 comparisons to {file}" in done.stderr
    assert done.stdout.startswith("next (NEW) compared to main (BASE)")
    (suite,) = ElementTree.parse(invoke.workspace / "compare.xml").getroot()  # noqa: S314 - written by us
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "0")
    document = json.loads((invoke.workspace / "compare.json").read_text())
    assert document["verdicts"] == {"slower": 1, "same": 1}
    tables = pd.read_csv(invoke.workspace / "compare.csv"), pd.read_parquet(invoke.workspace / "compare.parquet")
    assert [list(table["verdict"]) for table in tables] == [["slower", "same"]] * 2


@pytest.mark.parametrize("options", [["--json"], ["--junit", "-"]])
def test_a_pipe_gets_one_document_and_nothing_else(invoke, sweep: Sweep, options: list[str]):
    sweep("main", BASE)
    sweep("next", SLOWER)
    said = invoke("compare", *options, "main", "next", expect=1).stdout
    assert json.loads(said) if "--json" in options else ElementTree.fromstring(said)  # noqa: S314 - written by us


def test_markdown_has_the_verdicts_first_then_what_got_worse_and_folds_the_rest(invoke, sweep: Sweep):
    sweep("main", BASE)
    sweep("next", SLOWER)
    lines = invoke("compare", "main", "next", "--markdown", expect=1).stdout.splitlines()
    assert lines[0] == "**1 slower, 1 same**: next (NEW) compared to main (BASE)"
    assert lines[2] == r"| batch size | BASE \(ms\) | NEW \(ms\) | ratio | 95 % CI | n | verdict |"
    assert re.fullmatch(r"\| 8 \| [\d.]+ \| [\d.]+ \| 1\.\d+ \| 1\.\d+ - 1\.\d+ \| 5 \| slower \|", lines[4])
    folded = lines.index("<details><summary>1 comparison without a change</summary>")
    assert lines[folded + 4].startswith("| 4 | ")
    assert lines.index("</details>") > folded + 4
    invoke("compare", "main", "next", "-o", "compare.md", expect=1)
    assert (invoke.workspace / "compare.md").read_text().splitlines() == lines


def test_markdown_gives_the_reason_of_a_missing_case_before_others(invoke, sweep: Sweep):
    sweep("main", {4: 0.01})
    sweep("next", {8: 0.01})
    told = invoke("compare", "main", "next", "--markdown", expect=1).stdout
    assert "**1 missing, 1 not compared**" in told
    assert "- **missing** batch\\_size=4: not measured in NEW \\(planned\\)\n- **not compared** batch" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["main", "main"], "BASE and NEW are the same sweep, main"),
        (["main"], "missing argument NEW"),
        (["main", "nexd"], "sweep 'nexd' not found"),
        (["main", "other", "--json", "--junit", "-"], "--junit - cannot be used with --json"),
        (["main", "other", "--json", "--markdown"], "--json cannot be used with --markdown"),
        (["main", "other", "-o", "x.html"], "unknown suffix '.html' hint: use one of: .json, .csv, .parquet, .md"),
        (["main", "other", "-o", "-"], "the name has no suffix"),
        (["main", "other", "-o", ""], "the name has no suffix"),
    ],
)
def test_a_mistake_is_told(invoke, sweep: Sweep, arguments: list[str], said: str):
    sweep("main", {4: 0.01})
    assert said in " ".join(invoke("compare", *arguments, expect=2).stderr.split())


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--margin", "two", "'two' is not a number; use e.g. 2% or 0.02"),
        ("--margin", "2", "'2' is not between 0 and 100 %; use e.g. 2% or 0.02"),
        ("--margin", "-1%", "'-1%' is not between 0 and 100 %"),
        ("--margin", "nan", "'nan' is not between 0 and 100 %"),
        ("--on-inconclusive", "warn", "'warn' is not one of"),
    ],
)
def test_a_mistaken_option_is_told(option: str, value: str, said: str):
    result = CliRunner().invoke(cli.group, ["compare", "main", "next", option, value])
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize("margin", ["2%", "2 %", "0.02", "2.0%"])
def test_a_margin_is_per_cent_or_a_part(invoke, sweep: Sweep, margin: str):
    sweep("main", BASE)
    sweep("next", BASE)
    assert json.loads(invoke("compare", "main", "next", "--margin", margin, "--json").stdout)["margin"] == 0.02


@pytest.mark.parametrize(("file", "said"), [("nowhere/a.xml", "'nowhere/a.xml' cannot be written"), (".", "directory")])
def test_a_file_that_cannot_be_written_is_told(invoke, sweep: Sweep, file: str, said: str):
    sweep("main", {4: 0.01})
    sweep("next", {4: 0.01})
    assert said in invoke("compare", "main", "next", "--junit", file, expect=2).stderr


def test_records_with_odd_samples_are_read_and_what_is_left_out_is_said(invoke, sweep: Sweep):
    sweep("main", BASE)
    sweep("next", BASE)
    (file,) = invoke.workspace.glob("results/next/records/*/*.jsonl")
    first, *rest = file.read_text().splitlines()
    made = json.loads(first)
    made["measurements"]["times_s"][:3] = [float("nan"), float("inf"), None]
    file.write_text("\n".join([json.dumps(made), *rest]) + "\n")
    told = invoke("compare", "main", "next").stdout
    assert "warning: NEW: 3 of 20 measurements of run" in told
    row = next(row for row in invoke.report("next") if row["warnings"])
    assert row["measurements"] == "97"
    assert "3 of 20 measurements of run" in row["warnings"]


def test_commands_are_compared_by_their_metrics_too(invoke):
    experiment = {
        "name": "rates",
        "parameters": {"framework": "command", "command": "cat rate.txt"},
        "matrix": {"seed": [1]},
        "metrics": {"rate": {"regex": "rate: (.*)", "unit": "it/s"}},
        "measure": {"repetitions": 5, "retries": 0},
    }
    (invoke.workspace / "rates.yaml").write_text(json.dumps(experiment))
    for name, rate in (("main", "100"), ("next", "90")):
        (invoke.workspace / "rate.txt").write_text(f"rate: {rate}\n")
        invoke("sweep", "rates.yaml", "--local", "--name", name)
    done = invoke("compare", "main", "next", expect=1)
    row = next(line.split() for line in done.stdout.splitlines() if "it/s" in line)
    assert row == ["rate", "(it/s)", "100", "90", "0.900", "0.900", "-", "0.900", "5", "worse"]
    assert len([line for line in done.stdout.splitlines() if line.lstrip().startswith("wall time ")]) == 1


def test_different_units_of_both_sides_are_a_warning(invoke):
    for name, rate in (("main", "900 MB/s"), ("next", "1.1 GB/s")):
        pattern = ("--extract", "rate:higher=rate: ([0-9.]+)", "--name", name)
        (invoke.workspace / "rate.txt").write_text(f"rate: {rate}\n")
        invoke("run", "--local", "--repetitions", "1", *pattern, "--", "cat", "rate.txt")
    done = invoke("compare", "main", "next", expect=3)
    told = " ".join((done.stdout + done.stderr).split())
    assert "metric 'rate' has different units (MB/s, GB/s), and its values are not converted" in told
