"""The fields of a record about the search: times and threads of each section, cost of changes, confirmation."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from .confirmation import Confirmation
from .estimates import SectionTimes
from .search import SearchResult
from .sections import Sections
from .thread_activity import Busy


class Checked(NamedTuple):
    """Sections whose counts take effect, and the threads that computed in them."""

    sections: Sections
    busy: List[Busy]


def details(found: SearchResult, checked: Optional[Checked], proof: Optional[Confirmation]) -> Dict[str, Any]:
    """Return the fields. Intervals are (median, low, high); errors are standard errors in seconds."""
    times = found.times
    return {
        "predicted": {"fixed_s": found.fixed.seconds, "dynamic_s": found.dynamic.seconds},
        "measured": dict(proof._asdict(), gain=list(proof.gain)) if proof else None,
        "sections": _of_sections(found, checked),
        "changes": [
            dict(before=before, after=after, **times.change(before, after)._asdict())
            for before, after in times.changes()
        ],
        "search_steps": found.steps,
    }


def _of_sections(found: SearchResult, checked: Optional[Checked]) -> List[Dict[str, Any]]:
    if checked is None:
        return []
    return [
        {
            **place._asdict(),
            "branches": checked.sections.branches(number),
            "times_s": _times(found.in_turn, number),
            "side_by_side_s": _times(found.side_by_side, number),
            "chosen": found.dynamic.counts[number],
            "side_by_side": number in found.divided,
            "busy": _busy(checked.busy, number, False),
            "busy_side_by_side": _busy(checked.busy, number, True),
        }
        for number, place in enumerate(checked.sections.begins)
    ]


def _times(times: SectionTimes, section: int) -> Dict[str, Any]:
    """Return (seconds, standard error in seconds) of a section by count."""
    return {str(count): list(times.of(section, count)) for count in times.seconds(section)}


def _busy(busy: Sequence[Busy], section: int, side_by_side: bool) -> Dict[str, int]:
    """Return the number of active threads by thread count."""
    matching = [each for each in busy if each.section == section and each.side_by_side == side_by_side]
    return {str(each.threads): each.seen for each in matching}
