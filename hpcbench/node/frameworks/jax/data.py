"""Real data through Grain, JAX's own library for it; images are decoded by Pillow."""

import os
from typing import Any, Iterator, List, Tuple

import numpy

from ...errors import Unsupported
from ...workload import images
from ...workload.data import Items
from ...workload.problem import Problem
from . import devices

Example = Tuple["numpy.ndarray", "numpy.ndarray"]


class Source:
    """The items one by one, as Grain reads them. With `cpus`, the reading threads run there."""

    def __init__(self, items: Items, size: int, cpus: List[int]) -> None:
        self.items, self.size, self.cpus = items, size, cpus

    def __len__(self) -> int:
        return len(self.items.labels)

    def __getitem__(self, place: int) -> Example:
        if self.cpus:  # otherwise on those to which JAX's main thread is restricted
            os.sched_setaffinity(0, self.cpus)
        item: Any = self.items.inputs[place]
        return images.decoded(item, self.size) if self.items.are_files else item, self.items.labels[place]


def batches(problem: Problem, items: Items, forever: bool) -> Iterator[Example]:
    """Yield batches of arrays. Threads decode files if there is more than one CPU. Raise Unsupported without Grain."""
    try:
        import grain
    except ImportError as error:
        raise Unsupported("real data require Grain, which this environment does not have: %s" % error) from error
    cpus = devices.cpus_of_task()
    threads = items.loaders(cpus)
    dataset = grain.MapDataset.source(Source(items, problem.item_shape[-1], cpus if threads else []))
    if forever:
        dataset = dataset.seed(problem.parameters["seed"] + problem.group.rank).shuffle()
    dataset = dataset.batch(problem.parameters["batch_size"], drop_remainder=forever)
    if forever:
        dataset = dataset.repeat()
    return iter(dataset.to_iter_dataset(grain.ReadOptions(num_threads=threads, prefetch_buffer_size=2 * threads)))
