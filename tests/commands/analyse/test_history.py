"""`hpcbench history` as it is called, on sweeps whose records are written through the node's own code."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.core.record import RecordKey
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.typed_json import to_json
from hpcbench.node.results import outcome, record_writer

Sweeps = Callable[..., None]
SLOW_FROM = 12


def written(name: str, day: int, run: PlannedRun, step_s: float, sweep: dict[str, Any], facts: Any) -> dict[str, Any]:
    noise = random.Random(f"{name} {run.order}")
    times = [step_s * noise.gauss(1, 0.003) for _ in range(10)]
    found = {
        "status": "completed",
        "measurements": {
            "times_s": times,
            "windows": [[0.0, 1.0, 10]],
            "steps_per_measurement": 1,
            "first_step_s": 0.1,
        },
        "work": {
            "parameter_count": 1,
            "flops_per_item": 2,
            "items_per_step": 8,
            "input_shapes": {"input": [784]},
            "dtype": "float32",
            "math_mode": "matmul highest",
        },
        "threads": {"intra_op": 1, "inter_op": 1},
        "framework_version": "2.5.1",
        "python": "3.11.2",
        "packages": {"torch": "2.5.1", "numpy": "2.4.6"},
        "warnings": [],
        **facts,
    }
    node = {"hostname": "n1", "cpu_model": "a CPU", "kernel": "6.1.0"}
    rank = {"rank": 0, "host": "n1", "facts": found, "node": node, "exit_code": 0, "signal": None, "stopped_by": None}
    rank |= {"started_at": 86400.0 * day, "ended_at": 86400.0 * day + 1}
    key = RecordKey("job-1", run.order, "job-1", 1)
    return record_writer.assemble(run, sweep, key, [rank], outcome.Outcome("completed", None), 1.0, {})


@pytest.fixture
def sweeps(invoke) -> Sweeps:
    """Makes a sweep a day, from 1970 on, of two batch sizes and three runs; from a day on, the larger one takes
    12 % longer, with another torch."""

    def make(
        count: int = 20, *, slow_from: int = SLOW_FROM, name: str = "nightly", site: str = "here", first: int = 0
    ) -> None:
        for day in range(first, first + count):
            sweep = {
                "name": f"{name}-{day:02}",
                "experiment": {"name": name},
                "site": {"name": site},
                "hpcbench_version": "0.1.0",
                "git": None,
            }
            path = invoke.workspace / "results" / sweep["name"] / "records" / "job-1" / "local.jsonl"
            path.parent.mkdir(parents=True)
            facts = {"framework_version": "2.6.0", "packages": {"torch": "2.6.0", "numpy": "2.4.6"}}
            made = []
            for order in range(6):
                size = 4 << order % 2
                parameters = Parameters(framework="pytorch", model="mlp", batch_size=size).planned()
                run = PlannedRun(f"{size:012x}", order % 2, 1 + order // 2, order, parameters, {}, {"repetitions": 3})
                slow = day >= slow_from and size == 8
                step_s = 0.01 * (1.12 if slow else 1)
                made.append(written(sweep["name"], day, run, step_s, sweep, facts if day >= slow_from else {}))
            path.write_text("".join(json.dumps(to_json(each)) + "\n" for each in made))

    return make


def test_a_change_is_told_with_what_changed_beside_it(invoke, sweeps: Sweeps):
    sweeps()
    done = invoke("history", "nightly", expect=1)
    lines = done.stdout.splitlines()
    assert lines[0] == "nightly on here: 20 sweeps from 1970-01-01 on, throughput (samples/s)"
    assert lines[1].split() == ["batch", "size", "sweeps", "first", "latest", "ratio", "trend"]
    assert [line.split()[:2] for line in lines[2:4]] == [["4", "20"], ["8", "20"]]
    (told,) = [line for line in lines if "slower" in line]
    assert re.match(r"1970-01-13 nightly-12 batch_size=8: 1\.12x \[1\.1\d, 1\.1\d\] slower;", told)
    assert told.endswith("; also changed: torch 2.5.1 -> 2.6.0")
    assert lines[-1].startswith("1 change in 2 cases (rank-sum tests")
    assert done.stdout.isascii()
    assert done.stderr == ""


def test_the_table_fits_a_terminal_of_80_columns(invoke, sweeps: Sweeps):
    sweeps()
    lines = invoke("history", "nightly", env={"COLUMNS": "80"}, expect=1).stdout.splitlines()
    assert max(map(len, lines[1:4])) <= 80


@pytest.mark.parametrize(
    ("count", "slow_from", "expect"),
    [(20, SLOW_FROM, 1), (20, 99, 0), (9, 99, 3)],
    ids=["slower", "no change", "too few sweeps"],
)
@pytest.mark.parametrize(("option", "inconclusive"), [([], 3), (["fail"], 1), (["pass"], 0)])
def test_the_exit_status_is_that_of_the_latest_sweep(
    invoke, sweeps: Sweeps, count: int, slow_from: int, expect: int, option: list[str], inconclusive: int
):
    sweeps(count, slow_from=slow_from)
    asked = [word for value in option for word in ("--on-inconclusive", value)]
    done = invoke("history", "nightly", *asked, expect=inconclusive if expect == 3 else expect)
    assert ("inconclusive for 2 cases" in done.stderr) == (expect == inconclusive == 3)


def test_what_was_mended_since_does_not_fail(invoke, sweeps: Sweeps):
    sweeps(20, slow_from=10)
    sweeps(10, slow_from=99, first=20)
    document = json.loads(invoke("history", "nightly", "--metric", "time", "--json").stdout)
    assert [(each["after"], each["verdict"]) for each in document["changes"]] == [
        ("nightly-20", "faster"),
        ("nightly-10", "slower"),
    ]
    assert document["changes"][1]["also_changed"] == {"torch": {"before": "2.5.1", "after": "2.6.0"}}
    assert document["changes"][0]["ratio_ci_low"] < document["changes"][0]["ratio"] < 0.95


def test_csv_has_a_row_for_each_sweep_and_case_and_marks_the_change(invoke, sweeps: Sweeps):
    sweeps()
    rows = list(csv.DictReader(io.StringIO(invoke("history", "nightly", "--csv", "-", expect=1).stdout)))
    assert len(rows) == 40
    (marked,) = [row for row in rows if row["is_change"] == "True"]
    assert (marked["sweep"], marked["label"], marked["runs"]) == ("nightly-12", "batch_size=8", "3")
    assert marked["note"].startswith("1.12x [1.12, 1.12] slower")
    assert float(marked["low"]) < float(marked["value"]) < float(marked["high"])


def test_throughput_is_slower_where_it_is_less(invoke, sweeps: Sweeps):
    sweeps()
    for metric, ratio in (("throughput_items_per_s", 0.89), ("time", 1.12)):
        options = ["--metric", metric]
        (change,) = json.loads(invoke("history", "nightly", *options, "--json", expect=1).stdout)["changes"]
        assert (change["verdict"], round(change["ratio"], 2)) == ("slower", ratio)
        told = invoke("history", "nightly", *options, expect=1).stdout
        assert re.search(r": 1\.12x \[1\.1\d, 1\.1\d\] slower;", told)
    document = json.loads(invoke("history", "nightly", "--json", expect=1).stdout)
    assert document["quantity"] == "throughput_items_per_s"


def test_the_site_of_the_latest_sweep_is_taken_and_the_others_are_named(invoke, sweeps: Sweeps):
    sweeps(3, site="old")
    sweeps(2, site="new", first=3)
    done = invoke("history", "nightly", expect=3)
    assert "on new: 2 sweeps" in done.stdout
    assert "sweeps on new, the site of the latest sweep; for those on old: --filter-site NAME" in done.stderr
    assert "on old: 3 sweeps" in invoke("history", "nightly", "--filter-site", "old", expect=3).stdout


def test_other_experiments_do_not_count_and_a_file_names_its_own(invoke, sweeps: Sweeps):
    sweeps(2)
    sweeps(3, name="other")
    file = invoke.experiment("nightly")
    assert "nightly on here: 2 sweeps" in invoke("history", file, expect=3).stdout


def test_the_last_sweeps_and_those_since_a_day(invoke, sweeps: Sweeps):
    sweeps()
    assert ": 5 sweeps from 1970-01-16 on" in invoke("history", "nightly", "--last", "5", expect=3).stdout
    assert ": 2 sweeps from 1970-01-19 on" in invoke("history", "nightly", "--since", "1970-01-19", expect=3).stdout


def test_one_sweep_is_shown_and_said_to_be_one(invoke, sweeps: Sweeps):
    sweeps(1)
    done = invoke("history", "nightly", expect=3)
    assert "only one sweep found" in done.stderr
    assert "too few sweeps to detect changes: a case needs 10" in done.stdout


def test_bad_sweeps_are_told_and_left_out(invoke, sweeps: Sweeps):
    sweeps(4)
    results = invoke.workspace / "results"
    (results / "nightly-01" / "records" / "job-1" / "local.jsonl").write_text(
        '{"schema": 99, "status": "completed", "experiment": "nightly", "site": "here", "started_at": "1970-01-02"}\n'
    )
    (results / "nightly-02" / "records" / "job-1" / "local.jsonl").write_text("no record\n")
    odd = results / "nightly-03" / "records" / "job-1" / "local.jsonl"
    odd.write_text(odd.read_text().replace('"gpus_per_task": 0', '"gpus": 0'))
    done = invoke("history", "nightly", expect=3)
    assert ": 1 sweep from" in done.stdout
    assert "left out: nightly-01: the record has schema 99, and this hpcbench reads" in done.stderr
    assert "left out: nightly-02: none of its lines is a record" in done.stderr
    assert "left out: nightly-03: none of its lines is a record" in done.stderr


def test_a_failure_in_the_latest_sweep_is_told(invoke, sweeps: Sweeps):
    sweeps(3)
    path = invoke.workspace / "results" / "nightly-02" / "records" / "job-1" / "local.jsonl"
    failed = []
    for line in path.read_text().splitlines():
        made = json.loads(line)
        if made["parameters"]["batch_size"] == 8:
            made |= {
                "status": "failed",
                "measurements": None,
                "error": {"type": "E", "message": "it [red]bröke[/red] 日本"},
            }
        failed.append(json.dumps(made) + "\n")
    path.write_text("".join(failed))
    told = invoke("history", "nightly", "--on-inconclusive", "pass", expect=1).stdout
    assert "failed batch_size=8 in nightly-02: it [red]bröke[/red] 日本" in told


def test_metrics_of_commands_are_followed(invoke):
    experiment = {
        "name": "rates",
        "parameters": {"framework": "command", "command": "echo rate: 7"},
        "metrics": {"rate": {"regex": "rate: (.*)", "unit": "it/s"}, "loss": {"regex": "rate: (.*)"}},
        "measure": {"repetitions": 1, "retries": 0},
    }
    (invoke.workspace / "rates.yaml").write_text(json.dumps(experiment))
    invoke("sweep", "rates.yaml", "--local")
    done = invoke("history", "rates", "--metric", "rate", expect=3)
    assert "rates on laptop: 1 sweep from" in done.stdout
    assert done.stdout.splitlines()[0].endswith("on, rate (it/s)")
    assert done.stdout.splitlines()[2].split()[:4] == ["1", "7.00", "7.00", "1.000"]
    by_default = invoke("history", "rates", "--on-inconclusive", "pass").stdout.splitlines()[0]
    assert by_default.endswith("on, rate (it/s)")
    assert invoke("history", "rates", "--metric", "loss", expect=3).stdout.splitlines()[0].endswith("on, loss")
    assert "did you mean 'rate'?" in invoke("history", "rates", "--metric", "rat", expect=2).stderr


def test_figures_are_written_in_each_format(command_line, sweeps: Sweeps):
    sweeps()
    done = command_line(
        "history", "nightly", "--figures", "plots", "--figure-format", "svg,png,pdf", "--theme", "paper", expect=1
    )
    written = sorted((command_line.workspace / "plots").iterdir())
    name = "history-nightly-throughput-items-per-s"
    assert [path.name for path in written] == [f"{name}.{end}" for end in ("pdf", "png", "svg")]
    assert [path.read_bytes()[:4] for path in written] == [b"%PDF", b"\x89PNG", b"<svg"]
    assert f"wrote plots/{name}.svg" in done.stderr
    drawn = written[2].read_text()
    assert "1: 1970-01-13 1.12x [1.12, 1.12] slower" in drawn
    assert "torch 2.5.1 -&gt; 2.6.0" in drawn


def test_there_is_no_figure_where_nothing_was_measured(invoke, sweeps: Sweeps):
    sweeps(1)
    (path,) = (invoke.workspace / "results").glob("*/records/job-1/local.jsonl")
    failed = [{**json.loads(line), "status": "failed", "measurements": None} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(each) + "\n" for each in failed))
    done = invoke("history", "nightly", "--figures", "plots", expect=1)
    assert "no figures: nothing was measured" in done.stderr


def test_a_page_is_written(command_line, sweeps: Sweeps):
    sweeps()
    done = command_line("history", "nightly", "--html", "history.html", "-o", "history.parquet", expect=1)
    assert len(pd.read_parquet(command_line.workspace / "history.parquet")) == 40
    assert "wrote 20 sweeps to history.html" in done.stderr
    page = (command_line.workspace / "history.html").read_text()
    assert "torch 2.5.1 -&gt; 2.6.0" in page
    assert "history-nightly-throughput-items-per-s" in page
    assert command_line("history", "nightly", "--html", "-", expect=1).stdout.startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nigtly"], "did you mean 'nightly'?"),
        (["nightly", "--filter-site", "hree"], "did you mean 'here'?"),
        (["nightly", "--since", "2030-01-01"], "no sweep found since 2030-01-01"),
        (["nightly", "--since", "yesterday"], "'yesterday' does not match"),
        (["nightly", "--metric", "tim"], "unknown metric 'tim'"),
        (["nightly", "--csv", "-", "--json"], "--csv - cannot be used with --json"),
        (["nightly", "--csv", "-", "--html", "-"], "--csv - cannot be used with --html -"),
        (["nightly", "--figures", "plots", "--figure-format", "pgn"], "did you mean 'png'?"),
        (["nightly", "--figures", "plots", "--theme", "dark"], "'dark' is not one of"),
        (["nightly", "--theme", "paper"], "--theme requires --figures"),
        (["nightly", "--html", ""], "the name is empty"),
        (["nightly", "-o", "history.md"], "unknown suffix '.md' hint: use one of: .json, .csv, .parquet, .html"),
        (["nightly", "--figures", "results/nightly-00/records/job-1/local.jsonl"], "cannot be created"),
        (["nightly", "--html", "results"], "is a directory"),
        (["nothing.yaml"], "'nothing.yaml' not found"),
        ([], "missing argument EXPERIMENT"),
    ],
)
def test_a_mistake_is_told(invoke, sweeps: Sweeps, arguments: list[str], said: str):
    sweeps(1)
    assert said in " ".join(invoke("history", *arguments, expect=2).stderr.split())


def test_a_workspace_without_records_is_told(invoke):
    assert "experiment 'nightly' has no records" in invoke("history", "nightly", expect=2).stderr
