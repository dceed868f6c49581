"""A probe of this process, and what it has recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hpcbench_probe import Probe

from hpcbench.node.results.probe_files import ProbedProcess, read_all


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path


@pytest.fixture
def probe(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> Probe:
    for name in ("RANK", "SLURM_PROCID", "HPCBENCH_RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HPCBENCH_RUN", str(scratch / "run"))
    return Probe()


@pytest.fixture
def recorded(probe: Probe, scratch: Path) -> Callable[[], ProbedProcess]:
    def read() -> ProbedProcess:
        probe.flush()
        (process,), refused = read_all(str(scratch))
        assert refused == []
        return process

    return read
