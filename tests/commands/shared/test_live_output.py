"""The lines of a log that the first run of a sweep writes."""

from __future__ import annotations

import threading
from pathlib import Path

from hpcbench.commands.shared import live_output as module


def test_a_line_has_any_line_end_and_each_state_of_a_progress_bar_is_a_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\r\n 50 %\r100 %\nend")
    stop = threading.Event()
    stop.set()
    assert list(module._lines(log, stop)) == ["one", " 50 %", "100 %", "end"]
