"""How a setting is used outside hpcbench: variables before the program starts, and lines in it."""

from __future__ import annotations

from hpcbench.node import variables
from hpcbench.plan.case import Case

_THREADS = {
    "pytorch": ("torch.set_num_threads({})", "torch.set_num_interop_threads({})"),
    "keras-torch": ("torch.set_num_threads({})", "torch.set_num_interop_threads({})"),
    "tensorflow": (
        "tf.config.threading.set_intra_op_parallelism_threads({})",
        "tf.config.threading.set_inter_op_parallelism_threads({})",
    ),
    "keras-tensorflow": (
        "tf.config.threading.set_intra_op_parallelism_threads({})",
        "tf.config.threading.set_inter_op_parallelism_threads({})",
    ),
}


def environment(case: Case, default: Case) -> dict[str, str]:
    """The variables that the setting needs, and the default does not, before the program starts."""
    before = variables.for_worker(default.parameters.planned(), {})
    after = variables.for_worker(case.parameters.planned(), {})
    return {name: value for name, value in after.items() if before.get(name) != value}


def lines(case: Case) -> tuple[str, ...]:
    """What to call in the program, before its first operation."""
    parameters = case.parameters
    threads = (parameters.intra_op_threads, parameters.inter_op_threads)
    calls = _THREADS.get(parameters.framework, ())
    return tuple(call.format(count) for call, count in zip(calls, threads, strict=False) if count is not None)
