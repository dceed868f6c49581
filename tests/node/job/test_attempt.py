"""Whether a run may begin, what becomes of it, and how its job goes on: the tasks are fakes that leave rank files."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hpcbench.core.rank_command import RankTask
from hpcbench.core.status import OUT_OF_MEMORY
from hpcbench.node.job import attempt as module
from hpcbench.node.job import launcher, preemption
from hpcbench.node.job.attempt import Lane, NextStep, attempt
from hpcbench.node.job.job import Job
from hpcbench.node.job.output import Output
from hpcbench.node.job.requeue import EarlierAttempt
from tests.node.conftest import BATCH, SWEEP, SweepFolder


class Monitors:
    """Fake ones, which note what they are asked."""

    def __init__(self, noise: str = "") -> None:
        self.noise = noise
        self.asked: list[Any] = []

    def begin(self, scratch: str) -> None:
        self.asked.append(("begin", Path(scratch).name.rpartition("-")[2]))

    def end(self) -> None:
        self.asked.append("end")

    def busy(self, wait_s: float, gpus: bool) -> str:
        self.asked.append(("busy", wait_s, gpus))
        return self.noise


class Told:
    """A stop that no signal reaches."""

    def __init__(self) -> None:
        self.requested = False

    @contextlib.contextmanager
    def calling(self, _: Callable[[], None]) -> Iterator[None]:
        yield


class Words(Output):
    """An output that keeps what is said."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.said: list[str] = []

    def report(self, text: str) -> None:
        self.said.append(text)


