"""Which cases may ask for per-layer threads, and what the parameter is where nobody sets it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from hpcbench.config.parameters import Parameters

CASE = {"framework": "pytorch", "model": "mlp"}
DYNAMIC = {**CASE, "threads": "dynamic"}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({**CASE, "threads": "none", "intra_op_threads": 2}, "threads: none cannot be used with intra_op_threads: 2"),
        ({**CASE, "threads": "fixed"}, "threads: fixed requires intra_op_threads"),
        ({**CASE, "schedule": "s.json"}, "schedule requires threads: dynamic"),
        ({**CASE, "threads": "fixed", "intra_op_threads": 1, "schedule": "s.json"}, "not fixed"),
        ({**CASE, "section_depth": 1}, "section_depth requires threads: dynamic"),
        ({**DYNAMIC, "schedule": "s.json", "section_depth": 1}, "schedule cannot be used with section_depth"),
        ({**DYNAMIC, "framework": "jax"}, "requires framework pytorch, not jax"),
        ({**DYNAMIC, "device": "gpu", "gpus_per_task": 1}, "requires device cpu, not gpu"),
        ({**DYNAMIC, "execution": "compiled"}, "requires execution eager or unset, not compiled"),
        ({**DYNAMIC, "strategy": "ddp", "nodes": 2}, "requires strategy single, not ddp"),
        ({**DYNAMIC, "instances": 2}, "threads: dynamic cannot be used with instances: 2"),
        ({**DYNAMIC, "nodes": 2}, "the strategy single allows one task, not 2"),
        (
            {"framework": "command", "command": "true", "threads": "dynamic"},
            "'threads' cannot be used with framework: command",
        ),
    ],
)
def test_contradictions_are_refused(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        Parameters.model_validate(given)


def test_only_dynamic_makes_another_case() -> None:
    plain = Parameters.model_validate({**CASE, "intra_op_threads": 2})
    fixed = Parameters.model_validate({**CASE, "intra_op_threads": 2, "threads": "fixed"})
    assert plain.content() == fixed.content()
    dynamic = Parameters.model_validate({**DYNAMIC, "intra_op_threads": 2, "schedule": "s.json"})
    assert dynamic.content() == {**plain.content(), "threads": "dynamic", "schedule": "s.json"}
