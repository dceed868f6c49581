"""The cases of an experiment as configurations with the same workload, including the framework's default."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hpcbench.config.matrix.locations import where_written
from hpcbench.config.parameters import Parameters
from hpcbench.config.workload.nested import shown_value
from hpcbench.config.yaml_document import Document
from hpcbench.core.frameworks import CHOICES, DYNAMIC, FRAMEWORKS, THREAD_COUNTS
from hpcbench.core.run_spec import COMMAND
from hpcbench.errors import UserError
from hpcbench.plan.case import Case, case_id
from hpcbench.plan.packing import Resources, resources_of
from hpcbench.tuning.objective import Objective

# Parameters that do not change the work; the batch size, too, if the objective is throughput.
_PERMISSION = "oversubscribe"
_CHOICES = (*CHOICES, "framework", "environment", "dtype", _PERMISSION)
# Parameters that often follow from user parameters, the framework and thread counts.
_FOLLOWING = ("command", "environment", "execution", "threads", _PERMISSION)
_USUAL_DTYPE = Parameters.model_fields["dtype"].default
_TITLE = ("framework", "model", "task", "device", "dtype", "batch_size")


@dataclass(frozen=True)
class Context:
    """The compared configurations: `cases` with the same workload. In the one at index `default`, nothing is set.

    `names` are the parameters in which they differ. `dynamic` is the case that requests per-layer threads, if there is
    one. `apart` distinguishes the context from others, in addition to the title.
    """

    cases: tuple[Case, ...]
    default: int
    names: tuple[str, ...]
    dynamic: Case | None = None
    apart: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> str | None:
        """Return the model of all cases; None for commands, and for several models."""
        models = {case.parameters.model for case in self.cases}
        return models.pop() if len(models) == 1 else None

    def values(self, case: Case) -> dict[str, Any]:
        """Return the parameters and user parameters that distinguish a case from the others, by name."""
        return _named(case, self.names)

    @property
    def title(self) -> str:
        """Return the work of all cases as text."""
        parameters = self.cases[0].parameters
        if parameters.framework == COMMAND:
            lines = dict.fromkeys(str(case.parameters.command) for case in self.cases)
            return next(iter(lines)) if len(lines) == 1 else "commands"
        words = [str(getattr(parameters, name)) for name in _TITLE[:-1] if name not in self.names]
        parts = [" ".join(words), *(f"{name}={shown_value(self.apart, name)}" for name in self.apart)]
        if "batch_size" not in self.names:
            parts.insert(1, f"batch size {parameters.batch_size}")
        return ", ".join(parts)

    @property
    def points(self) -> list[dict[str, Any]]:
        """Return the parameters and user parameters that distinguish each case from the others, for all cases."""
        return [self.values(case) for case in self.cases]

    def as_data(self) -> dict[str, Any]:
        """Return what is searched, for JSON."""
        points = self.points
        return {
            "title": self.title,
            "parameters": {
                name: list({str(point[name]): point[name] for point in points}.values()) for name in self.names
            },
            "default": self.values(self.cases[self.default]),
            "configurations": len(self.cases),
            "per_layer_threads": self.dynamic is not None,
        }


def contexts(cases: Sequence[Case], objective: Objective, document: Document) -> list[Context]:
    """Return the cases by their work, each with its default.

    Raise UserError if they need several nodes or different resources, or if a command is to be tuned for throughput.
    """
    _check_resources(cases, document)
    _check_throughput(cases, objective)
    _check_dynamic([case for case in cases if case.parameters.threads == DYNAMIC], document)
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(_work_of(case, objective), []).append(case)
    found = [_context(group) for group in groups.values()]
    names = _apart([context.cases[0] for context in found])
    return [replace(context, apart=_named(context.cases[0], names)) for context in found]


def _work_of(case: Case, objective: Objective) -> str:
    """Return a key of the case's work. All commands share one: what differs between them is what is tuned."""
    if case.parameters.framework == COMMAND:
        return COMMAND
    chosen = {*_CHOICES, *(("batch_size",) if objective.is_throughput else ())}
    return case.parameters.model_dump_json(exclude=chosen)


def _apart(cases: Sequence[Case]) -> list[str]:
    """Return user parameters, otherwise parameters, in which the contexts differ and that no title has."""
    names = [name for name in _differing(cases) if name not in (*_TITLE, *_CHOICES)] if len(cases) > 1 else []
    return [name for name in names if name in cases[0].user_parameters] or names


def _named(case: Case, names: Iterable[str]) -> dict[str, Any]:
    every = {**case.parameters.model_dump(mode="json"), **case.user_parameters}
    return {name: every[name] for name in names}


