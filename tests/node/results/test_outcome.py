"""From rank files and the launcher's end to the status and its cause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.status import (
    CANCELLED,
    COMPLETED,
    FAILED,
    JOB_TIME,
    NODE_FAILURE,
    OUT_OF_MEMORY,
    PREEMPTED,
    SKIPPED,
    STATUSES,
    TIME_LIMIT,
    TIMEOUT,
    UNSUPPORTED,
)
from hpcbench.node.results import outcome as verdict
from hpcbench.node.results import probed_steps
from hpcbench.node.results.outcome import Outcome
from tests.node.results.endings import TERMINATED, ending, failed

Rank = dict[str, Any]
MakeRank = Callable[..., Rank]

SEGFAULT = {"exit_code": None, "signal": "SIGSEGV", "facts": None, "last_lines": ["Fatal Python error"]}
KILLED = {"exit_code": None, "signal": "SIGKILL", "facts": None}


SCENARIOS: list[tuple[str, list[dict[str, Any]], dict[str, Any], str, int | None]] = [
    # what happened, changes to each rank, how the launcher ended, the status, the rank that is the cause
    ("one rank completed", [{}], {"exit_status": 0}, COMPLETED, None),
    ("all ranks completed", [{}, {}, {}], {"exit_status": 0}, COMPLETED, None),
    (
        "a rank raised, the others were stopped",
        [TERMINATED, {"exit_code": 1, "facts": failed()}, TERMINATED],
        {},
        FAILED,
        1,
    ),
    (
        "a rank raised after another had lost it",
        [
            {"exit_code": 1, "facts": failed(message="Connection closed by peer"), "ended_at": 1020.0},
            {"exit_code": 1, "facts": failed(), "ended_at": 1019.0},
        ],
        {},
        FAILED,
        1,
    ),
    (
        "a rank was killed, and another node's clock is behind",
        [
            {"exit_code": 1, "facts": failed(message="Connection closed by peer"), "ended_at": 1019.0},
            {**KILLED, "oom_kills": 0, "ended_at": 1020.0},
        ],
        {},
        FAILED,
        1,
    ),
    (
        "a rank lost another one, and its clock is behind",
        [
            {"exit_code": 1, "facts": failed(type="RankLost"), "ended_at": 1019.0},
            {"exit_code": 1, "facts": failed(), "ended_at": 1020.0},
        ],
        {},
        FAILED,
        1,
    ),
    ("two ranks lost each other", 2 * [{"exit_code": 1, "facts": failed(type="RankLost")}], {}, FAILED, 0),
    (
        "a rank ran out of memory, and one that lost it ended sooner",
        [
            {"exit_code": 1, "facts": failed(message="Connection closed by peer"), "ended_at": 1019.0},
            {"exit_code": 1, "facts": failed(OUT_OF_MEMORY), "ended_at": 1020.0},
        ],
        {},
        OUT_OF_MEMORY,
        1,
    ),
    (
        "it cannot run on one node, and the other rank failed before that was told",
        [
            {"exit_code": 1, "facts": failed(), "ended_at": 1019.0},
            {"exit_code": 1, "facts": failed(UNSUPPORTED), "ended_at": 1020.0},
        ],
        {},
        UNSUPPORTED,
        1,
    ),
    ("a rank crashed", [SEGFAULT, TERMINATED], {"exit_status": 139}, FAILED, 0),
    ("a rank crashed after all its work", [{"signal": "SIGSEGV", "exit_code": None}], {"exit_status": 139}, FAILED, 0),
    ("a rank exited by itself", [{"exit_code": 3, "facts": None}], {"exit_status": 3}, FAILED, 0),
    ("the kernel killed a rank, memory was out", [{**KILLED, "oom_kills": 1}], {"exit_status": 137}, OUT_OF_MEMORY, 0),
    ("someone killed a rank", [{**KILLED, "oom_kills": 0}], {"exit_status": 137}, FAILED, 0),
    ("someone killed a rank on an old kernel", [{**KILLED, "oom_kills": None}], {"exit_status": 137}, FAILED, 0),
    ("a rank crashed while another ran out of memory", [{**SEGFAULT, "oom_kills": 1}], {}, FAILED, 0),
    (
        "the framework ran out of memory",
        [{"exit_code": 1, "facts": failed(OUT_OF_MEMORY)}, TERMINATED],
        {},
        OUT_OF_MEMORY,
        0,
    ),
    ("it cannot run here", [{"facts": failed(UNSUPPORTED)}], {"exit_status": 0}, UNSUPPORTED, 0),
    (
        "it cannot run here on any rank",
        [{"facts": failed(UNSUPPORTED)}, {"facts": failed(UNSUPPORTED)}],
        {"exit_status": 0},
        UNSUPPORTED,
        0,
    ),
    ("stopped well before its time", [TERMINATED], {"stopped": True, "elapsed_s": 560.0}, CANCELLED, None),
    ("stopped at its time", [TERMINATED], {"stopped": True, "elapsed_s": 600.0}, TIMEOUT, None),
    ("stopped after its time", [TERMINATED, TERMINATED], {"stopped": True, "elapsed_s": 631.0}, TIMEOUT, None),
    ("only the ranks were told", [TERMINATED], {"stopped": False, "elapsed_s": 601.0}, TIMEOUT, None),
    (
        "the stop reached the worker before its supervisor",
        [{**TERMINATED, "stopped_by": None}, {**KILLED, "oom_kills": 0}],
        {"stopped": True, "elapsed_s": 20.0},
        CANCELLED,
        None,
    ),
    (
        "someone ended a rank, and nobody the script",
        [{**TERMINATED, "stopped_by": None}],
        {"exit_status": 143},
        FAILED,
        0,
    ),
    ("killed after it ignored the stop", [{**KILLED, "stopped_by": "SIGTERM"}], {"elapsed_s": 20.0}, CANCELLED, None),
    (
        "it raised because it was stopped",
        [{"exit_code": 1, "facts": failed(), "stopped_by": "SIGTERM"}],
        {"stopped": True, "elapsed_s": 20.0},
        CANCELLED,
        None,
    ),
    (
        "it failed before it was stopped",
        [{"exit_code": 1, "facts": failed()}, TERMINATED],
        {"stopped": True, "elapsed_s": 601.0},
        FAILED,
        0,
    ),
]


@pytest.mark.parametrize(
    ("changes", "how", "status", "cause"), [case[1:] for case in SCENARIOS], ids=[case[0] for case in SCENARIOS]
)
def test_the_status_and_the_rank_that_is_the_cause(
    make_rank: MakeRank, changes: list[dict[str, Any]], how: dict[str, Any], status: str, cause: int | None
) -> None:
    ranks = [make_rank(number, **change) for number, change in enumerate(changes)]
    outcome = verdict.judge(ranks, len(ranks), ending(**how))
    assert outcome.status == status
    assert (outcome.error or {}).get("rank") == cause
    assert (outcome.error is None) == (status == COMPLETED)


@pytest.mark.parametrize("expected", [1, 4])
def test_ranks_that_left_nothing_have_failed(expected: int) -> None:
    outcome = verdict.judge([], expected, ending(exit_status=213))
    assert outcome.status == FAILED
    assert outcome.error is not None
    assert f"{expected} of {expected} tasks" in outcome.error["message"]
    assert "213" in outcome.error["message"]


def test_one_missing_rank_among_completed_ones_is_a_failure(make_rank: MakeRank) -> None:
    outcome = verdict.judge([make_rank(0), make_rank(2)], 3, ending())
    assert outcome.status == FAILED
    assert outcome.error is not None
    assert "1 of 3 tasks" in outcome.error["message"]


@pytest.mark.parametrize(
    "words",
    [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.",
        "srun: error: n1: task 0: Out Of Memory",
        "slurmstepd: error: Step 12.0 exceeded memory limit (1100 > 1024), being killed",
    ],
)
def test_the_log_tells_that_missing_ranks_ran_out_of_memory(
    make_rank: MakeRank, log: Callable[[str], str], words: str
) -> None:
    path = log("starting\n" + words + "\nsrun: Terminating job step\n")
    for ranks in ([], [make_rank(0)]):
        outcome = verdict.judge(ranks, 2, ending(exit_status=137, log=path))
        assert outcome.status == OUT_OF_MEMORY
        assert outcome.error is not None
        assert words in outcome.error["last_lines"]


def test_missing_ranks_with_an_ordinary_log_have_failed(log: Callable[[str], str]) -> None:
    text = "warning: out of memory soon\nloading room for memory\nsrun: error: cannot start\n"
    outcome = verdict.judge([], 1, ending(log=log(text)))
    assert outcome.status == FAILED
    assert outcome.error is not None
    assert outcome.error["last_lines"][-1] == "srun: error: cannot start"


STEP = "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.\n"
HELPER = {"type": "RuntimeError", "message": "DataLoader worker (pid 123) is killed by signal: Killed. "}


@pytest.mark.parametrize(
    ("text", "own", "machine", "status"),
    [
        ("", 1, 1, OUT_OF_MEMORY),
        ("", 0, 1, FAILED),
        ("", None, 1, FAILED),
        ("", None, 0, FAILED),
        ("", None, None, FAILED),
        (STEP, None, 1, OUT_OF_MEMORY),
        (STEP, 0, 0, OUT_OF_MEMORY),
        ("train.py: out of memory? oom_kill event\n", None, 1, FAILED),
    ],
)
@pytest.mark.parametrize("victim", ["the rank", "its command", "one of its processes"])
def test_a_kill_is_for_memory_where_its_own_group_counted_it_or_slurm_says_so(
    make_rank: MakeRank,
    log: Callable[[str], str],
    text: str,
    own: int | None,
    machine: int | None,
    status: str,
    victim: str,
) -> None:
    """What the whole machine counts may be a neighbour's."""
    how = {
        "the rank": KILLED,
        "its command": {"exit_code": 137, "facts": None},
        "one of its processes": {"exit_code": 1, "facts": failed(**HELPER)},
    }[victim]
    rank = make_rank(0, **how, oom_kills=own, oom_kills_of_machine=machine)
    outcome = verdict.judge([rank], 1, ending(exit_status=137, log=log(text)))
    assert outcome.status == status
    assert outcome.error is not None
    perhaps = own is None and bool(machine) and status == FAILED and victim != "one of its processes"
    assert ("whether this process was killed is unknown" in outcome.error["message"]) == perhaps


