"""Real data through PyTorch's DataLoader; images are decoded by Pillow, as torchvision does by default."""

from typing import Any, Iterator, List, Tuple

import numpy
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from .. import hardware, images
from ..data import Items
from ..problem import Problem

Example = Tuple[torch.Tensor, torch.Tensor]


class ImageFiles(Dataset):  # type: ignore[type-arg]
    def __init__(self, paths: List[str], labels: "numpy.ndarray", size: int) -> None:
        self.paths, self.labels, self.size = paths, labels, size

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, place: int) -> Example:
        pixels = torch.from_numpy(images.decoded(self.paths[place], self.size))
        return pixels, torch.tensor(self.labels[place])


def batches(problem: Problem, items: Items, forever: bool) -> Iterator[Example]:
    """Batches on the CPU. Decoding goes to processes of its own where there is more than one CPU."""
    dataset: Any
    if isinstance(items.inputs, list):
        dataset = ImageFiles(items.inputs, items.labels, problem.item_shape[-1])
    else:
        dataset = TensorDataset(torch.from_numpy(items.inputs), torch.from_numpy(items.labels))
    workers = len(hardware.usable_cpus()) - 1 if items.are_files else 0
    loader = DataLoader(
        dataset,
        problem.parameters["batch_size"],
        shuffle=forever,
        drop_last=forever,
        num_workers=workers,
        persistent_workers=forever and workers > 0,
        pin_memory=problem.on_gpu,
        generator=torch.Generator().manual_seed(problem.parameters["seed"] + problem.group.rank),
    )
    yield from loader
    while forever:
        yield from loader
