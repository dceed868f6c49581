"""How far a sweep is: the view of a terminal, the lines of a pipe, the groups of `status`, and JSON."""

from __future__ import annotations

import datetime
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from hpcbench.commands.shared.displays import JsonLines
from hpcbench.config.parameters import Parameters
from hpcbench.core.record import Error, Interference
from hpcbench.core.run_spec import PlannedRun
from hpcbench.report.export.status_json import as_json
from hpcbench.report.terminal import status_groups, status_summary
from hpcbench.report.terminal.status import Section, expected_in_words, length, nodes_in_words, shares, view
from hpcbench.report.terminal.status_lines import Lines
from hpcbench.slurm.states import in_words
from hpcbench.status.progress import Progress, RunProgress
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from tests.fixtures.records import a_record

NOW = datetime.datetime(2026, 11, 22, 14, 3, 22, tzinfo=datetime.timezone.utc)
PARAMETERS = Parameters(framework="pytorch", model="mlp").planned()
LOG = "jobs/sweep-1/logs/job-001.token/12_1_0_log.out"


def make(
    element: int, state: str, *, reason: str = "", on: str = "", ago_s: float = 60.0, **parameters: Any
) -> RunProgress:
    """A run; one that has ended took a minute, and did so `ago_s` before now."""
    planned = PlannedRun(f"{element:012x}", element, 1, element, {**PARAMETERS, **parameters}, {}, {})
    record = None
    if state not in ("planned", "pending", "running", "unknown", "never_started"):
        ended = NOW - datetime.timedelta(seconds=ago_s)
        started = ended - datetime.timedelta(seconds=60)
        times = {"started_at": started.isoformat(), "ended_at": ended.isoformat()}
        record = a_record(status=state, attempt=1, batch="job-001.token", **times)
    job, slurm_id = f"job-{element // 1000 + 1:03d}", None if state == "planned" else "12"
    return RunProgress(job, element % 1000, planned, state, slurm_id, element, reason, on, record)


def progress_of(*runs: RunProgress, axes: tuple[str, ...] = (), scheduler: str = "slurm") -> Progress:
    paths = Workspace(Path("/work")).paths("sweep-1")
    description = {
        "name": "sweep-1",
        "experiment": {"name": "trial"},
        "axes": list(axes),
        "site": {"name": "cluster", "scheduler": scheduler},
    }
    return Progress(Sweep(paths, description), runs, ())


def printed(progress: Progress, rows: int = 1000, width: int = 200, footer: str = "") -> str:
    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(view(progress, NOW, footer, rows))
    return file.getvalue()


def number_word(number: int) -> str:
    """A word of letters for each number: numbers in messages do not make other causes."""
    return "".join(chr(ord("g") + int(digit)) for digit in str(number))


