"""The interface of all sources of a monitor."""

import os
from abc import ABC, abstractmethod
from typing import Any, Dict, List, NamedTuple, Optional

from ...host.open_files import Files, why_unreadable
from ..processes import OwnProcesses

Values = List[Optional[float]]  # a column that cannot be read this time is None

COUNTER = "counter"  # cumulative, since the monitor began
GAUGE = "gauge"  # a current value

TWICE_A_SECOND = 0.5  # the period of sources that verdicts on windows do not need more often


class Absent(Exception):
    """A source is missing or not readable. The message has the reason and, if possible, the remedy."""


class HostView(NamedTuple):
    """The node as sources see it."""

    own: OwnProcesses  # the processes of the measured run
    files: Files
    root: str = "/"  # another folder in tests

    def path(self, *parts: str) -> str:
        """Return a path below the root."""
        return os.path.join(self.root, *parts)

    def readable(self, *parts: str) -> str:
        """Return the path of a file that can be read. Raise Absent if it cannot."""
        path = self.path(*parts)
        reason = why_unreadable(path)
        if reason:
            raise Absent(reason)
        return path


class Source(ABC):
    """A source of readings on a node, created by each monitor; that raises Absent if the node does not have it."""

    name = ""
    columns: Dict[str, str] = {}  # name with its unit at the end, and COUNTER or GAUGE, in the order of the values
    period_s = 0.0  # minimum interval of readings; 0: every tick
    share = 0.0  # fraction of one core for readings of this source, in addition to the share of all sources

    def __init__(self, host: HostView) -> None:
        self.host = host

    @abstractmethod
    def read(self) -> Values:
        """Return one value for each column. Raise OSError if the source has gone."""

    def capture(self) -> Any:
        """Return the raw readings: the work that must be done at the time of a tick, usually all work."""
        return self.read()

    def values(self, captured: Any) -> Values:
        """Return the values of earlier raw readings. Called once for each, in the order of the captures."""
        found: Values = captured
        return found

    def facts(self) -> Dict[str, Any]:
        """Return the constants that are needed to interpret the readings."""
        return {}


class Parsed(Source):
    """A source that is read at every tick: `capture` returns the raw content, and `values` parses many of them at once.

    Parsing many in a row costs a fifth of parsing each at its tick, since the code stays in the CPU's caches.
    """

    @abstractmethod
    def capture(self) -> Any: ...

    @abstractmethod
    def values(self, captured: Any) -> Values: ...

    def read(self) -> Values:
        return self.values(self.capture())
