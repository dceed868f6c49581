"""What every source of readings looks like."""

import os
from abc import ABC, abstractmethod
from typing import Any, Dict, List, NamedTuple, Optional

from ..files import Files, why_unreadable
from ..processes import OwnProcesses

Values = List[Optional[float]]  # a column that cannot be read this time is None

COUNTER = "counter"  # grows: what it has counted since the monitor began
GAUGE = "gauge"  # how it stands now

TWICE_A_SECOND = 0.5  # the period of what no verdict on a window needs more often


class Absent(Exception):
    """A source that is not there, or may not be read; the message says why, and who could mend it."""


class Place(NamedTuple):
    """The node, as sources see it."""

    own: OwnProcesses  # those of the repetition that is measured
    files: Files
    root: str = "/"  # another one where a test lays out a machine

    def path(self, *parts: str) -> str:
        return os.path.join(self.root, *parts)

    def readable(self, *parts: str) -> str:
        """The path of a file that can be read. Raises Absent."""
        path = self.path(*parts)
        reason = why_unreadable(path)
        if reason:
            raise Absent(reason)
        return path


class Source(ABC):
    """One place that tells something about the node. Made anew by each monitor; raises Absent where there is none."""

    name = ""
    columns: Dict[str, str] = {}  # name with its unit at the end, and COUNTER or GAUGE, in the order of the values
    period_s = 0.0  # to be read no more often than this; 0: at every tick

    def __init__(self, place: Place) -> None:
        self.place = place

    @abstractmethod
    def read(self) -> Values:
        """One value for each column. Raises OSError where the source has gone."""

    def facts(self) -> Dict[str, Any]:
        """What does not change and is needed to understand the readings."""
        return {}