@pytest.fixture(scope="module")
def large() -> Progress:
    """10,000 runs of three axes, of which one has 2,500 values; several reasons, and hundreds of failures."""
    runs = []
    for element in range(10_000):
        axes = {"batch_size": 2 ** (element % 4), "device": ("cpu", "gpu")[element // 4 % 2], "seed": element // 4}
        if element < 3000:
            state, reason = ("failed", f"{number_word(element)} broke") if element % 7 == 0 else ("completed", "")
            runs.append(make(element, state, reason=reason, on=f"n{element % 64}", ago_s=4000 - element, **axes))
        elif element < 3064:
            runs.append(make(element, "running", on=f"n[{element % 8},{element % 8 + 64}]", **axes))
        else:
            reason = in_words(("Priority", "Resources", "JobArrayTaskLimit", "JobHeldUser")[element % 4])
            runs.append(make(element, "pending", reason=reason, **axes))
    return progress_of(*runs, axes=("batch_size", "device", "seed"))


def test_repetitions_are_counted_for_each_value_of_each_axis() -> None:
    runs = [
        make(0, "completed", nodes=1, device="cpu"),
        make(1, "failed", nodes=2, device="cpu"),
        make(2, "running", nodes=1, device="cpu"),
        make(3, "pending", nodes=2, device="cpu"),
    ]
    axes = status_summary.by_axis(progress_of(*runs, axes=("nodes", "device")))
    assert {name: [(value.value, dict(value.states)) for value in values] for name, values in axes.items()} == {
        "nodes": [(1, {"completed": 1, "running": 1}), (2, {"failed": 1, "pending": 1})]
    }


@pytest.mark.parametrize(("rows", "width"), [(10, 80), (16, 80), (23, 80), (49, 200), (1000, 80)])
def test_a_view_has_no_more_rows_and_columns_than_the_terminal(large: Progress, rows: int, width: int) -> None:
    lines = printed(large, rows, width, "next update").splitlines()
    assert len(lines) <= rows
    assert max(map(len, lines)) <= width
    assert lines[-1] == "next update"
    assert lines[1].rstrip().endswith("3,000 of 10,000 ended")


def test_a_small_terminal_shows_a_reason_a_failure_and_each_short_axis(large: Progress) -> None:
    text = printed(large, 23, 80)
    for words in (
        "not finished because",
        "latest failures",
        "batch_size",
        "device",
        f"{number_word(2996)} broke",
        "... and",
    ):
        assert words in text


def test_of_an_axis_of_many_values_the_first_unfinished_ones_are_shown() -> None:
    runs = [make(element, "completed" if element < 50 else "pending", seed=element) for element in range(100)]
    rows = [row.split() for row in printed(progress_of(*runs, axes=("seed",))).splitlines()]
    start = next(place for place, row in enumerate(rows) if row[0] == "seed")
    assert [row[-4] for row in rows[start : start + 8]] == [str(value) for value in range(50, 58)]
    assert rows[start + 8] == ["...", "92", "more"]


def test_a_reason_is_shown_with_how_many_wait_for_it_and_what_to_do() -> None:
    held = [make(element, "never_started", reason=in_words("JobHeldUser")) for element in range(3)]
    text = printed(progress_of(*held, make(3, "pending", reason="BrandNewReason")))
    assert "  3  it is held (JobHeldUser)\n     release it: `scontrol release JOBID`\n" in text
    assert "  1  BrandNewReason\n" in text


def test_the_latest_failure_comes_first_with_its_log_and_moves_no_cursor() -> None:
    runs = [
        make(0, "failed", reason="early", ago_s=90, nodes=1),
        make(1, "out_of_memory", reason="late\x1b[2J\nand long", ago_s=10, nodes=2),
        make(2, "skipped", nodes=2),
    ]
    text = printed(progress_of(*runs, axes=("nodes",)))
    late = f"out_of_memory nodes=2 run 1: late [2J and long\n    {LOG}\n"
    assert late in text
    assert text.index(late) < text.index("failed nodes=1 run 1: early")
    assert "more" not in text


def test_what_slurm_never_started_has_no_log() -> None:
    run = make(0, "cancelled", reason="cancelled before it started")
    assert run.record is not None
    unstarted = replace(run.record, attempt=None, error=Error("job", run.reason))
    progress = progress_of(replace(run, record=unstarted))
    assert "log" not in printed(progress)
    assert "log" not in Lines().news(progress, NOW)[-1].plain
    assert as_json(progress, NOW)["failures"][0]["log"] is None


SECTIONS = st.builds(Section, st.integers(0, 50), st.integers(0, 8), st.integers(1, 2), st.integers(0, 1))


@given(st.lists(SECTIONS, max_size=6), st.integers(-5, 60))
def test_sections_take_no_more_rows_than_there_are_and_leave_none_that_an_entry_fits_in(
    sections: list[Section], rows: int
) -> None:
    shown = shares(sections, rows)
    taken = sum(section.rows(count) for section, count in zip(sections, shown, strict=True))
    assert taken <= max(rows, 0)
    for section, count in zip(sections, shown, strict=True):
        assert count <= min(section.most, section.entries)
        if count < min(section.most, section.entries):
            assert section.rows(count + 1) - section.rows(count) > rows - taken


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n1", "n1", "n2"], "n1 (2), n2"),
        (["n[1-2]", "n[1-2]", "n3", "n4"], "n[1-2] (2 each), n[3-4]"),
    ],
)
def test_nodes_at_work_are_named_with_how_many_repetitions_each_runs(nodes: list[str], words: str) -> None:
    runs = [make(element, "running", on=node) for element, node in enumerate(nodes)]
    assert nodes_in_words([*runs, make(9, "completed", on="n9")]) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(29, "under a minute"), (31, "1 min"), (3540, "59 min"), (9060, "2 h 31 min"), (2 * 86400 + 3600, "2 d 1 h")],
)
def test_a_time_span_is_told_in_the_units_that_fit(seconds: float, words: str) -> None:
    assert length(seconds) == words


