"""One attempt at a run: decide whether it can start, run its tasks with the monitors, and write its record."""

import os
import shutil
import time
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Tuple

from ...core.files import make_folder
from ...core.rank_command import RankTask, packages_file, scratch_folder
from ...core.record import Record, RecordKey
from ...core.run_spec import PlannedRun
from ...core.samples import INTERFERENCE
from ...core.start_rules import failure_limit, oom_pruning
from ...core.start_rules.retry_rule import Attempt, is_tried_again
from ...core.status import COMPLETED, NODE_FAILURE
from ..results import outcome, record_writer
from ..results.outcome import Ending, NotStarted
from . import launcher, preemption
from .give_up import give_up
from .job import Job
from .monitors import Monitors
from .output import Output
from .stop import Stop

LONGER = 1.2  # the next attempt may take this many times the mean of the earlier ones


class NextStep(Enum):
    """How a job continues after an attempt."""

    DONE = "the next run"
    AGAIN = "another attempt"
    WAIT_FOR_CONTROLLER = "the same attempt, when slurmctld responds"
    GIVE_WAY = "nothing: Slurm preempts the job, and requeues it"
    JOB_IS_ENDING = "nothing: Slurm ends the job"


class Lane(NamedTuple):
    """What consecutive runs share: the job, the sweep, the monitors, and options of srun."""

    job: Job
    sweep: Dict[str, Any]
    monitors: Monitors
    stop: Stop
    share: List[str]  # additional options of srun, if runs are concurrent
    shares_job: bool  # whether the job has several runs


class Timer:
    """The wall time of a run, over all of its attempts."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin at 0 s."""
        self._start_s = time.monotonic()

    def elapsed_s(self) -> float:
        """Return the seconds since the first attempt began."""
        return time.monotonic() - self._start_s


def attempt(
    lane: Lane, element: int, number: int, timer: Timer, earlier: List[Attempt], output: Output
) -> Tuple[NextStep, bool]:
    """Make attempt `number`, from 1, at the run `element`; append its record to those of the job and to `earlier`.

    `earlier` has all attempts of the job at this run, also those before a requeue. An attempt that was not started has
    no record. Return how the job continues, and whether the run completed.
    """
    job = lane.job
    log_from = output.size()
    scratch = _scratch(job, element, number)
    planned = job.planned(element)
    halted = (failure_limit.reached(job.results) or "") if job.on_slurm else ""
    too_large = "" if halted else _too_large(planned, job.results)
    noise = "" if halted or too_large else _noise(lane, planned, timer)
    status = 0
    if not (halted or too_large or noise or lane.stop.requested):
        lane.monitors.begin(scratch)
        packages = packages_file(job.results, _environment(lane))
        limit_s = job.limit_s - timer.elapsed_s()
        task = RankTask(job.zipapp, job.file, element, scratch, packages, limit_s, job.launcher)
        status = launcher.launch(job, planned, lane.share, task, output, lane.stop)
        lane.monitors.end()
    ranks = record_writer.read_ranks(scratch)
    ending = Ending(
        exit_status=status,
        stopped=lane.stop.requested,
        elapsed_s=timer.elapsed_s(),
        limit_s=job.limit_s,
        log=output.log,
        log_from=log_from,
        shared=lane.shares_job,
        preempted=_gives_way(ranks, lane.stop),
        noise=noise,
        too_large=too_large,
        halted=halted,
    )
    not_started = outcome.why_not_started(ranks, ending)
    if not_started is not None:
        output.report("%s; this run was not started" % not_started.value)
        shutil.rmtree(scratch, ignore_errors=True)
        ending_job = not_started is NotStarted.JOB_IS_ENDING
        return (NextStep.JOB_IS_ENDING if ending_job else NextStep.WAIT_FOR_CONTROLLER), False
    key = RecordKey(job.name, element, job.batch, number)
    try:
        concluded = outcome.conclude(planned, lane.sweep, ranks, ending, scratch)
        elapsed_s = ending.elapsed_s
        record = record_writer.write(planned, lane.sweep, key, concluded, ranks, scratch, job.records, elapsed_s)
    except OSError as error:  # hpcbench concludes the outcome from the scratch folder later
        output.report("%s cannot be written: %s" % (job.records, error.strerror))
        return NextStep.DONE, False
    return _after(record, lane, planned, ending, earlier, output)


