"""Detect interference by other processes: a verdict on each window of measurements, from the readings of the monitor.

There are two kinds of evidence. Direct evidence is time taken from the run itself: its threads waited for a CPU, a
quota stopped them, the hypervisor ran another guest, memory was reclaimed, or a GPU was throttled. It slows the run
by about as much, and always counts (`convicts`). Indirect evidence is activity next to the run: on other cores, or on
the same disk or GPU. It may slow the run through shared resources, and no counter shows by how much. It counts unless
the run's own measurements show that it made no difference.
"""

from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ...core import record
from ...core.samples import CLEAN, INTERFERENCE, THROTTLING, TOO_MANY, UNMONITORED
from .throttle_reasons import HEAT, POWER_BRAKE
from .timeline import Timeline

CPU, MEMORY, IO, GPU, STEAL = "cpu", "memory", "io", "gpu", "steal"

# Thresholds, as fractions of a window or as numbers of CPUs: even an idle machine has some activity below them.
WAITED, THROTTLED, STALLED, STOLEN = 0.03, 0.03, 0.05, 0.05
BUSY_CPUS, BUSY_PART = 0.25, 0.01  # CPUs, or on a large node this fraction of all
OVERSUBSCRIBED = 1.05  # own threads demand more than all of their CPUs: they wait for each other
MUCH_IO = 0.3  # fraction of all disk traffic that is not the run's own
IO_STEAL_US = 50.0  # CPU time of the hypervisor for one operation on a virtual disk; 40 were measured
OWN_IO = 0.1  # bytes per microsecond: a run with less does not wait for a disk; the start of a shell reads a few pages
LITTLE_IO = 5.0  # bytes per microsecond: less has no effect, and the journal of a file system writes as much
HARMLESS = 1.03  # slowest window with interference over fastest one without
FEWEST = 3  # windows of each kind to compare

MONITORED = 0.5  # fraction of a window that must be monitored, and of the windows that a verdict requires
NEEDED = ("own.processes", "own.cpu_ms", "cpu.own_busy_ms")  # required to attribute activity to other processes
BLURRED = 4  # gap between readings, in windows: beyond it, one CPU taken for a window averages below BUSY_CPUS
SHORTEST_S = 0.4  # in less time, the ticks of CPU times (10 ms) are too coarse

TAKEN = "other processes took its CPUs"

# The ends of columns, and what cannot be detected without such a column.
TELLING = (
    ("own.worst_wait_us", "threads that waited for a CPU"),
    ("quota.throttled_us", "a CPU quota"),
    ("cpu.thermal_events", "CPUs slowed down by heat"),
    ("pressure.memory_some_us", "processes that waited for memory"),
    ("own.written_bytes", "which processes caused the disk traffic"),
    ("disk.written_bytes", "disk traffic of the node"),
)
TELLING_OF_GPUS = (
    (".throttle_reasons", "GPUs slowed down by heat or power"),
    (".foreign_processes", "other processes on the GPUs"),
)
OTHER_CONTAINERS = "processes of other containers on the GPUs"


class Window(NamedTuple):
    """A period of measurements; `time_s` is their median."""

    start_s: float
    end_s: float
    time_s: Optional[float]


class Evidence(NamedTuple):
    """Activity of others in a window. `size` is a fraction of the window's time, or in the unit that `what` names."""

    causes: Tuple[str, ...]  # more than one if no counter distinguishes them
    size: float
    what: str
    convicts: bool = True


Found = Optional[List[Evidence]]  # of one window; None if it was not monitored
Kind = Callable[["View"], Iterator[Evidence]]


def judge(timeline: Optional[Timeline], windows: Sequence[Window], on_gpus: bool = False) -> List[Found]:
    """Return the evidence of interference in each window. Evidence on GPUs counts only for runs on GPUs."""
    kinds = (*OF_NODE, gpus) if on_gpus else OF_NODE
    found = [_evidence(timeline, window, kinds) if timeline else None for window in windows]
    if timeline and windows and _waited_for_one_another(timeline, windows):
        found = [evidence and [each for each in evidence if each.what != TAKEN] for evidence in found]
    return _without_harmless(found, windows)


