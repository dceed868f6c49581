"""The results of the monitors for a run, from their timelines in the windows of its measurements."""

import os
import sys
from statistics import median
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

from ...core.profiling.operator_row import SPAN
from ...core.record import Interference, MonitorSummary
from ...core.samples import INTERFERENCE, UNMONITORED
from ..measurement.timing import WINDOW_S
from ..monitor import energy, interference, timeline, window_summary
from ..monitor.interference import Window
from ..monitor.timeline import Timeline

NO_MONITOR = "no timeline of a monitor found on %s"
CUT_OFF = "the monitor on %s ended before the run did"
UNSEEN = "the monitor on %s has too few readings of the processes"
BROKEN = "the timeline of the monitor on %s cannot be evaluated: %s"
PROFILE_WITH = "profile: interference while operators were timed (%s): their times and energy may be too high"
PROFILE_UNKNOWN = "profile: interference while operators were timed is unknown (%s)"
_MOST_WINDOWS = 1000  # of a profile, which may take an hour


class Monitored(NamedTuple):
    """What the monitors measured during a run. Without measurements of the run, there is no interference to report."""

    interference: Optional[Interference] = None
    nodes: Sequence[MonitorSummary] = ()
    warnings: Sequence[str] = ()  # on interference during the profile of operators


class _Node(NamedTuple):
    found: List[interference.Found]
    reason: Optional[str]  # why windows are unknown
    unseen: Sequence[str] = ()
    summary: Optional[MonitorSummary] = None


def of_run(ranks: List[Dict[str, Any]], scratch: str, on_gpus: bool) -> Monitored:
    """Return the results of the monitors from their timelines in `scratch`, for the measurements of these ranks."""
    stretches = _stretches(ranks)
    if not stretches:
        return Monitored()
    nodes = [_node(host, stretch, scratch, on_gpus) for host, stretch in stretches.items()]
    found = interference.together([node.found for node in nodes])
    verdict = Interference(
        verdict=interference.verdict(found),
        reason="; ".join(node.reason for node in nodes if node.reason) or None,
        found=interference.summary(found),
        windows=[None if evidence is None else interference.sizes(evidence) for evidence in found],
        unseen=sorted({what for node in nodes for what in node.unseen}),
    )
    warnings = _of_profiles(ranks, scratch, on_gpus, verdict.verdict)
    return Monitored(verdict, [node.summary for node in nodes if node.summary], list(warnings))


def _of_profiles(ranks: List[Dict[str, Any]], scratch: str, on_gpus: bool, measured: str) -> Iterator[str]:
    """Yield a warning if there was interference during the profile of a rank, by the rules for measurements.

    If it is unknown, there is a warning unless the verdict on the measurements, `measured`, has the reason.
    """
    for rank in ranks:
        span = (rank["facts"] or {}).get(SPAN)
        if not span:
            continue
        node = _node(rank["host"], _equal_windows(*span), scratch, on_gpus, summarized=False)
        verdict = interference.verdict(node.found)
        if verdict == INTERFERENCE:
            kinds = {cause for each in interference.summary(node.found) for cause in each.causes}
            yield PROFILE_WITH % ", ".join(sorted(kinds))
        elif verdict == UNMONITORED != measured:
            yield PROFILE_UNKNOWN % node.reason


def _equal_windows(start_s: float, end_s: float) -> List[Window]:
    """Return windows of about the length of those of measurements, which together make up a time span."""
    count = max(1, min(_MOST_WINDOWS, int((end_s - start_s) / WINDOW_S)))
    bounds = [start_s + (end_s - start_s) * number / count for number in range(count + 1)]
    return [Window(before_s, after_s, None) for before_s, after_s in zip(bounds, bounds[1:])]


def _node(host: str, stretch: List[Window], scratch: str, on_gpus: bool, summarized: bool = True) -> _Node:
    """Return the results of one node: only one timeline is in memory at a time."""
    nothing: List[interference.Found] = [None] * len(stretch)
    try:
        path = os.path.join(scratch, timeline.file_name(host))
        seen = timeline.read(path) if os.path.exists(path) else None
        if seen is None:
            return _Node(nothing, NO_MONITOR % host)
        found = interference.judge(seen, stretch, on_gpus)
        why = None if None not in found else (UNSEEN if seen.ended else CUT_OFF) % host
        summary = _summary(seen, stretch) if stretch and summarized else None
        return _Node(found, why, interference.unseen(seen, on_gpus), summary)
    except Exception as error:  # a damaged timeline must not cost the run its record
        return _Node(nothing, BROKEN % (host, error))


def _summary(seen: Timeline, stretch: List[Window]) -> MonitorSummary:
    """Return the activity of a node from the first measurement to the last."""
    start_s, end_s = stretch[0].start_s, stretch[-1].end_s
    return MonitorSummary(
        host=seen.host,
        duration_s=end_s - start_s,
        energy=energy.of_window(seen, start_s, end_s),
        usage=window_summary.of_window(seen, start_s, end_s),
        absent=seen.absent,
        monitor=seen.ended,
    )


def keep(scratch: str, kept: str) -> None:
    """Append the timelines of a folder, compressed, to a file. Print a message for each that cannot be appended."""
    for path in files(scratch):
        try:
            timeline.keep(path, kept)
        except OSError as error:
            print("hpcbench: %s is not kept: %s" % (os.path.basename(path), error), file=sys.stderr)


def files(scratch: str) -> List[str]:
    """Return the timelines in a folder."""
    names = os.listdir(scratch) if os.path.isdir(scratch) else []
    names = [name for name in names if name.startswith(timeline.PREFIX) and name.endswith(timeline.SUFFIX)]
    return [os.path.join(scratch, name) for name in sorted(names)]


def _stretches(ranks: List[Dict[str, Any]]) -> Dict[str, List[Window]]:
    """Return the windows of each node: those of its first rank with measurements."""
    found: Dict[str, List[Window]] = {}
    for rank in ranks:
        samples = (rank["facts"] or {}).get("measurements")
        if samples and rank["host"] not in found:
            found[rank["host"]] = windows(samples)
    return found


def windows(samples: Dict[str, Any]) -> List[Window]:
    """Return the windows of a rank's measurements, with the medians of their times."""
    found = []
    first = 0
    for start_s, end_s, count in samples["windows"]:
        times = samples["times_s"][first : first + count]
        found.append(Window(start_s, end_s, median(times) if times else None))
        first += count
    return found
