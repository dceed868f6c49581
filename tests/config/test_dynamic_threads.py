"""Which cases may ask for threads by section, and what the parameter is where nobody sets it."""

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
        ({**CASE, "threads": "none", "intra_op_threads": 2}, "threads is none, and intra_op_threads is 2"),
        ({**CASE, "threads": "fixed"}, "threads is fixed: say how many"),
        ({**CASE, "schedule": "s.json"}, "a schedule is of threads: dynamic"),
        ({**CASE, "threads": "fixed", "intra_op_threads": 1, "schedule": "s.json"}, "not of fixed"),
        ({**CASE, "section_depth": 1}, "a section depth is of threads: dynamic"),
        ({**DYNAMIC, "schedule": "s.json", "section_depth": 1}, "a schedule has its sections"),
        ({**DYNAMIC, "framework": "jax"}, "needs framework pytorch, not jax"),
        ({**DYNAMIC, "device": "gpu", "gpus_per_task": 1}, "needs device cpu, not gpu"),
        ({**DYNAMIC, "execution": "compiled"}, "needs execution eager or unset, not compiled"),
        ({**DYNAMIC, "strategy": "ddp", "nodes": 2}, "needs strategy single, not ddp"),
        ({**DYNAMIC, "instances": 2}, "of one instance, not of 2: leave out instances, or threads: dynamic"),
        ({**DYNAMIC, "nodes": 2}, "the strategy single is one task, not 2"),
        ({"framework": "command", "command": "true", "threads": "dynamic"}, "'threads' means nothing to a command"),
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