def _waited_for_one_another(timeline: Timeline, windows: Sequence[Window]) -> bool:
    """Return whether other processes explain less than half of the time that threads of the run waited for a CPU."""
    view = _view(timeline, Window(windows[0].start_s, windows[-1].end_s, None))
    foreign = _foreign_cpus(view, "cpu.own_busy_ms") if view else None
    return view is not None and foreign is not None and foreign < _waited(view) / 2


def unseen(timeline: Timeline, on_gpus: bool = False) -> List[str]:
    """Return which kinds of interference could not be detected, because no column shows them."""
    telling = (*TELLING, *TELLING_OF_GPUS) if on_gpus else TELLING
    missing = [what for end, what in telling if not any(column.endswith(end) for column in timeline.columns)]
    contained = on_gpus and any(facts.get("own_container_only") for facts in timeline.facts.values())
    return [*missing, OTHER_CONTAINERS] if contained else missing


def _evidence(timeline: Timeline, window: Window, kinds: Sequence[Kind]) -> Found:
    view = _view(timeline, window)
    if view is None:
        return None
    found = [evidence for kind in kinds for evidence in kind(view)]
    return None if not found and view.is_blurred else found


def _view(timeline: Timeline, window: Window) -> "Optional[View]":
    """Return the part of a window in which the run was monitored, at least SHORTEST_S long; None if too short."""
    spans = [span for span in map(timeline.span, NEEDED) if span]
    if len(spans) < len(NEEDED):
        return None
    first_s, last_s = max(first_s for first_s, _ in spans), min(last_s for _, last_s in spans)
    start_s, end_s = max(window.start_s, first_s), min(window.end_s, last_s)
    if end_s - start_s < max(0.0, MONITORED * (window.end_s - window.start_s)):
        return None
    margin_s = max(0.0, SHORTEST_S - (end_s - start_s)) / 2
    start_s, end_s = max(start_s - margin_s, first_s), min(end_s + margin_s, last_s)
    # If one margin would extend beyond the monitored time, extend the other one.
    start_s, end_s = max(min(start_s, end_s - SHORTEST_S), first_s), min(max(end_s, start_s + SHORTEST_S), last_s)
    return View(timeline, start_s, end_s) if end_s - start_s >= SHORTEST_S / 2 else None


class View:
    """The readings of a timeline between two times, in seconds."""

    def __init__(self, timeline: Timeline, start_s: float, end_s: float) -> None:
        self.timeline = timeline
        self.start_s = start_s
        self.end_s = end_s
        self.duration_us = (end_s - start_s) * 1e6

    @property
    def is_blurred(self) -> bool:
        """Return whether gaps between readings are so long that activity during the window would average out."""
        gaps = []
        for column in (*NEEDED, "own.worst_wait_us"):
            times_s = self.timeline.around(column, self.start_s, self.end_s).times_s
            gaps += [after_s - before_s for before_s, after_s in zip(times_s, times_s[1:])]
        return max(gaps, default=0.0) > BLURRED * (self.end_s - self.start_s)

    def increase(self, column: str) -> Optional[float]:
        return self.timeline.increase(column, self.start_s, self.end_s)

    def part(self, column: str) -> float:
        """Return the increase of a counter of microseconds as a fraction of the window; 0 if unknown."""
        return (self.increase(column) or 0.0) / self.duration_us

    def gauge(self, column: str) -> List[float]:
        """Return the readings of a gauge, from the last one before the window to the first one after it."""
        return self.timeline.around(column, self.start_s, self.end_s).values

    @property
    def gpus(self) -> List[str]:
        ends = ".throttle_reasons"
        return [column[: -len(ends)] for column in self.timeline.columns if column.endswith(ends)]

    @property
    def own_cpus(self) -> float:
        return max(self.gauge("cpu.own_count"), default=0.0) or 1.0


