"""Real data through Gluon's DataLoader; images are decoded by Pillow."""

from typing import Any, Iterator, List, Tuple

import numpy
from mxnet.gluon.data import ArrayDataset, DataLoader, Dataset
from mxnet.gluon.data.dataloader import default_batchify_fn

from ...host import hardware
from ...workload import images
from ...workload.data import Items
from ...workload.problem import Problem

Example = Tuple["numpy.ndarray", "numpy.int32"]


class ImageFiles(Dataset):
    """Image files as arrays (3, size, size), with their labels."""

    def __init__(self, paths: List[str], labels: "numpy.ndarray", size: int) -> None:
        self.paths, self.labels, self.size = paths, labels, size

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, place: int) -> Example:
        return images.decoded(self.paths[place], self.size), self.labels[place]


def batches(problem: Problem, items: Items, forever: bool) -> Iterator[Any]:
    """Yield batches on the CPU. Threads decode files if there is more than one CPU.

    Threads suffice, since Pillow releases the GIL; processes would be forked while MXNet's threads run.
    """
    if isinstance(items.inputs, list):
        dataset: Any = ImageFiles(items.inputs, items.labels, problem.item_shape[-1])
    else:
        dataset = ArrayDataset(items.inputs, items.labels)
    loader = DataLoader(
        dataset,
        problem.parameters["batch_size"],
        shuffle=forever,
        last_batch="discard" if forever else "keep",
        num_workers=items.loaders(hardware.usable_cpus()),
        thread_pool=True,
        batchify_fn=default_batchify_fn,  # the default for workers uses shared memory
    )
    yield from loader
    while forever:
        yield from loader