def _check_resources(cases: Sequence[Case], document: Document) -> None:
    for case in cases:
        if case.parameters.nodes > 1:
            what = f"a search uses one node, but a case requests {case.parameters.nodes}"
            hint = "use hpcbench sweep for cases of several nodes"
            raise document.error(what, where_written("nodes", document), hint)
        first, other = _asked(cases[0]), _asked(case)
        for name in ("tasks_per_node", "cpus_per_task", "gpus_per_task", "slurm"):
            if getattr(first, name) != getattr(other, name):
                what = "all configurations must use the same nodes and CPUs, but the cases request different ones: "
                what += f"{name} is {getattr(first, name)} and {getattr(other, name)}"
                hint = "request the same in all cases"
                if name != "slurm":
                    most = max(getattr(_asked(each), name) for each in cases)
                    hint += f", e.g. what the largest needs: --set {name}={most}"
                raise document.error(what, ("matrix",), hint)


def _check_throughput(cases: Sequence[Case], objective: Objective) -> None:
    if objective.is_throughput and any(case.parameters.framework == COMMAND for case in cases):
        what = "commands have no throughput: their number of items is unknown"
        raise UserError(what, where="--metric throughput", hint="--metric time, or a metric of the experiment")


def _check_dynamic(cases: Sequence[Case], document: Document) -> None:
    if any(case.parameters.schedule is not None for case in cases):
        what = "a search finds its own thread plan, but a case uses one from a file"
        raise document.error(what, where_written("schedule", document), "to measure it, use hpcbench sweep")
    depths = dict.fromkeys(case.parameters.section_depth for case in cases)
    if len(depths) > 1:
        listed = " and ".join(str(depth) for depth in depths)
        what = f"a search for per-layer threads requires one section_depth, but the cases have {listed}"
        raise document.error(
            what, where_written("section_depth", document), "to measure all of them, use hpcbench sweep"
        )


def _context(cases: Sequence[Case]) -> Context:
    fixed = [case for case in cases if case.parameters.threads != DYNAMIC]
    dynamic = max((case for case in cases if case.parameters.threads == DYNAMIC), key=_limit, default=None)
    first = next((case for case in cases if case.parameters.dtype == _USUAL_DTYPE), cases[0])
    every = {case_id(case.parameters, {}): case for case in (*_plain_cases([first, *fixed]), *fixed)}
    return Context(tuple(every.values()), 0, _differing(list(every.values()), _idle_tags(fixed)), dynamic)


def _idle_tags(cases: Sequence[Case]) -> set[str]:
    """Return the user parameters in which cases with equal parameters differ."""
    first: dict[str, Case] = {}
    pairs = [(first.setdefault(case_id(case.parameters, {}), case), case) for case in cases]
    return {
        name
        for one, other in pairs
        for name, value in other.user_parameters.items()
        if one.user_parameters[name] != value
    }


def _limit(dynamic: Case) -> float:
    """Return the maximum number of threads of a section; a search with a higher limit tries fewer, too."""
    return dynamic.parameters.intra_op_threads or math.inf


def _asked(case: Case) -> Resources:
    """Return the requested resources, whatever the environment."""
    return replace(resources_of(case), environment="")


def _plain_cases(cases: Sequence[Case]) -> list[Case]:
    """Return the cases with nothing set, and the user parameters that all share: others may follow from a setting."""
    common = {
        name: value if all(each.user_parameters[name] == value for each in cases) else None
        for name, value in cases[0].user_parameters.items()
    }
    return [replace(each, id=case_id(each.parameters, common), user_parameters=common) for each in map(plain, cases)]


def plain(case: Case) -> Case:
    """Return the case with nothing set: the framework's defaults. A command stays as it is."""
    if case.parameters.framework == COMMAND:
        return case
    return changed(case, dict.fromkeys((*CHOICES, _PERMISSION)))


def changed(case: Case, values: Mapping[str, Any]) -> Case:
    """Return the case with these parameters; None is the default. Raise ValueError if they cannot be combined.

    The new case has no `size` for the `skip_larger_on_oom` option of the experiment.
    """
    kept = {name: value for name, value in case.parameters.model_dump(mode="json").items() if name not in values}
    given = {name: value for name, value in values.items() if value is not None}
    usual = _usual(case.parameters.framework, {**kept, **given})
    parameters = Parameters.model_validate({**usual, **kept, **given})
    return replace(case, id=case_id(parameters, case.user_parameters), parameters=parameters, size=None)


def _usual(framework: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that follow from others if they are not set."""
    counts = (given.get(name) for name in THREAD_COUNTS)
    threads = "fixed" if any(counts) else "none"
    return {"execution": FRAMEWORKS[framework].executions[0], "threads": threads}


def _differing(cases: Sequence[Case], idle: Collection[str] = ()) -> tuple[str, ...]:
    """Return the parameters in which cases differ, without those in `idle` and those that follow from others."""
    every = [{**case.parameters.model_dump(mode="json"), **case.user_parameters} for case in cases]

    def distinct(names: Sequence[str]) -> int:
        return len({str([each[name] for name in names]) for each in every})

    names = [name for name in every[0] if name not in idle and distinct([name]) > 1]
    for name in _FOLLOWING:
        rest = [other for other in names if other != name]
        if distinct(rest) == distinct(names):
            names = rest
    return tuple(names)
