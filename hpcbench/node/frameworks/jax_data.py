"""Real data through Grain, JAX's own library for it; images are decoded by Pillow."""

from typing import Any, Iterator, Tuple

import numpy

from .. import hardware, images
from ..data import Items
from ..outcomes import Unsupported
from ..problem import Problem

Example = Tuple["numpy.ndarray", "numpy.ndarray"]


class Source:
    """Items one by one, as Grain asks for them."""

    def __init__(self, items: Items, size: int) -> None:
        self.items, self.size = items, size

    def __len__(self) -> int:
        return len(self.items.labels)

    def __getitem__(self, place: int) -> Example:
        item: Any = self.items.inputs[place]
        return images.decoded(item, self.size) if self.items.are_files else item, self.items.labels[place]


def batches(problem: Problem, items: Items, forever: bool) -> Iterator[Example]:
    """Batches of arrays. Items are read by threads where files must be decoded and there is more than one CPU."""
    try:
        import grain
    except ImportError as error:
        raise Unsupported("real data need Grain, and this environment has none: %s" % error) from error
    dataset = grain.MapDataset.source(Source(items, problem.item_shape[-1]))
    if forever:
        dataset = dataset.seed(problem.parameters["seed"] + problem.group.rank).shuffle()
    dataset = dataset.batch(problem.parameters["batch_size"], drop_remainder=forever)
    if forever:
        dataset = dataset.repeat()
    threads = len(hardware.usable_cpus()) - 1 if items.are_files else 0
    return iter(dataset.to_iter_dataset(grain.ReadOptions(num_threads=threads, prefetch_buffer_size=2 * threads)))