def throttled(view: View) -> Iterator[Evidence]:
    size = _throttled(view)
    if size >= THROTTLED:
        yield Evidence((THROTTLING,), size, "a CPU quota stopped it")


def _throttled(view: View) -> float:
    """Return the fraction of time for which a quota stopped a thread: the kernel's sum over CPUs, per thread."""
    threads = view.part("own.run_us") + view.part("own.wait_us")  # average number of runnable threads
    return view.part("quota.throttled_us") / max(1.0, threads)


def heated(view: View) -> Iterator[Evidence]:
    """Yield thermal throttling of the run's CPUs; older kernels count only how often it occurred."""
    times, size = view.increase("cpu.thermal_events"), view.part("cpu.thermal_us")
    if size >= THROTTLED:
        yield Evidence((THROTTLING,), size, "heat slowed its CPUs down")
    elif times and not view.timeline.has("cpu.thermal_us"):
        yield Evidence((THROTTLING,), times, "times heat slowed its CPUs down", convicts=False)


def waited(view: View) -> Iterator[Evidence]:
    """Yield waiting for a CPU that neither a quota nor the run's own threads explain."""
    wanted = view.part("own.run_us") + view.part("own.wait_us")
    if wanted > OVERSUBSCRIBED * view.own_cpus:
        foreign = _foreign_cpus(view, "cpu.own_busy_ms")
        size = 0.0 if foreign is None else foreign / view.own_cpus
        threshold = busy_cpus(view.own_cpus) / view.own_cpus
    else:
        size, threshold = _waited(view), WAITED
    if size >= threshold:
        yield Evidence((CPU,), size, TAKEN)


def _waited(view: View) -> float:
    """Return the fraction of time for which a runnable thread had no CPU, without stops by a quota."""
    return view.part("own.worst_wait_us") - _throttled(view)


def beside(view: View) -> Iterator[Evidence]:
    """Yield activity on all CPUs: cores share caches, memory bandwidth, and the power for high clock rates."""
    foreign = _foreign_cpus(view, "cpu.own_busy_ms", "cpu.other_busy_ms")
    if foreign is not None and foreign >= busy_cpus(max(view.gauge("cpu.count"), default=0.0)):
        yield Evidence((CPU, MEMORY), foreign, "CPUs were busy with other processes", convicts=False)


def busy_cpus(count: float) -> float:
    """Return how many CPUs of a node may be busy with daemons without being interference."""
    return max(BUSY_CPUS, BUSY_PART * count)


def _foreign_cpus(view: View, *busy: str) -> Optional[float]:
    """Return how many of these CPUs other processes used, on average; None if unknown."""
    used = [view.increase(column) for column in busy]
    own = view.increase("own.cpu_ms")
    if own is None or None in used:
        return None
    return max(0.0, sum(ms or 0.0 for ms in used) - own) * 1e3 / view.duration_us


def stolen(view: View) -> Iterator[Evidence]:
    """Yield steal time beyond what the hypervisor needs to serve the disks, which the kernel counts as steal."""
    served = view.part("disk.operations") * IO_STEAL_US
    size = (view.part("cpu.own_steal_ms") * 1e3 - served) / view.own_cpus
    if size >= STOLEN:
        yield Evidence((STEAL,), size, "the hypervisor ran another guest (steal time)")


def reclaimed(view: View) -> Iterator[Evidence]:
    size = view.part("pressure.memory_some_us")
    if size >= STALLED:
        yield Evidence((MEMORY,), size, "processes waited for memory")


def disk(view: View) -> Iterator[Evidence]:
    """Yield disk traffic of others, if the run does I/O itself. Its own earlier writes may reach the disk only now."""
    known = view.timeline.span("own.written_bytes")
    if known is None:
        return
    view = View(view.timeline, max(view.start_s, known[0]), min(view.end_s, known[1]))
    own, total = _bytes(view, "own"), _bytes(view, "disk")
    if own is None or total is None or own < OWN_IO * view.duration_us:
        return
    before = View(view.timeline, 0.0, view.start_s)
    backlog = max(0.0, (_bytes(before, "own") or 0.0) - (_bytes(before, "disk") or 0.0))
    foreign = total - own - backlog
    if foreign >= LITTLE_IO * view.duration_us and foreign >= MUCH_IO * total:
        yield Evidence((IO,), foreign / total, "of the disk traffic came from other processes", convicts=False)


