"""`hpcbench show` as it is called, in a pipe and on a terminal, on records written through the node's own code."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core import run_spec
from hpcbench.core.record import Interference, Record, RecordKey
from hpcbench.core.typed_json import from_json
from hpcbench.node.results import record_writer
from hpcbench.node.results.monitor_summary import Monitored
from hpcbench.node.results.outcome import Outcome
from tests.conftest import CommandLine

NOTES = ["plain", "größer 大 [red] " + "long" * 50]
ERROR = {"type": "ValueError", "message": "it broke", "last_lines": ["Traceback", "ValueError: it \x1b[2Jbroke"]}
TERMINAL = {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
FOUND = {"causes": ["cpu"], "what": "other processes took its CPUs", "windows": 3, "size": 0.5}
Sweep = Callable[..., None]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jobs of a sweep of an mlp with two batch sizes and two notes, planned once: two runs of each."""
    folder = tmp_path_factory.mktemp("rendered")
    experiment = {
        "name": "trial",
        "parameters": {"framework": "pytorch", "model": "mlp"},
        "user_parameters": ["note"],
        "matrix": {"batch_size": [4, 8], "note": NOTES},
        "measure": {"repetitions": 2},
        "slurm": {"pack_walltime": "02:00:00"},
    }
    (folder / "trial.yaml").write_text(json.dumps(experiment))
    planning = CommandLine(folder, here=True)
    for name, scheduler in (("laptop", "local"), ("local-slurm", "slurm")):
        site = planning.site(name, scheduler=scheduler)
        planning("sweep", "trial.yaml", "--site", site, "--render-only", "--name", name)
    return folder / "jobs"


@pytest.fixture
def sweep(invoke, rendered: Path) -> Sweep:
    """Makes a sweep in which the plain case of batch size 4 has run as told, a dictionary for each run."""

    def make(*repetitions: dict[str, Any], site: str = "laptop", log: str | None = "said\n" * 20) -> None:
        jobs = invoke.workspace / "jobs" / site
        shutil.copytree(rendered / site, jobs)
        plan = json.loads((jobs / "sweep.json").read_text())
        for element, line in enumerate((jobs / "job-001.jsonl").read_text().splitlines()):
            run = run_spec.parse(line)
            asked = (run.parameters["batch_size"], run.user_parameters["note"]) == (4, "plain")
            if asked and run.run <= len(repetitions):
                key = RecordKey("job-001", element, "job-001", 1)
                made = written(plan, key, run, **repetitions[run.run - 1])
                folder = invoke.workspace / "results" / site / "records" / "job-001"
                record_writer.append(made, str(folder / "local.jsonl"))
                if log is not None:
                    (jobs / "logs" / "job-001" / f"local_{element}_0_log.out").write_text(log)

    return make


def written(plan: Any, key: RecordKey, run: Any, **told: Any) -> Record:
    times = told.get("times_s", [0.010, 0.011, 0.012])
    samples = {"times_s": times, "windows": [[0.0, 1.0, len(times)]], "steps_per_measurement": 1, "first_step_s": 0.1}
    found = {
        "status": "completed",
        "measurements": {**samples, "steady": True, "drift": 0.025, "stopped": "max_time"},
        "work": {
            "parameter_count": 1234,
            "flops_per_item": 2,
            "items_per_step": run.parameters["batch_size"],
            "input_shapes": {"input": [4, 784]},
            "dtype": "float32",
            "math_mode": "float32",
        },
        "threads": {"intra_op": 2, "inter_op": 1, "by": "torch.set_num_threads"},
        "framework_version": "2.13.0",
        "peak_memory_bytes": 3 * 2**30,
        "import_s": 1.5,
        "affinity": [0, 1, 2, 3],
        "python": "3.11.2",
        "packages": {"torch": "2.13.0"},
        "warnings": [],
        **{name: told[name] for name in ("settings", "dynamic", "validation") if name in told},
    }
    node = {"hostname": "n1", "cpu_model": "a CPU", "cpu_count": 8, "memory_bytes": 2**34, "kernel": "6.1"}
    rank = {"rank": 0, "host": "n1", "facts": found, "node": node, "exit_code": 0, "signal": None, "stopped_by": None}
    rank |= {"started_at": 0.0, "ended_at": 1.0, "environment": {"OMP_NUM_THREADS": "2"}}
    judged = {"verdict": told.get("verdict", "clean"), "reason": None, "found": told.get("found", [])}
    seen = Monitored(from_json(Interference, {**judged, "windows": [None] * 4, "unseen": ["a CPU quota"]}), [])
    status = told.get("status", "completed")
    outcome = Outcome(status, None if status == "completed" else dict(ERROR))
    return record_writer.assemble(run, plan, key, [rank], outcome, 1.0, {}, seen)


