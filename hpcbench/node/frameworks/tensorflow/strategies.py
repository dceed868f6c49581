"""Strategies for training one TensorFlow model on several ranks: variables, the context of a step, and gradients."""

from contextlib import nullcontext
from typing import Any, Callable, ContextManager, Dict, List, Tuple

import tensorflow as tf

from ...workload.problem import Problem
from ..horovod import join

Tensor = Any


class Strategy:
    """Training on one rank; the base of the other strategies."""

    def scope(self) -> ContextManager[Any]:
        """Return the context in which variables are created."""
        return nullcontext()

    def run(self, step: Callable[..., Tensor], arguments: Tuple[Tensor, ...]) -> Tensor:
        """Run one step of this rank."""
        return step(*arguments)

    def average(self, gradients: List[Tensor]) -> List[Tensor]:
        """Return the mean of the gradients over the ranks. Called within a step."""
        return gradients

    def leave(self) -> None:
        """Leave the group of ranks. All ranks must call this."""
        return


class MultiWorkerMirrored(Strategy):
    """TensorFlow's MultiWorkerMirroredStrategy. Create it before TensorFlow's first operation."""

    def __init__(self, problem: Problem) -> None:
        group = problem.group
        ports = group.gather(group.claim_port())
        group.reach_without_proxy()
        workers = ["%s:%d" % (member.address, port) for member, port in zip(group.members, ports)]
        # It replaces the variable TF_CONFIG.
        cluster = tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec({"worker": workers}),
            task_type="worker",
            task_id=group.rank,
            num_accelerators={"GPU": 1} if problem.on_gpu else {},  # the only visible one
            rpc_layer="grpc",
        )
        self.strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster)

    def scope(self) -> ContextManager[Any]:
        return self.strategy.scope()

    def run(self, step: Callable[..., Tensor], arguments: Tuple[Tensor, ...]) -> Tensor:
        return self.strategy.run(step, arguments)

    def average(self, gradients: List[Tensor]) -> List[Tensor]:
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, gradients)


class Horovod(Strategy):
    """Gradients averaged by Horovod."""

    def __init__(self, problem: Problem) -> None:
        join(problem)
        import horovod.tensorflow as horovod

        horovod.init()
        self.horovod = horovod

    @tf.function(autograph=False)
    def average(self, gradients: List[Tensor]) -> List[Tensor]:
        """Average as horovod.DistributedGradientTape does; within a function all transfers run concurrently."""
        return [
            self.horovod.allreduce(gradient, op=self.horovod.Average, name="gradient_%d" % place)
            for place, gradient in enumerate(gradients)
        ]

    def leave(self) -> None:
        self.horovod.shutdown()


def parallel(problem: Problem) -> Strategy:
    """Return the strategy of a case."""
    return _STRATEGIES[problem.parameters["strategy"]](problem) if problem.parallel else Strategy()


_STRATEGIES: Dict[str, Callable[[Problem], Strategy]] = {
    "multi_worker_mirrored": MultiWorkerMirrored,
    "horovod": Horovod,
}