def _bytes(view: View, whose: str) -> Optional[float]:
    parts = [view.increase("%s.%s_bytes" % (whose, way)) for way in ("read", "written")]
    return None if None in parts else sum(part or 0.0 for part in parts)


def gpus(view: View) -> Iterator[Evidence]:
    """Yield throttling and foreign processes of GPUs; working at the power limit is not throttling."""
    for name in view.gpus:
        reasons = view.gauge(name + ".throttle_reasons")
        held_back = _part([int(reason) & (HEAT | POWER_BRAKE) for reason in reasons])
        if held_back >= THROTTLED:
            yield Evidence((THROTTLING,), held_back, "heat or power slowed %s down" % name)
        others = view.gauge(name + ".foreign_processes")
        if _part(others) >= THROTTLED:
            yield Evidence((GPU,), max(others), "other processes were on %s" % name, convicts=False)


def _part(values: Sequence[float]) -> float:
    """Return the fraction of the readings that are not zero."""
    return sum(map(bool, values)) / len(values) if values else 0.0


OF_NODE: Tuple[Kind, ...] = (throttled, heated, waited, beside, stolen, reclaimed, disk)


def _without_harmless(found: List[Found], windows: Sequence[Window]) -> List[Found]:
    """Return the evidence, without indirect evidence if the windows with it are as fast as those without any."""
    timed = [(evidence, window.time_s or 0.0) for evidence, window in zip(found, windows)]
    timed = [(evidence, time_s) for evidence, time_s in timed if time_s > 0]  # excludes NaN, too
    clean = [time_s for evidence, time_s in timed if evidence == []]
    suspected = [time_s for evidence, time_s in timed if evidence and not any(each.convicts for each in evidence)]
    if min(len(clean), len(suspected)) < FEWEST or max(suspected) > HARMLESS * min(clean):
        return found
    return [None if evidence is None else [each for each in evidence if each.convicts] for evidence in found]


def together(nodes: Sequence[List[Found]]) -> List[Found]:
    """Return the evidence of a run on several nodes, by window: that of all nodes together.

    It is None if a node was not monitored and the others have no evidence.
    """
    joined: List[Found] = []
    for place in range(max(map(len, nodes), default=0)):
        found = [node[place] for node in nodes if place < len(node)]
        known = [each for evidence in found for each in evidence or ()]
        joined.append(known if known or None not in found else None)
    return joined


def verdict(found: Sequence[Found]) -> str:
    """Return the verdict on a run from the evidence of all its windows."""
    watched = [evidence for evidence in found if evidence is not None]
    if not watched or len(watched) < MONITORED * len(found):
        return UNMONITORED
    with_interference = sum(bool(evidence) for evidence in watched)
    return INTERFERENCE if with_interference > TOO_MANY * len(watched) else CLEAN


def sizes(evidence: Sequence[Evidence]) -> Dict[str, float]:
    """Return the causes in one window, such as `cpu,memory`, with the largest size of each."""
    found: Dict[str, float] = {}
    for each in evidence:
        causes = ",".join(each.causes)
        found[causes] = max(found.get(causes, 0.0), round(each.size, 4))
    return found


def summary(found: Sequence[Found]) -> List[record.Evidence]:
    """Return the interference by kind: its causes, the number of windows that have it, and its largest size there."""
    kinds: Dict[Tuple[Tuple[str, ...], str], List[float]] = {}
    for evidence in found:
        for each in evidence or ():
            kinds.setdefault((each.causes, each.what), []).append(each.size)
    return [
        record.Evidence(list(causes), what, windows=len(sizes), size=max(sizes))
        for (causes, what), sizes in kinds.items()
    ]
