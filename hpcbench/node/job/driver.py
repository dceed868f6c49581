"""The driver of a job: runs its elements, one after another or concurrently, until none is left or a signal ends it."""

import json
import os
import random
import threading
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence

from ...core import ranges
from ...core.start_rules.retry_rule import Attempt, is_tried_again
from . import launcher, requeue
from .attempt import Lane, NextStep, Timer, attempt
from .give_up import GaveUpError, give_up
from .job import Job
from .monitors import Monitors
from .output import FileOutput, Output, copy_and_remove, left_by_earlier_start
from .requests import Requests
from .stop import Stop

CONTROLLER_S = 10.0  # minimum between two attempts while slurmctld is down; at most twice that, to spread the jobs
UNTIL_KILLED_S = 3600.0

EarlierAttempts = Mapping[int, Sequence[Attempt]]  # by element
MakeMonitors = Callable[[Callable[[str], None]], Monitors]  # takes the function that prints their messages


def drive(job: Job, elements: List[int]) -> int:
    """Run these elements of a job; each leaves a record. Return 0 if all completed, otherwise 1."""
    stop = Stop()
    sweep = _begun(job)
    if not job.on_slurm:
        return _Driver(job, sweep, stop, shares_job=False).run_here(elements)
    os.environ["SLURM_EXPORT_ENV"] = "ALL"  # otherwise a site's --export=NONE would hide the modules from srun
    if _was_given_up(job):
        give_up("hpcbench replaced this job: another job may run the same cases")
    earlier = _earlier_attempts(job, sweep)
    elements = [element for element in elements if _is_left(job, sweep, element, earlier.get(element))]
    return _Driver(job, sweep, stop, len(elements) > 1, earlier).run_on_slurm(elements)


def serve(job: Job, descriptor: int) -> int:
    """Run the elements of a local job that a connected socket delivers. Return 0 if all completed, otherwise 1."""
    stop = Stop()
    driver = _Driver(job, _begun(job), stop, shares_job=False)
    return driver.run_here(Requests(descriptor, driver.output, stop))


def _begun(job: Job) -> Dict[str, Any]:
    """Make the folder of running attempts; return the description of the sweep. End the job if that fails."""
    try:
        os.makedirs(job.running, exist_ok=True)
    except OSError:
        give_up("%s cannot write to %s" % (os.uname().nodename, job.results))
    try:
        return job.sweep()
    except (OSError, ValueError) as error:
        give_up("%s cannot be read: %s" % (os.path.join(os.path.dirname(job.file), "sweep.json"), error))


def pack(job: Job, index: int) -> List[int]:
    """Return the elements that index `index` of the array runs. End the job if the batch does not list them."""
    path = os.path.join(os.path.dirname(job.file), "packs", job.batch)
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        elements = [int(word) for word in lines[index].split()]
    except (OSError, ValueError, IndexError):
        elements = []
    if not elements:
        give_up("packs/%s has no valid line for array index %d" % (job.batch, index))
    return elements


def _was_given_up(job: Job) -> bool:
    """Return whether the journal lists this array task as given up: hpcbench may have submitted its runs again."""
    path = os.path.join(os.path.dirname(job.file), "journal.jsonl")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line for line in file if '"rejected"' in line or '"given up"' in line]
    except OSError:
        return False
    index = int(os.environ.get("SLURM_ARRAY_TASK_ID") or 0)
    return any(_gives_up(line, job.batch, index) for line in lines)


def _gives_up(line: str, batch: str, index: int) -> bool:
    """Return whether a line of the journal rejects the batch, or gives up this index in it. A damaged line does not."""
    try:
        event = json.loads(line)
        is_meant = event["event"] == "rejected" or index in ranges.expand(event["indices"])
        return bool(is_meant and event["batch"] == batch)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def _earlier_attempts(job: Job, sweep: Dict[str, Any]) -> EarlierAttempts:
    """Return the attempts from before a requeue, and write the records of those that the requeue interrupted."""
    count = int(os.environ.get("SLURM_RESTART_COUNT") or 0)
    if not count:
        return {}
    start = requeue.Start(count, job.batch, job.running, job.records, job.log)
    try:
        requeue.record_cut_off(job.file, sweep, start)
        return requeue.earlier_attempts(start)
    except (OSError, ValueError, KeyError, IndexError) as error:
        print("hpcbench: %s" % error, flush=True)
        give_up("the records from before this restart cannot be read")


def _is_left(job: Job, sweep: Dict[str, Any], element: int, earlier: Optional[Sequence[Attempt]]) -> bool:
    """Return whether an element still has to run after these attempts."""
    retry = sweep["experiment"]["retry"]
    return not earlier or is_tried_again(earlier, job.planned(element).measure["retries"], retry["on"], retry["max"])


