"""The end of a monitor, in a process of its own on this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hpcbench.monitor import timeline

WATCH = "import sys; from hpcbench.monitor.watch import watch; sys.exit(watch(sys.argv[1], 'nobody'))"


def test_every_source_is_read_a_last_time_when_its_standard_input_ends(tmp_path: Path) -> None:
    """Else the energy of the last second would be missing where a source is read each second."""
    words = [sys.executable, "-c", WATCH, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as monitor:
        assert monitor.stdout is not None
        assert monitor.stdin is not None
        assert monitor.stdout.readline() == "hpcbench: watching\n"
        monitor.stdin.close()
        assert monitor.wait(timeout=60) == 0
    (file,) = tmp_path.glob("monitor-*.jsonl")
    read = timeline.read(str(file))
    assert read is not None
    assert read.ended is not None
    assert read.ended["failed"] == {}
    for column in ("cpu.running", "memory.available_bytes"):  # read at each tick, and each second
        assert len(read.around(column, 0, read.ended["ended_s"]).times_s) >= 2
