"""What every source of readings looks like."""

import os
from abc import ABC, abstractmethod
from typing import Any, Dict, List, NamedTuple, Optional

from ...host.open_files import Files, why_unreadable
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

    def look(self) -> Any:
        """What must be done in the midst of a measurement to know the values: usually all of it."""
        return self.read()

    def values(self, seen: Any) -> Values:
        """Those of an earlier look; each is asked for once, in the order of the looks."""
        found: Values = seen
        return found

    def facts(self) -> Dict[str, Any]:
        """What does not change and is needed to understand the readings."""
        return {}


class Parsed(Source):
    """A source that is read at every tick: what files hold is kept as it is, and understood for many looks at once.

    Between two ticks the caches forget us: what is done many times in a row costs a fifth of that.
    """

    @abstractmethod
    def look(self) -> Any: ...

    @abstractmethod
    def values(self, seen: Any) -> Values: ...

    def read(self) -> Values:
        return self.values(self.look())
