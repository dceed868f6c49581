"""The bytes that the ranks of a strategy exchange in one step.

A rank of n sends as many bytes as it receives. For weights (or gradients) of B bytes this is, each way:

- ring all-reduce: 2 (n - 1) / n B; all-gather and reduce-scatter: (n - 1) / n B (Thakur et al., 2005, "Optimization of
  collective communication operations in MPICH", sections 4.1 and 4.5)
- parameter server: B, because a worker sends its gradients and receives the weights. The servers, which are processes
  of their own, exchange as many bytes in total (Li et al., 2014, "Scaling distributed machine learning with the
  parameter server")
- averaging with the neighbors in a ring: B to each of the two, or to the only one of two ranks

The algorithms are those that the frameworks use on CPUs, read from the bytes of PyTorch 2.13, DeepSpeed 0.19,
Horovod 0.28, TensorFlow 2.21, JAX and MXNet 1.9: Gloo's reduce-scatter, which FSDP uses, sends as much as an
all-reduce, and so does ZeRO stage 1 before it gathers the weights.
"""

from typing import Callable, Dict, NamedTuple

SERVERS = ("kvstore", "kvstore_async")  # strategies with parameter servers, which communicate over TCP also on GPUs


class Exchange(NamedTuple):
    """What the ranks of a case exchange."""

    strategy: str
    ranks: int
    weight_bytes: int  # of all trainable weights
    gradient_bytes: int  # of their gradients, as they are exchanged
    resharded_bytes: int = 0  # of the weights that FSDP gathers once more, in the backward pass
    batches: int = 1  # of one step
    trains: bool = True  # otherwise FSDP only gathers its weights
    on_gpu: bool = False
    period: int = 1  # steps between two exchanges


class Expected(NamedTuple):
    """The bytes that a rank sends in an exchange, and as many that it receives; and the algorithm."""

    bytes: float
    algorithm: str


def expected(exchange: Exchange) -> Expected:
    """Return the bytes that a rank sends, and as many that it receives, in a step with an exchange."""
    return _STRATEGIES.get(exchange.strategy, _all_reduce)(exchange)


def _gathered(size: int, ranks: int) -> float:
    """Return the bytes of one all-gather or reduce-scatter of `size` bytes, each way."""
    return (ranks - 1) / ranks * size


def _all_reduce(exchange: Exchange) -> Expected:
    return Expected(2 * _gathered(exchange.gradient_bytes, exchange.ranks), "ring all-reduce of the gradients")


def _fsdp(exchange: Exchange) -> Expected:
    again = exchange.resharded_bytes if exchange.trains else 0
    gathered = exchange.batches * _gathered(exchange.weight_bytes + again, exchange.ranks)
    if not exchange.trains:
        return Expected(gathered, "all-gather of the weights")
    times, how = (1, "reduce-scatter") if exchange.on_gpu else (2, "Gloo's reduce-scatter (an all-reduce)")
    reduced = times * _gathered(exchange.gradient_bytes, exchange.ranks)
    return Expected(gathered + reduced, "all-gather of the weights, %s of the gradients" % how)


def _zero(exchange: Exchange) -> Expected:
    reduced = 2 * _gathered(exchange.gradient_bytes, exchange.ranks)
    gathered = _gathered(exchange.weight_bytes, exchange.ranks)
    return Expected(reduced + gathered, "ring all-reduce of the gradients, all-gather of the weights")


def _average(exchange: Exchange) -> Expected:
    period = "step" if exchange.period == 1 else "%d steps" % exchange.period
    size = 2 * _gathered(exchange.weight_bytes, exchange.ranks)
    return Expected(size, "ring all-reduce of the weights every %s" % period)


def _neighbors(exchange: Exchange) -> Expected:
    count = min(2, exchange.ranks - 1)
    return Expected(float(count * exchange.weight_bytes), "weights to each neighbor in a ring")


def _server(exchange: Exchange) -> Expected:
    size = (exchange.gradient_bytes + exchange.weight_bytes) / 2
    return Expected(size, "parameter server: gradients to the servers, weights back")


_STRATEGIES: Dict[str, Callable[[Exchange], Expected]] = {
    "fsdp": _fsdp,
    "deepspeed": _zero,
    "local_sgd": _average,
    "neighbors": _neighbors,
    **dict.fromkeys(SERVERS, _server),
}