def _after(
    record: Record, lane: Lane, planned: PlannedRun, ending: Ending, earlier: List[Attempt], output: Output
) -> Tuple[NextStep, bool]:
    """Report a record, and add it to the `earlier` attempts; return how to go on, and whether the run completed."""
    output.report("case %s run %d %s" % (record.case_id, record.run, record.in_words))
    completed = record.status == COMPLETED
    if ending.preempted:
        return NextStep.GIVE_WAY, completed
    if record.status == NODE_FAILURE:
        return NextStep.JOB_IS_ENDING, completed
    earlier.append(record)
    retry = lane.sweep["experiment"]["retry"]
    again = not lane.stop.requested and is_tried_again(earlier, planned.measure["retries"], retry["on"], retry["max"])
    if again and _has_time(record, ending, output):
        return NextStep.AGAIN, completed
    failure_limit.note(planned, record, lane.job.results)
    return NextStep.DONE, completed


def _has_time(record: Record, ending: Ending, output: Output) -> bool:
    """Return whether the time limit of the run allows another attempt."""
    assert record.attempt is not None  # noqa: S101 - the driver numbers its attempts
    enough = ending.elapsed_s + LONGER * ending.elapsed_s / record.attempt <= ending.limit_s
    what = record.verdict if record.verdict == INTERFERENCE else record.status
    output.report("%s; %s" % (what, "once more" if enough else "not enough time left for a retry"))
    return enough


def _scratch(job: Job, element: int, number: int) -> str:
    """Make the scratch folder of an attempt. Its unique name identifies the processes of the attempt."""
    process, restart = str(os.getpid()), "0"
    if job.on_slurm:
        process = os.environ.get("SLURM_JOB_ID") or process
        restart = os.environ.get("SLURM_RESTART_COUNT") or restart
    path = scratch_folder(job.running, element, process, restart, number)
    shutil.rmtree(path, ignore_errors=True)  # left by an earlier process with the same ID
    try:
        make_folder(path)
    except OSError:
        give_up("%s cannot write to %s" % (os.uname().nodename, job.running))
    return path


def _too_large(planned: PlannedRun, results: str) -> str:
    """Return why the run is skipped because a smaller case ran out of memory, or an empty text if it is not."""
    if planned.size is None:
        return ""
    return oom_pruning.too_large(planned, oom_pruning.notes(planned, results)) or ""


def _noise(lane: Lane, planned: PlannedRun, timer: Timer) -> str:
    """Return why the nodes are not idle, or an empty text if they are, or if the experiment does not check it.

    With `idle_node: wait`, wait until they are idle, for at most half of the remaining time.
    """
    if planned.measure["idle_node"] == "ignore":
        return ""
    wait_s = (lane.job.limit_s - timer.elapsed_s()) / 2 if planned.measure["idle_node"] == "wait" else 0.0
    return lane.monitors.busy(wait_s, planned.on_gpus)


def _environment(lane: Lane) -> str:
    name: str = lane.sweep["jobs"][lane.job.name]["environment"]
    return name


def _gives_way(ranks: List[Dict[str, Any]], stop: Stop) -> bool:
    """Return whether Slurm preempts the job with a grace time: it sends SIGTERM to the tasks, but not to the job.

    See GraceTime in slurm.conf(5). A user may also have ended the step, so this queries Slurm.
    """
    terminated = any(rank["stopped_by"] == "SIGTERM" for rank in ranks)
    return terminated and not stop.requested and preemption.is_preempted(os.environ)
