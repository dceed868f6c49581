"""The device of a case."""

from typing import Any

import mxnet as mx

from ...workload.problem import Problem
from .. import capabilities

NO_PEAK_MEMORY = "MXNet does not report its peak memory on the GPU"  # a remark


def device_of(problem: Problem) -> Any:
    """Return this rank's GPU, or the CPU."""
    return mx.gpu(capabilities.own_gpu(problem, mx.context.num_gpus())) if problem.on_gpu else mx.cpu()