def sections(text: str) -> dict[str, list[str]]:
    """The lines of each section by its heading; of the title under `title`."""
    title, *parts = text.rstrip("\n").split("\n\n")
    return {"title": title.splitlines(), **{part.splitlines()[0]: part.splitlines()[1:] for part in parts}}


def words(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


PLAIN = ("batch_size=4", "note=plain")


def test_everything_about_a_case_in_a_pipe(invoke, sweep: Sweep):
    sweep({"times_s": [0.010] * 6}, {"times_s": [0.011] * 6})
    done = invoke("show", *PLAIN, env={"TZ": "UTC"})
    assert "\x1b" not in done.stdout
    assert all(line == line.rstrip() for line in done.stdout.splitlines())
    told = sections(done.stdout)
    assert list(told) == [
        "title",
        *("plan", "result", "measurements", "runs", "interference", "environment", "script", "log"),
    ]
    assert told["title"][0].endswith(" completed: batch_size=4 note=plain")
    plan = words(told["plan"])
    assert "sweep laptop on laptop runs 2 completed" in plan
    assert (
        "parameters framework=pytorch model=mlp execution=eager batch_size=4 threads=none user_parameters note=plain"
        in plan
    )
    assert "defaults model_options={} task=training" in plan
    assert "requested time=01:00:00 pack_walltime=02:00:00" in plan
    result = words(told["result"])
    assert "median 10.5 ms (95 % CI 5.72 ms - 19.2 ms) of 2 runs, 12 measurements" in result
    assert "samples/s 381.0 (95 % CI 208.2 - 698.8)" in result
    assert "percentiles p50 10.5 ms; p90 requires 29 measurements" in result
    assert "threads intra-op 2, inter-op 1; not set by the experiment" in result
    assert "memory process 3 GiB peak" in result
    assert "before import 1.5 s, first step 100 ms" in result
    assert "work 1,234 parameters, 2 FLOPs per item, input [4, 784], float32, float32" in result
    assert told["measurements"][0] == "step times of runs 1, 2, in ms"
    of_10_ms, of_11_ms = (line.removesuffix("  < median 10.5 ms") for line in told["measurements"][1:])
    assert [of_10_ms, of_11_ms] == [f"10.00 - 10.50  {'#' * 40}  6", f"10.50 - 11.00  {'#' * 40}  6"]
    assert sum("< median 10.5 ms" in line for line in told["measurements"]) == 1
    first, second = (" ".join(line.split()) for line in told["runs"][1:])
    assert first == "1 completed 10.0 6 ______ +2.5 % yes max_time clean n1 01-01 00:00:00"
    assert second.startswith("2 completed 11.0 6 ###### ")
    assert words(told["interference"]) == "clean 2 of 2 runs not monitored a CPU quota"
    environment = words(told["environment"])
    assert "framework pytorch 2.13.0 packages python 3.11.2, torch 2.13.0" in environment
    assert "variables OMP_NUM_THREADS=2 nodes n1 CPU a CPU, 8 CPUs, 16 GiB kernel 6.1 affinity 0-3" in environment
    assert told["log"][1:] == ["  said"] * 10


SECTIONS = [
    {"module": "0", "phase": "forward", "threads": 2, "branches": ["forward", "reverse"]},
    {"module": "1", "phase": "backward", "threads": 1, "branches": None},
]


@pytest.mark.parametrize(
    ("dynamic", "expected"),
    [
        ({"why": "no change is worth it", "schedule": None}, "by layer group one count: no change is worth it"),
        (
            {"schedule": {"sections": SECTIONS}, "measured": {"gain": [1.2, 1.1, 1.3]}, "fixed_threads": 2},
            "by layer group 0 2 for 2 concurrent branches, 1 backward 1; 1.20x [1.10, 1.30] faster than 2 for all",
        ),
        ({"schedule": {"sections": SECTIONS[1:]}}, "by layer group 1 backward 1 "),
        (
            {
                "why": "no change is worth it",
                "schedule": None,
                "sections": [
                    {**SECTIONS[0], "busy": {"1": 1, "16": 9}},
                    {**SECTIONS[1], "busy": {"1": 1, "16": 1}},
                ],
                "profile_s": 12.5,
            },
            "computing 0 9, 1 backward 1; 16 were set",
        ),
    ],
)
def test_threads_by_layer_group_and_settings_as_they_took_effect(
    invoke, sweep: Sweep, dynamic: dict[str, Any], expected: str
):
    sweep({"dynamic": dynamic, "settings": {"openmp": "libgomp.so.1", "onednn": False, "allocator": None}})
    result = words(sections(invoke("show", *PLAIN, expect=1).stdout)["result"])
    assert expected in result
    assert "settings openmp libgomp.so.1, onednn False " in result
    assert ("search for threads 12.5 s" in result) == ("profile_s" in dynamic)


@pytest.mark.parametrize("times_s", [[0.010] * 3, []])
def test_a_validation_has_a_line_with_and_without_times(invoke, sweep: Sweep, times_s: list[float]):
    failed = {"verdict": "failed", "reason": "the output is nan at index [0]"}
    sweep({"times_s": times_s, "validation": failed, "status": "failed"})
    result = words(sections(invoke("show", *PLAIN, expect=1).stdout)["result"])
    assert "validation failed: the output is nan at index [0]" in result


def test_a_terminal_of_eighty_columns_is_wide_enough(invoke, sweep: Sweep):
    sweep({"times_s": [0.010, 0.010, 0.012]}, {"times_s": [0.011] * 6}, log="bar\rtitle\x1b]0;title\x07one\n")
    shown = invoke("show", *PLAIN, env=TERMINAL).stdout
    assert "\x1b[1mresult" in shown
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "\x1b" not in text, "what a program printed moves no cursor"
    assert "  title?]0;title?one\n" in text
    wide = [line for line in text.splitlines() if len(line) > 80]
    assert all(" rank " in line for line in wide), "only the command to paste is one line"
    assert len(wide) == 1
    told = sections(text)
    assert "█" * 10 in words(told["measurements"])
    assert "all of them status completed, stopped max_time" in words(told["runs"])
    assert told["runs"][-2].split()[3] == "▁▁█"


def test_a_failed_case_begins_with_its_last_lines(invoke, sweep: Sweep):
    sweep({"status": "failed"}, {}, log="begun\nTraceback\nValueError: it \x1b[2Jbroke\nhpcbench: failed\n")
    told = sections(invoke("show", *PLAIN, expect=1).stdout)
    assert list(told)[1] == "reason of failure"
    why = told["reason of failure"]
    assert why[0] == "1 failed: it broke" or why[0] == "1 failed on n1: it broke"
    assert why[-2:] == ["  Traceback", "  ValueError: it ?[2Jbroke"]
    assert "of 1 run, 3 measurements" in words(told["result"])
    assert told["log"][1:] == ["ends with the lines above and these:", "  begun", "  hpcbench: failed"]
    assert "hpcbench resume laptop" in words(told["script"])
    few = invoke("show", *PLAIN, "--lines", "1", expect=1).stdout
    assert "Traceback" not in few
    none = sections(invoke("show", *PLAIN, "--lines", "0", expect=1).stdout)
    assert (len(none["reason of failure"]), len(none["log"])) == (2, 1)


def test_a_case_that_cannot_run_here_is_not_resumed(invoke, sweep: Sweep):
    sweep({"status": "unsupported"}, {"status": "unsupported"})
    told = sections(invoke("show", *PLAIN, expect=1).stdout)
    assert "2 unsupported" in told["reason of failure"][0]
    assert "hpcbench resume" not in words(told["script"])


def test_what_others_disturbed_is_told_with_its_causes(invoke, sweep: Sweep):
    sweep({"verdict": "interference", "found": [FOUND], "times_s": [1.0] * 3}, {})
    told = sections(invoke("show", *PLAIN).stdout)
    assert "1 with interference left out" in words(told["result"])
    assert told["measurements"][0] == "step times of run 2, in ms"
    assert "cpu: left out" in told["runs"][1]
    found = "cpu: other processes took its CPUs (0.5 at most, in 3 of 4 windows)"
    assert f"clean 1 of 2 runs in 1 interference {found}" in words(told["interference"])


def test_a_case_that_has_not_run_says_where_it_stands(invoke, sweep: Sweep):
    sweep()
    done = invoke("show", *PLAIN, expect=1)
    told = sections(done.stdout)
    assert list(told) == ["title", "reason of failure", "plan", "script"]
    assert " planned: " in told["title"][0]
    assert told["reason of failure"][0] == "2 planned"


SAMPLES = {
    "one": ([0.5], "of 1 run, 1 measurement ", 1),
    "no number among them": ([0.5, math.nan, 0.5], "1 of 3 measurements of run 1 left out: not a number", 1),
    "a hundred thousand": ([0.01 + 1e-7 * number for number in range(100_000)], "100,000 measurements", 16),
    "far apart": ([0.001, 0.01, 0.1, 1.0, 10.0], "5 measurements", 2),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_samples_of_any_kind_are_drawn(kind: str, invoke, sweep: Sweep):
    times, said, bins = SAMPLES[kind]
    sweep({"times_s": times})
    told = sections(invoke("show", *PLAIN, expect=1).stdout)
    assert said in words(told["result"])
    assert len(told["measurements"]) == 1 + bins
    assert ("logarithmic" in told["measurements"][0]) == (kind == "far apart")


def test_json_has_the_records_of_all_attempts_and_no_nan(invoke, sweep: Sweep):
    sweep({"times_s": [0.5, math.nan]}, {"status": "failed"})
    text = invoke("show", *PLAIN, "--json", expect=1).stdout
    shown = json.loads(text, parse_constant=pytest.fail)
    assert (shown["sweep"], shown["status"], shown["user_parameters"]) == ("laptop", "failed", {"note": "plain"})
    first, second = shown["runs"]
    assert first["record"]["measurements"]["times_s"] == [0.5, None]
    assert [attempt["case_id"] for attempt in first["attempts"]] == [shown["case"]]
    assert second["record"]["error"]["message"] == "it broke"


MISTAKES = {
    "": ["missing argument CASE: the sweep has 4 cases", "(batch_size=4 note=plain)"],
    "batch_size=4": ["'batch_size=4' matches 2 cases", "(note=plain)"],
    "batch_size=5": ["no case has batch_size=5", "use one of: 4, 8"],
    "batch_sise=4": ["unknown column 'batch_sise'", "did you mean 'batch_size'?"],
    "notes=plain": ["unknown column 'notes'", "did you mean 'note'?"],
    "batch_size=4,note=plan": ["none of the other matching cases has note=plan", "did you mean 'plain'?"],
    "x1": ["no case ID begins with 'x1'", "use one of: c"],
    "c": ["'c' matches 4 cases"],
}


def test_a_case_that_is_none_or_several_is_explained(invoke, sweep: Sweep):
    sweep()
    for named, told in MISTAKES.items():
        error = words(invoke("show", *([named] if named else []), expect=2).stderr.splitlines())
        for said in told:
            assert said in error
    unknown = invoke("show", "lapdog", "c", expect=2).stderr
    assert "did you mean 'laptop'?" in unknown


def test_a_case_is_found_by_whatever_tells_it_apart(invoke, sweep: Sweep):
    sweep()
    case = json.loads(invoke("show", *PLAIN, "--json", expect=1).stdout)["case"]
    odd = f"batch_size=4,note={NOTES[1]}"
    for named in ([case], [case[:12]], ["note=plain", "batch_size=4"], ["batch_size=4,param_note=plain"]):
        assert invoke("show", *named, expect=1).stdout.startswith(case)
    shown = invoke("show", "lap", odd, expect=1, env={**TERMINAL, "FORCE_COLOR": ""}).stdout
    assert NOTES[1] in shown
    in_ascii, errors = invoke.start("show", odd, env={"PYTHONIOENCODING": "ascii"}).communicate(timeout=60)
    assert "note=gr??er ? [red] longlong" in in_ascii, errors


def test_an_archive_is_shown_with_its_logs_and_without(invoke, sweep: Sweep, tmp_path: Path):
    sweep({}, {})
    invoke("archive", "laptop", "-o", "with.tar.gz")
    shutil.rmtree(invoke.workspace / "jobs" / "laptop" / "logs")
    invoke("archive", "laptop", "-o", "without.tar.gz")
    shutil.rmtree(invoke.workspace / "jobs")
    told = sections(invoke("show", "with.tar.gz", *PLAIN).stdout)
    assert "from the archive with.tar.gz" in words(told["plan"])
    assert "hpcbench sweep --from with.tar.gz" in words(told["script"])
    assert told["log"][-1] == "  said"
    told = sections(invoke("show", "without.tar.gz", *PLAIN).stdout)
    assert told["log"][-1] == "cannot be read: No such file or directory"


def test_a_case_on_slurm_is_run_again_by_the_indices_of_its_array(invoke, sweep: Sweep):
    """All eight runs are one pack, for an hour each of two: a job holds two of them."""
    sweep(site="local-slurm")
    told = sections(invoke("show", *PLAIN, expect=1, env={"PATH": "/nowhere"}).stdout)
    folder = invoke.workspace / "jobs" / "local-slurm"
    packs = [set(map(int, line.split())) for line in (folder / "packs" / "job-001").read_text().splitlines()]
    runs = [json.loads(line) for line in (folder / "job-001.jsonl").read_text().splitlines()]
    own = {
        element
        for element, run in enumerate(runs)
        if run["user_parameters"]["note"] == "plain" and run["parameters"]["batch_size"] == 4
    }
    indices = [index for index, pack in enumerate(packs) if pack & own]
    (line,) = [line for line in told["script"] if "sbatch" in line]
    given = re.search(r"--array=([\d,-]+) jobs/local-slurm/job-001.sh", line)
    assert given
    spans = [part.split("-") for part in given[1].split(",")]
    assert [index for span in spans for index in range(int(span[0]), int(span[-1]) + 1)] == indices
    others = sum(len(packs[index]) for index in indices) - len(own)
    assert f"and {others} runs of other cases" in line
