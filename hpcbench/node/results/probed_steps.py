"""The steps of a command whose processes used hpcbench_probe, as the measurements of the run."""

from dataclasses import replace
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ...core.metrics.logged import LAST, Values, identifier, of_values
from ...core.record import Probe, Work
from ...core.run_spec import PlannedRun
from ...core.samples import Samples, Window, harmonic_mean
from ...core.typed_json import to_json
from ..worker.stopping_rules import MAX_SAMPLES_KEPT
from ..worker.timing import SHORTEST_WARMUP_S, WARMUP_WINDOW_S, WINDOW_S
from ..worker.warmup import is_steady, trend
from . import probe_files, probed_values
from .probe_files import ProbedProcess

_MUCH = 0.1  # fraction of the time between steps that causes a warning

Times = Sequence[float]


class ProbedSteps(NamedTuple):
    """The steps of a run. Samples differ between hosts in their windows, since each host has its own clock."""

    samples: Dict[str, Samples]
    items_per_step: Optional[int]
    probe: Probe
    metrics: Dict[str, Dict[str, Any]]  # phases and logged values, as a record holds them
    logged: Dict[str, Values]  # by the process of the lowest rank
    warnings: List[str]

    def in_facts(self, ranks: Sequence[Dict[str, Any]]) -> List[Dict[str, Any]]:
        """Return the ranks with the steps, in the windows of their hosts, as measurements instead of the wall time."""
        unseen = replace(next(iter(self.samples.values())), windows=[])  # of a host whose processes recorded nothing
        work = to_json(Work(items_per_step=self.items_per_step))
        measured = ({"measurements": to_json(self.samples.get(rank["host"], unseen)), "work": work} for rank in ranks)
        return [{**rank, "facts": {**rank["facts"], **steps}} for rank, steps in zip(ranks, measured)]


def of_run(
    planned: PlannedRun, ranks: Sequence[Dict[str, Any]], scratch: str
) -> Tuple[Optional[ProbedSteps], List[str]]:
    """Return the steps of a completed command, or None if it did not use the probe; a message for each invalid file."""
    processes, refused = probe_files.read_all(scratch)
    if not processes:
        return None, refused
    wall_time_s = max(rank["facts"]["measurements"]["times_s"][0] for rank in ranks)
    return merged(processes, planned, wall_time_s), refused


def merged(processes: Sequence[ProbedProcess], planned: PlannedRun, wall_time_s: float) -> ProbedSteps:
    """Return the steps of a run from those of its processes, at least one, of which each has at least one step.

    A step takes the time of its slowest process. Instances are independent: their rates add up. The warm-up ends as
    for models, but after half of the steps at the latest.
    """
    used, warnings = last_of_each_rank(processes)
    count = min(len(each.ends) for each in used)
    most = max(len(each.ends) for each in used)
    if most > count:
        what = "the number of steps differs between processes (%d to %d); hpcbench uses the first %d of each process"
        warnings.append(what % (count, most, count))
    columns = [[end - start for start, end in zip(each.starts, each.ends)][:count] for each in used]
    joint: Callable[[Times], float] = harmonic_mean if planned.instances > 1 else max
    times = [joint(each) for each in zip(*columns)]
    warmup, steady = warm_up(times, planned.measure["precision"], planned.measure["max_warmup_s"])
    measured = range(warmup, count)
    common = _samples(times, warmup, steady)
    slowest = [max(range(len(used)), key=each.__getitem__) for each in zip(*columns)]
    items, uneven = _items(used, measured)
    logged = {identifier(name): values for name, values in used[0].logs.items()}
    last_values = {name: of_values(values, "", None, LAST) for name, values in logged.items()}
    return ProbedSteps(
        {each.host: replace(common, windows=_windows(each, measured)) for each in reversed(used)},
        items,
        Probe(processes=len(used), steps=count, wall_time_s=wall_time_s),
        {**probed_values.phases(used, slowest, measured), **last_values},
        logged,
        [*warnings, *uneven, *_pauses(used[0], measured)],
    )


