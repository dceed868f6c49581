"""Watching a sweep: how often Slurm is asked, what is said on which kind of terminal, and when it ends."""

from __future__ import annotations

import datetime
import io
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from hpcbench.commands.shared import watch
from hpcbench.commands.shared.displays import JsonLines, Log, Screen, display_on
from hpcbench.commands.shared.watch import BUSY_S, FIRST_S, LONGEST_S, pause_s
from hpcbench.config.parameters import Parameters
from hpcbench.core.record import RecordKey
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.status import CANCELLED, COMPLETED, FAILED
from hpcbench.errors import UserError
from hpcbench.node.results import record_writer as node_record
from hpcbench.node.results.outcome import Outcome
from hpcbench.status import tuning_state
from hpcbench.status.query import query
from hpcbench.store import packs
from hpcbench.store.journal import Batch, Journal, locked
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from tests.conftest import CommandLine
from tests.status.queued_sweep import accounted, queued

DESCRIPTION = {
    "name": "sweep-1",
    "hpcbench_version": "0.1.0",
    "experiment": {"name": "experiment-1", "retry": {}},
    "axes": ["batch_size"],
    "git": None,
}
ANSWERS_THE_THIRD_TIME = """
n=$(cat asked 2>/dev/null || echo 0); echo $((n + 1)) > asked
[ "$n" -lt 2 ] || exit 0
echo "Unable to contact slurm controller" >&2; exit 1
"""


class World:
    """A sweep of a few runs, and a clock that only sleeping moves. What happens does so while it sleeps."""

    def __init__(self, folder: Path) -> None:
        self.paths = Workspace(folder).paths("sweep-1")
        self.paths.jobs.mkdir(parents=True)
        self.now_s = 0.0
        self.pauses: list[float] = []
        self.most = 60
        self.events: dict[int, Callable[[], object]] = {}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.sweep = self.planned(1)

    def planned(self, runs: int, scheduler: str = "local") -> Sweep:
        parameters = Parameters(framework="pytorch", model="mlp").planned()
        made = [
            PlannedRun(f"{number:012x}", number, 1, number, {**parameters, "batch_size": 2**number}, {}, {"retries": 0})
            for number in range(runs)
        ]
        self.paths.runs("job-001").write_text("".join(run.as_line() + "\n" for run in made))
        site = {"name": "here", "scheduler": scheduler}
        self.sweep = Sweep(self.paths, {**DESCRIPTION, "site": site, "jobs": {"job-001": {"runs": runs}}})
        return self.sweep

    def submitted(self, runs: int) -> Sweep:
        """The same on Slurm, as array 7."""
        sweep = self.planned(runs, "slurm")
        batch = Batch(self.paths, "job-001.token")
        packs.write(self.paths.packs(batch.name), [(number,) for number in range(runs)])
        journal = Journal.read(self.paths)
        journal.submitting(batch)
        journal.submitted(batch, "7")
        return sweep

    def ends(self, element: int, status: str = "completed", **changes: Any) -> None:
        """A record of a local run."""
        run = list(self.sweep.runs("job-001"))[element]
        key = RecordKey("job-001", element, "job-001", 1)
        outcome = Outcome(FAILED, {"type": "exit", "message": "it broke"})
        made = node_record.assemble(run, self.sweep.description, key, [], outcome, 1.0, {})
        error = None if status == COMPLETED else made.error
        made = replace(made, status=status, error=error, **changes)
        node_record.append(made, str(self.paths.local_records("job-001")))

    def run(self, *elements: int) -> None:
        """As if these ran just now: what stands for their driver waits until this test has ended."""
        for element in elements:
            words = ["bash", "-c", "read -r", str(self.paths.runs("job-001"))]
            process = subprocess.Popen(words, stdin=subprocess.PIPE)
            self.processes.append(process)
            while not Path(f"/proc/{process.pid}/cmdline").read_bytes():
                pass  # it becomes bash in this very moment
            (self.paths.running("job-001") / f"{element}-{process.pid}-0-1").mkdir(parents=True)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        assert len(self.pauses) < self.most, "it watches for ever"
        self.now_s += seconds
        self.events.pop(len(self.pauses), lambda: None)()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = World(tmp_path)
    monkeypatch.setattr(watch, "time", SimpleNamespace(sleep=made.sleep, monotonic=lambda: made.now_s))
    yield made
    for process in made.processes:
        process.communicate()


def console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), width=100, height=20, force_terminal=terminal, color_system=None)


def text_of(shown: Console) -> str:
    assert isinstance(shown.file, io.StringIO)
    return shown.file.getvalue()


