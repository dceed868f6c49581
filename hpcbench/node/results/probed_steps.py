"""The steps of a command whose processes used hpcbench_probe, as the measurements of the run."""

from array import array
from dataclasses import replace
from operator import itemgetter, sub
from statistics import mean, median, median_high, median_low
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ...core.metrics.logged import LAST, Values, identifiers, of_values
from ...core.record import Probe, Work
from ...core.run_spec import PlannedRun
from ...core.samples import Samples, Window, harmonic_mean
from ...core.typed_json import to_json
from ..measurement.stopping_rules import MAX_SAMPLES_KEPT
from ..measurement.timing import SHORTEST_WARMUP_S, WARMUP_WINDOW_S, WINDOW_S
from ..measurement.warmup import is_steady, trend
from . import probe_files, probed_phases
from .probe_files import ProbedProcess, Series

MANY = 0.1  # fraction of the measured time between steps that causes a warning
IRREGULAR = 0.05  # a larger relative difference of mean and median combines steps into blocks
_FEWEST_BLOCKS = 10
_MOST_SHOWN = 5  # logged values in a warning
_ROUNDING = 0.01  # relative error of a rounded number of items

Times = Sequence[float]


class ProbedSteps(NamedTuple):
    """The steps of a run. Samples differ between hosts in their windows, since each host has its own clock."""

    samples: Dict[str, Samples]
    items_per_step: Optional[int]
    probe: Probe
    metrics: Dict[str, Dict[str, Any]]  # phases and logged values, as a record holds them
    logged: Dict[str, Values]  # by the lowest rank that logged the name
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
    """Return the steps of a completed command, or None without steps; and warnings about its use of the probe."""
    found, rejected = probe_files.read_all(scratch)
    processes = [each for each in found if each.ends]
    warnings = [*rejected, *_without_steps(found)]
    if not processes:
        return None, warnings
    wall_time_s = max(rank["facts"]["measurements"]["times_s"][0] for rank in ranks)
    return merged(processes, planned, wall_time_s, complete=not rejected), warnings


def of_unfinished(scratch: str) -> List[str]:
    """Return a warning with the steps and the last logged values of a command that failed, if it used the probe."""
    used, _ = last_programs([each for each in probe_files.read_all(scratch)[0] if each.ends])
    if not used:
        return []
    last: Dict[str, Tuple[int, float]] = {}
    for name, series in (each for process in used for each in process.logs.items()):
        last[name] = max(last.get(name, (-1, 0.0)), max(series, key=itemgetter(0)), key=itemgetter(0))
    values = ", ".join(
        "%s = %g (step %d)" % (name, value, at) for name, (at, value) in list(last.items())[:_MOST_SHOWN]
    )
    steps = max(len(each.ends) for each in used)
    what = "the program recorded %d step%s before it failed" % (steps, "" if steps == 1 else "s")
    return [what + ("; last logged values: " + values if values else "")]


def _without_steps(found: Sequence[ProbedProcess]) -> Iterator[str]:
    idle = [each for each in found if not each.ends]
    if 0 < len(idle) < len(found):
        yield "%d of %d processes with hpcbench_probe recorded no steps; hpcbench ignores these processes" % (
            len(idle),
            len(found),
        )
    if any(each.logs for each in idle):
        yield "values logged by processes without steps are ignored; log them in a process that records steps"
    if found and len(idle) == len(found):
        what = "the program used hpcbench_probe, but recorded no steps; the measurement is the wall time; "
        yield what + "iterate over `probe(loader)`, or write `with probe.step():`"


def merged(
    processes: Sequence[ProbedProcess], planned: PlannedRun, wall_time_s: float, *, complete: bool = True
) -> ProbedSteps:
    """Merge the steps of the processes of a run. `processes` is not empty, and each has at least one step.

    A step takes the time of its slowest process. Instances are independent: their rates add up. The warm-up ends as
    for models, but after half of the steps at the latest. `complete` is true if all files of the probe were valid.
    """
    used, warnings = last_programs(processes)
    count, most = (choose(len(each.ends) for each in used) for choose in (min, max))
    if most > count:
        what = "the number of steps differs between processes (%d to %d); hpcbench uses the first %d of each process"
        warnings.append(what % (count, most, count))
    if count == 1:
        warnings.append("only 1 step was recorded; its time includes the warm-up; run more steps")
    columns = [array("d", map(sub, each.ends[:count], each.starts)) for each in used]
    joint: Callable[[Times], float] = harmonic_mean if planned.instances > 1 else max
    times = [joint(each) for each in zip(*columns)]
    warmup, steady = warm_up(times, planned.measure["precision"], planned.measure["max_warmup_s"])
    measured = range(warmup, count)
    if count > len(measured) == 1:
        warnings.append("only the last of %d steps was measured; run more steps" % count)
    block, irregular = block_of(times[warmup:])
    common = _samples(times, warmup, steady, block)
    slowest = [max(range(len(used)), key=each.__getitem__) for each in zip(*columns)]
    windows = {each.host: _windows(each, measured, block) for each in reversed(used)}
    items, uneven = _items(used, measured, complete)
    logged, renamed = _logged(used)
    last_values = {name: of_values(values, "", None, LAST) for name, values in logged.items()}
    return ProbedSteps(
        {host: replace(common, windows=each) for host, each in windows.items()},
        items,
        Probe(processes=len(used), steps=count, wall_time_s=wall_time_s),
        {**probed_phases.phases(used, slowest, measured), **last_values},
        logged,
        [*warnings, *irregular, *uneven, *renamed, *_pauses(used[0], measured, block, windows[used[0].host])],
    )