def test_an_error_of_its_own_is_no_lack_of_memory_though_another_process_was_killed(make_rank: MakeRank) -> None:
    assert verdict.judge([make_rank(0, exit_code=1, facts=failed(), oom_kills=1)], 1, ending()).status == FAILED


def test_where_nothing_started_the_log_says_why_and_srun_only_that(log: Callable[[str], str]) -> None:
    text = "ch-run[7]: error: can't stat: /no/such\nsrun: error: n1: task 0: Exited with exit code 1\n\n"
    outcome = verdict.judge([], 1, ending(exit_status=1, log=log(text)))
    assert outcome.error is not None
    assert outcome.error["message"] == (
        "1 of 1 tasks left no result; the launcher exited with 1; the log ends: ch-run[7]: error: can't stat: /no/such"
    )


@pytest.mark.parametrize("present", [0, 1])
def test_the_error_of_srun_is_the_reason_that_a_step_did_not_start(
    log: Callable[[str], str], make_rank: MakeRank, present: int
) -> None:
    text = "hpcbench: srun --cpus-per-task=7 python\nsrun: error: Unable to create step for job 12: %s\n%s"
    aborted = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
    path = log(text % ("More processors requested than permitted", aborted))
    outcome = verdict.judge([make_rank(0)][:present], 2, ending(exit_status=1, log=path))
    assert outcome.error is not None
    assert outcome.error["message"] == (
        f"{2 - present} of 2 tasks left no result; the launcher exited with 1; Slurm reports: "
        "Unable to create step for job 12: More processors requested than permitted"
    )