def test_slurm_is_asked_quickly_at_first_and_every_minute_when_nothing_happens() -> None:
    assert pause_s(0, 0, 0) == FIRST_S
    assert pause_s(50, 0, 0) == 5  # something has just changed
    assert pause_s(50, 50, 0) == 5
    assert pause_s(3600, 0, 0) == BUSY_S
    assert pause_s(3600, 300, 0) == 30
    assert pause_s(3600, 600, 0) == pause_s(3600, 3600, 0) == LONGEST_S


def test_a_slurm_that_answers_slowly_is_asked_less_often() -> None:
    assert pause_s(0, 0, 3) == 30
    assert pause_s(0, 0, 59) == LONGEST_S


@given(st.floats(0, 1e6), st.floats(0, 1), st.floats(0, 100))
def test_a_pause_is_never_shorter_than_the_first_nor_longer_than_a_minute(
    waited_s: float, part: float, asking_s: float
) -> None:
    assert FIRST_S <= pause_s(waited_s, part * waited_s, asking_s) <= LONGEST_S


def test_a_day_in_which_nothing_happens_costs_about_a_question_a_minute(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.most = 2000
    sweep = world.planned(1)
    world.run(0)

    def sleep(seconds: float) -> None:
        world.sleep(seconds)
        if world.now_s > 86400:
            world.ends(0)

    monkeypatch.setattr(watch.time, "sleep", sleep)
    assert watch.watch(sweep, Log(console(terminal=False))) == 0
    assert 1440 <= len(world.pauses) < 1500


def test_a_pipe_gets_a_line_for_each_change_and_each_failure(world: World) -> None:
    sweep, shown = world.planned(3), console(terminal=False)
    world.run(0, 1, 2)
    world.events = {2: lambda: world.ends(0), 3: lambda: world.ends(1, "failed"), 5: lambda: world.ends(2)}
    assert watch.watch(sweep, display_on(shown)) == 1
    lines = text_of(shown).splitlines()
    assert lines == [
        "sweep-1: 3 running",
        "sweep-1: 2 running, 1 completed",
        "sweep-1: 1 running, 1 completed, 1 failed",
        "failed batch_size=2 run 1: it broke (log: jobs/sweep-1/logs/job-001/local_1_0_log.out)",
        "sweep-1: 2 completed, 1 failed",
    ]


def test_a_search_is_watched_until_it_has_an_answer_also_before_its_first_repetition(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = world.planned(0)
    sweep.description["tuning"] = {"metric": "throughput", "scheduler": "local"}
    world.events = {3: lambda: world.paths.findings.write_text("[]")}
    world.paths.results.mkdir(parents=True)
    with locked(sweep.paths.jobs):
        assert watch.watch(sweep, Log(console(terminal=False))) == 0
    assert len(world.pauses) == 3
    assert "sweep-1: ended; for its result: hpcbench resume sweep-1" in capsys.readouterr().err


def test_a_search_that_ends_while_slurm_is_asked_is_not_interrupted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = world.planned(0)
    sweep.description["tuning"] = {"metric": "throughput", "scheduler": "slurm"}
    world.paths.results.mkdir(parents=True)

    def no_job(*_: object) -> dict[str, object]:
        world.paths.findings.write_text("[]")
        return {}

    monkeypatch.setattr(tuning_state, "searching", no_job)
    assert tuning_state.search_state(sweep).words == "ended; for its result: hpcbench resume sweep-1"


def test_a_search_is_asked_for_at_the_cluster_of_its_site(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = world.planned(0)
    sweep.description["tuning"] = {"metric": "throughput", "scheduler": "slurm"}
    sweep.description["site"]["slurm_conf"] = "/own/slurm.conf"
    asked: list[str | None] = []

    def no_job(*_: object) -> dict[str, object]:
        asked.append(os.environ.get("SLURM_CONF"))
        return {}

    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(tuning_state, "searching", no_job)
    assert "interrupted" in tuning_state.search_state(sweep).words
    assert asked == ["/own/slurm.conf"]


def test_a_search_that_nobody_goes_on_with_is_not_watched_for_ever(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = world.planned(1)
    sweep.description["tuning"] = {"metric": "throughput", "scheduler": "local"}
    world.ends(0)
    assert watch.watch(sweep, Log(console(terminal=False))) == 1
    assert "interrupted; to continue: hpcbench resume sweep-1" in capsys.readouterr().err


def test_a_terminal_gets_a_view_that_is_drawn_once_for_each_answer_and_stays(world: World) -> None:
    sweep, shown = world.planned(2), console(terminal=True)
    world.run(0, 1)
    world.events = {4: lambda: (world.ends(0), world.ends(1))}
    display = display_on(shown)
    assert isinstance(display, Screen)
    assert watch.watch(sweep, display) == 0
    frames = text_of(shown).split("sweep-1 on here at ")[1:]
    assert len(frames) == len(world.pauses) + 3  # one more when it begins to redraw, and one without the footer
    assert "Ctrl-C closes this view" in frames[0]
    assert "Ctrl-C" not in frames[-1]
    assert "2 of 2 ended" in frames[-1]


def test_nothing_is_sent_to_a_terminal_between_two_answers(world: World) -> None:
    shown = console(terminal=True)
    with Screen(shown) as screen:
        screen.show(query(world.planned(1)), datetime.datetime.now().astimezone(), 60)
        drawn = text_of(shown)
        time.sleep(0.6)
        assert text_of(shown) == drawn


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(display_on(console(terminal=True)), Log)


def test_a_program_gets_a_line_of_json_for_each_change(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = world.planned(2)
    world.run(0, 1)
    world.events = {3: lambda: world.ends(0), 6: lambda: world.ends(1, "timeout")}
    assert watch.watch(sweep, JsonLines()) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["states"] for line in lines] == [
        {"running": 2},
        {"running": 1, "completed": 1},
        {"completed": 1, "timeout": 1},
    ]
    assert "runs" not in lines[0]


@pytest.mark.parametrize(
    ("statuses", "words"),
    [
        (["completed", "failed"], "not all runs completed; to resume 1 run: hpcbench resume sweep-1"),
        (["completed"], "no job is pending or running, and 1 planned; to resume 1 run: hpcbench resume sweep-1"),
        ([], "no job is pending or running, and 2 planned; to resume 2 runs: hpcbench resume sweep-1"),
        (["completed", "unsupported"], "not all runs completed"),
    ],
)
def test_when_nothing_more_will_happen_it_ends_and_says_what_is_left(
    world: World, capsys: pytest.CaptureFixture[str], statuses: list[str], words: str
) -> None:
    sweep = world.planned(2)
    for element, status in enumerate(statuses):
        world.ends(element, status)
    assert watch.watch(sweep, Log(console(terminal=False))) == 1
    assert capsys.readouterr().err.endswith(f"sweep-1: {words}\n")
    assert len(world.pauses) <= 1


def test_while_another_hpcbench_works_on_the_sweep_more_will_happen(world: World) -> None:
    sweep = world.planned(1)
    with locked(world.paths.jobs):
        world.events = {5: lambda: world.ends(0)}
        assert watch.watch(sweep, Log(console(terminal=False))) == 0
    assert len(world.pauses) == 5


@pytest.mark.parametrize("reason", ["JobHeldUser", "DependencyNeverSatisfied", "AssocMaxWallDurationPerJobLimit"])
def test_what_slurm_never_starts_does_not_keep_it_with_a_fake_squeue(
    world: World, fake_commands: Callable[..., Path], capsys: pytest.CaptureFixture[str], reason: str
) -> None:
    fake_commands(squeue=f"echo '{queued(f'0|PENDING|{reason}|')}'", sacct="exit 0")
    shown = console(terminal=False)
    assert watch.watch(world.submitted(1), Log(shown)) == 1
    assert f"({reason}): " in text_of(shown)
    assert (
        "no job is pending or running, and 1 never_started; reasons: hpcbench status sweep-1" in capsys.readouterr().err
    )


def test_what_is_pending_is_watched_until_it_ends_with_a_fake_squeue(
    world: World, fake_commands: Callable[..., Path]
) -> None:
    fake_commands(squeue=f"echo '{queued('0|PENDING|BrandNewReason|')}'", sacct="exit 0")
    world.events = {20: lambda: fake_commands(squeue="exit 0", sacct=TIMED_OUT)}
    assert watch.watch(world.submitted(1), Log(console(terminal=False))) == 1
    assert len(world.pauses) == 20


TIMED_OUT = f"echo '{accounted('0|TIMEOUT|0:0|n1')}'"
FOLLOWS = queued("N/A|PENDING|Dependency|", name="sweep-1.follow-on", array="9")
SILENT = "echo Connection refused >&2; exit 1"


def test_an_accounting_that_lags_is_asked_again_with_a_fake_sacct(
    world: World, fake_commands: Callable[..., Path]
) -> None:
    fake_commands(squeue="exit 0", sacct=SILENT)
    world.events = {20: lambda: fake_commands(squeue="exit 0", sacct=TIMED_OUT)}
    assert watch.watch(world.submitted(1), Log(console(terminal=False))) == 1
    assert len(world.pauses) == 20


def test_an_accounting_that_stays_silent_is_not_asked_for_ever_with_a_fake_sacct(
    world: World, fake_commands: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    fake_commands(squeue="exit 0", sacct=SILENT)
    assert watch.watch(world.submitted(1), Log(console(terminal=False))) == 1
    assert watch.LAG_S <= sum(world.pauses) < 1.5 * watch.LAG_S
    assert "no job is pending or running, and 1 unknown" in capsys.readouterr().err


def test_what_a_follow_on_job_will_submit_is_waited_for_with_a_fake_squeue(
    world: World, fake_commands: Callable[..., Path]
) -> None:
    fake_commands(squeue=f"echo '{FOLLOWS}'")
    world.events = {5: lambda: fake_commands(squeue="exit 0")}
    shown = console(terminal=True)
    assert watch.watch(world.planned(1, "slurm"), Screen(shown)) == 1
    assert "continuation job 9 submits the remaining jobs" in text_of(shown)
    assert len(world.pauses) == 6


def test_a_follow_on_job_that_waits_for_what_never_starts_is_not_waited_for_with_a_fake_squeue(
    world: World, fake_commands: Callable[..., Path]
) -> None:
    held = queued("0|PENDING|JobHeldUser|")
    fake_commands(squeue=f"echo '{held}\n{FOLLOWS}'")
    assert watch.watch(world.submitted(1), Log(console(terminal=False))) == 1
    assert len(world.pauses) == 1


def test_a_controller_that_gives_no_answer_is_said_once_and_its_return_too_with_a_fake_squeue(
    world: World, fake_commands: Callable[..., Path]
) -> None:
    fake_commands(squeue=ANSWERS_THE_THIRD_TIME)
    shown = console(terminal=False)
    sweep = world.planned(1, "slurm")
    world.ends(0)
    assert watch.watch(sweep, Log(shown)) == 0
    assert world.pauses == [LONGEST_S, LONGEST_S]
    assert text_of(shown).splitlines() == [
        "squeue failed: Unable to contact slurm controller; trying again every 60 s",
        "Slurm responds again",
        "sweep-1: 1 completed",
    ]


def test_a_record_that_cannot_be_read_ends_the_watching_with_a_fake_squeue(
    world: World, fake_commands: Callable[..., Path]
) -> None:
    fake_commands(squeue="exit 0")
    sweep = world.planned(1, "slurm")
    world.ends(0, schema=99)
    with pytest.raises(UserError, match="the record has schema 99"):
        watch.watch(sweep, Log(console(terminal=False)))
    assert world.pauses == []


def test_a_damaged_line_is_said_once(world: World) -> None:
    sweep, shown = world.planned(2), console(terminal=False)
    world.ends(0)
    with world.paths.local_records("job-001").open("a") as file:
        file.write('{"cut\n')
    world.run(1)
    world.events = {4: lambda: world.ends(1)}
    assert watch.watch(sweep, Log(shown)) == 0
    assert text_of(shown).count("a damaged line is ignored") == 1


def test_ctrl_c_ends_the_view_and_says_that_the_jobs_go_on(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    sweep = world.planned(1)
    monkeypatch.setattr(watch.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        watch.watch(sweep, Screen(console(terminal=True)))
    assert "the jobs continue; to watch them: hpcbench status sweep-1 --watch" in capsys.readouterr().err


def test_a_local_sweep_is_watched_from_another_shell(
    command_line: CommandLine, wait_until: Callable[..., None]
) -> None:
    go = command_line.workspace / "go"
    until_go = f"until [ -e {go} ]; do sleep 0.1; done"
    sections = {
        "parameters": {"framework": "command", "command": until_go, "model": None, "model_options": {}},
        "matrix": {"seed": [1, 2, 3]},
    }
    file = command_line.experiment(**sections)
    here = command_line.start("sweep", file, "--site", command_line.site(), "--name", "one")
    wait_until(lambda: list(command_line.workspace.glob("results/one/running/*/*")))
    watched = command_line.start("status", "one", "--watch")
    assert watched.stdout
    assert "1 running" in watched.stdout.readline()
    go.touch()
    assert here.wait() == 0
    assert watched.communicate()[0].splitlines()[-1] == "one: 3 completed"


def test_an_interrupted_view_has_status_130(command_line: CommandLine, wait_until: Callable[..., None]) -> None:
    sections = {
        "parameters": {"framework": "command", "command": "sleep 600", "model": None, "model_options": {}},
    }
    file = command_line.experiment(**sections)
    here = command_line.start("sweep", file, "--site", command_line.site(), "--name", "one")
    wait_until(lambda: list(command_line.workspace.glob("results/one/running/*/*")))
    watching_it = command_line.start("status", "one", "--watch")
    assert watching_it.stdout is not None
    assert watching_it.stdout.readline() == "one: 1 running\n"
    watching_it.send_signal(signal.SIGINT)
    _, said = watching_it.communicate()
    assert watching_it.returncode == 130
    assert "hpcbench status one --watch" in said
    here.send_signal(signal.SIGINT)
    here.wait()
    assert command_line.states("one") == {CANCELLED: 1}