def test_the_expected_end_is_that_of_what_is_submitted() -> None:
    ended = [make(element, "completed", ago_s=60.0 * (9 - element)) for element in range(10)]
    going = [make(10, "running"), *(make(element, "pending") for element in range(11, 40))]
    assert status_summary.expected_end(progress_of(*ended, *going), NOW) == NOW + datetime.timedelta(minutes=30)
    assert expected_in_words(progress_of(*ended, *going), NOW).endswith(", in 30 min")
    planned = make(40, "planned")
    assert expected_in_words(progress_of(*ended, *going, planned), NOW).endswith(", in 30 min (of the submitted jobs)")
    assert expected_in_words(progress_of(*ended, *going, planned, scheduler="local"), NOW).endswith(", in 31 min")
    assert expected_in_words(progress_of(*ended, *going[1:]), NOW) == ""


def test_a_clock_that_was_set_meanwhile_leaves_the_end_unknown() -> None:
    ended = [make(element, "completed", ago_s=60.0 * (9 - element)) for element in range(5)]
    assert ended[0].record is not None
    ended[0] = replace(ended[0], record=replace(ended[0].record, started_at="0001-01-02T00:00:00+00:00"))
    going = [make(5, "running"), *(make(element, "pending") for element in range(6, 2000))]
    assert status_summary.expected_end(progress_of(*ended, *going), NOW) is None


