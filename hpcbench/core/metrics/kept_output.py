"""The format of the kept output of commands, which the node writes and `hpcbench report` and `reparse` read.

A file SWEEP/output/BATCH/7_3.txt.gz belongs to a file of records. It has a member of gzip for each part of an output,
and for each file with a metric: a line of JSON, the Head; the bytes; a line end. zless(1) shows the file. If the
`offset` of an entry is beyond the end of the previous one, bytes are missing.
"""

import gzip
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple, Optional, Sequence

from ..typed_json import from_json

if TYPE_CHECKING:
    from ..record import Record

SUFFIX = ".txt.gz"
STANDARD, ERROR = "standard", "error"  # streams
SEGMENT_BYTES = 8 * 2**20  # of the copy of a stream
LAST = 2  # segments that are kept from the end, in addition to the first one
MOST_BYTES = 256 * 2**20  # per run, before compression
MOST_OF_FILE = 64 * 2**20  # bytes of a file that is searched for metrics
_LEVEL = 6


class Part(NamedTuple):
    """Consecutive bytes of an output."""

    offset: int
    content: bytes


class AttemptKey(NamedTuple):
    """The attempt that a record describes. Two attempts on one machine may differ only in their start."""

    job: str
    element: int
    batch: str
    attempt: Optional[int]
    started_at: str


@dataclass(frozen=True)
class Head:
    """The description of one part of an output, or of a file with a metric."""

    case: str
    run: int
    job: str
    element: int
    batch: str
    attempt: Optional[int]
    started_at: str
    offset: int
    bytes: int
    complete: bool  # whether the whole output was copied, apart from the middle of a long one
    rank: Optional[int] = None
    stream: Optional[str] = None
    file: Optional[str] = None  # relative to $HPCBENCH_RUN

    @property
    def key(self) -> AttemptKey:
        """Return the key of the attempt."""
        return AttemptKey(self.job, self.element, self.batch, self.attempt, self.started_at)


def key_of(record: "Record") -> AttemptKey:
    """Return the key of the attempt that a record describes."""
    return AttemptKey(record.job, record.element, record.batch, record.attempt, record.started_at)


def packed(head: Head, content: bytes) -> bytes:
    """Return an entry as it is appended to a file."""
    fields = {name: value for name, value in asdict(head).items() if value is not None or name == "attempt"}
    return gzip.compress(b"%s\n%s\n" % (json.dumps(fields).encode(), content), _LEVEL)


def parsed_head(line: bytes) -> Head:
    """Return the Head in a line. Raise ValueError if the line has none."""
    head = from_json(Head, json.loads(line.decode()))
    if head.bytes < 0 or head.offset < 0 or (head.file is None) == (head.stream is None or head.rank is None):
        raise ValueError("neither a part of an output nor a file")
    return head


def missing_bytes(parts: Sequence[Part]) -> int:
    """Return how many bytes are missing between the parts."""
    return sum(this.offset - before.offset - len(before.content) for before, this in zip(parts, parts[1:]))
