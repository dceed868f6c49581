"""All that a monitor can read, one source a file."""

from typing import Dict, List, Tuple, Type

from .base import Absent, Place, Source
from .cgroup import Quota
from .cpu import Cpu
from .frequency import Frequency
from .memory import Memory
from .own import Own, Switches, Waiting
from .pressure import Pressure

ALL: Tuple[Type[Source], ...] = (Cpu, Own, Waiting, Switches, Quota, Pressure, Memory, Frequency)


def present(place: Place) -> Tuple[List[Source], Dict[str, str]]:
    """The sources of this node, and why the others are absent."""
    sources, absent = [], {}
    for kind in ALL:
        try:
            sources.append(kind(place))
        except Absent as reason:
            absent[kind.name] = str(reason)
    return sources, absent