def test_what_cannot_run_here_is_no_failure_and_what_nobody_knows_is_not_planned() -> None:
    states = ("unsupported", "unknown", "failed")
    runs = [make(number, state, reason=state, nodes=number // 3) for number, state in enumerate(3 * states)]
    progress = progress_of(*runs, axes=("nodes",))
    assert {run.state for run in status_summary.failures(progress.runs)} == {"failed"}
    (head,) = (line.split() for line in printed(progress).splitlines() if line.startswith("axis"))
    assert head == ["axis", "value", "unknown", "unsupported", "failed", "total"]


def test_a_program_gets_a_line_for_each_change_and_none_because_time_passes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = JsonLines()
    ended = [make(element, "completed", ago_s=60.0 * (9 - element)) for element in range(9)]
    states = [
        make(9, "pending", reason=in_words("Priority")),
        make(9, "pending", reason=in_words("Resources")),
        make(9, "running", on="n1"),
        make(9, "running", on="n2"),
        make(9, "failed", reason="it broke", ago_s=1),
        make(9, "failed", reason="it broke again", ago_s=0),
    ]
    for state in states:
        for later_s in (0, 10):
            lines.show(progress_of(*ended, state, make(10, "running")), NOW + datetime.timedelta(seconds=later_s), 1.0)
    assert len(capsys.readouterr().out.splitlines()) == len(states)


def told(lines: Lines, *runs: RunProgress) -> list[str]:
    return [line.plain for line in lines.news(progress_of(*runs), NOW)]


def test_a_pipe_gets_a_line_when_counts_change_and_each_reason_and_failure_once() -> None:
    lines = Lines()
    pending, running = make(0, "pending", reason=in_words("Priority")), make(1, "running")
    broken = make(1, "failed", reason="it broke")
    first = told(lines, pending, running)
    assert first[0] == "sweep-1: 1 pending, 1 running"
    assert first[1].startswith("waiting because jobs of higher priority come first (Priority): wait;")
    assert told(lines, pending, running) == []
    assert told(lines, pending, broken) == [
        "sweep-1: 1 pending, 1 failed",
        f"failed {broken.planned.case_id} run 1: it broke (log: {LOG})",
    ]
    assert told(lines, pending, broken) == []
    assert len(told(lines, pending, make(1, "failed", reason="it broke again", ago_s=5))) == 1
    unknown = make(1, "unknown", reason="since 10:11:12: Slurm reports FAILED")
    assert told(lines, unknown)[1] == "waiting because its state is unknown since 10:11:12: Slurm reports FAILED"


def test_a_request_above_a_limit_does_not_wait() -> None:
    reason = in_words("QOSMaxCpuPerJobLimit")
    assert told(Lines(), make(0, "never_started", reason=reason))[1] == (
        f"not started: {reason}: request less in the experiment, or check slurm.account and slurm.qos: "
        "start a new sweep"
    )


def test_of_many_failures_at_once_a_pipe_gets_ten() -> None:
    news = told(Lines(), *(make(element, "failed", reason="it broke") for element in range(100)))
    assert len(news) == 12
    assert news[-1] == "... and 90 more failures: hpcbench status sweep-1"


def test_status_is_short_however_many_repetitions_and_reasons_there_are(large: Progress) -> None:
    lines = [line.plain for line in status_groups.lines(large)]
    assert len(lines) < 40
    assert max(map(len, lines)) < 300
    assert any(line.startswith("64 running on n[0-7,64-71]") for line in lines)
    assert any(line.endswith("more failed, for other reasons: see --json") for line in lines)


def test_an_end_that_only_a_later_version_knows_is_a_group_of_its_own() -> None:
    (head, *_) = status_groups.lines(progress_of(make(0, "evaporated", reason="too hot")))
    assert head.plain == "1 evaporated: too hot"


def test_a_group_tells_its_elements_by_job() -> None:
    runs = [make(element, "planned") for element in range(4500)]
    assert status_groups.elements_in_words(runs) == (
        "array tasks 0-999 of job-001; array tasks 0-999 of job-002; array tasks 0-999 of job-003; and 2 more jobs"
    )
    scattered = [make(element, "pending") for element in range(0, 100, 2)]
    assert status_groups.elements_in_words(scattered) == "12_[0,2,4,6,8,10,12,14,16,18,20,...] (job-001)"


def test_what_slurm_knows_is_told_by_the_index_in_its_array_however_many_share_one() -> None:
    pack = [replace(make(element, "pending"), index=3 + element // 10) for element in range(20)]
    assert status_groups.elements_in_words(pack) == "12_[3-4] (job-001)"


def test_attempts_that_do_not_count_are_told_by_how_they_ended() -> None:
    def attempted(element: int, *statuses: str) -> RunProgress:
        run = make(element, statuses[-1])
        assert run.record is not None
        return replace(run, attempts=tuple(replace(run.record, status=status) for status in statuses))

    lost = attempted(0, "node_failure", "node_failure", "completed")
    late = attempted(1, "failed", "failed")
    progress = progress_of(lost, late, attempted(2, "completed"))
    assert as_json(progress, NOW)["tried_again_after"] == {"node_failure": 2, "failed": 1}
    assert "retried      3 times, after 2 node_failure, 1 failed\n" in printed(progress)
    assert "retried" not in printed(progress_of(attempted(2, "completed"), make(3, "planned")))


def test_a_retry_that_was_cancelled_is_after_the_interference_of_the_attempt_that_counts() -> None:
    run = make(0, "completed")
    assert run.record is not None
    noisy = replace(run.record, interference=Interference(verdict="interference"))
    again = replace(run, record=noisy, attempts=(noisy, replace(run.record, status="cancelled")))
    assert as_json(progress_of(again), NOW)["tried_again_after"] == {"interference": 1}


def test_json_has_every_repetition_and_all_that_the_view_shows() -> None:
    runs = [
        *(make(element, "completed", ago_s=60.0 * (6 - element)) for element in range(6)),
        make(6, "failed", reason="it broke"),
        make(7, "running", on="n[1-2]", batch_size=1),
        make(8, "pending", reason=in_words("Priority")),
    ]
    made = json.loads(json.dumps(as_json(progress_of(*runs, axes=("batch_size",)), NOW)))
    assert made["states"] == {"pending": 1, "running": 1, "completed": 6, "failed": 1}
    assert made["axes"]["batch_size"][1] == {"value": 1, "states": {"running": 1}}
    assert made["running_on"] == {"n1": 1, "n2": 1}
    assert datetime.datetime.fromisoformat(made["expected_end"]) > NOW
    (reason,) = made["pending_reasons"]
    assert (reason["runs"], reason["hint"].startswith("wait")) == (1, True)
    (failure,) = made["failures"]
    assert (failure["status"], failure["message"], failure["element"]) == ("failed", "it broke", 6)
    assert failure["log"].startswith("jobs/sweep-1/logs/")
    assert failure["axes"] == {"batch_size": PARAMETERS["batch_size"]}
    assert [run["state"] for run in made["runs"]] == [run.state for run in runs]


def test_options_that_are_axes_of_their_own_are_shown_once() -> None:
    optimizer = {"name": "sgd", "learning_rate": 0.25}
    run = make(0, "completed", optimizer=optimizer, model_options={})
    axes = ("optimizer", "optimizer.learning_rate", "model_options")
    assert status_summary.named(progress_of(axes=axes).sweep, run.planned) == (
        "optimizer=sgd optimizer.learning_rate=0.25 run 1"
    )
    other = make(1, "completed", optimizer={**optimizer, "learning_rate": 0.5}, model_options={})
    assert list(status_summary.by_axis(progress_of(run, other, axes=axes))) == ["optimizer.learning_rate"]
    assert status_summary.named(progress_of(axes=axes[:1]).sweep, run.planned) == (
        "optimizer=sgd(learning_rate=0.25) run 1"
    )
    wide = make(2, "completed", optimizer=optimizer, model_options={"width": 4, "height": 3})
    of_model = ("model_options", "model_options.height")
    assert status_summary.named(progress_of(axes=of_model).sweep, wide.planned) == (
        'model_options={"width": 4} model_options.height=3 run 1'
    )
