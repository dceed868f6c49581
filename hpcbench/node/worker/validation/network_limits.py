"""Which networks are validated, and with which step: those of hpcbench, of a library and of the user."""

from dataclasses import replace
from typing import Optional

from ....core.frameworks import BACKWARD
from ...frameworks.adapter import Network
from ...workload.problem import Problem

MOST_WEIGHTS = 30e6  # of a model whose reference is computed: some GB
LOOSE = 0.1  # bounds or tolerances over references, as L2 norms, above which only gross errors would be found


def why_not_alone(problem: Problem) -> Optional[str]:
    """Return why a case has no reference, which is that of one rank in float32; None if it has one."""
    if problem.parallel:
        return "networks are validated with `strategy: single` only"
    if problem.parameters["dtype"] != "float32":
        return "networks are validated in float32 only"
    return None


def why_too_large(network: Network, flops_per_item: float, most_flops: float) -> Optional[str]:
    """Return why a reference would take too much time or memory; None if it does not."""
    flops = flops_per_item * network.problem.parameters["batch_size"]
    if flops > most_flops:
        values = (flops / 1e9, most_flops / 1e9)
        return "too large for the reference: a batch has %.3g GFLOP; the limit is %g GFLOP" % values
    if network.parameter_count > MOST_WEIGHTS:
        return "too large for the reference: the model has more than %d million parameters" % (MOST_WEIGHTS / 1e6)
    return None


def of_one_batch(problem: Problem) -> Problem:
    """Return the problem of one batch of synthetic input, without the update of a training.

    If the case accumulates gradients, a step has this batch twice: their mean has no further rounding errors.
    """
    task = BACKWARD if problem.training else problem.parameters["task"]
    batches = min(problem.batches_per_step, 2)
    optimizer = {**(problem.parameters["optimizer"] or {}), "gradient_accumulation_steps": batches}
    return replace(problem, parameters={**problem.parameters, "task": task, "data": None, "optimizer": optimizer})