class Tried:
    """Attempts of element 0, whose tasks leave these ranks."""

    def __init__(self, folder: SweepFolder, make_rank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.monitors, self.stop = Monitors(), Told()
        self.words = Words(str(folder.folder / "log"))
        self.sweep: dict[str, Any] = {**SWEEP, "jobs": {"job-1": {"environment": "pytorch", "width": 1}}}
        self.ranks: list[dict[str, Any]] = [make_rank()]
        self.timeline: Callable[[Path], object] = lambda scratch: None
        self.srun: list[str] = []
        self.launched: list[RankTask] = []
        monkeypatch.setattr(launcher, "launch", self._launch)

    def __call__(
        self, number: int = 1, elapsed_s: float = 1.0, earlier: tuple[EarlierAttempt, ...] = ()
    ) -> tuple[NextStep, bool, dict[str, Any] | None]:
        """Try once; return how to go on, whether it completed, and the record."""
        folder = self.folder
        job = Job(
            *(str(folder.job_file), str(folder.folder / "results"), BATCH, self.words.log, str(folder.records)),
            *(["python"], self.srun, 60.0, "node.pyz"),
        )
        timer: Any = SimpleNamespace(elapsed_s=lambda: elapsed_s)
        lane = Lane(job, self.sweep, self.monitors, self.stop, [], False)  # type: ignore[arg-type]
        step, completed = attempt(lane, 0, number, timer, [*earlier], self.words)
        written = folder.records.read_text().splitlines() if folder.records.is_file() else []
        return step, completed, json.loads(written[-1]) if written else None

    def _launch(self, job: Job, planned: object, share: list[str], task: RankTask, *_: object) -> int:
        self.launched.append(task)
        scratch = Path(task.scratch)
        for rank in self.ranks:
            (scratch / f"rank-{rank['rank']}.json").write_text(json.dumps(rank))
        self.timeline(scratch)
        return int(any(rank["exit_code"] for rank in self.ranks) or not self.ranks)


@pytest.fixture
def tried(
    make_folder: Callable[..., SweepFolder], make_rank: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> Tried:
    return Tried(make_folder(), make_rank, monkeypatch)


@pytest.fixture
def with_interference(tried: Tried, put_timeline: Callable[..., Path]) -> Tried:
    """A run that completes, and that others disturb."""
    tried.timeline = lambda scratch: put_timeline(scratch, throttled=0.5)
    tried.folder.measure(retries=1)
    return tried


def test_the_monitors_begin_before_the_tasks_and_end_after_them(tried: Tried) -> None:
    step, completed, record = tried(number=3)
    assert (step, completed) == (NextStep.DONE, True)
    assert record is not None
    assert (record["status"], record["attempt"], record["batch"]) == ("completed", 3, BATCH)
    assert tried.monitors.asked == [("begin", "3"), "end"]
    assert tried.words.said == ["case 0123456789ab run 0 completed"]
    assert not list(tried.folder.running.iterdir())


@pytest.mark.parametrize(
    ("rank", "error"),
    [
        ({"exit_code": 1, "ended_at": "soon"}, "ValueError: could not convert string to float: 'soon'"),
        ({"node": {"hostname": 7}}, "InvalidError: "),
    ],
)
def test_what_hpcbench_cannot_evaluate_is_a_failure_and_does_not_end_the_job(
    tried: Tried, make_rank: Any, rank: dict[str, Any], error: str
) -> None:
    tried.ranks = [make_rank(**rank)]
    step, completed, record = tried()
    assert record is not None
    assert (step, completed, record["status"], record["error"]["type"]) == (NextStep.DONE, False, "failed", "hpcbench")
    assert record["error"]["message"].startswith(f"hpcbench cannot evaluate what the run left: {error}")
    assert record["error"]["last_lines"][0].startswith("Traceback")


@pytest.mark.parametrize("content", ["[]", "{}", "7", '{"rank": null, "facts": null}'])
def test_a_file_that_is_not_of_a_rank_counts_as_none(tried: Tried, content: str) -> None:
    tried.ranks = []
    tried.timeline = lambda scratch: (scratch / "rank-0.json").write_text(content)
    _, _, record = tried()
    assert record is not None
    assert record["error"]["message"] == "1 of 1 tasks left no result; the launcher exited with 1"


def test_the_time_that_is_left_is_the_limit_of_the_tasks(tried: Tried) -> None:
    tried(elapsed_s=21.0)
    assert tried.launched[0].words()[-2:] == ["--limit", "39"]


def test_what_was_disturbed_asks_for_another_attempt(with_interference: Tried) -> None:
    step, completed, record = with_interference()
    assert record is not None
    assert (step, completed, record["interference"]["verdict"]) == (NextStep.AGAIN, True, "interference")
    assert with_interference.words.said[-1] == "interference; once more"


@pytest.mark.parametrize("throttled", [0.0, None], ids=["clean", "unmonitored"])
def test_what_was_not_disturbed_does_not(
    tried: Tried, put_timeline: Callable[..., Path], throttled: float | None
) -> None:
    if throttled is not None:
        tried.timeline = lambda scratch: put_timeline(scratch, throttled=throttled)
    tried.folder.measure(retries=1)
    assert tried()[:2] == (NextStep.DONE, True)
    assert len(tried.words.said) == 1


INTERFERENCE, BROKEN = EarlierAttempt("completed", "interference"), EarlierAttempt("failed", None)


@pytest.mark.parametrize(
    ("retries", "earlier", "again"),
    [
        (0, (), False),
        (1, (), True),
        (1, (INTERFERENCE,), False),
        (1, (BROKEN, BROKEN), True),
        (3, (INTERFERENCE, INTERFERENCE), True),
        (3, (INTERFERENCE, INTERFERENCE, INTERFERENCE), False),
    ],
)
def test_it_is_measured_again_as_often_as_asked(
    with_interference: Tried, retries: int, earlier: tuple[EarlierAttempt, ...], again: bool
) -> None:
    with_interference.folder.measure(retries=retries)
    assert (with_interference(len(earlier) + 1, earlier=earlier)[0] is NextStep.AGAIN) == again


@pytest.mark.parametrize(
    ("elapsed", "number", "enough"),
    [(27.0, 1, True), (28.0, 1, False), (37.0, 2, True), (38.0, 2, False)],
)  # of 60: another one may take 1.2 times as long
def test_it_is_measured_again_if_the_wall_time_allows_another_like_those_before(
    with_interference: Tried, elapsed: float, number: int, enough: bool
) -> None:
    with_interference.folder.measure(retries=9)
    step, _, record = with_interference(number, elapsed)
    assert (step is NextStep.AGAIN) == enough
    assert ("interference; not enough time left for a retry" in with_interference.words.said) == (not enough)
    assert record is not None
    assert record["status"] == "completed"


def test_it_is_not_measured_again_when_the_job_was_told_to_end(with_interference: Tried) -> None:
    launch = launcher.launch

    def told_meanwhile(*arguments: Any) -> int:
        with_interference.stop.requested = True
        return launch(*arguments)

    module.launcher.launch = told_meanwhile  # the fixture's monkeypatch puts the real one back
    step, completed, _ = with_interference()
    assert (step, completed) == (NextStep.DONE, True)


FAILED = {"exit_code": 3, "facts": None}


def test_a_failure_is_not_measured_again(tried: Tried, make_rank: Callable[..., dict[str, Any]]) -> None:
    tried.ranks = [make_rank(**FAILED)]
    step, completed, record = tried()
    assert (step, completed) == (NextStep.DONE, False)
    assert record is not None
    assert record["status"] == "failed"


@pytest.mark.parametrize(
    ("number", "elapsed", "earlier", "again"),
    [
        (1, 1.0, (), True),
        (2, 1.0, (BROKEN,), True),
        (3, 1.0, (INTERFERENCE, BROKEN), True),
        (3, 1.0, (BROKEN, BROKEN), False),
        (1, 1.0, (BROKEN, BROKEN), False),
        (1, 40.0, (), False),
    ],
    ids=["first", "second", "second after interference", "often enough", "often enough before a requeue", "no time"],
)
def test_what_ended_in_a_way_that_is_retried_asks_for_another_attempt_twice(
    tried: Tried,
    make_rank: Callable[..., dict[str, Any]],
    number: int,
    elapsed: float,
    earlier: tuple[EarlierAttempt, ...],
    again: bool,
) -> None:
    tried.ranks = [make_rank(**FAILED)]
    tried.sweep["experiment"] = {**SWEEP["experiment"], "retry": {"max": 2, "on": ["failed"]}}
    assert (tried(number, elapsed, earlier)[0] is NextStep.AGAIN) == again
    assert ("failed; once more" in tried.words.said) == again


@pytest.mark.parametrize(
    "line",
    [
        "srun: error: Node failure on n2",
        "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-01T00:00:00 DUE TO NODE FAILURE ***",
    ],
)
def test_a_job_whose_node_is_lost_begins_nothing_more_for_slurm_starts_it_again(
    tried: Tried, make_rank: Callable[..., dict[str, Any]], line: str
) -> None:
    tried.ranks = [make_rank(1, exit_code=None, signal="SIGTERM", stopped_by="SIGTERM", facts=None)]
    tried.timeline = lambda scratch: Path(tried.words.log).write_text(f"{line}\n")
    step, _, record = tried()
    assert record is not None
    assert (step, record["status"]) == (NextStep.JOB_IS_ENDING, "node_failure")


@pytest.mark.parametrize(
    ("line", "step", "words"),
    [
        ("srun: error: Unable to create step for job 7: Job/step already completing", NextStep.JOB_IS_ENDING, "ended"),
        (
            "srun: error: Unable to contact slurm controller (connect failure)",
            NextStep.WAIT_FOR_CONTROLLER,
            "slurmctld does not respond",
        ),
    ],
)
def test_what_slurm_did_not_start_leaves_no_record(tried: Tried, line: str, step: NextStep, words: str) -> None:
    tried.ranks = []
    tried.timeline = lambda scratch: Path(tried.words.log).write_text(f"{line}\n")
    assert tried() == (step, False, None)
    assert words in tried.words.said[0]
    assert not list(tried.folder.running.iterdir())


def test_a_job_that_slurm_preempts_and_whose_tasks_alone_were_told_waits_for_its_end(
    tried: Tried, make_rank: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preemption, "is_preempted", lambda _: True)
    tried.ranks = [make_rank(exit_code=None, signal="SIGTERM", stopped_by="SIGTERM", facts=None)]
    step, _, record = tried()
    assert record is not None
    assert (step, record["status"]) == (NextStep.GIVE_WAY, "preempted")


def test_nobody_looks_whether_nodes_are_idle_where_that_is_to_be_ignored(tried: Tried) -> None:
    tried.monitors.noise = "n1: a hog"
    assert tried()[1] is True
    assert not [asked for asked in tried.monitors.asked if asked[0] == "busy"]


@pytest.mark.parametrize(("idle_node", "wait_s"), [("wait", 20.0), ("require", 0.0)])
def test_nothing_is_begun_on_a_node_that_is_not_idle(tried: Tried, idle_node: str, wait_s: float) -> None:
    """Half of the time that is left may be waited."""
    tried.folder.measure(idle_node=idle_node)
    tried.monitors.noise = 'n1: 1.5 of 2 CPUs are busy; it\'s "$(touch pwned)"'
    step, completed, record = tried(elapsed_s=20.0)
    assert (step, completed, tried.launched) == (NextStep.DONE, False, [])
    assert tried.monitors.asked == [("busy", wait_s, False)]
    assert record is not None
    assert (record["status"], record["ranks"], record["measurements"]) == ("skipped", [], None)
    assert tried.monitors.noise in record["error"]["message"]
    assert record["error"]["message"].endswith("; `hpcbench resume` retries")


def test_a_node_that_is_idle_is_measured(tried: Tried) -> None:
    tried.folder.measure(idle_node="require")
    assert tried()[1] is True
    assert tried.monitors.asked == [("busy", 0.0, False), ("begin", "1"), "end"]


def test_a_stop_while_the_node_is_looked_at_begins_nothing(tried: Tried) -> None:
    tried.folder.measure(idle_node="wait")

    def busy(*_: object) -> str:
        tried.stop.requested = True
        return ""

    tried.monitors.busy = busy  # type: ignore[method-assign]
    step, _, record = tried()
    assert (step, tried.launched) == (NextStep.DONE, [])
    assert record is not None
    assert record["status"] == "cancelled"


def test_each_attempt_begins_without_what_another_process_of_that_number_left(
    tried: Tried, make_rank: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "43")
    left = tried.folder.running / "0-43-0-1"
    left.mkdir(parents=True)
    (left / "rank-1.json").write_text(json.dumps(make_rank(1, **FAILED)))
    assert tried()[1] is True


def test_what_is_larger_than_what_ran_out_of_memory_is_skipped(
    tried: Tried, make_rank: Callable[..., dict[str, Any]]
) -> None:
    planned = json.loads(tried.folder.job_file.read_text())

    def sized(size: int) -> dict[str, Any] | None:
        changes = {"case_id": f"c{size}", "size": {"group": "ab54a98ceb1f0ad2", "values": {"batch_size": size}}}
        tried.folder.job_file.write_text(json.dumps({**planned, **changes}) + "\n")
        return tried()[2]

    error = {"type": "OutOfMemoryError", "message": "CUDA out of memory."}
    facts = {"status": OUT_OF_MEMORY, "error": error, "warnings": []}
    tried.ranks = [make_rank(exit_code=1, facts=facts)]
    assert (sized(512) or {})["status"] == OUT_OF_MEMORY
    assert (sized(512) or {})["status"] == OUT_OF_MEMORY, "what is as large is retried"
    record = sized(1024)
    reason = "batch_size=512 ran out of memory (case c512, run 0), and batch_size=1024 is larger"
    assert record is not None
    assert (record["status"], record["error"]["type"], record["error"]["message"]) == (
        "skipped",
        "skip_larger_on_oom",
        reason,
    )
    assert len(tried.launched) == 2


def test_where_the_record_cannot_be_written_what_it_is_made_of_stays(tried: Tried) -> None:
    tried.folder.records.mkdir(parents=True)
    assert tried()[:2] == (NextStep.DONE, False)
    assert "cannot be written" in tried.words.said[-1]
    assert list(tried.folder.running.glob("*/rank-0.json"))
