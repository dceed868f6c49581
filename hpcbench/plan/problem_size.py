"""The size of a case among otherwise equal cases, for the `skip_larger_on_oom` parameters of an experiment."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hpcbench.models import catalog
from hpcbench.models.source import source_of

if TYPE_CHECKING:
    from hpcbench.config.parameters import Parameters
    from hpcbench.config.slurm_options import SlurmOptions

DIGITS = 16
_WHEN = {"time", "max_running", "pack_walltime", "follow_on"}  # options that do not affect memory


class Size(NamedTuple):
    """The `values` of `skip_larger_on_oom` parameters of a case, and the `group` of cases that are otherwise equal."""

    group: str
    values: dict[str, int | float]


class NotANumberError(ValueError):
    """A `skip_larger_on_oom` parameter is not a number in some case; `index` is its position in the list."""

    def __init__(self, what: str, index: int) -> None:
        super().__init__(what)
        self.index = index


def size_of(
    names: Sequence[str],
    parameters: Parameters,
    user_parameters: Mapping[str, Any],
    slurm: SlurmOptions,
    command: str | None,
) -> Size:
    """Return the size of a case. Raise NotANumberError if one in `names`, the `skip_larger_on_oom`, is not a number.

    A value that depends on one of these is part of the group unless it is also named: more of it may require more
    memory or provide more, such as `nodes` and `mem`. A `command` counts as written, before expressions in it are
    evaluated.
    """
    of_model = _model_options(parameters)
    options = {f"model_options.{name}": value for name, value in of_model.items()}
    options |= {f"optimizer.{name}": value for name, value in parameters.optimizer.model_dump(mode="json").items()}
    known = {**parameters.planned(), **user_parameters, **options}
    values = {name: _number(known.get(name), name, index) for index, name in enumerate(names)}
    content = {**parameters.content(), **user_parameters, **options, "model_options": None, "optimizer": None}
    content["command"] = command
    same = [{name: value for name, value in content.items() if name not in values}]
    same.append(slurm.model_dump(mode="json", exclude=_WHEN))
    text = json.dumps(same, sort_keys=True, separators=(",", ":"))
    return Size(hashlib.sha256(text.encode()).hexdigest()[:DIGITS], values)


def _model_options(parameters: Parameters) -> Mapping[str, Any]:
    """Return all options of a shipped model, or those set for an external model, whose defaults are unknown here."""
    if parameters.model is None or source_of(parameters.model).is_external:
        return parameters.model_options
    return catalog.resolved_options(parameters.model, parameters.model_options)


def nothing_to_skip(sizes: Iterable[Size | None]) -> bool:
    """Return whether all groups have a single case, so that no case can be skipped."""
    groups = [each.group for each in sizes if each]
    return len(set(groups)) == len(groups)


def _number(value: Any, name: str, index: int) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise NotANumberError(f"skip_larger_on_oom requires numbers, and '{name}' is {value!r} in a case", index)
    return value
