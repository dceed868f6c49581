"""Run by hand_written.py with the Python of a framework: operators of hpcbench, and the same calls written by hand.

PYTHONPATH=node.pyz python hand_written_loops.py FRAMEWORK

Prints one JSON object: the ratios of the two medians by operator, ours over those of the loop.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
from hpcbench_carried.node import frameworks
from hpcbench_carried.node.launch.ranks import Ranks
from hpcbench_carried.node.launch.rendezvous import Group
from hpcbench_carried.node.measurement.stopping_rules import Settings
from hpcbench_carried.node.measurement.timing import measure
from hpcbench_carried.node.workload import problem

ROUNDS = 30  # so many that those in which the machine changes its speed do not count
SECONDS = 0.1  # of each measurement
SETTINGS = Settings(precision=1e-9, min_measurements=7, min_time_s=SECONDS, max_time_s=SECONDS, max_warmup_s=0.05)
SIZES: dict[str, dict[str, int]] = {
    "add": {"size": 65536},
    "gemm": {"m": 256, "n": 256, "k": 256},
    "softmax": {"rows": 256, "columns": 1024},
    "conv2d": {"n": 8, "c_in": 32, "h": 28, "w": 28, "c_out": 32},
}


class Loop(NamedTuple):
    """A call in a framework, without hpcbench."""

    call: Callable[[], Any]
    wait: Callable[[Any], Any]  # until the result of a call is there


def _random(*shape: int) -> Any:
    return numpy.random.default_rng(0).standard_normal(shape, dtype=numpy.float32)


def arrays() -> dict[str, Any]:
    """Return the arguments of each operator; images and filters in PyTorch's order."""
    image, filters = _random(8, 32, 28, 28), _random(32, 32, 3, 3)
    return {
        "add": (_random(65536), _random(65536)),
        "gemm": (_random(256, 256), _random(256, 256)),
        "softmax": (_random(256, 1024),),
        "conv2d": (image, filters),
    }


def of_pytorch() -> dict[str, Loop]:
    import torch

    functions: dict[str, Any] = {
        "add": torch.add,
        "gemm": torch.matmul,
        "softmax": lambda x: torch.softmax(x, 1),
        "conv2d": lambda x, w: torch.nn.functional.conv2d(x, w, padding=1),
    }

    def loop(name: str, function: Any) -> Loop:
        given = [torch.from_numpy(array) for array in arrays()[name]]
        return Loop(lambda: function(*given), lambda result: None)

    return {name: loop(name, function) for name, function in functions.items()}


def of_jax() -> dict[str, Loop]:
    import jax

    functions: dict[str, Any] = {
        "add": jax.numpy.add,
        "gemm": jax.numpy.matmul,
        "softmax": lambda x: jax.nn.softmax(x, axis=1),
        "conv2d": lambda x, w: jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
    }

    def loop(name: str, function: Any) -> Loop:
        compiled, given = jax.jit(function), [jax.device_put(array) for array in _channels_last(name)]
        return Loop(lambda: compiled(*given), jax.block_until_ready)

    return {name: loop(name, function) for name, function in functions.items()}


def of_tensorflow() -> dict[str, Loop]:
    import tensorflow as tf

    functions: dict[str, Any] = {
        "add": lambda x, y: x + y,
        "gemm": lambda a, b: tf.matmul(a, b),
        "softmax": lambda x: tf.nn.softmax(x),
        "conv2d": lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"),
    }

    def loop(name: str, function: Any) -> Loop:
        graph, given = tf.function(function, autograph=False), [tf.constant(array) for array in _channels_last(name)]
        return Loop(lambda: graph(*given), lambda result: None)  # on CPUs, a graph returns with its result

    return {name: loop(name, function) for name, function in functions.items()}


def _channels_last(name: str) -> Any:
    given = arrays()[name]
    return (given[0].transpose(0, 2, 3, 1).copy(), given[1].transpose(2, 3, 1, 0).copy()) if name == "conv2d" else given


EXECUTIONS = {"pytorch": "eager", "jax": "compiled", "tensorflow": "graph"}
LOOPS = {"pytorch": of_pytorch, "jax": of_jax, "tensorflow": of_tensorflow}


def computation_of(framework: str, name: str) -> Any:
    """Return hpcbench's computation of an operator, as in a case with `task: operator`."""
    parameters = {
        "task": "operator",
        "operator": name,
        "sizes": SIZES[name],
        "phase": "forward",
        "strategy": "single",
        "device": "cpu",
        "dtype": "float32",
        "execution": EXECUTIONS[framework],
        "compile_mode": None,
        "seed": 0,
    }
    return frameworks.load(framework).build(problem.of_case(parameters, Group(Ranks(0, 1))))


def ratios(framework: str, name: str) -> list[float]:
    """Return the ratios of two medians, each of two measurements in turn, with as many calls per measurement.

    Each round has new arrays, because their addresses change the time of short operators by a few percent.
    """
    kept, found = [], []
    for number in range(ROUNDS):
        computation, loop = computation_of(framework, name), LOOPS[framework]()[name]
        kept.append((computation, loop))  # so that the next arrays have other addresses
        with computation.context():  # as users do: they enter inference mode before their loop
            loop.wait(loop.call())
            samples = measure(computation.step, computation.synchronize, SETTINGS)
            their_s = theirs(loop, samples.steps_per_measurement)
            if number % 2:  # what they are compared with is measured before them, or after them
                samples = measure(computation.step, computation.synchronize, SETTINGS)
        found.append(statistics.median(samples.times_s) / their_s)
    return found


def theirs(loop: Loop, calls: int) -> float:
    """Return the median time of a call in s, in measurements of several calls."""
    end_s, times = time.monotonic() + SECONDS, []
    while time.monotonic() < end_s:
        start_s = time.perf_counter()
        for _ in range(calls - 1):
            loop.call()
        loop.wait(loop.call())
        times.append((time.perf_counter() - start_s) / calls)
    return statistics.median(times)


def main() -> None:
    framework = sys.argv[1]
    print(json.dumps({name: ratios(framework, name) for name in SIZES}))


if __name__ == "__main__":
    main()
