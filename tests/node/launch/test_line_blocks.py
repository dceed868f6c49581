"""Output is passed on in blocks of whole lines."""

from __future__ import annotations

import io
from select import PIPE_BUF

from hypothesis import given
from hypothesis import strategies as st

from hpcbench.node.launch.line_blocks import LONGEST_LINE, line_blocks


class Chunks(io.BytesIO):
    """A stream that has one chunk at a time."""

    def __init__(self, chunks: list[bytes]) -> None:
        super().__init__()
        self._chunks = [chunk for chunk in chunks if chunk]

    def read1(self, size: int | None = -1, /) -> bytes:
        return self._chunks.pop(0) if self._chunks else b""


TEXTS = st.tuples(st.sampled_from([b"a", b"bc\r", b""]), st.integers(0, 3 * PIPE_BUF), st.booleans()).map(
    lambda made: made[0] * made[1] + b"\n" * made[2]
)


@given(st.lists(TEXTS, max_size=12))
def test_blocks_are_whole_lines_that_a_pipe_takes_at_once(chunks: list[bytes]) -> None:
    blocks = list(line_blocks(Chunks(chunks)))
    assert b"".join(blocks) == b"".join(chunks)
    for block in blocks[:-1]:
        is_piece = len(block) >= LONGEST_LINE
        assert is_piece or (block.endswith(b"\n") and (len(block) <= PIPE_BUF or block.count(b"\n") == 1))


def test_a_line_is_passed_on_as_soon_as_it_is_there() -> None:
    blocks = line_blocks(Chunks([b"one\ntw", b"o\n"]))
    assert next(blocks) == b"one\n"
    assert next(blocks) == b"two\n"


def test_many_short_lines_are_few_blocks() -> None:
    lines = [b"%098d\n" % number for number in range(1000)]
    assert len(list(line_blocks(Chunks([b"".join(lines)])))) <= len(lines) / 40
