"""A case: one point with every parameter resolved, identified by a hash of its content."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from pydantic import ValidationError

from hpcbench.config.experiment import Experiment
from hpcbench.config.loading import Document, KeyPath, Model, schema_error
from hpcbench.config.parameters import Parameters
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.errors import UserError
from hpcbench.plan.expressions import Resolver, is_expression
from hpcbench.plan.matrix import Point, points

ID_LENGTH = 12
_DEFAULTS = {
    name: field.get_default(call_default_factory=True)
    for name, field in Parameters.model_fields.items()
    if not field.is_required()
}


@dataclass(frozen=True)
class Case:
    """What to run: equal parameters and tags give an equal id, in every sweep, on every machine."""

    id: str
    index: int  # place in the sweep, in the order of the file
    parameters: Parameters
    tags: Mapping[str, Any]
    slurm: SlurmOptions

    @property
    def environment(self) -> str:
        return self.parameters.environment or self.parameters.framework


def case_id(parameters: Parameters, tags: Mapping[str, Any]) -> str:
    """The first 12 hexadecimal digits of the SHA-256 of the canonical JSON of the content (48 bits)."""
    content = {"parameters": parameters.content(), "tags": dict(tags)}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]


@dataclass(frozen=True)
class Expansion:
    """The cases of an experiment, and what a user should hear about how they came about."""

    cases: tuple[Case, ...]
    warnings: tuple[str, ...]


def expand(experiment: Experiment, document: Document, site_slurm: SlurmOptions) -> Expansion:
    """Every case of an experiment, in the order of its file.

    Raises UserError, with file, line and key, for a point that is not a valid case, and where no point is left.
    """
    resolve = _CaseBuilder(experiment, document, site_slurm)
    excluded = [0] * len(experiment.exclude)
    cases: dict[str, Case] = {}
    repeated = 0
    for point in points(experiment):
        resolver = resolve.resolver(point)
        reason = resolve.excluded_by(resolver)
        if reason is not None:
            excluded[reason] += 1
            continue
        case = resolve.case(point, resolver, len(cases))
        repeated += case.id in cases
        cases.setdefault(case.id, case)
    if not cases:
        raise document.error("every point is excluded: there is nothing to run", ("exclude",))
    warnings = [f"exclude[{index}] drops no point" for index, count in enumerate(excluded) if not count]
    if repeated:
        warnings.append(f"{repeated} points repeat a case that is already there and were dropped")
    return Expansion(tuple(cases.values()), tuple(warnings))


class _CaseBuilder:
    def __init__(self, experiment: Experiment, document: Document, site_slurm: SlurmOptions) -> None:
        self.experiment = experiment
        self.document = document
        self.site_slurm = site_slurm.model_dump(exclude_unset=True)
        self.tags = frozenset(experiment.tags)
        self.constant_slurm = None if is_expression(experiment.slurm) else self._slurm(experiment.slurm)

    def resolver(self, point: Point) -> Resolver:
        return Resolver({**_DEFAULTS, **dict.fromkeys(self.tags), **self.experiment.parameters, **point})

    def case(self, point: Point, resolver: Resolver, index: int) -> Case:
        given = dict.fromkeys([*self.experiment.parameters, *point])
        with _located(self.document, self._written(point)):
            values = {name: resolver.parameter(name) for name in given}
            tags = {name: resolver.parameter(name) for name in self.experiment.tags}
        for name, value in tags.items():
            if isinstance(value, list | dict):
                raise self.document.error(f"the tag '{name}' must be a plain value", self._path(name, point))
        parameters = self._checked({k: v for k, v in values.items() if k not in self.tags}, point)
        slurm = self.constant_slurm
        if slurm is None:
            with _located(self.document, self._written(point)):
                slurm = self._slurm({k: resolver.value(v, f"slurm.{k}") for k, v in self.experiment.slurm.items()})
        return Case(case_id(parameters, tags), index, parameters, tags, slurm)

    def excluded_by(self, resolver: Resolver) -> int | None:
        """The index of the first `exclude` entry that matches."""
        for index, condition in enumerate(self.experiment.exclude):
            if isinstance(condition, str):
                if not is_expression(condition):
                    raise self.document.error('a condition is written "{{ ... }}"', ("exclude", index))
                with _located(self.document, partial(_exclude_path, index)):
                    matches = bool(resolver.value(condition, f"exclude[{index}]"))
            else:
                with _located(self.document, self._written({})):
                    matches = all(_matches(resolver.parameter(k), wanted) for k, wanted in condition.items())
            if matches:
                return index
        return None

    def _checked(self, values: dict[str, Any], point: Point) -> Parameters:
        try:
            return Parameters.model_validate(values)
        except ValidationError as error:
            raise self._schema_error(error, Parameters, point) from error

    def _slurm(self, values: Mapping[str, Any]) -> SlurmOptions:
        """The experiment's options on top of the site's; one object for equal options."""
        merged = {**self.site_slurm, **values}
        try:
            return _shared_options(json.dumps(merged, sort_keys=True))
        except ValidationError as error:
            raise schema_error(error, SlurmOptions, self.document, ("slurm",)) from error

    def _schema_error(self, error: ValidationError, model: type[Model], point: Point) -> UserError:
        location = error.errors(include_url=False)[0]["loc"]
        prefix = self._path(str(location[0]), point)[:-1] if location else ()
        return schema_error(error, model, self.document, prefix or ("parameters",))

    def _path(self, name: str, point: Point) -> KeyPath:
        """Where a parameter's value was written."""
        candidates: list[KeyPath] = []
        if name in point:
            candidates.append(("matrix", name))
            candidates += [("zip", index, name) for index in range(len(self.experiment.zip))]
            candidates += [("include", index, name) for index in range(len(self.experiment.include))]
        candidates.append(("parameters", name))
        return next((path for path in candidates if path in self.document.places), ("parameters", name))

    def _written(self, point: Point) -> Callable[[str], KeyPath]:
        """Finds where the value that an error names was written."""

        def path(where: str) -> KeyPath:
            section, dot, key = where.partition(".")
            if dot and section == "slurm":
                return (section, key.partition("[")[0])
            return self._path(re.split(r"[.\[]", where)[0], point)

        return path


def _exclude_path(index: int, where: str) -> KeyPath:
    return ("exclude", index)


@contextmanager
def _located(document: Document, path_of: Callable[[str], KeyPath]) -> Iterator[None]:
    """Adds file and line to an error that knows only the name of a parameter."""
    try:
        yield
    except UserError as error:
        raise document.error(error.what, path_of(error.where), error.hint) from error


@lru_cache(maxsize=1024)
def _shared_options(text: str) -> SlurmOptions:
    return SlurmOptions.model_validate_json(text)


def _matches(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, list) else value == wanted
