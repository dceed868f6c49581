"""Check whether the machine supports a case, with the same messages in every adapter."""

from typing import List, Optional, Sequence, Tuple

from ..errors import Unsupported
from ..host import cpuinfo, gpus
from ..workload.problem import Problem


def check_gpus(problem: Problem, visible: Sequence[str], framework: str) -> None:
    """Raise Unsupported unless each task of the node has a GPU, if the case needs one. All ranks must call this."""
    if not problem.on_gpu:
        return
    own = gpus.identity(own_gpu(problem, len(visible))) if visible else None
    chosen = problem.all_ranks.gather(own)
    if not visible:
        raise Unsupported("a GPU is requested, but %s finds none on this node" % framework)
    if own is None:
        _check_count(problem, len(visible))
        return
    sharing = [rank for rank in problem.all_ranks.local_ranks if chosen[rank] == own]
    if len(sharing) > 1:
        values = (", ".join(map(str, sharing)), len(problem.all_ranks.local_ranks), len(visible))
        raise Unsupported(
            "ranks %s would share a GPU: %d tasks on this node need one each, and %d are visible" % values
        )


def _check_count(problem: Problem, visible: int) -> None:
    """Raise Unsupported if there are too few GPUs, for GPUs without an identity."""
    tasks = len(problem.all_ranks.local_ranks)
    if visible < tasks and not (problem.all_ranks.bound and visible == 1):  # srun may show each task its own
        raise Unsupported("%d tasks on this node request a GPU each, but %d are visible" % (tasks, visible))


def own_gpu(problem: Problem, visible: int) -> int:
    """Return the index of this rank's GPU: 0 if srun shows each task one GPU, otherwise by local rank."""
    return problem.all_ranks.local_rank % visible


def check_cpu_dtype(problem: Problem, dtypes: Sequence[str]) -> None:
    """Raise Unsupported unless the framework (`dtypes`) and the CPU compute in the dtype of the case."""
    dtype = problem.parameters["dtype"]
    if dtype not in dtypes:
        known: List[str] = list(dtypes)
        raise Unsupported("this framework computes in %s here, not in %s" % (" or ".join(known), dtype))
    if dtype != "float32" and not cpuinfo.computes_in(dtype):
        raise Unsupported("this CPU has no %s arithmetic (%s)" % (dtype, cpuinfo.model()))


def check_gpu_dtype(problem: Problem, capability: Optional[Tuple[int, int]], name: str) -> None:
    """Raise Unsupported if the GPU called `name` cannot compute in the dtype of the case.

    `capability` is CUDA's (major, minor). With None (unknown, or not NVIDIA) nothing is refused.
    """
    if problem.parameters["dtype"] == "bfloat16" and capability is not None and capability < (8, 0):
        raise Unsupported("%s has no bfloat16 arithmetic" % name)


def refuse_unscaled_float16(problem: Problem) -> None:
    """Raise Unsupported for training in float16, for frameworks whose adapter does not scale losses."""
    if problem.training and problem.parameters["dtype"] == "float16":
        raise Unsupported("training in float16 needs loss scaling, which this adapter leaves to pytorch")