def test_a_rank_that_cannot_run_the_node_code_is_a_failed_set_up(log: Callable[[str], str]) -> None:
    """A container may have an older Python than the node."""
    reason = "Python 3.8 or newer is required; /usr/bin/python3 is 3.6.8"
    text = f"hpcbench: gave up: {reason}\nsrun: error: n1: task 0: Exited with exit code 1\n"
    outcome = verdict.judge([], 1, ending(exit_status=1, log=log(text)))
    assert outcome.error is not None
    assert (outcome.status, outcome.error["type"], outcome.error["message"]) == (FAILED, "setup", reason)


def test_where_some_tasks_left_a_result_the_end_of_the_log_is_not_the_reason(
    log: Callable[[str], str], make_rank: MakeRank
) -> None:
    outcome = verdict.judge([make_rank(0)], 2, ending(exit_status=1, log=log("chatter\n")))
    assert outcome.error is not None
    assert outcome.error["message"] == "1 of 2 tasks left no result; the launcher exited with 1"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-01T00:00:00 DUE TO TIME LIMIT ***", TIMEOUT),
        (
            "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-01T00:00:00 DUE TO NODE FAILURE ***",
            NODE_FAILURE,
        ),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-01T00:00:00 DUE TO PREEMPTION ***", PREEMPTED),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-01T00:00:00 DUE TO JOB REQUEUE ***", PREEMPTED),
        ("[2026-11-01T00:00:00.896] error: *** JOB 7 ON n1 CANCELLED AT 2026 DUE TO JOB REQUEUE ***", PREEMPTED),
        ("[2026-11-01T00:00:00.896] error: *** STEP 7.0 ON n1 CANCELLED AT 2026 DUE TO NODE FAILURE ***", NODE_FAILURE),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-01T00:00:00 ***", CANCELLED),
    ],
)
def test_the_log_tells_why_slurm_ended_a_job(log: Callable[[str], str], words: str, status: str) -> None:
    assert verdict.judge([], 1, ending(stopped=True, elapsed_s=20.0, log=log(words + "\n"))).status == status
    chatter = 1000 * "Traceback (most recent call last): KeyboardInterrupt, CANCELLED DUE TO TIME LIMIT\n"
    assert verdict.judge([], 1, ending(stopped=True, elapsed_s=20.0, log=log(f"{words}\n{chatter}"))).status == status


