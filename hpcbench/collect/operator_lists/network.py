"""The network of a case: the parameters that determine its operators, and the framework that lists them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpcbench.core.frameworks import EAGER
from hpcbench.core.run_spec import COMMAND, PlannedRun
from hpcbench.models.source import FUNCTION, ONNX, source_of
from hpcbench.plan.case import Case

LISTS = "pytorch"  # the framework that lists the shipped models, which are the same workload in all frameworks
# Parameters that change the operators of a step. Others, such as threads and seeds, do not.
_DETERMINE = (
    *("framework", "model", "model_options", "input", "loss_function", "step", "task", "dtype", "device", "batch_size"),
    *("optimizer", "strategy", "nodes", "tasks_per_node", "instances"),
)


def network_of(case: Case) -> PlannedRun:
    """Return the run that lists the operators of a case: of its own framework, or of PyTorch for a shipped model."""
    planned = case.planned_run(1, 0, {})
    parameters = planned.parameters
    if parameters["framework"] in (LISTS, COMMAND) or not parameters["model"]:
        return planned
    if source_of(parameters["model"]).is_external:
        return planned
    return planned._replace(parameters={**parameters, "framework": LISTS, "execution": EAGER, "environment": None})


def environment_of(case: Case, planned: PlannedRun) -> str:
    """Return the name of the environment that lists a case."""
    is_own = planned.parameters["framework"] == case.parameters.framework
    return case.environment if is_own else LISTS


def identity(planned: PlannedRun, code: str, root: Path) -> str | None:
    """Return the SHA-256 of what determines the operators of a case; None for code of the user, which may change.

    `code` identifies the code that lists the operators and its environment. `root` is the workspace.
    """
    parameters = planned.parameters
    content: dict[str, Any] = {"code": code, "parameters": {name: parameters.get(name) for name in _DETERMINE}}
    if parameters["framework"] == COMMAND or any(_is_code(parameters, name) for name in ("loss_function", "step")):
        return None
    if parameters["model"]:
        source = source_of(parameters["model"])
        if source.kind == FUNCTION:
            return None
        if source.kind == ONNX:
            content["file"] = _version(root / source.name)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _is_code(parameters: Mapping[str, Any], name: str) -> bool:
    return ":" in (parameters.get(name) or "")


def _version(file: Path) -> list[int]:
    """Return what changes if a file is written again; empty if it cannot be read."""
    try:
        found = file.stat()
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]
