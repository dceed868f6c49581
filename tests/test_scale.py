"""The benchmark of a large sweep, with a made-up peer."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest


def test_a_peer_that_fails_is_told_and_does_not_end_the_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    scale = importlib.import_module("scale")

    def fails(folder: Path, cluster: dict[str, str]) -> None:
        scale.once(["sh", "-c", "echo no such option >&2; exit 2"], folder, cluster)

    monkeypatch.setattr(scale, "SbatchMan", fails)
    scale.bench_sbatchman(tmp_path / "peer", 3, dict(os.environ))
    told = capsys.readouterr().out.splitlines()[-1]
    assert "not measured" in told
    assert told.endswith("failed: no such option")
