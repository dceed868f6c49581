"""What becomes of a command that has completed if its metrics cannot be evaluated; test_command.py has the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.config.metrics import Metric
from hpcbench.core.metrics import of_command
from hpcbench.node.results import command_metrics


def test_a_metric_on_which_hpcbench_fails_is_not_found_and_the_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluate(spec: dict[str, object], *_: object) -> dict[str, object]:
        if spec["regex"] == "a(.)":
            raise RecursionError("too deep")
        return {"value": 1.0}

    monkeypatch.setattr(of_command, "value_of", evaluate)
    for name in ("rank-0.out", "rank-0.err"):
        (tmp_path / name).touch()
    metrics = {name: Metric.model_validate({"regex": f"{name}(.)"}).model_dump() for name in ("a", "b")}
    ranks = [{"rank": 0, "facts": {"output_complete": True}}]
    found = command_metrics.measured({"metrics": metrics}, ranks, str(tmp_path)).metrics
    assert (found["a"]["value"], found["a"]["reason"]) == (None, "hpcbench failed: RecursionError: too deep")
    assert found["b"] == {"value": 1.0}
