"""Commands of gpu-proof end at their deadline, and their output is kept."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tools.gpu_proof import bench
from tools.gpu_proof.bench import Bench

pytestmark = pytest.mark.integration

INTERRUPTED = (
    "import time\ntry:\n print('begun', flush=True); time.sleep(60)\nexcept KeyboardInterrupt:\n print('ended')"
)
DEAF = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('begun', flush=True); time.sleep(60)"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(bench, "GRACE_S", 1.0)
    return Bench(sys.executable, tmp_path, tmp_path / "log.txt", "cpu", frozenset())


def test_a_command_has_its_status_and_output_and_both_are_logged(machine: Bench) -> None:
    done = machine.run([sys.executable, "-c", "print('one'); raise SystemExit(3)"], time.monotonic() + 30)
    assert (done.status, done.last_line) == (3, "one")
    assert "one\n\n[status 3]" in machine.log.read_text()


@pytest.mark.parametrize(("program", "last"), [(INTERRUPTED, "ended"), (DEAF, "begun")])
def test_a_command_that_takes_too_long_is_interrupted_and_then_killed(machine: Bench, program: str, last: str) -> None:
    done = machine.run([sys.executable, "-c", program], time.monotonic() + 3)
    assert done.status is None
    assert done.last_line == last
