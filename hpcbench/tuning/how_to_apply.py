"""How a setting is used outside hpcbench: variables and CPUs of the processes, and lines in the program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hpcbench.core.frameworks import COMPILED
from hpcbench.core.record import Record
from hpcbench.node.launch import allocator
from hpcbench.node.launch import environment as variables
from hpcbench.plan.case import Case

_TORCH = ("torch.set_num_threads({})", "torch.set_num_interop_threads({})")
_TENSORFLOW = (
    "tf.config.threading.set_intra_op_parallelism_threads({})",
    "tf.config.threading.set_inter_op_parallelism_threads({})",
)
_THREADS = {
    "pytorch": _TORCH,
    "keras-torch": _TORCH,
    "tensorflow": _TENSORFLOW,
    "keras-tensorflow": _TENSORFLOW,
}
_PRELOAD = "LD_PRELOAD"
# What sets counts of threads, their OpenMP runtime, MKL, oneDNN and glibc's allocator, or preloads a library.
_OF_THREADS = re.compile(
    r"(OMP|KMP|GOMP|MKL|DNNL|MALLOC)_\w+|\w*(ONEDNN|MKLDNN)_\w+|\w+THREADS|GLIBC_TUNABLES|LD_PRELOAD"
)


class Usage(NamedTuple):
    """`cpus` are those of each process, where the setting chooses them; `lines` belong before the first operation;
    `others` are parameters that each program has its own way to set; `command` is the program, where it has one."""

    variables: Mapping[str, str] = {}
    cpus: tuple[tuple[int, ...], ...] = ()
    lines: tuple[str, ...] = ()
    others: Mapping[str, Any] = {}
    command: str | None = None


def usage(case: Case, default: Case, record: Record) -> Usage:
    """What the setting needs that the default does not; the record is of a repetition with it, and tells which CPUs and
    libraries it had."""
    preloaded = record.environment.get(_PRELOAD, "").split(":") if _preloads(case) else []
    before = variables.for_worker(default.parameters.planned(), {})
    after = variables.for_worker(case.parameters.planned(), {}, preloaded)
    chosen = {name: value for name, value in after.items() if before.get(name) != value}
    by_cpus = case.parameters.framework.endswith("jax") and case.parameters.intra_op_threads is not None
    if by_cpus:  # JAX has as many threads as it may use CPUs, and no variable for it
        chosen.pop("OMP_NUM_THREADS", None)
    placed = by_cpus or case.parameters.affinity is not None or case.parameters.instances > 1
    cpus = tuple(tuple(each) for each in record.affinity if each) if placed else ()
    return Usage(chosen, cpus, tuple(_lines(case)), dict(_others(case, default)), case.parameters.command)


def inherited(case: Case, environment: Mapping[str, str]) -> dict[str, str]:
    """Which variables of threads and their libraries a process of the case had from outside, by an export of the shell
    say, or by a module. The environment is that of a record."""
    own = set(variables.for_worker(case.parameters.planned(), {}))
    if _preloads(case):
        own.add(_PRELOAD)
    return {name: value for name, value in environment.items() if _OF_THREADS.fullmatch(name) and name not in own}


def _preloads(case: Case) -> bool:
    return case.parameters.openmp is not None or case.parameters.allocator not in (None, allocator.RETAIN)


def _others(case: Case, default: Case) -> Iterator[tuple[str, Any]]:
    """What differs from the default, and is neither a variable, nor a CPU, nor a line."""
    for name in ("framework", "environment", "dtype", "batch_size", "execution", "compile_mode"):
        value, usual = getattr(case.parameters, name), getattr(default.parameters, name)
        if name == "environment" and value != usual:  # that which nobody names has a name all the same
            value, usual = case.environment, default.environment
        own_line = name in ("execution", "compile_mode") and case.parameters.framework == "pytorch"
        if value != usual and not own_line:
            yield name, value


def _lines(case: Case) -> Iterator[str]:
    parameters = case.parameters
    threads = (parameters.intra_op_threads, parameters.inter_op_threads)
    for call, count in zip(_THREADS.get(parameters.framework, ()), threads, strict=False):
        if count is not None:
            yield call.format(count)
    if parameters.flush_denormals is not None:
        yield f"torch.set_flush_denormal({parameters.flush_denormals})"
    if parameters.onednn is not None and parameters.framework in ("pytorch", "keras-torch"):
        yield f"torch.backends.mkldnn.set_flags({parameters.onednn})"
    if parameters.framework == "pytorch" and parameters.execution == COMPILED:
        mode = f", mode={parameters.compile_mode!r}" if parameters.compile_mode else ""
        yield f"model = torch.compile(model{mode})"
