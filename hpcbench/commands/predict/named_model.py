"""The experiment of a model that the command line names, such as `torchvision/resnet50`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hpcbench.commands.shared.context import config_folders, file_in
from hpcbench.config.schema_location import KeyPath
from hpcbench.config.workload.model_name import OF_LIBRARIES
from hpcbench.config.yaml_document import Document, parse_yaml
from hpcbench.errors import UserError, closest
from hpcbench.models.items import ITEMS
from hpcbench.models.source import FUNCTION, ZOO, source_of
from hpcbench.predict.tables.networks import INFERENCE
from hpcbench.store.workspace import Workspace

BATCHES = "--batch-size"
_PYTORCH = "pytorch"
_PICKLES = (".pt", ".pth")
_SUFFIXES = (".yaml", ".yml")


def is_model(workspace: Workspace, name: str) -> bool:
    """Return whether a name is that of a model: a shipped one, of a library, or a function, and of no experiment."""
    if Path(name).is_file() or _has_experiment(workspace, name):
        return False
    try:
        source = source_of(name)
    except ValueError:
        return False
    return source.kind in (ZOO, FUNCTION) or name in ITEMS


def experiment_of(model: str, batch_sizes: Sequence[int]) -> Document:
    """Return the experiment of a model: inference, of one item by default. Options may set its parameters."""
    source = source_of(model)
    framework = _PYTORCH if _PYTORCH in source.frameworks or not source.is_external else source.frameworks[0]
    return made_experiment(model, {"framework": framework, "model": model, "task": INFERENCE}, batch_sizes, model)


def made_experiment(name: str, parameters: Mapping[str, Any], batch_sizes: Sequence[int], where: str) -> Document:
    """Return an experiment with these parameters and batch sizes, by default 1.

    Errors name the place `where`, without a line, or the option of the batch sizes.
    """
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_") or "network"
    experiment = {"name": plain, "parameters": parameters, "matrix": {"batch_size": list(batch_sizes or [1])}}
    places: dict[KeyPath, str] = {("matrix", "batch_size"): BATCHES} if batch_sizes else {}
    return replace(parse_yaml(json.dumps(experiment), where), places=places)


def experiment_file(workspace: Workspace, name: str) -> Path:
    """Return the file of an experiment. Raise UserError if it does not exist, with similar experiments and models."""
    path = Path(name)
    if path.suffix in _PICKLES:
        what = f"'{name}' is not an exported program" if path.is_file() else f"'{name}' not found"
        hint = "save the network in a .pt2 file: torch.export.save(torch.export.export(model, inputs), 'net.pt2')"
        raise UserError(what, hint=hint)
    if path.suffix in _SUFFIXES or path.exists() or _has_experiment(workspace, name):
        return file_in(workspace, "experiments", name)
    near = closest(name, {*_experiments(workspace), *ITEMS})
    use = near or f"name a YAML file, an experiment, or a model {OF_LIBRARIES}"
    raise UserError(f"'{name}' not found", hint=f"{use}\nto list them: hpcbench list experiments; hpcbench list models")


def _has_experiment(workspace: Workspace, name: str) -> bool:
    return name in _experiments(workspace)


def _experiments(workspace: Workspace) -> set[str]:
    return {path.stem for folder in config_folders(workspace, "experiments") for path in folder.glob("*.yaml")}