OUT_OF_TIME = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-01T00:00:00 DUE TO TIME LIMIT ***\n"


def test_where_several_share_a_job_the_end_of_its_time_is_no_timeout_of_one(log: Callable[[str], str]) -> None:
    cut_off = ending(stopped=True, shared=True, elapsed_s=20.0, log=log(OUT_OF_TIME))
    outcome = verdict.judge([], 1, cut_off)
    assert outcome.status == CANCELLED
    assert outcome.error is not None
    assert outcome.error["type"] == JOB_TIME
    assert "20 of 600 s" in outcome.error["message"]
    assert verdict.judge([], 1, cut_off._replace(shared=False)).status == TIMEOUT
    assert verdict.judge([], 1, cut_off._replace(elapsed_s=600.0)).status == TIMEOUT


@pytest.mark.parametrize("shared", [False, True])
def test_a_rank_that_was_ended_at_its_time_limit_timed_out_though_its_script_went_on(
    make_rank: MakeRank, shared: bool
) -> None:
    at_limit = make_rank(0, **{**TERMINATED, "stopped_by": TIME_LIMIT})
    by_srun = make_rank(1, **TERMINATED)
    outcome = verdict.judge([at_limit, by_srun], 2, ending(exit_status=143, elapsed_s=599.0, shared=shared))
    assert outcome.status == TIMEOUT


def test_what_the_log_said_before_a_repetition_began_is_not_about_it(log: Callable[[str], str]) -> None:
    path = log(OUT_OF_TIME + "oom-kill: of the one before\n")
    begun = Path(path).stat().st_size
    assert verdict.judge([], 1, ending(stopped=True, elapsed_s=20.0, log=path, log_from=begun)).status == CANCELLED
    silent = verdict.judge([], 1, ending(log=path, log_from=begun))
    assert (silent.status, (silent.error or {})["last_lines"]) == (FAILED, [])
    with Path(path).open("a") as file:
        file.write("of its own\n")
    assert verdict.tail(path, begun) == ["of its own"]
    assert verdict.tail(path, begun + 10**6) == []


def test_missing_ranks_of_a_stopped_script_were_cancelled() -> None:
    assert verdict.judge([], 2, ending(stopped=True)).status == CANCELLED


def test_a_killed_rank_is_described_in_words(make_rank: MakeRank) -> None:
    outcome = verdict.judge([make_rank(0, **SEGFAULT)], 1, ending())
    assert outcome.error is not None
    assert "SIGSEGV" in outcome.error["message"]
    assert outcome.error["last_lines"] == ["Fatal Python error"]


