"""The memory that autograd keeps between forward and backward pass."""

from typing import Any, Callable, Dict, Iterable

import torch


def saved_bytes(forward: Callable[[], Any], others: Iterable[torch.Tensor]) -> int:
    """Return the bytes of all storages that `forward`, which returns a loss, saves for its backward pass.

    A storage counts once, and whole. Those of the tensors `others`, such as weights and inputs, do not count.
    """
    known = {tensor.untyped_storage().data_ptr() for tensor in others}
    sizes: Dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = forward()  # while it exists, no storage can get the address of another one
    del loss
    return sum(sizes.values())
