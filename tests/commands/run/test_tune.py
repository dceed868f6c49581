"""hpcbench tune on this machine, with a program whose rate is known."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

import pytest

# Its rate is 2 a worker; three workers are refused.
PROGRAM = """
[ "{{ workers }}" -ne 3 ] || exit 1
echo "rate: $(( {{ workers }} * 2 )).0$RANDOM"
"""


@pytest.fixture(autouse=True)
def no_threads_of_the_shell(monkeypatch):
    """Nor of a PyTorch that another test has imported, which sets some."""
    for name in os.environ:
        if name.startswith(("OMP_", "KMP_", "MKL_", "GOMP_")):
            monkeypatch.delenv(name)


@pytest.fixture
def rates(command_line):
    """An experiment of a program, with so many workers."""

    def rates(workers: list[Any], measure: dict[str, Any] | None = None, **sections: Any) -> str:
        return command_line.experiment(
            "rates",
            parameters={"framework": "command", "command": PROGRAM, "model": None, "model_options": {}},
            matrix={"workers": workers},
            user_parameters=["workers"],
            metrics={"rate": {"regex": r"rate: ([\d.]+)", "unit": "it/s"}},
            measure={"repetitions": 3, **(measure or {})},
            **sections,
        )

    return rates


def found(command_line) -> list[dict[str, Any]]:
    (file,) = command_line.workspace.glob("results/*/tuning.json")
    return json.loads(file.read_text())


def test_the_best_is_found_and_told_with_what_it_beats(command_line, rates):
    done = command_line("tune", rates([1, 2, 3, 4]), "--local", "--metric", "rate", "--name", "first")
    assert "best       workers=4: 8." in done.stdout
    assert "default    workers=1: 2." in done.stdout
    assert "faster than the default" in done.stdout or "better than the default" in done.stdout
    assert "  beats      2 of the 2 other measured configurations (100 %)" in done.stdout
    assert "failed" in done.stdout
    program = done.stdout.partition("  outside hpcbench:\n")[2]
    assert program.startswith(
        '    bash -e -o pipefail -c $\'[ "4" -ne 3 ] || exit 1\\necho "rate: $(( 4 * 2 )).0$RANDOM"\'\n'
    )
    (finding,) = found(command_line)
    assert finding["answer"]["best"]["parameters"] == {"workers": 4}
    assert finding["answer"]["certain"]
    assert len(finding["failed"]) == 1


def test_what_was_measured_is_a_sweep_like_any_other(command_line, rates):
    command_line("tune", rates([1, 4]), "--local", "--metric", "rate", "--name", "second")
    states = command_line.states("second")
    assert states == {"completed": len(command_line.records())}
    rows = command_line.report("second")
    assert sorted(row["param_workers"] for row in rows) == ["1", "4"]
    told = command_line("report", "second").stdout
    assert "best       workers=4" in told
    assert "All measurements of the search" in told
    assert "the first case" not in told  # with which the report of a sweep compares its best
    (plan,) = [line for line in command_line("show", "workers=4").stdout.splitlines() if "measure" in line][:1]
    assert "run with max_time_s" in plan or "runs with" in plan
    assert (
        "--interference, --missing and --force cannot be used with a search"
        in command_line("resume", "second", "--interference", expect=2).stderr
    )
    again = command_line("resume", "second")
    assert "best       workers=4" in again.stdout
    assert json.loads(command_line("resume", "second", "--json").stdout) == found(command_line)
    assert len(command_line.records()) == states["completed"]  # nothing was measured again


def test_the_page_of_a_search_begins_with_what_it_found(command_line, rates):
    command_line("tune", rates([1, 2, 4]), "--local", "--metric", "rate", "--name", "paged")
    page = command_line("report", "paged", "--html", "-").stdout
    first = page[page.index('<section id="answer"') : page.index('<section id="ranking"')]
    assert "workers=4 is " in first
    assert "than the default" in first
    assert "\ngain       " in first
    assert "\nbeats      2 of the 2 other measured configurations" in first
    assert "all measurements of the search, including brief ones" in first
    assert first.count('<p class="sentence">') == 1
    assert '<td class="standing">' not in page
    (command_line.workspace / "results" / "paged" / "tuning.json").unlink()
    page = command_line("report", "paged", "--html", "-").stdout
    assert "the search paged has not ended; to continue: hpcbench resume paged" in page


def test_the_full_grid_checks_what_was_found(command_line, rates):
    done = command_line("tune", rates([1, 4]), "--local", "--metric", "rate", "--exhaustive")
    assert "same best: workers=4" in done.stdout
    assert "the full grid took" in done.stdout


def test_an_interrupted_search_goes_on_where_it_was(command_line, rates):
    search = command_line.start("tune", rates([1, 2, 4]), "--local", "--metric", "rate", "--name", "cut")
    deadline = time.monotonic() + 60
    while len(command_line.records()) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    search.send_signal(signal.SIGINT)
    _, told = search.communicate(timeout=60)
    assert search.returncode == 130
    assert "hpcbench resume cut" in told
    reported = command_line("report", "cut", expect=None).stdout  # 1 where one was running
    assert "the search cut has not ended; to continue: hpcbench resume cut" in reported
    assert json.loads(command_line("status", "cut", "--json").stdout)["search"].startswith("interrupted")
    before = [(r["case_id"], r["run"]) for r in command_line.records() if r["status"] == "completed"]
    assert "best       workers=4" in command_line("resume", "cut").stdout
    after = [(r["case_id"], r["run"]) for r in command_line.records() if r["status"] == "completed"]
    assert after[: len(before)] == before
    assert len(after) == len(set(after))  # each once


def test_a_program_gets_what_was_found_by_names(command_line, rates):
    done = command_line("tune", rates([1, 4]), "--local", "--metric", "rate", "--json")
    (finding,) = json.loads(done.stdout)
    assert finding["answer"]["best"]["parameters"] == {"workers": 4}
    assert list(finding["answer"]["gain"]) == ["estimate", "low", "high"]
    assert list(finding["answer"]["usage"]) == ["variables", "cpus", "lines", "others", "command"]
    assert [finding] == found(command_line)


def test_what_the_shell_sets_of_threads_is_named_beside_the_default(command_line, rates):
    done = command_line("tune", rates([1, 4]), "--local", "--metric", "rate", env={"OMP_NUM_THREADS": "3"})
    assert "default    workers=1, with OMP_NUM_THREADS=3 from the environment: 2." in done.stdout
    assert found(command_line)[0]["answer"]["inherited"] == {"OMP_NUM_THREADS": "3"}


def test_json_is_what_would_be_searched_and_the_state_of_any_sweep(command_line, rates):
    plan = json.loads(command_line("tune", rates([1, 4]), "--local", "--dry-run", "--json").stdout)
    (searched,) = plan["workloads"]
    assert searched["parameters"] == {"workers": [1, 4]}
    assert (searched["default"], searched["configurations"]) == ({"workers": 1}, 2)
    assert plan["max_measurements"] >= 2
    assert not (command_line.workspace / "jobs").exists()
    command_line("sweep", rates([1]), "--local", "--name", "plain")
    state, same = (json.loads(command_line(name, "plain", "--json").stdout) for name in ("resume", "status"))
    assert {**state, "at": None} == {**same, "at": None}


def test_a_dry_run_writes_nothing(command_line, rates):
    done = command_line("tune", rates([1, 2]), "--local", "--metric", "rate", "--dry-run")
    assert "workers: 1, 2" in done.stdout
    assert "default: workers=1" in done.stdout
    assert "the full grid is 6 runs" in done.stdout
    assert "About 15 measurements in total, plus repeats of those with interference.\n" in done.stdout
    assert "node-hours" not in done.stdout
    assert not list(command_line.workspace.glob("jobs/*/sweep.json"))


def test_a_dry_run_tells_how_long_networks_may_be_measured(command_line):
    experiment = command_line.experiment(
        matrix={"intra_op_threads": [1, 2]}, measure={"max_warmup_s": 1.0, "max_time_s": 3.0}
    )
    done = command_line("tune", experiment, "--local", "--set", "cpus_per_task=2", "--dry-run")
    assert (
        "About 16 measurements in total, plus repeats of those with interference: "
        "about 1 min 04 s of measurement, plus the time to start the processes." in done.stdout
    )


def test_a_dry_run_shows_the_job_of_a_cluster(command_line, rates):
    (command_line.workspace / "far.yaml").write_text("name: far\nscheduler: slurm\n")
    timed = rates([1, 2], slurm={"time": "00:02:00"})
    done = command_line("tune", timed, "--site", "far.yaml", "--metric", "rate", "--name", "far", "--dry-run")
    assert "At most 0.50 node-hours, 0.50 core-hours, 0.00 GPU-hours; the longest time limit is 0:30:00." in done.stdout
    assert "#SBATCH" not in done.stdout
    whole = command_line("tune", timed, "--site", "far.yaml", "--metric", "rate", "--name", "far", "--show-script")
    assert "#SBATCH --time=0:30:00\n" in whole.stdout
    assert "resume far --here\n" in whole.stdout
    assert not list(command_line.workspace.glob("jobs/*"))
    packed = rates([1, 2], slurm={"time": "00:02:00", "pack_walltime": "04:00:00"})
    done = command_line("tune", packed, "--site", "far.yaml", "--metric", "rate", "--dry-run")
    assert "At most 4.00 node-hours" in done.stdout


def test_where_nothing_completes_it_says_so(command_line, rates):
    done = command_line("tune", rates([3, "03"]), "--local", "--metric", "rate", "--name", "none", expect=1)
    assert "no configuration could be measured; fix the failures, then search again: hpcbench tune" in done.stdout
    assert "no configuration could be measured" in command_line("resume", "none", expect=1).stdout
    assert "ended; for its result" in command_line("status", "none", "--watch", expect=1).stderr


def test_of_commands_their_first_metric_counts_where_nobody_says_what(command_line, rates):
    assert "best       workers=4: 8." in command_line("tune", rates([1, 4]), "--local").stdout
    done = command_line("tune", rates([1, 4]), "--local", "--metric", "throughput", expect=2)
    assert "--metric throughput: commands have no throughput" in done.stderr
    assert "--metric time" in done.stderr


def test_a_search_whose_environment_is_gone_does_not_go_on_and_drops_no_setting(command_line, rates):
    python = command_line.workspace / "python"
    python.symlink_to(sys.executable)
    site = command_line.site(environments={"command": {"python": str(python)}})
    command_line("tune", rates([1, 4]), "--site", site, "--name", "gone")
    (command_line.workspace / "results" / "gone" / "tuning.json").unlink()
    python.unlink()
    before = command_line.records()
    assert "the Python of environment 'command' no longer exists" in command_line("resume", "gone", expect=2).stderr
    assert command_line.records() == before
    python.symlink_to(sys.executable)
    assert "best       workers=4" in command_line("resume", "gone").stdout


def test_a_run_whose_line_was_cut_off_is_added_anew(command_line, rates):
    """As after a death in the middle of writing it."""
    command_line("tune", rates([1, 4]), "--local", "--name", "cut")
    (file,) = command_line.workspace.glob("jobs/cut/job-*.jsonl")
    (command_line.workspace / "results" / "cut" / "tuning.json").unlink()
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]) + lines[-1][:50])
    assert json.loads(command_line("status", "cut", "--json").stdout)["search"].startswith("interrupted")
    assert "best       workers=4" in command_line("resume", "cut").stdout
    assert [line[:20] for line in file.read_bytes().splitlines()] == [line[:20] for line in lines]


@pytest.mark.usefixtures("somebody_else")
def test_a_node_that_is_not_quiet_ends_a_search_that_can_go_on(command_line, rates):
    waiting = rates([1, 2], measure={"idle_node": "require"})
    done = command_line("tune", waiting, "--local", "--metric", "rate", "--name", "noisy", expect=2)
    assert "a measurement ended as skipped: the node is not idle" in done.stderr
    assert "hpcbench resume noisy" in done.stderr
    assert not list(command_line.workspace.glob("results/*/tuning.json"))
    (skipped,) = command_line.records()
    done = command_line("resume", "noisy", expect=2)
    assert "not idle" in done.stderr
    assert [r["case_id"] for r in command_line.records()] == [skipped["case_id"]] * 2  # again, and no other


def test_without_a_slurm_nothing_is_made_for_it(command_line, rates, monkeypatch):
    (command_line.workspace / "far.yaml").write_text("name: far\nscheduler: slurm\n")
    monkeypatch.setenv("PATH", "/usr/bin/nowhere")
    done = command_line("tune", rates([1, 2]), "--site", "far.yaml", "--metric", "rate", expect=2)
    assert "sbatch not found, so hpcbench cannot submit jobs" in done.stderr
    assert not list(command_line.workspace.glob("jobs/*/sweep.json"))


def test_one_setting_is_nothing_to_search(command_line, rates):
    done = command_line("tune", rates([1]), "--local", "--metric", "rate", expect=2)
    assert "the matrix has only one configuration" in done.stderr


def test_held_out_shapes_without_threads_by_section_are_refused(command_line, rates):
    shapes = rates([1, 2], tune={"held_out": [{"batch_size": 4}]})
    done = command_line("tune", shapes, "--local", "--metric", "rate", expect=2)
    assert "held-out shapes require a case with threads: dynamic" in done.stderr


def test_cases_of_other_resources_are_refused(command_line):
    experiment = command_line.experiment(matrix={"cpus_per_task": [1, 2]})
    done = command_line("tune", experiment, "--local", expect=2)
    assert "cpus_per_task is 1 and 2" in done.stderr
    assert "trial.yaml" in done.stderr


def test_a_metric_that_is_none_is_refused(command_line, rates):
    done = command_line("tune", rates([1, 2]), "--local", "--metric", "ratio", expect=2)
    assert "did you mean 'rate'" in done.stderr


def test_a_held_out_shape_that_makes_no_network_is_refused_at_its_line(command_line):
    experiment = command_line.experiment(
        parameters={"model": "lstm", "model_options": {}, "task": "inference"},
        matrix={"threads": ["none", "dynamic"]},
        tune={"held_out": [{"batch_size": 0}]},
    )
    done = command_line("tune", experiment, "--local", expect=2)
    assert "trial.yaml:1: tune.held_out[0]" in done.stderr
    assert not list(command_line.workspace.glob("jobs/*/sweep.json"))
