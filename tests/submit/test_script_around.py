"""What a job script does around the workload: it looks whether the node is quiet, has the monitor stand beside, writes
the record, and does all of it again where that asks for it. In real bash; the zipapp is a fake that notes its calls.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

import pytest

from hpcbench.store.sweep import Sweep
from tests.submit.around import Around

MakeSweep = Callable[..., Sweep]

MakeAround = Callable[..., Around]
MEASURED = {"local": ["monitor", "spawn", "monitor's", "record"], "slurm": ["monitor", "rank", "monitor's", "record"]}
LOCAL_OR_SLURM = pytest.mark.parametrize("scheduler", ["local", "slurm"])


@LOCAL_OR_SLURM
def test_with_a_fake_zipapp_the_monitor_begins_before_the_workload_and_ends_after_it(
    around: MakeAround, scheduler: str
) -> None:
    made = around(scheduler)
    done = made.run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert made.steps == MEASURED[scheduler]
    (scratch,) = (line.split()[1] for line in made.called if line.startswith("monitor "))
    assert re.fullmatch(r".*/running/job-001/0-\d+-0-1", scratch)
    assert made.told_to_record("--scratch") == [scratch]


def test_on_a_fake_slurm_one_monitor_stands_on_each_node_beside_the_tasks(around: MakeAround) -> None:
    made = around("slurm", "  strategy: ddp\n  nodes: 2\n  tasks_per_node: 3\n  cpus_per_task: 4", quiet="require")
    assert made.run(NODES="2").stdout == ""
    each_node = "--nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=1 --cpu-bind=none --mpi=none "
    beside = f"srun --overlap --mem=0 {each_node}"
    assert [line.startswith(beside) for line in made.sruns] == [True, True, False], "to look, to watch, and the tasks"
    assert "--overlap" not in made.sruns[2]


@pytest.mark.parametrize("version", ["slurm 22.05.0", "slurm-wlm 22.05.8", "slurm 23.11.10-1", "slurm 26.05.1"])
def test_a_monitors_step_stands_beside_the_tasks_where_a_fake_slurm_lets_steps_share_all(
    around: MakeAround, version: str
) -> None:
    made = around("slurm")
    made.run(SLURM_IS=version)
    assert len(made.sruns) == 2


@pytest.mark.parametrize("version", ["slurm-wlm 21.08.5", "slurm 20.11.9", "slurm 19.05.5", ""])
def test_on_an_older_fake_slurm_no_step_waits_for_another_and_the_scripts_own_node_is_watched(
    around: MakeAround, version: str
) -> None:
    made = around("slurm", "  strategy: ddp\n  nodes: 2\n  cpus_per_task: 1", quiet="require")
    done = made.run(SLURM_IS=version)
    assert (done.returncode, made.steps) == (0, ["quiet", *MEASURED["slurm"]])
    (tasks,) = made.sruns
    assert " rank " in tasks
    assert "is watched; to watch every node takes Slurm 22.05 or newer" in done.stdout
    assert (version or "no Slurm") in done.stdout


@LOCAL_OR_SLURM
@pytest.mark.parametrize("quiet", ["ignore", "wait", "require"])
def test_bash_accepts_every_way_to_look(make_sweep: MakeSweep, scheduler: str, quiet: str) -> None:
    text = make_sweep(f"measure: {{quiet: {quiet}}}", scheduler=scheduler).paths.script("job-001").read_text()
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_with_a_fake_zipapp_nobody_looks_where_noise_is_to_be_ignored(around: MakeAround) -> None:
    made = around(quiet="ignore")
    made.run(NOISE="a hog", QUIET_STATUS="1")
    assert "quiet" not in made.steps
    assert made.told_to_record("--noise") == [""]


@LOCAL_OR_SLURM
@pytest.mark.parametrize("quiet", ["wait", "require"])
def test_with_a_fake_zipapp_a_quiet_node_is_measured(around: MakeAround, scheduler: str, quiet: str) -> None:
    made = around(scheduler, quiet=quiet)
    assert made.run().returncode == 0
    assert made.steps == ["quiet", *MEASURED[scheduler]]
    assert made.told_to_record("--noise") == [""]


@LOCAL_OR_SLURM
@pytest.mark.parametrize("quiet", ["wait", "require"])
def test_with_a_fake_zipapp_nothing_is_begun_on_a_node_that_is_not_quiet(
    around: MakeAround, scheduler: str, quiet: str
) -> None:
    made = around(scheduler, quiet=quiet)
    made.records_end_with(1)
    noise = 'n1: 1.5 of 2 CPUs are busy; it\'s "$(touch pwned)"'
    assert made.run(NOISE=noise, QUIET_STATUS="1").returncode == 1
    assert made.steps == ["quiet", "record"]
    assert made.told_to_record("--noise") == [noise]
    assert not (made.sweep.paths.jobs / "pwned").exists()


def test_with_a_fake_zipapp_a_node_that_cannot_be_looked_at_is_not_called_quiet(around: MakeAround) -> None:
    made = around(quiet="require")
    made.run(QUIET_STATUS="127")
    assert made.steps == ["quiet", "record"]
    assert made.told_to_record("--noise") == ["it could not be looked at"]


def test_with_a_fake_zipapp_a_node_that_is_called_quiet_is_measured_whatever_was_found_before(
    around: MakeAround,
) -> None:
    made = around(quiet="require")
    made.run()
    assert made.told_to_record("--exit-status") == ["0"]


def test_with_a_fake_zipapp_half_of_the_time_that_is_left_may_be_waited(around: MakeAround) -> None:
    made = around(quiet="wait")
    made.records_end_with(75, 0)
    made.run(LOOKS_S="1.2")
    first, second = (int(line.split()[-1]) for line in made.called if line.startswith("quiet"))
    assert (first, second) in {(300, 299), (300, 298), (299, 298)}


def test_with_a_fake_zipapp_what_was_disturbed_is_measured_again_as_long_as_the_record_asks(
    around: MakeAround,
) -> None:
    made = around(quiet="require", retries=5)
    made.records_end_with(75, 75, 0)
    assert made.run().returncode == 0
    assert made.steps == 3 * ["quiet", *MEASURED["local"]]
    assert made.told_to_record("--attempt") == ["1", "2", "3"]


@pytest.mark.parametrize("status", [1, 2, 137])
def test_with_a_fake_zipapp_a_record_of_a_failure_ends_the_script(around: MakeAround, status: int) -> None:
    made = around()
    made.records_end_with(75, status, 0)
    assert made.run().returncode == status
    assert made.steps == 2 * MEASURED["local"]


def test_with_a_fake_zipapp_each_attempt_begins_without_what_the_one_before_left(around: MakeAround) -> None:
    made = around()
    left = made.sweep.paths.results / "left"
    text = made.fake.read_text().replace(
        "spawn | rank)", f'spawn) [ ! -e "{left}/rank-0.json" ] || touch "{left}-over";'
    )
    made.fake.write_text(text)
    made.script.write_text(re.sub(r"(?m)^    scratch=.*$", f'scratch="{left}"', made.script.read_text()))
    made.records_end_with(75, 0)
    left.mkdir(parents=True)
    (left / "rank-0.json").touch()
    made.run()
    assert made.steps == 2 * MEASURED["local"]
    assert not left.with_name("left-over").exists()


def test_with_a_fake_zipapp_a_monitor_that_does_not_begin_is_told_and_the_workload_runs(around: MakeAround) -> None:
    made = around()
    done = made.run(MONITOR="broken", LAUNCHER_STATUS="3")
    assert done.stdout == "hpcbench: 0 of 1 monitors have begun\n"
    assert done.stderr == ""
    assert made.steps == ["monitor", "spawn", "record"]
    assert made.told_to_record("--exit-status") == ["3"]


def test_with_a_fake_zipapp_a_stop_while_the_node_is_looked_at_begins_nothing(around: MakeAround) -> None:
    made = around(quiet="wait")
    made.script.write_text(made.script.read_text().replace("  SECONDS=0\n", "  SECONDS=0\n(sleep 0.2; kill $$) &\n"))
    made.run(LOOKS_S="1")
    assert made.steps == ["quiet", "record"]
    assert made.told_to_record("--stopped") == ["TERM"]
