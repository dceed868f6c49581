"""A case: a point of the matrix with all parameters resolved, identified by a hash of its content."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from hpcbench.config.expressions import ExpressionError, Resolver, is_expression
from hpcbench.config.matrix.locations import at_rows_of, where_written
from hpcbench.config.parameters import NOT_OF_COMMANDS, Parameters, reserved_hint
from hpcbench.config.schema_location import KeyPath
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.config.validation.findings import Findings
from hpcbench.config.workload.nested import COMPLETED, NotAMappingError, folded
from hpcbench.config.yaml_document import Document, dotted
from hpcbench.core.frameworks import FIXED, FRAMEWORKS, NONE, ONLY_INFER, THREAD_COUNTS
from hpcbench.core.run_spec import COMMAND, PlannedRun
from hpcbench.plan.compatibility import incompatibility
from hpcbench.plan.conditions import matches, value_of
from hpcbench.plan.matrix import Point, points
from hpcbench.plan.problem_size import NotANumberError, Size, nothing_to_skip, size_of
from hpcbench.util.limits import OutOfTimeError, deadline
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from hpcbench.config.experiment import Experiment

DIGITS = 12
MAX_S = 5.0  # for the expressions of one case, in addition to the limits of their size
_DEFAULTS = {
    name: field.get_default(call_default_factory=True)
    for name, field in Parameters.model_fields.items()
    if not field.is_required()
}
# Defaults that depend on other parameters: ordinary expressions, so that other expressions can use them.
_USUAL = {name: framework.executions[0] for name, framework in FRAMEWORKS.items()}
_OF_MODELS = list(FRAMEWORKS)
_DERIVED = {
    "gpus_per_task": "{{ 1 if device == 'gpu' else 0 }}",
    "execution": f"{{{{ {_USUAL}[framework] if framework in {_USUAL} else none }}}}",
    "threads": f"{{{{ ('{FIXED}' if {' or '.join(THREAD_COUNTS)} else '{NONE}') "
    f"if framework in {_OF_MODELS} else none }}}}",
}
# Commands have no task: Parameters has this default, too.
_TASK = f"{{{{ 'inference' if framework in {list(ONLY_INFER)} else '{_DEFAULTS['task']}' }}}}"
_DEFAULTS.update(_DERIVED, optimizer={}, task=_TASK)
_CONDITION = "the condition"


@dataclass(frozen=True)
class Case:
    """A case to run. Its id depends only on its parameters and user parameters, not on the sweep or machine."""

    id: str
    index: int  # position in the sweep, in the order of the file
    parameters: Parameters
    user_parameters: Mapping[str, Any]
    slurm: SlurmOptions
    size: Size | None = None  # None unless the experiment sets `skip_larger_on_oom`

    @property
    def environment(self) -> str:
        """Return the name of the environment with the framework of the case."""
        return self.parameters.environment_name

    def planned_run(
        self,
        repetition: int,
        order: int,
        measure: dict[str, Any],
        *,
        is_first: bool = False,
        owns_nodes: bool = False,
    ) -> PlannedRun:
        """Return a planned run of the case, in the form that nodes read.

        `order` is its position in the sweep; `is_first` says that it is the first run of its workload,
        `owns_nodes` that its job shares the nodes with no other job and no other run.
        """
        parameters, size = self.parameters.planned(), self.size and self.size._asdict()
        own = dict(self.user_parameters)
        return PlannedRun(self.id, self.index, repetition, order, parameters, own, measure, size, is_first, owns_nodes)


def case_id(parameters: Parameters, user_parameters: Mapping[str, Any]) -> str:
    """Return the id of a case: `c` and 12 hexadecimal digits of the SHA-256 of its content as canonical JSON.

    The letter prevents spreadsheets from parsing an id such as 1234e5678901 as a number.
    """
    content = {"parameters": parameters.content(), "user_parameters": dict(user_parameters)}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return "c" + hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


@dataclass(frozen=True)
class Expansion:
    """The cases of an experiment, and warnings for the user."""

    cases: tuple[Case, ...]
    warnings: tuple[str, ...]


def expand(experiment: Experiment, document: Document, site_slurm: SlurmOptions, limit: int | None = None) -> Expansion:
    """Return the cases of an experiment in the order of its file, or the first `limit` of them.

    Raise UserError, with file, line and key, for a point that is not a valid case, and if all points are excluded.
    """
    resolve = _CaseBuilder(experiment, document, site_slurm)
    excluded = [0] * len(experiment.exclude)
    cases: dict[str, Case] = {}
    repeated = 0
    for point in points(experiment):
        resolver = resolve.resolver(point)
        reason = resolve.excluded_by(resolver, point)
        if reason is not None:
            excluded[reason] += 1
            continue
        case = resolve.case(point, resolver, len(cases))
        repeated += case.id in cases
        cases.setdefault(case.id, case)
        if len(cases) == limit:
            return Expansion(tuple(cases.values()), ())
    if not cases:
        raise document.error("all points of the matrix are excluded", ("exclude",), "remove or narrow a condition")
    _check_metrics_used(experiment, document, cases.values())
    warnings = [f"exclude[{index}] matches no point" for index, count in enumerate(excluded) if not count]
    if repeated:
        warnings.append(f"{plural(repeated, 'duplicate point')} {'was' if repeated == 1 else 'were'} removed")
    if experiment.skip_larger_on_oom and nothing_to_skip(case.size for case in cases.values()):
        names = ", ".join(experiment.skip_larger_on_oom)
        what = f"no two cases differ only in {names}, so no case can be skipped; also name what depends on it"
        warnings.append(f"skip_larger_on_oom: {what}")
    return Expansion(tuple(cases.values()), tuple(warnings))


def _check_metrics_used(experiment: Experiment, document: Document, cases: Iterable[Case]) -> None:
    for key in ("metrics", "expect"):
        if getattr(experiment, key) and all(case.parameters.framework != COMMAND for case in cases):
            hint = f"add a case with framework: {COMMAND}, or remove the key"
            raise document.error(f"'{key}' requires framework: {COMMAND}", (key,), hint)


class _CaseBuilder:
    def __init__(self, experiment: Experiment, document: Document, site_slurm: SlurmOptions) -> None:
        self.experiment = experiment
        self.document = document
        self.site_slurm = site_slurm.model_dump(exclude_unset=True)
        self.user_parameters = experiment.all_user_parameters
        self.constant_slurm = None if is_expression(experiment.slurm) else self._slurm(experiment.slurm)

    def resolver(self, point: Point) -> Resolver:
        own = dict.fromkeys(self.user_parameters)
        try:
            values = folded({**_DEFAULTS, **own, **self.experiment.parameters, **point.values})
        except NotAMappingError as error:
            hint = f"write a mapping instead, or remove '{error.name}'"
            raise self._at(point).error(str(error), self._path(error.name, point), hint) from error
        return Resolver(values, COMPLETED)

    def case(self, point: Point, resolver: Resolver, index: int) -> Case:
        written = [*self.experiment.parameters, *point.values, *_DERIVED]
        given = dict.fromkeys(name.partition(".")[0] for name in written)
        with self._located(point):
            values = {name: resolver.parameter(name) for name in given}
            values.update({name: resolver.parameter(name) for name in resolver.seen_by("command")})
            user_parameters = {name: resolver.parameter(name) for name in self.user_parameters}
            slurm = {key: resolver.value(value, f"slurm.{key}") for key, value in self.experiment.slurm.items()}
        for name, value in user_parameters.items():
            if isinstance(value, list | dict):
                what = f"the user parameter '{name}' must be a plain value"
                raise self._at(point).error(what, self._path(name, point), "write a number, text, true or false")
        parameters = self._checked({k: v for k, v in values.items() if k not in self.user_parameters}, point)
        if wrong := incompatibility(parameters):
            hints = [hint for hint in (wrong.hint, _leave_out(wrong.what, point)) if hint]
            raise self._at(point).error(wrong.what, self._path(wrong.name, point), "\n".join(hints))
        options = self.constant_slurm or self._slurm(slurm)
        size = self._size(point, parameters, user_parameters, options)
        return Case(case_id(parameters, user_parameters), index, parameters, user_parameters, options, size)

    def _size(
        self, point: Point, parameters: Parameters, user_parameters: Mapping[str, Any], slurm: SlurmOptions
    ) -> Size | None:
        if not self.experiment.skip_larger_on_oom:
            return None
        command = {**self.experiment.parameters, **point.values}.get("command")
        try:
            return size_of(self.experiment.skip_larger_on_oom, parameters, user_parameters, slurm, command)
        except NotANumberError as error:
            raise self.document.error(str(error), ("skip_larger_on_oom", error.index)) from error

    def excluded_by(self, resolver: Resolver, point: Point) -> int | None:
        """Return the index of the first `exclude` entry that matches a point; None without a match."""
        for index, condition in enumerate(self.experiment.exclude):
            if isinstance(condition, str) and not is_expression(condition):
                hint = 'write "{{ CONDITION }}", or the values to match: {name: value}'
                raise self.document.error(f"'{condition}' is not a condition", ("exclude", index), hint)
            with self._located(point, ("exclude", index)):
                if isinstance(condition, str):
                    is_excluded = bool(resolver.value(condition, _CONDITION))
                else:
                    is_excluded = all(
                        matches(name, value_of(resolver, name), resolver.value(wanted, _CONDITION))
                        for name, wanted in condition.items()
                    )
            if is_excluded:
                return index
        return None

    def _checked(self, values: dict[str, Any], point: Point) -> Parameters:
        try:
            return Parameters.model_validate(values)
        except ValidationError as error:
            findings = Findings(self._at(point))
            for details in error.errors(include_url=False):
                if details["loc"]:
                    name, keys = self._written(details, point)
                    if details["type"] == "missing" and name.startswith(f"{details['loc'][0]}."):
                        findings.add(f"'{dotted(details['loc'])}' is missing", self._path(name, point))
                        continue
                    details["loc"] = (name, *keys)
                    hint = reserved_hint(name) if values.get("framework") == COMMAND else ""
                    findings.add_details(details, Parameters, self._path(name, point)[:-1], hint)
                else:
                    named = self._quoted(details["msg"], point) or _named(details["msg"], point)
                    path = self._path(named[0], point) if named else ("parameters",)
                    own = [each for each in NOT_OF_COMMANDS if f"'{each}' cannot be used" in details["msg"]]
                    hint = reserved_hint(own[0]) if own else _leave_out(details["msg"], point)
                    findings.add_details(details, Parameters, path, hint)
            raise findings.error() from error

    def _slurm(self, values: Mapping[str, Any]) -> SlurmOptions:
        """Return the site's options overridden by the experiment's; a shared object for equal options."""
        defaults = self.site_slurm
        if values.keys() & {"mem", "mem_per_cpu"}:  # alternatives: a value of the experiment replaces both
            defaults = {key: value for key, value in defaults.items() if key not in ("mem", "mem_per_cpu")}
        merged = {**defaults, **values}
        if isinstance(values.get("options"), dict):
            merged["options"] = {**defaults.get("options", {}), **values["options"]}
        try:
            return _shared_options(json.dumps(merged, sort_keys=True))
        except ValidationError as error:
            findings = Findings(self.document)
            findings.add_schema(error, SlurmOptions, ("slurm",))
            raise findings.error() from error

    def _written(self, details: ErrorDetails, point: Point) -> tuple[str, KeyPath]:
        """Return the parameter or dotted name whose value has the error, and the keys within this value."""
        location, written = details["loc"], [*point.values, *self.experiment.parameters]
        for length in range(len(location), 0, -1):
            name = ".".join(map(str, location[:length]))
            if name in written:
                return name, location[length:]
        inner = [name for name in written if name.startswith(f"{location[0]}.")]
        inner.sort(key=lambda name: f"'{name.rpartition('.')[2]}'" not in details["msg"])
        return (inner[0], ()) if inner else (str(location[0]), location[1:])

    def _quoted(self, what: str, point: Point) -> list[str]:
        """Return the dotted names whose last key a message quotes: `sizes.q` for `no size 'q'`."""
        quoted = re.findall(r"'(\w+)'", what)
        written = [*point.values, *self.experiment.parameters]
        return [name for name in written if "." in name and name.rpartition(".")[2] in quoted]

    def _path(self, name: str, point: Point) -> KeyPath:
        """Return the key path at which the value of a parameter is written."""
        if point.included is not None and name in point.values:
            return ("include", point.included, name)
        return where_written(name, self.document)

    def _at(self, point: Point) -> Document:
        return self.document if point.included is not None else at_rows_of(point.values, self.document)

    @contextmanager
    def _located(self, point: Point, condition: KeyPath = ()) -> Iterator[None]:
        """Limit the time of expressions to MAX_S, and raise their errors as UserError with file, line and key."""
        try:
            with deadline(MAX_S):
                yield
        except OutOfTimeError as error:
            raise self.document.error(f"the expressions cannot be evaluated: {error}", (), "simplify them") from error
        except ExpressionError as error:
            section, _, key = error.where.partition(".")
            name = re.split(r"[.\[]", error.where)[0]
            path = ("slurm", re.split(r"[.\[]", key)[0]) if section == "slurm" else self._path(name, point)
            path = condition if error.where == _CONDITION else path
            raise self._at(point).error(error.what, path, error.hint) from error


def _named(what: str, point: Point) -> list[str]:
    """Return the parameters of a point that a message names, in the order of the message."""
    return [word for word in dict.fromkeys(re.findall(r"\w+", what)) if word in point.values]


def _leave_out(what: str, point: Point) -> str:
    """Return a hint on excluding an invalid combination of values; empty for a single value."""
    named = {name: point.values[name] for name in _named(what, point)}
    if len(named) < 2:
        return ""
    return f"exclude the combination, e.g. `exclude: [{json.dumps(named)}]`"


@lru_cache(maxsize=1024)
def _shared_options(text: str) -> SlurmOptions:
    return SlurmOptions.model_validate_json(text)
