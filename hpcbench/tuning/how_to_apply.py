"""How to use a configuration outside hpcbench: variables and CPUs of the processes, and lines in the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hpcbench.core.frameworks import COMPILED, SETTINGS
from hpcbench.core.record import Record
from hpcbench.core.variables import worker
from hpcbench.plan.case import Case

_PRELOAD = "LD_PRELOAD"


class Usage(NamedTuple):
    """The variables, CPUs and lines with which a program uses a configuration.

    `cpus` are those of each process, if the configuration chooses them. `lines` belong before the first operation.
    `others` are parameters that each program sets in its own way. `command` is the program, if there is one.
    """

    variables: Mapping[str, str] = {}
    cpus: tuple[tuple[int, ...], ...] = ()
    lines: tuple[str, ...] = ()
    others: Mapping[str, Any] = {}
    command: str | None = None


def usage(case: Case, default: Case, record: Record | None) -> Usage:
    """Return what the configuration of a case needs that the default does not.

    The record is of a completed run of the case, if there is one; it has the CPUs and the preloaded libraries.
    """
    environment, affinity = (record.environment, record.affinity) if record else ({}, ())
    preloaded = environment.get(_PRELOAD, "").split(":") if _preloads(case) else []
    before = worker.for_worker(default.parameters.planned(), {})
    after = worker.for_worker(case.parameters.planned(), {}, preloaded)
    chosen = {name: value for name, value in after.items() if before.get(name) != value}
    by_cpus = case.parameters.framework.endswith("jax") and case.parameters.intra_op_threads is not None
    if by_cpus:  # JAX has one thread per usable CPU, and no variable for it
        chosen.pop("OMP_NUM_THREADS", None)
    placed = by_cpus or case.parameters.affinity is not None or case.parameters.instances > 1
    cpus = tuple(tuple(each) for each in affinity if each) if placed else ()
    return Usage(chosen, cpus, tuple(_lines(case)), dict(_others(case, default)), case.parameters.command)


def _preloads(case: Case) -> bool:
    return case.parameters.openmp is not None or case.parameters.allocator not in (None, worker.RETAIN)


def _others(case: Case, default: Case) -> Iterator[tuple[str, Any]]:
    """Yield each parameter that differs from the default and is neither a variable, nor a CPU, nor a line."""
    for name in ("framework", "environment", "dtype", "batch_size", "execution", "compile_mode"):
        value, usual = getattr(case.parameters, name), getattr(default.parameters, name)
        if name == "environment" and value != usual:  # an unset environment has a name, too
            value, usual = case.environment, default.environment
        own_line = name in ("execution", "compile_mode") and case.parameters.framework == "pytorch"
        if value != usual and not own_line:
            yield name, value


def _lines(case: Case) -> Iterator[str]:
    parameters = case.parameters
    for setting in SETTINGS:
        value, call = getattr(parameters, setting.name), dict(setting.calls).get(parameters.framework)
        if call is not None and value is not None:
            yield call.format(value)
    if parameters.framework == "pytorch" and parameters.execution == COMPILED:
        mode = f", mode={parameters.compile_mode!r}" if parameters.compile_mode else ""
        yield f"model = torch.compile(model{mode})"
