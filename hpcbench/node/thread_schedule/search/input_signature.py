"""The shapes and dtypes of a model's inputs, for the file of a schedule."""

from typing import Any, Dict, Iterator, List, Mapping, Tuple

import torch

from .sections import Step


def inputs_of(model: Any, step: Step) -> List[Dict[str, Any]]:
    """Take a step; return shape and dtype of each tensor of the model's first call, positional ones first."""
    found: List[Dict[str, Any]] = []

    def note(module: Any, inputs: Tuple[Any, ...], named: Mapping[str, Any]) -> None:
        if not found:
            found.extend(_described(tensor) for tensor in _tensors([inputs, named]))

    hook = model.register_forward_pre_hook(note, with_kwargs=True)
    try:
        step()
    finally:
        hook.remove()
    return found


def _described(tensor: torch.Tensor) -> Dict[str, Any]:
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).rpartition(".")[2]}


def _tensors(given: Any) -> Iterator[torch.Tensor]:
    if isinstance(given, torch.Tensor):
        yield given
    elif isinstance(given, Mapping):
        yield from _tensors(list(given.values()))
    elif isinstance(given, (list, tuple)):
        for each in given:
            yield from _tensors(each)
