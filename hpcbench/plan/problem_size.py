"""The size of a case among cases that are otherwise equal, for the experiment's `monotone`."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hpcbench.models import catalog

if TYPE_CHECKING:
    from hpcbench.config.parameters import Parameters
    from hpcbench.config.slurm_options import SlurmOptions

DIGITS = 16
_WHEN = {"time", "max_running", "pack_walltime", "follow_on"}  # when a job runs, and not what memory it has


class Size(NamedTuple):
    """The `values` of a case, and the `group` of cases that differ in these values alone."""

    group: str
    values: dict[str, int | float]


class NotANumberError(ValueError):
    """A `monotone` parameter is not a number in some case; `index` is its position in the list."""

    def __init__(self, what: str, index: int) -> None:
        super().__init__(what)
        self.index = index


def size_of(
    names: Sequence[str], parameters: Parameters, tags: Mapping[str, Any], slurm: SlurmOptions, command: str | None
) -> Size:
    """Return the size of a case. Raises NotANumberError if a `monotone` parameter is not a number.

    A value that follows from a monotone one stays in the group unless it is named as well: more of it may need more
    memory or provide more, as `nodes` and `mem` do. A `command` counts as it was written: what its expressions use is
    in the group.
    """
    of_model = catalog.resolved_options(parameters.model, parameters.model_options) if parameters.model else {}
    options = {f"model_options.{name}": value for name, value in of_model.items()}
    known = {**parameters.planned(), **tags, **options}
    values = {name: _number(known.get(name), name, index) for index, name in enumerate(names)}
    content = {**parameters.content(), **tags, **options, "model_options": None, "command": command}
    same = [{name: value for name, value in content.items() if name not in values}]
    same.append(slurm.model_dump(mode="json", exclude=_WHEN))
    text = json.dumps(same, sort_keys=True, separators=(",", ":"))
    return Size(hashlib.sha256(text.encode()).hexdigest()[:DIGITS], values)


def nothing_to_skip(sizes: Iterable[Size | None]) -> bool:
    """Return whether each case is the only one of its group."""
    groups = [each.group for each in sizes if each]
    return len(set(groups)) == len(groups)


def _number(value: Any, name: str, index: int) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise NotANumberError(f"monotone requires numbers, and '{name}' is {value!r} in a case", index)
    return value
