"""What a case asks of the machine, checked by every adapter in the same words."""

from typing import List, Optional, Sequence, Tuple

from ..errors import Unsupported
from ..host import gpus, hardware
from ..workload.problem import Problem


def check_gpus(problem: Problem, visible: Sequence[str], framework: str) -> None:
    """A GPU for each task of the node, where the case asks for them. All ranks must come. Raises Unsupported."""
    if not problem.on_gpu:
        return
    own = gpus.identity(own_gpu(problem, len(visible))) if visible else None
    chosen = problem.group.gather(own)
    if not visible:
        raise Unsupported("a GPU is asked for, and %s sees none here" % framework)
    if own is None:
        _check_count(problem, len(visible))
        return
    sharing = [rank for rank in problem.group.local_ranks if chosen[rank] == own]
    if len(sharing) > 1:
        told = (", ".join(map(str, sharing)), len(problem.group.local_ranks), len(visible))
        raise Unsupported("ranks %s would share a GPU: each of %d tasks on this node needs one, and sees %d" % told)


def _check_count(problem: Problem, visible: int) -> None:
    """What can be said of GPUs that nothing tells apart."""
    tasks = len(problem.group.local_ranks)
    if visible < tasks and not (problem.group.bound and visible == 1):  # srun may show each task its own
        raise Unsupported("%d tasks on a node ask for a GPU each, and %d can be seen" % (tasks, visible))


def own_gpu(problem: Problem, visible: int) -> int:
    """The index of the rank's GPU: its own where srun shows each task one, else by its place on the node."""
    return problem.group.local_rank % visible


def check_cpu_dtype(problem: Problem, dtypes: Sequence[str]) -> None:
    """Arithmetic of the CPU in the case's number format, among those that the framework has. Raises Unsupported."""
    dtype = problem.parameters["dtype"]
    if dtype not in dtypes:
        known: List[str] = list(dtypes)
        raise Unsupported("this framework computes in %s here, not in %s" % (" or ".join(known), dtype))
    if dtype != "float32" and not hardware.cpu_computes_in(dtype):
        raise Unsupported("this CPU has no %s arithmetic (%s)" % (dtype, hardware.cpu_model()))


def check_gpu_dtype(problem: Problem, capability: Optional[Tuple[int, int]], name: str) -> None:
    """Arithmetic of the GPU called `name` in the case's number format. `capability` is CUDA's, (major, minor); where it
    is None, which is unknown or another maker's, nothing is refused. Raises Unsupported."""
    if problem.parameters["dtype"] == "bfloat16" and capability is not None and capability < (8, 0):
        raise Unsupported("%s has no bfloat16 arithmetic" % name)


def refuse_unscaled_float16(problem: Problem) -> None:
    """For a framework whose adapter scales no losses. Raises Unsupported."""
    if problem.training and problem.parameters["dtype"] == "float16":
        raise Unsupported("training in float16 needs loss scaling, which this adapter leaves to pytorch")