def test_an_error_keeps_what_the_framework_said(make_rank: MakeRank) -> None:
    outcome = verdict.judge([make_rank(0, exit_code=1, facts=failed())], 1, ending())
    assert outcome.error is not None
    assert outcome.error["type"] == "ValueError"
    assert outcome.error["message"] == "the weights are wrong"
    assert outcome.error["last_lines"] == ["ValueError: the weights are wrong"]


def test_every_status_of_the_table_is_a_known_one() -> None:
    assert {case[3] for case in SCENARIOS} <= set(STATUSES)


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"".join(b"line %d \xff\n" % number for number in range(10000)))
    last = verdict.tail(str(tmp_path / "log"))
    assert last[-1] == "line 9999 \ufffd"
    assert 0 < len(last) <= 30
    assert all(line.startswith("line ") for line in last)


def test_a_log_that_is_not_there_has_no_last_lines(tmp_path: Path) -> None:
    assert verdict.tail(str(tmp_path / "none")) == []
    assert verdict.tail(str(tmp_path)) == []


Conclude = Callable[..., Outcome]


@pytest.fixture
def conclude(
    tmp_path: Path, make_planned: Callable[..., PlannedRun], sweep_description: dict[str, Any]
) -> Callable[..., Outcome]:
    """What is concluded from ranks, and from how a script on this machine ended."""

    def make(*ranks: Rank, **how: Any) -> Outcome:
        return verdict.conclude(make_planned(), sweep_description, list(ranks), ending(**how), str(tmp_path))

    return make


def test_what_was_not_begun_because_of_noise_is_skipped_and_says_so(conclude: Conclude) -> None:
    outcome = conclude(noise="n1: 1.5 of 2 CPUs are busy", exit_status=0)
    assert outcome.status == SKIPPED
    assert outcome.error == {
        "type": "skipped",
        "message": "the node is not idle: n1: 1.5 of 2 CPUs are busy; `hpcbench resume` retries",
        "last_lines": [],
    }


def test_the_noise_of_several_nodes_is_one_line(conclude: Conclude) -> None:
    outcome = conclude(noise="n1: busy\nn2: busy\n")
    assert outcome.error is not None
    assert outcome.error["message"] == "the node is not idle: n1: busy n2: busy; `hpcbench resume` retries"


@pytest.mark.parametrize(("elapsed_s", "status"), [(20.0, CANCELLED), (600.0, TIMEOUT)])
def test_who_was_told_to_end_while_he_waited_for_a_quiet_node_was_not_skipped(
    conclude: Conclude, elapsed_s: float, status: str
) -> None:
    assert conclude(noise="n1: busy", stopped=True, elapsed_s=elapsed_s).status == status


TOO_LARGE = "batch_size=4 ran out of memory (case c4, run 1), and batch_size=8 is larger"


def test_what_is_larger_than_what_ran_out_of_memory_is_skipped_whether_the_node_is_quiet_or_not(
    conclude: Conclude,
) -> None:
    outcome = conclude(too_large=TOO_LARGE, noise="n1: busy", exit_status=0)
    assert outcome == Outcome(SKIPPED, {"type": "skip_larger_on_oom", "message": TOO_LARGE, "last_lines": []})


def test_who_was_told_to_end_was_not_skipped(conclude: Conclude) -> None:
    assert conclude(too_large=TOO_LARGE, stopped=True).status == CANCELLED


def test_without_noise_the_ranks_tell(conclude: Conclude, make_rank: MakeRank) -> None:
    assert conclude(make_rank()) == Outcome(COMPLETED, None)


@pytest.mark.parametrize(("stopped", "warnings"), [(False, ["9 steps"]), (True, [])])
def test_steps_of_a_failed_command_are_read_unless_slurm_may_kill_the_job_soon(
    stopped: bool,
    warnings: list[str],
    tmp_path: Path,
    make_planned: Callable[..., PlannedRun],
    sweep_description: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(probed_steps, "of_unfinished", lambda scratch: ["9 steps"])
    planned = make_planned(framework="command", model=None, command="true")
    outcome = verdict.conclude(planned, sweep_description, [], ending(stopped=stopped), str(tmp_path))
    assert list(outcome.warnings) == warnings
