"""The placement of a case's arrays and the compilation of its steps: on one device, or over all ranks' devices."""

import socket
from typing import Any, Callable, List

import jax
import numpy
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...errors import Unsupported
from ...launch.rendezvous import Group, is_loopback
from ...workload.problem import Problem
from . import devices as jax_devices

Arrays = List[jax.Array]


def strategy(problem: Problem) -> "Strategy":
    """Join the ranks, and return the strategy of a case. Call this before any use of a device."""
    platform = "gpu" if problem.on_gpu else "cpu"
    return DataParallel(problem, platform) if problem.parallel else Strategy(platform)


class Strategy:
    """One rank that does not communicate; the base of the other strategies."""

    def __init__(self, platform: str) -> None:
        self.device = jax_devices.own(platform)

    def shared(self, arrays: Any) -> Any:
        """Place a tree of arrays that are equal on all ranks."""
        return jax.device_put(arrays, self.device)

    def own(self, arrays: Arrays) -> Arrays:
        """Place arrays that differ between ranks."""
        return self.shared(arrays)

    def batch(self, array: Any) -> jax.Array:
        """Place this rank's share of a batch."""
        return self.shared(array)

    def mean(self, gradients: Arrays) -> Arrays:
        """Return the mean of gradients over the ranks. Called within a step."""
        return gradients

    def training(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Compile `step`, in place: (weights, state, rest, batches) -> (weights, state, rest, loss)."""
        return jax.jit(step, donate_argnums=(0, 1, 2))

    def inference(self, step: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
        """Compile `step`: (weights, rest, inputs) -> logits of the batch."""
        return jax.jit(step)


class DataParallel(Strategy):
    """Every rank has all weights and a share of the batch, on its one device.

    Each array spans all ranks: weights are replicated; arrays that differ have one row per rank, in their first axis.
    """

    def __init__(self, problem: Problem, platform: str) -> None:
        _join(problem)
        self.device = jax_devices.own(platform)
        devices = jax.devices(platform)
        self.mesh = Mesh(numpy.array(devices), (_RANKS,))
        self.ranks = len(devices)

    def shared(self, arrays: Any) -> Any:
        return jax.tree.map(lambda array: self._placed(array, array.shape, _SAME), arrays)

    def own(self, arrays: Arrays) -> Arrays:
        return [self._placed(array[None], (self.ranks, *array.shape), _OWN) for array in arrays]

    def batch(self, array: Any) -> jax.Array:
        return self._placed(array, (self.ranks * len(array), *array.shape[1:]), _OWN)

    def mean(self, gradients: Arrays) -> Arrays:
        return jax.lax.pmean(gradients, _RANKS)

    def training(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def of_a_rank(weights: Arrays, state: Any, rest: Arrays, batches: Any) -> Any:
            weights, state, rest, loss = step(weights, state, [row[0] for row in rest], batches)
            return weights, state, [array[None] for array in rest], loss[None]

        taken, given = (_SAME, _SAME, _OWN, _OWN), (_SAME, _SAME, _OWN, _OWN)
        return jax.jit(self._mapped(of_a_rank, taken, given), donate_argnums=(0, 1, 2))

    def inference(self, step: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
        def of_a_rank(weights: Arrays, rest: Arrays, inputs: Any) -> jax.Array:
            return step(weights, [row[0] for row in rest], inputs)

        return jax.jit(self._mapped(of_a_rank, (_SAME, _OWN, _OWN), _OWN))

    def _mapped(self, function: Callable[..., Any], taken: Any, given: Any) -> Callable[..., Any]:
        """Map over ranks, without `check_vma`, which requires declarations of the arrays that differ between ranks."""
        return jax.shard_map(function, mesh=self.mesh, in_specs=taken, out_specs=given, check_vma=False)

    def _placed(self, local: Any, shape: Any, spec: PartitionSpec) -> jax.Array:
        parts = [jax.device_put(local, self.device)]
        return jax.make_array_from_single_device_arrays(shape, NamedSharding(self.mesh, spec), parts)


_RANKS = "ranks"
_SAME, _OWN = PartitionSpec(), PartitionSpec(_RANKS)


def leave() -> None:
    """Leave the group of processes, if it was joined."""
    if jax.distributed.is_initialized():
        jax.distributed.shutdown()


def _join(problem: Problem) -> None:
    """Join the processes by JAX's own service on rank 0, before any of them uses a device."""
    group = problem.group
    if not problem.on_gpu:
        _check_own_names(group)
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    port = group.agree(group.claim_port() if group.rank == 0 else None)
    leader = "%s:%d" % (group.members[0].address, port)
    group.reach_without_proxy()
    jax.distributed.initialize(
        leader,
        num_processes=group.size,
        process_id=group.rank,
        cluster_detection_method="deactivate",  # otherwise it would read Slurm's variables
        coordinator_bind_address=leader,
    )


def _check_own_names(group: Group) -> None:
    """Raise Unsupported if other nodes cannot reach this node's name: gloo in JAX listens at its address."""
    name = socket.gethostname()
    try:
        address = socket.gethostbyname(name)
    except OSError:
        address = "unknown"
    with open("/proc/sys/kernel/random/boot_id") as file:
        found = group.gather((file.read(), name, address))
    several = len({machine for machine, _, _ in found}) > 1
    for _, name, address in found:
        if several and (address == "unknown" or is_loopback(address)):
            raise Unsupported("gloo in JAX listens at the address of the node's name: %s is %s there" % (name, address))
