"""Read the kept output of commands, with bounded memory: files may be large, damaged, or from anyone's archive.

Each entry of a file is a member of gzip. A first pass over a file notes where each entry begins; an entry is
decompressed again when its text is needed. The end of a member may be missing, because its writer was killed; another
job may have appended entries after it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import IO, NamedTuple

from hpcbench.core.metrics.error import MetricError
from hpcbench.core.metrics.kept_output import (
    ERROR,
    MOST_BYTES,
    STANDARD,
    SUFFIX,
    AttemptKey,
    Head,
    Part,
    key_of,
    parsed_head,
)
from hpcbench.core.metrics.of_command import Text, text_of
from hpcbench.core.metrics.plain_text import decoded
from hpcbench.core.record import Record
from hpcbench.store.workspace import SweepPaths

MOST_DAMAGED = 100  # members of a file: each may cost a pass over the rest of the file
_CACHED = 2  # outputs in memory: one attempt may have several metrics
_MAGIC = b"\x1f\x8b\x08"
_GZIP = 16 + zlib.MAX_WBITS
_BLOCK = 2**18
_LONGEST_HEAD = 2**16
_NOT_KEPT = "hpcbench did not keep the output of rank %d: all output of the run exceeds %d MiB, or the disk was full"


class _Entry(NamedTuple):
    """An entry of a file: its description, and the position at which its member begins."""

    head: Head
    start: int


@dataclass(frozen=True)
class KeptOutput:
    """The kept output of one attempt. Implements core.metrics.of_command.Output."""

    key: AttemptKey
    file: Path
    entries: Sequence[_Entry]
    wanted: Sequence[int] = ()  # ranks of the attempt by its record

    @cached_property
    def ranks(self) -> Sequence[int]:
        """Return the ranks of the attempt, also those without kept output."""
        return self.wanted or sorted({entry.head.rank for entry in self.entries if entry.head.rank is not None})

    def parts(self, rank: int, stream: str) -> list[Part]:
        """Return the kept parts of a stream of a rank, in order."""
        found = [entry for entry in self.entries if (entry.head.rank, entry.head.stream) == (rank, stream)]
        return sorted(Part(entry.head.offset, _content(self.file, entry)) for entry in found)

    def texts(self, rank: int, with_errors: bool) -> list[Text]:
        """Return the standard output of a rank, then its standard error if requested.

        Raise MetricError if the output is incomplete, or was not kept.
        """
        heads = [entry.head for entry in self.entries if entry.head.rank == rank]
        streams = (STANDARD, ERROR) if with_errors else (STANDARD,)
        if not {head.stream for head in heads}.issuperset(streams):
            raise MetricError(_NOT_KEPT % (rank, MOST_BYTES // 2**20))
        if not all(head.complete for head in heads):
            raise MetricError(f"the output of rank {rank} is incomplete")
        return self._cached(rank, streams)

    @cached_property
    def _cached(self) -> Callable[[int, Sequence[str]], list[Text]]:
        return lru_cache(_CACHED)(self._read)

    def _read(self, rank: int, streams: Sequence[str]) -> list[Text]:
        return [text_of(self.parts(rank, stream), rank) for stream in streams]

    def file_text(self, name: str) -> str:
        """Return the text of a file of the command. Raise MetricError if it was not kept, or is too large."""
        found = [entry for entry in self.entries if entry.head.file == name]
        if not found:
            kept = ", ".join(sorted(entry.head.file for entry in self.entries if entry.head.file is not None))
            raise MetricError(f"the file {name} was not kept; kept files: {kept or 'none'}")
        if not found[0].head.complete:
            raise MetricError(f"the file {name} is too large")
        return decoded([_content(self.file, found[0])])


def outputs(
    paths: SweepPaths, records: Collection[Record] = (), batches: Collection[str] | None = None
) -> Iterator[KeptOutput]:
    """Yield the kept output of each attempt of a sweep, file by file; with `batches`, only of these.

    Attempts with one of the `records` have its ranks, also those whose output was not kept.
    """
    ranks = {key_of(record): [rank.rank for rank in record.ranks] for record in records}
    for file in sorted(paths.output.glob(f"*/*{SUFFIX}")):
        if batches is None or file.parent.name in batches:
            entries: dict[AttemptKey, list[_Entry]] = {}
            for entry in _entries(file):
                entries.setdefault(entry.head.key, []).append(entry)
            for key, found in entries.items():
                yield KeptOutput(key, file, _once(found), ranks.get(key, ()))


def _once(entries: list[_Entry]) -> list[_Entry]:
    """Return the entries without those that were written twice: a job that was killed may write an output again."""
    latest = {(e.head.rank, e.head.stream, e.head.file, e.head.offset): e for e in entries}
    return list(latest.values())


def _entries(file: Path) -> Iterator[_Entry]:
    """Yield the whole entries of a file. Skip damaged ones, at most MOST_DAMAGED of them."""
    with file.open("rb") as opened:
        start: int | None = 0
        damaged = 0
        while start is not None and damaged <= MOST_DAMAGED:
            line = bytearray()
            try:
                end = _read(opened, start, lambda data, line=line: _add_to_head(line, data))  # type: ignore[misc]
                head = parsed_head(bytes(line).partition(b"\n")[0])
            except (ValueError, EOFError, zlib.error, RecursionError):
                damaged += 1
                start = _next_member(opened, start + 1)
                continue
            if head.bytes <= MOST_BYTES:
                yield _Entry(head, start)
            start = _next_member(opened, end)


def _add_to_head(line: bytearray, data: bytes) -> None:
    if len(line) < _LONGEST_HEAD and b"\n" not in line:
        line += data[:_LONGEST_HEAD]


def _read(opened: IO[bytes], start: int, take: Callable[[bytes], object]) -> int:
    """Pass the data of the member that begins at `start` to `take`, block by block; return where the member ends.

    Raise EOFError if it is cut off, zlib.error if it is damaged.
    """
    opened.seek(start)
    decoder = zlib.decompressobj(_GZIP)
    while not decoder.eof:
        block = decoder.unconsumed_tail or opened.read(_BLOCK)
        if not block:
            raise EOFError
        take(decoder.decompress(block, _BLOCK))
    return opened.tell() - len(decoder.unused_data)


def _next_member(opened: IO[bytes], start: int) -> int | None:
    """Return where the next member begins, from `start` on; None at the end of the file."""
    opened.seek(start)
    tail = b""
    while block := opened.read(_BLOCK):
        place = (tail + block).find(_MAGIC)
        if place >= 0:
            return opened.tell() - len(tail) - len(block) + place
        tail = block[-len(_MAGIC) + 1 :]
    return None


def _content(file: Path, entry: _Entry) -> bytes:
    """Return the bytes of an entry. Raise MetricError if the file no longer has them."""
    data = bytearray()
    most = _LONGEST_HEAD + entry.head.bytes

    def take(block: bytes) -> None:
        data.extend(block[: max(0, most - len(data))])

    try:
        with file.open("rb") as opened:
            _read(opened, entry.start, take)
    except (OSError, EOFError, zlib.error) as error:
        raise MetricError(f"the kept output cannot be read: {error}") from error
    return bytes(data.partition(b"\n")[2][: entry.head.bytes])
