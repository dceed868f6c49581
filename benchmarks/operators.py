"""The accuracy of the operator profiler: `make bench-operators`, seven minutes; run nothing else at the same time.

- The sum of the operators of a step, as a profile times them, is compared with whole steps, which alternate with timed
  ones. The networks are those of configs/experiments/profile.yaml. What is missing is framework overhead.
- Medians of operators alone are compared with those of torch.utils.benchmark.
- Medians of `task: operator` are compared with those of hand-written loops, in three frameworks (hand_written.py).

It prints a row per network and operator, and exits with 1 if one is outside the limits.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hand_written
import torch
from ratios import Limits, row
from torch.utils.benchmark import Timer

from hpcbench.config.experiment import load_experiment
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.config.yaml_document import load_yaml
from hpcbench.node.frameworks import load
from hpcbench.node.frameworks.pytorch.profiler.in_stream import StreamTimer
from hpcbench.node.frameworks.pytorch.profiler.listing import Key
from hpcbench.node.frameworks.pytorch.profiler.replay import Captured, Round
from hpcbench.node.frameworks.pytorch.profiler.step import observable, step_of
from hpcbench.node.frameworks.pytorch.profiler.timers import CpuTimer
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.measurement.stopping_rules import Settings
from hpcbench.node.worker.validation.retained_memory import retained
from hpcbench.node.workload.problem import of_case
from hpcbench.plan.case import Case, expand

EXPERIMENT = Path(__file__).parents[1] / "configs" / "experiments" / "profile.yaml"
SECONDS_OF_NETWORK = 8.0  # steps and timed steps in turn: at least eight of each in the slowest network
FEWEST_PAIRS = 8
ROUNDS = 30  # of an operator, so many that those in which the machine changes its speed do not count
SECONDS = 0.1  # of each measurement of an operator
# Lengths of torch's blocks. Before each, Python code evicts the operator from the caches of the core, so short blocks
# are too slow; long ones have an interrupt, or another process, in them. hpcbench's take some 100 us, without a pause.
BLOCKS_S = (3e-4, 1e-3, 3e-3)
SETTINGS = Settings(precision=1e-9, min_measurements=7, min_time_s=SECONDS, max_time_s=SECONDS, max_warmup_s=0.02)


INFERENCE, ALONE = Limits(0.9, 1.1), Limits(0.98, 1.02)


def networks() -> Iterator[bool]:
    """Print a row for each network; yield whether it is within its limits."""
    document = load_yaml(EXPERIMENT)
    for case in expand(load_experiment(document), document, SlurmOptions()).cases:
        torch.set_num_threads(case.parameters.cpus_per_task)
        name, task = case.parameters.model, case.parameters.task
        yield row(f"{task}: {name}", sums(case), INFERENCE if task == "inference" else None)


def sums(case: Case) -> list[float]:
    """Return the ratios of the sum of all operators of a step to a whole step next to it."""
    network: Any = load("pytorch").build(of_case(case.parameters.planned(), Group(Ranks(0, 1))))
    whole, timer = step_of(network), StreamTimer(step_of(observable(network)))
    ratios: list[float] = []
    end_s = time.monotonic() + SECONDS_OF_NETWORK
    while time.monotonic() < end_s or len(ratios) < FEWEST_PAIRS:
        before_s = seconds(whole.run)
        parts_s = timer.once()
        if parts_s is None:
            raise SystemExit(f"{case.parameters.model}: the steps do not call the same operators")
        after_s = seconds(whole.run)
        ratios.append(2 * sum(parts_s) / (before_s + after_s))
    network.close()
    return ratios


def seconds(run: Callable[[], Any]) -> float:
    """Return the time of a call in s."""
    start_s = time.perf_counter()
    run()
    return time.perf_counter() - start_s


def operators() -> Iterator[bool]:
    """Print a row for each operator alone; yield whether it is within the limits."""
    cpu_timer = CpuTimer()
    with torch.inference_mode(), retained():  # otherwise, malloc may return memory to Linux in only one of the loops
        for name, (function, *arguments) in examples().items():
            weights = [isinstance(each, torch.Tensor) for each in arguments].count(True) * [False]
            captured = Captured(Key(str(function), "forward", "{}"), function, (tuple(arguments), {}), weights)
            yield row(f"alone: {name}", alone(captured.round(1), cpu_timer), ALONE)


def alone(calls: Round, cpu_timer: CpuTimer) -> list[float]:
    """Return the ratios of the two medians, ours over theirs, each of two measurements in turn.

    Theirs is the shortest median over several lengths of blocks, since each length can only add time: the blocks of
    `blocked_autorange`, some milliseconds, make medians of short operators 3 % longer, and 20 % under load.
    """
    known = {"given": calls.calls[0]}
    timer = Timer("call()", "call = given", globals=known, num_threads=torch.get_num_threads())  # a local name is fast

    def ours() -> float:
        return statistics.median(cpu_timer.times_s(calls, SETTINGS))

    def theirs() -> float:
        return min(map(their_median, numbers))

    def their_median(number_of_calls: int) -> float:
        end_s, times = time.monotonic() + SECONDS / len(numbers), []
        while time.monotonic() < end_s:
            times.append(timer.timeit(number_of_calls).median)
        return statistics.median(times)

    each_s = ours()
    numbers = {max(1, round(length_s / each_s)) for length_s in BLOCKS_S}
    found = []
    for number in range(ROUNDS):
        if number % 2:
            found.append(ours() / theirs())
        else:
            their_s = theirs()
            found.append(ours() / their_s)
    return found


def examples() -> dict[str, tuple[Any, ...]]:
    """Return operators with their arguments, from 2 us to 10 ms."""
    aten, some = torch.ops.aten, torch.randn
    image, filters = some(8, 64, 28, 28), some(64, 64, 3, 3)
    shape = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    return {
        "relu of 1 kB": (aten.relu.default, some(256)),
        "add of 64 kB": (aten.add.Tensor, some(16384), some(16384)),
        "gelu of 1 MB": (aten.gelu.default, some(512, 512)),
        "copy of 64 MB": (aten.clone.default, some(4096, 4096)),
        "softmax of 256 x 1024": (aten._softmax.default, some(256, 1024), -1, False),
        "layer norm of 1024 x 256": (
            aten.native_layer_norm.default,
            some(1024, 256),
            [256],
            some(256),
            some(256),
            1e-5,
        ),
        "sum of 1 MB": (aten.sum.default, some(512, 512)),
        "product of 16 x 16": (aten.mm.default, some(16, 16), some(16, 16)),
        "product of 128 x 128": (aten.mm.default, some(128, 128), some(128, 128)),
        "product of 512 x 512": (aten.mm.default, some(512, 512), some(512, 512)),
        "8 products of 64 x 64": (aten.bmm.default, some(8, 64, 64), some(8, 64, 64)),
        "convolution, 1 image": (aten.convolution.default, image[:1], filters, None, *shape),
        "convolution, 8 images": (aten.convolution.default, image, filters, None, *shape),
        "pooling": (aten.max_pool2d_with_indices.default, image, [2, 2], [2, 2]),
        "embedding": (aten.embedding.default, some(8192, 256), torch.arange(1024)),
    }


def main() -> None:
    print("sum of the operators over the whole step, in the same process")
    results = [*networks()]
    print("median of an operator alone over that of torch.utils.benchmark")
    results += operators()
    print("median of `task: operator` over that of a hand-written loop of the same framework")
    results += hand_written.compared()
    raise SystemExit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