def last_programs(processes: Sequence[ProbedProcess]) -> Tuple[List[ProbedProcess], List[str]]:
    """Return the processes without those that ended before a later process of the same rank began; with a warning.

    Omitted processes belong to an earlier program of the command, or to an earlier attempt of its launcher.
    """
    begin_s = max((later.begin_s for each in processes for later in processes if _follows(later, each)), default=None)
    used = [each for each in processes if begin_s is None or each.end_s > begin_s]
    earlier = len(processes) - len(used)
    if not earlier:
        return used, []
    what = "%d process%s recorded steps before the last program began; hpcbench uses only the last program"
    return used, [what % (earlier, "" if earlier == 1 else "es")]


def _follows(later: ProbedProcess, earlier: ProbedProcess) -> bool:
    same = later.rank == earlier.rank and (later.rank is not None or later.host == earlier.host)
    return same and later.begin_s >= earlier.end_s


def warm_up(times: Times, tolerance: float, most_s: float) -> Tuple[int, Optional[bool]]:
    """Return the number of warm-up steps, at most half of all, and whether the times were steady after them.

    A single step is measured: there is no warm-up, and the second value is None.
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


def block_of(times: Times) -> Tuple[int, List[str]]:
    """Return the number of steps per measurement, and a warning if irregular times require more than one.

    A median of steps would hide those that wait, for example for a data loader that delivers batches in bursts, or for
    a GPU every few steps. So the median of the measurements must be close to the mean step time.
    """
    block = -(-len(times) // MAX_SAMPLES_KEPT)
    average_s = mean(times)
    if _is_regular(means_of(times, block), average_s):
        return block, []
    ratio = average_s / median(times) if median(times) > 0 else float("inf")
    while len(times) // (2 * block) >= _FEWEST_BLOCKS:
        block *= 2
        if _is_regular(means_of(times, block), average_s):
            break
    else:
        what = "step times are irregular: the mean is %.2fx the median, and there are too few steps to average them"
        return block, [what % ratio]
    what = "step times are irregular: the mean is %.2fx the median; each measurement is the mean of %d steps"
    return block, [what % (ratio, block)]


def means_of(times: Times, block: int) -> List[float]:
    """Return the mean times of consecutive blocks of steps; steps after the last whole block are left out."""
    return [sum(part) / block for part in zip(*(times[place::block] for place in range(block)))]


def _is_regular(measurements: Times, average_s: float) -> bool:
    middle = median_low(measurements), median_high(measurements)  # which differ if two kinds of steps alternate
    return all(abs(each - average_s) <= IRREGULAR * average_s for each in middle)


def _samples(times: Times, warmup: int, steady: Optional[bool], block: int) -> Samples:
    """Return the samples without windows."""
    means = means_of(times[warmup:], block)
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


def _windows(process: ProbedProcess, measured: range, block: int) -> List[Window]:
    """Return windows that together hold all blocks. A window ends after WINDOW_S, or before a pause of WINDOW_S."""
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


def _items(used: Sequence[ProbedProcess], measured: range, complete: bool) -> Tuple[Optional[int], List[str]]:
    """Return the items of a step over all processes, with a warning if they are a mean.

    Return None if they are unknown. A warning gives the reason, unless the program did not set `items`.
    """
    if any(each.items[place] == 0 for each in used for place in measured):
        return None, []
    ranks = max((each.ranks or 1 for each in used), default=1)
    if not complete or len(used) < ranks:
        what = "%d of %d ranks recorded steps; the throughput is unknown" % (len(used), max(ranks, len(used)))
        return None, [what if complete else "a probe file cannot be read; the throughput is unknown"]
    counts = [sum(each.items[place] for each in used) for place in measured]
    low, high, average = min(counts), max(counts), mean(counts)
    if abs(round(average) - average) > _ROUNDING * average:
        return None, [
            "steps have %g items on average, which is not a whole number; the throughput is unknown" % average
        ]
    if low == high:
        return round(low), []
    what = "the number of items differs between steps (%g to %g); the throughput uses the mean, %d"
    return round(average), [what % (low, high, round(average))]


def _logged(used: Sequence[ProbedProcess]) -> Tuple[Dict[str, Values], List[str]]:
    """Return the logged values by metric, each from the lowest rank that logged it; a warning about numbered names."""
    by_name: Dict[str, Series] = {}
    for process in used:
        for name, values in process.logs.items():
            by_name.setdefault(name, values)
    names = identifiers(by_name)
    same = ["'%s' is %s" % (name, metric) for name, metric in names.items() if metric[-1:].isdigit() and name != metric]
    renamed = ["logged names have the same metric, so hpcbench numbers them: %s" % ", ".join(same)] if same else []
    return {names[name]: list(values) for name, values in by_name.items()}, renamed


def _pauses(process: ProbedProcess, measured: range, block: int, windows: Sequence[Window]) -> Iterator[str]:
    """Yield a warning if much of the time of the windows was between steps."""
    total_s = sum(window.end_s - window.start_s for window in windows)
    steps = measured[: block * sum(window.samples for window in windows)]
    between_s = total_s - sum(process.ends[place] - process.starts[place] for place in steps)
    if total_s > 0 and between_s > MANY * total_s:
        what = "time between steps is %.0f %% of the measured time; "
        rest = "step time and throughput exclude it, energy and utilization include it"
        yield (what + rest) % (100 * between_s / total_s)
