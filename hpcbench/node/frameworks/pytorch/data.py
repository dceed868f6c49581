"""Real data through PyTorch's DataLoader; images are decoded by Pillow, as torchvision does by default."""

from typing import Any, Dict, Iterator, List, Tuple

import numpy
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from ...host import hardware
from ...workload import images
from ...workload.data import Items
from ...workload.problem import Problem

Example = Tuple[torch.Tensor, torch.Tensor]


class ImageFiles(Dataset):  # type: ignore[type-arg]
    """Image files as tensors (3, size, size), with their labels."""

    def __init__(self, paths: List[str], labels: "numpy.ndarray", size: int) -> None:
        self.paths, self.labels, self.size = paths, labels, size

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, place: int) -> Example:
        pixels = torch.from_numpy(images.decoded(self.paths[place], self.size))
        return pixels, torch.tensor(self.labels[place])


class Pipelines:
    """One loader each for training and validation split: their processes start once, not in every epoch."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._loaders: Dict[bool, Tuple[Items, Any]] = {}

    def batches(self, items: Items, forever: bool) -> Iterator[Example]:
        """Yield batches on the CPU: with `forever`, training data without end; otherwise the validation split, once."""
        if forever not in self._loaders or self._loaders[forever][0] is not items:
            self._loaders[forever] = items, _loader(self.problem, items, forever)
        loader = self._loaders[forever][1]
        yield from loader
        while forever:
            yield from loader


def _loader(problem: Problem, items: Items, training: bool) -> "DataLoader[Example]":
    """Return a loader. Processes decode files if there is more than one CPU."""
    dataset: Any
    if isinstance(items.inputs, list):
        dataset = ImageFiles(items.inputs, items.labels, problem.item_shape[-1])
    else:
        dataset = TensorDataset(torch.from_numpy(items.inputs), torch.from_numpy(items.labels))
    workers = items.loaders(hardware.usable_cpus())
    return DataLoader(
        dataset,
        problem.parameters["batch_size"],
        shuffle=training,
        drop_last=training,
        num_workers=workers,
        persistent_workers=workers > 0,
        pin_memory=problem.on_gpu,
        generator=torch.Generator().manual_seed(problem.parameters["seed"] + problem.group.rank),
    )
