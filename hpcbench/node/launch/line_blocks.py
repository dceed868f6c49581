"""Blocks of whole lines from a stream: fewer reads and writes than one per line."""

from select import PIPE_BUF
from typing import IO, Iterator

LONGEST_LINE = 65536  # bytes; longer lines are passed on in pieces


def line_blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the available data of a stream immediately, in blocks of whole lines. The stream must have `read1`.

    A block has up to PIPE_BUF bytes, so that a pipe with several writers does not split it, or it is a single longer
    line. A line of more than LONGEST_LINE bytes may come in pieces; the last line may have no end.
    """
    text = b""
    for part in iter(lambda: stream.read1(LONGEST_LINE), b""):  # type: ignore[attr-defined]
        text += part
        begin, end = 0, _end_of_block(text, 0)
        while end:
            yield text[begin:end]
            begin, end = end, _end_of_block(text, end)
        text = text[begin:]
        if len(text) >= LONGEST_LINE:
            yield text
            text = b""
    if text:
        yield text


def _end_of_block(text: bytes, begin: int) -> int:
    """Return the end of the block at `begin`, or 0 if its first line has no end."""
    return text.rfind(b"\n", begin, begin + PIPE_BUF) + 1 or text.find(b"\n", begin) + 1
