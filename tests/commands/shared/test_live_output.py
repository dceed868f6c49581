"""The lines of a log that the first run of a sweep writes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from hpcbench.commands.shared import live_output as module


def test_a_line_has_any_line_end_and_each_state_of_a_progress_bar_is_a_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\r\n 50 %\r100 %\nend")
    stop = threading.Event()
    stop.set()
    assert list(module._lines(log, stop)) == ["one", " 50 %", "100 %", "end"]


def test_a_run_that_ends_before_its_log_was_looked_for_again_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Ended(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            log = tmp_path / "batch" / "local_0_0_log.out"
            log.parent.mkdir()
            log.write_text("epoch 1\nhpcbench: case c1 run 1 completed\nepoch 1\n")
            self.set()
            return True

    module._follow(tmp_path, Ended())
    assert capsys.readouterr().err == "epoch 1\n"
