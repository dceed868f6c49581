"""Run in an environment of JAX: what its compiled steps do with their arrays, as JSON for test_jax.py.

A question to answering.py: jax_networks FRAMEWORK QUESTION [STRATEGY]; QUESTION is a function of this file.
"""

import os
import socket
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock

import jax
import numpy
from hpcbench_carried.models.layers import BatchNorm, Conv, Dense, Dropout, GlobalAvgPool, Relu
from hpcbench_carried.node.errors import Unsupported
from hpcbench_carried.node.frameworks.jax import data, devices, strategies
from hpcbench_carried.node.measurement import timing
from hpcbench_carried.node.measurement.stopping_rules import Settings
from hpcbench_carried.node.workload import problem
from hpcbench_carried.node.workload.data import Items
from probing import adapter_of, case, own_group

RANKS, STEPS = 2, 3
LAYERS = [Conv(8, (3, 3)), BatchNorm(), Relu(), GlobalAvgPool(), Dropout(0.5), Dense(3)]


def state(adapter, parameters):
    """`learning_rate` is so small that only the random and the running state can change what comes out."""
    asked = case(optimizer={"name": "momentum", "learning_rate": 1e-20}, **parameters)
    network = adapter.build(Images(**{**vars(asked), "layers": LAYERS, "item_shape": (3, 8, 8)}))
    inputs, labels = next(network._batches)
    first = network.to_numpy(network.predict(inputs))
    weight = network._weights[0]
    losses = [float(network.to_numpy(network.learn([(inputs, labels)]))) for _ in range(STEPS)]
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


def synchronized(adapter, parameters):
    """Most results that were not ready when the time was read, and all results, by what was timed.

    The compiled functions are replaced by some whose results are ready only after they have been waited for.
    """
    found = {}
    sizes = {"rows": 4, "inputs": 9, "outputs": 6}
    for phase in ("forward", "both"):
        asked = {"task": "operator", "operator": "linear", "sizes": sizes, "phase": phase}
        computation = adapter.build(case(model=None, **asked, **parameters))
        count = len(computation.request.wanted)
        device = Device()
        computation.call._compiled = lambda *_, device=device, count=count: tuple(device.launch(count))
        found[phase] = device.times(computation.step, computation.synchronize)
    network, device = adapter.build(case(task="inference", **parameters)), Device()
    network._predict = lambda *_: device.launch(1)[0]
    found["inference"] = device.times(network.infer, network.synchronize)
    network, trainer = adapter.build(case(**parameters)), Device()
    count = len(network._weights)
    network._learn = lambda _, state, rest, batches: (trainer.launch(count), state, rest, trainer.launch(1)[0])
    found["training"] = trainer.times(network.train, network.synchronize)
    return found


class Device:
    """A device that runs its calls in their order, each only when one of its results, or a later one, is waited for."""

    def __init__(self):
        self.results, self.unready, self.reads = 0, [], []

    def launch(self, count):
        """Return the results of another call."""
        call, self.results = [Late(self) for _ in range(count)], self.results + count
        self.unready.append(call)
        return list(call)

    def finish(self, result):
        """Make the results of all earlier calls ready, and this one."""
        place = next((at for at, call in enumerate(self.unready) if result in call), None)
        if place is not None:
            self.unready[: place + 1] = [[each for each in self.unready[place] if each is not result]]

    def read(self):
        self.reads.append(sum(map(len, self.unready)))
        return time.monotonic()

    def times(self, step, synchronize):
        """Time a step with this clock, and return the most results that were not ready, and all results."""
        timing.measure(step, synchronize, Settings(0.5, 2, 0.01, 0.02, 0.0), timer=self.read)
        return {"late": max(self.reads), "results": self.results}


class Late:
    """A result that is not ready when its function returns."""

    def __init__(self, device):
        self.device = device

    def block_until_ready(self):
        self.device.finish(self)
        return self


def ranks(adapter, parameters):
    """The weights after a few steps: of `RANKS` processes together, or of one that has the batches of all of them."""
    group = own_group()
    together = group.size > 1
    asked = case(group=group, **parameters)
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
        "another": adapter.is_out_of_memory(jax.errors.JaxRuntimeError("INVALID_ARGUMENT: shapes differ")),
        "another_resource": adapter.is_out_of_memory(
            jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 110592")
        ),
        "of_another_kind": adapter.is_out_of_memory(RuntimeError(str(exhausted))),
    }


def free_memory(adapter, parameters):
    """The free memory of a device that reports these statistics, by `gpu`; of any device, by `cpu`."""
    found = []
    for reported in ({"bytes_limit": 10, "bytes_in_use": 4}, {"bytes_in_use": 4}, None):
        device = SimpleNamespace(memory_stats=lambda reported=reported: reported)
        free = adapter.operator.free_device_bytes
        with mock.patch.object(devices, "own", return_value=device):
            found.append([free(SimpleNamespace(on_gpu=on_gpu)) for on_gpu in (True, False)])
    return found


def loaders(adapter, parameters):
    """Which CPUs decode images, and in how many threads, where XLA's threads have one."""
    seen = {}

    def decoded(path, size):
        seen[threading.get_ident()] = sorted(os.sched_getaffinity(0))
        time.sleep(0.01)  # or the first thread would have done it before the next one starts
        return numpy.zeros((3, size, size), numpy.float32)

    items = Items(["a.png"] * 64, numpy.zeros(64, numpy.int32))
    asked = replace(case(**parameters), item_shape=(3, 8, 8))
    with mock.patch.object(data.images, "decoded", decoded):
        next(data.batches(asked, items, forever=True))
    main = seen.pop(threading.get_ident(), sorted(os.sched_getaffinity(0)))
    return {"task": devices.cpus_of_task(), "main": main, "threads": list(seen.values())}


def names(adapter, parameters):
    """What is said of ranks on this machine and another, by the address that the other's name has there."""
    own = Path("/proc/sys/kernel/random/boot_id").read_text()
    with mock.patch.object(socket, "gethostbyname", return_value="10.0.0.1"):  # a second machine cannot be had
        return {
            "one machine": refusal(own, "127.0.1.1"),
            "two machines": refusal("another", "10.0.0.2"),
            "loopback": refusal("another", "127.0.1.1"),
            "unknown": refusal("another", "unknown"),
        }


def refusal(machine, address):
    try:
        strategies._check_own_names(WithAnother((machine, "n2", address)))
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


def main(framework, what, strategy="single"):
    parameters = {"framework": framework, "execution": "compiled", "batch_size": 4, "strategy": strategy}
    return globals()[what](adapter_of(framework), parameters)