def last_of_each_rank(processes: Sequence[ProbedProcess]) -> Tuple[List[ProbedProcess], List[str]]:
    """Return the processes, without those that ended before another one of the same rank began; with a warning.

    Those are of an earlier program of the command, or of an earlier attempt of a launcher.
    """
    used = [each for each in processes if not any(_follows(other, each) for other in processes)]
    replaced = len(processes) - len(used)
    if not replaced:
        return used, []
    what = (
        "%d process%s recorded steps before another process of the same rank began; hpcbench uses only the last process"
    )
    return used, [what % (replaced, "" if replaced == 1 else "es")]


def _follows(later: ProbedProcess, earlier: ProbedProcess) -> bool:
    place = (earlier.rank, earlier.host)
    return (later.rank, later.host) == place and later.starts[0] >= earlier.ends[-1]


def warm_up(times: Times, tolerance: float, most_s: float) -> Tuple[int, Optional[bool]]:
    """Return the steps of the warm-up, at most half of all, and whether it ended since the times were steady.

    The latter is None for a single step, which is measured.
    """
    if len(times) < 2:
        return 0, None
    elapsed_s, unseen_s = 0.0, 0.0
    for place in range(1, len(times) // 2):
        elapsed_s += times[place]
        unseen_s += times[place]
        if unseen_s >= WARMUP_WINDOW_S:
            unseen_s = 0.0
            if elapsed_s >= SHORTEST_WARMUP_S and is_steady(times[1 : place + 1], tolerance):
                return place + 1, True
            if elapsed_s >= most_s:
                return place + 1, False
    return len(times) // 2, False


def _samples(times: Times, warmup: int, steady: Optional[bool]) -> Samples:
    """Return the samples without windows. Many steps are combined into blocks, of which each has the mean time."""
    measured = times[warmup:]
    block = -(-len(measured) // MAX_SAMPLES_KEPT)
    means = [sum(part) / block for part in zip(*(measured[place::block] for place in range(block)))]
    return Samples(
        times_s=means,
        windows=[],
        steps_per_measurement=block,
        first_step_s=times[0],
        warmup_steps=warmup,
        warmup_s=sum(times[:warmup]),
        steady=steady,
        drift=trend(means),
    )


def _windows(process: ProbedProcess, measured: range) -> List[Window]:
    """Return windows of at least WINDOW_S, except the last one, each without long pauses; they hold all blocks."""
    block = -(-len(measured) // MAX_SAMPLES_KEPT)
    found: List[Window] = []
    first, blocks = measured.start, 0
    for place in range(measured.start, measured.stop - block + 1, block):
        blocks += 1
        start_s, end_s = process.starts[first], process.ends[place + block - 1]
        following = place + block
        is_last = following + block > measured.stop
        if is_last or end_s - start_s >= WINDOW_S or process.starts[following] - end_s >= WINDOW_S:
            found.append(Window(start_s, end_s, blocks))
            first, blocks = following, 0
    return found


def _items(used: Sequence[ProbedProcess], measured: range) -> Tuple[Optional[int], List[str]]:
    """Return the items of a step over all processes, None if a process has not named them.

    If steps differ, it is their mean, with a warning.
    """
    counts = [sum(each.items[place] for each in used) for place in measured]
    if any(each.items[place] == 0 for each in used for place in measured):
        return None, []
    low, high = min(counts), max(counts)
    if low == high:
        return low, []
    mean = round(sum(counts) / len(counts))
    return mean, [
        "the number of items differs between steps (%d to %d); the throughput uses the mean, %d" % (low, high, mean)
    ]


def _pauses(process: ProbedProcess, measured: range) -> Iterator[str]:
    """Yield a warning if much of the time from the first to the last measured step was between steps."""
    total_s = process.ends[measured[-1]] - process.starts[measured[0]]
    between_s = total_s - sum(process.ends[place] - process.starts[place] for place in measured)
    if total_s > 0 and between_s > _MUCH * total_s:
        what = "energy and utilization include the time between steps (%.0f %% of the measured time)"
        yield what % (100 * between_s / total_s)
