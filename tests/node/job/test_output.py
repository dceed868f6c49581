"""Where the output of runs goes."""

from __future__ import annotations

import io
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hpcbench.node.job.output import copy_and_remove

SIZE = 500_000  # bytes: several times what is copied at once


class SlowLog(io.BytesIO):
    """A log whose writer has to wait, as on a file system that others use, too."""

    def write(self, data: Any) -> int:
        time.sleep(0.001)
        return super().write(data)


def test_what_runs_side_by_side_have_printed_is_not_mixed_when_they_end_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SlowLog()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=log))
    files = [tmp_path / letter for letter in "abcd"]
    for file in files:
        file.write_text(SIZE * file.name)
    with ThreadPoolExecutor(len(files)) as pool:
        list(pool.map(copy_and_remove, map(str, files)))
    printed = log.getvalue()
    parts = sorted(printed[place : place + SIZE] for place in range(0, len(printed), SIZE))
    assert parts == [SIZE * letter for letter in (b"a", b"b", b"c", b"d")]
    assert list(tmp_path.iterdir()) == []
