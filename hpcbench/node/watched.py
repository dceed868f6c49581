"""What the monitors saw of a repetition: their timelines put beside the windows of its samples."""

import os
import sys
from statistics import median
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..monitor import energy, interference, timeline, usage
from ..monitor.interference import Window
from ..monitor.timeline import Timeline

NO_MONITOR = "no monitor has left a timeline on %s"
CUT_OFF = "the monitor on %s ended before the measurement did"
UNSEEN = "the monitor on %s saw the processes for too short a time"


def timelines(scratch: str) -> Dict[str, Timeline]:
    """Those that the monitors have left in a folder, by host."""
    found = {}
    for path in files(scratch):
        try:
            read = timeline.read(path)
        except Exception as error:  # whatever is wrong with it, the repetition has its record
            print("hpcbench: the timeline %s cannot be read: %s" % (path, error), file=sys.stderr)
            continue
        if read:
            found[read.host] = read
    return found


def keep(scratch: str, folder: str, name: str) -> None:
    """Put the timelines of a folder away, compressed, as FOLDER/NAME-HOST.jsonl.gz. What cannot be is told and lost."""
    for path in files(scratch):
        host = os.path.basename(path)[len(timeline.PREFIX) :]
        try:
            timeline.keep(path, os.path.join(folder, "%s-%s.gz" % (name, host)))
        except OSError as error:
            print("hpcbench: the timeline of %s is not kept: %s" % (host, error), file=sys.stderr)


def files(scratch: str) -> List[str]:
    """The timelines in a folder."""
    names = os.listdir(scratch) if os.path.isdir(scratch) else []
    names = [name for name in names if name.startswith(timeline.PREFIX) and name.endswith(timeline.SUFFIX)]
    return [os.path.join(scratch, name) for name in sorted(names)]


def interference_of(ranks: List[Dict[str, Any]], seen: Mapping[str, Timeline]) -> Optional[Dict[str, Any]]:
    """The verdict on a repetition whose ranks have samples, and what it rests on; None where there are none."""
    try:
        return _interference(ranks, seen)
    except Exception as error:  # a repetition keeps its record, whatever is wrong with what was seen of it
        reason = "it could not be judged: %s" % error
        return {"verdict": interference.UNMONITORED, "reason": reason, "found": [], "windows": []}


def _interference(ranks: List[Dict[str, Any]], seen: Mapping[str, Timeline]) -> Optional[Dict[str, Any]]:
    stretches = _stretches(ranks)
    if not stretches:
        return None
    judged = {host: interference.judge(seen.get(host), each) for host, each in stretches.items()}
    found = interference.together(list(judged.values()))
    reasons = [_why_unwatched(host, seen.get(host)) for host, each in judged.items() if None in each]
    return {
        "verdict": interference.verdict(found),
        "reason": "; ".join(reasons) or None,
        "found": interference.summary(found),
        "windows": [None if evidence is None else _causes(evidence) for evidence in found],
    }


def nodes_during(ranks: List[Dict[str, Any]], seen: Mapping[str, Timeline]) -> List[Dict[str, Any]]:
    """Of each node that was watched, from the first sample to the last: what it did, and the energy that it took."""
    found = []
    for host, stretch in _stretches(ranks).items():
        if host not in seen or not stretch:
            continue
        start_s, end_s = stretch[0].start_s, stretch[-1].end_s
        try:
            energies = energy.as_json(energy.of_window(seen[host], start_s, end_s))
            used = usage.of_window(seen[host], start_s, end_s)
        except Exception as error:
            print("hpcbench: what was seen of %s cannot be summed up: %s" % (host, error), file=sys.stderr)
            continue
        told: Dict[str, Any] = {"host": host, "seconds": end_s - start_s, "energy": energies, "usage": used}
        found.append({**told, "absent": seen[host].absent, "monitor": seen[host].ended})
    return found


def _stretches(ranks: List[Dict[str, Any]]) -> Dict[str, List[Window]]:
    """The windows of each node: those of its first rank that has samples."""
    found: Dict[str, List[Window]] = {}
    for rank in ranks:
        samples = (rank["facts"] or {}).get("samples")
        if samples and rank["host"] not in found:
            found[rank["host"]] = windows(samples)
    return found


def _why_unwatched(host: str, seen: Optional[Timeline]) -> str:
    if seen is None:
        return NO_MONITOR % host
    return (UNSEEN if seen.ended else CUT_OFF) % host


def _causes(evidence: Sequence[interference.Evidence]) -> str:
    """As `cpu,memory`; empty for a clean window."""
    return ",".join(dict.fromkeys(cause for each in evidence for cause in each.causes))


def windows(samples: Dict[str, Any]) -> List[Window]:
    """The windows of a rank's samples, with the medians of their times."""
    found = []
    first = 0
    for start_s, end_s, count in samples["windows"]:
        times = samples["times_s"][first : first + count]
        found.append(Window(start_s, end_s, median(times) if times else None))
        first += count
    return found
