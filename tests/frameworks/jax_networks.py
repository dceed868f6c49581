"""Run in an environment of JAX: what its compiled steps do with their arrays, as JSON for test_jax.py.

PYTHONPATH=node.pyz python jax_networks.py FRAMEWORK (state | ranks | memory | names) RESULT.json
"""

import json
import os
import socket
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import jax
import numpy
from hpcbench_node import frameworks, problem
from hpcbench_node.frameworks import jax_strategies
from hpcbench_node.group import Group
from hpcbench_node.layers import BatchNorm, Conv, Dense, Dropout, GlobalAvgPool, Relu
from hpcbench_node.outcomes import Unsupported
from hpcbench_node.ranks import Ranks, from_environment

RANKS, STEPS = 2, 3
PARAMETERS = {
    "execution": "compiled",
    "model": "mlp",
    "model_options": {"input_size": 8, "hidden_size": 16, "classes": 3},
    "task": "training",
    "strategy": "single",
    "device": "cpu",
    "dtype": "float32",
    "batch_size": 4,
    "seed": 3,
    "learning_rate": 0.1,
    "data": None,
}
LAYERS = [Conv(8, (3, 3)), BatchNorm(), Relu(), GlobalAvgPool(), Dropout(0.5), Dense(3)]


def state(adapter, parameters):
    """`learning_rate` is so small that only the random and the running state can change what comes out."""
    asked = problem.of_case({**parameters, "learning_rate": 1e-20}, Group(Ranks(0, 1)))
    network = adapter.build(Images(**{**vars(asked), "layers": LAYERS, "item_shape": (3, 8, 8)}))
    inputs, labels = next(network._batches)
    first = network.to_numpy(network.predict(inputs))
    weight = network._weights[0]
    losses = [float(network.to_numpy(network.learn(inputs, labels))) for _ in range(STEPS)]
    later = network.to_numpy(network.predict(inputs))
    of_one = network.to_numpy(network.predict(inputs[:1]))
    network._weights = [jax.numpy.zeros_like(array) for array in network._weights]
    return {
        "old_weights_are_gone": weight.is_deleted(),
        "programs": network._learn._cache_size(),
        "losses": losses,
        "statistics_moved": bool((first != later).any()),
        "an_item_is_inferred_alone": bool(numpy.allclose(of_one, later[:1], rtol=1e-4)),
        "logits_of_no_weights": numpy.abs(network.to_numpy(network.predict(inputs))).max().item(),
    }


def ranks(adapter, parameters):
    """The weights after a few steps: of `RANKS` processes together, or of one that has the batches of all of them."""
    together = "HPCBENCH_RANK" in os.environ
    group = Group(from_environment(os.environ))
    parameters["strategy"] = "data_parallel" if together else "single"
    asked = problem.of_case(parameters, group)
    network = adapter.build(asked if together else AllBatches(**vars(asked)))
    for _ in range(STEPS):
        network.train()
    network.synchronize()
    weights = [weight.tolist() for weight in network.weights()]
    logits = network.to_numpy(network.infer()).shape
    group.gather(None)
    network.close()
    return {"weights": weights, "logits": logits}


def memory(adapter, parameters):
    """Which errors are told from others as a lack of memory."""
    try:
        jax.jit(lambda: jax.numpy.ones((10**7, 10**7)))().block_until_ready()
    except RuntimeError as error:
        exhausted = error
    return {
        "real": adapter.is_out_of_memory(exhausted),
        "another": adapter.is_out_of_memory(RuntimeError("INVALID_ARGUMENT: shapes differ")),
        "of_another_kind": adapter.is_out_of_memory(ValueError("RESOURCE_EXHAUSTED")),
    }


def names(adapter, parameters):
    """What is said of ranks on this machine and another, by the address that the other's name has there."""
    own = Path("/proc/sys/kernel/random/boot_id").read_text()
    socket.gethostbyname = lambda name: "10.0.0.1"  # this machine's; a second one cannot be had
    return {
        "one machine": refusal(own, "127.0.1.1"),
        "two machines": refusal("another", "10.0.0.2"),
        "loopback": refusal("another", "127.0.1.1"),
        "unknown": refusal("another", "unknown"),
    }


def refusal(machine, address):
    try:
        jax_strategies._check_own_names(WithAnother((machine, "n2", address)))
    except Unsupported as error:
        return str(error)
    return None


class WithAnother(NamedTuple):
    told: tuple

    def gather(self, value):
        return [value, self.told]


@dataclass(frozen=True)
class Images(problem.Problem):
    def batch(self):
        _, labels = super().batch()
        return problem.Numbers(1).uniform((len(labels), *self.item_shape), 1.0), labels


@dataclass(frozen=True)
class AllBatches(problem.Problem):
    def batch(self):
        parts = [problem.Problem.batch(replace(self, group=Of(rank))) for rank in range(RANKS)]
        return tuple(numpy.concatenate(arrays) for arrays in zip(*parts, strict=True))


@dataclass
class Of:
    rank: int


if __name__ == "__main__":
    chosen = frameworks.load(sys.argv[1])
    chosen.set_threads(1, None)
    found = globals()[sys.argv[2]](chosen, {**PARAMETERS, "framework": sys.argv[1]})
    Path(sys.argv[3]).write_text(json.dumps(found))