class _Driver:
    """Run elements in one lane, or concurrently in several, each with its own monitors."""

    def __init__(
        self, job: Job, sweep: Dict[str, Any], stop: Stop, shares_job: bool, earlier: Optional[EarlierAttempts] = None
    ) -> None:
        self._job = job
        self._sweep = sweep
        self._stop = stop
        self._shares_job = shares_job
        self._earlier = earlier or {}
        self.output = Output(job.log)
        self._failed = False

    def run_here(self, elements: Iterable[int]) -> int:
        """Run elements on this machine until none is left or a signal comes; return 0 if all completed, otherwise 1."""
        self._one_after_another(elements, self._monitors([], 1))
        return int(self._failed)

    def run_on_slurm(self, elements: List[int]) -> int:
        """Run elements on the nodes of a Slurm job; return 0 if all completed, otherwise 1."""
        if not elements:
            return 0
        width: int = self._sweep["jobs"][self._job.name]["width"]
        nodes = int(self._job.planned(elements[0]).parameters["nodes"])
        version, output = launcher.slurm_version() if max(nodes, width) > 1 else (None, "")
        srun: List[str] = []  # not needed for one node: it is the node of the driver
        if version and version >= launcher.SHARES_NODES and nodes > 1:
            srun = launcher.on_each_node(nodes)
        elif nodes > 1:
            values = (output or "no Slurm", os.uname().nodename)
            self.output.report("%s: only %s is monitored; monitoring every node requires Slurm 22.05 or newer" % values)
        watched = nodes if srun else 1
        if width > 1:
            self._side_by_side(elements, lambda report: self._monitors(srun, watched, report), width, version)
        else:
            self._one_after_another(elements, self._monitors(srun, watched))
        return int(self._failed)

    def _monitors(self, srun: List[str], nodes: int, report: Optional[Callable[[str], None]] = None) -> Monitors:
        nodes_folder = os.path.join(self._job.results, "nodes")
        words = [*srun, *launcher.monitor_words(self._job.zipapp, nodes_folder)]
        return Monitors(words, nodes, report or self.output.report, self._stop)

    def _one_after_another(self, elements: Iterable[int], monitors: Monitors) -> None:
        lane = Lane(self._job, self._sweep, monitors, self._stop, [], self._shares_job)
        try:
            for element in elements:
                if self._stop.requested:
                    break
                self._repetition(lane, element, self.output)
        finally:
            monitors.close()

    def _side_by_side(self, elements: List[int], monitors: MakeMonitors, width: int, version: launcher.Version) -> None:
        job_id = os.environ.get("SLURM_JOB_ID", "")
        for path in left_by_earlier_start(self._job.running, job_id):
            copy_and_remove(path)
        waiting = list(reversed(elements))
        lanes = [
            threading.Thread(target=self._run_lane, args=(waiting, monitors, launcher.own_share(version, width)))
            for _ in range(min(width, len(elements)))
        ]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()

    def _run_lane(self, waiting: List[int], make_monitors: MakeMonitors, share: List[str]) -> None:
        output: Optional[Output] = None

        def report(text: str) -> None:
            (output or self.output).report(text)

        monitors = make_monitors(report)
        lane = Lane(self._job, self._sweep, monitors, self._stop, share, self._shares_job)
        try:
            while waiting and not self._stop.requested:
                try:
                    element = waiting.pop()
                except IndexError:  # another lane took the last one
                    break
                output = self._output_of(element)
                try:
                    self._repetition(lane, element, output)
                finally:
                    output.close()
                    output = None
        except GaveUpError:
            self._failed = True
            waiting.clear()  # the other lanes finish their runs
        except BaseException:  # the job must not seem to have succeeded
            self._failed = True
            raise
        finally:
            monitors.close()

    def _output_of(self, element: int) -> Output:
        """Return a file for the output of a run, or the job's own output if no file can be made."""
        name = "%d-%s.log" % (element, os.environ.get("SLURM_JOB_ID", ""))
        try:
            return FileOutput(os.path.join(self._job.running, name))
        except OSError:
            return self.output

    def _repetition(self, lane: Lane, element: int, output: Output) -> None:
        """Run an element, with retries; each attempt leaves a record."""
        timer, number = Timer(), 0
        attempts: List[Attempt] = list(self._earlier.get(element, ()))
        while True:
            number += 1
            step, completed = attempt(lane, element, number, timer, attempts, output)
            if step is NextStep.WAIT_FOR_CONTROLLER:
                self._stop.wait(CONTROLLER_S * (1 + random.random()))  # noqa: S311 - only to spread
                number -= 1
                if not number:  # otherwise the attempts before have taken of the limit
                    timer.restart()
            if step is NextStep.GIVE_WAY:
                self._stop.request()
                self._stop.wait(UNTIL_KILLED_S)  # Slurm does not requeue a job that ends by itself
            if step is NextStep.JOB_IS_ENDING:
                self._stop.request()
            goes_on = step in (NextStep.AGAIN, NextStep.WAIT_FOR_CONTROLLER) and not self._stop.requested
            if not goes_on:
                self._failed = self._failed or not completed
                return
