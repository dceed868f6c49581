from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path

import pytest

from hpcbench.core import files as module
from hpcbench.core.files import appending, write_all
from hpcbench.node.monitor import timeline


@pytest.mark.parametrize(
    ("before", "kept"),
    [(b"", b""), (b"one\n", b"one\n"), (b"one\ntw", b"one\n"), (b"on", b""), (b"one\n" + b"x" * 20, b"one\n")],
)
def test_a_last_line_that_was_cut_off_goes_before_whole_ones_are_added(
    tmp_path: Path, before: bytes, kept: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8)
    file = tmp_path / "lines"
    file.write_bytes(before)
    with appending(str(file), whole_lines=True) as handle:
        write_all(handle, b"new\n")
    assert file.read_bytes() == kept + b"new\n"


def test_a_timeline_for_which_a_fake_disk_has_no_room_leaves_those_before_it_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """os.write takes a few bytes, then raises ENOSPC."""
    plain, kept = tmp_path / "monitor-n1.jsonl", tmp_path / "kept" / "7_0.jsonl.gz"
    plain.write_text("what it saw\n")
    timeline.keep(str(plain), str(kept))
    real, room = os.write, [3]

    def full(handle: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        room[0] -= 1
        return real(handle, data[:1])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            timeline.keep(str(plain), str(kept))
    assert room == [0]
    timeline.keep(str(plain), str(kept))
    assert gzip.decompress(kept.read_bytes()) == b"what it saw\nwhat it saw\n"
