"""What a PyTorch model computes: the modules and operations of one forward pass."""

from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Tuple

import torch
from torch import nn
from torch.overrides import TorchFunctionMode


@contextmanager
def observed(module: nn.Module) -> Iterator[List[str]]:
    """Return one line for each operation of the forward passes of `module` within the context.

    A module of PyTorch without children is one operation: path, type, configuration and output shape. All other
    operations are the functions and methods of tensors that the program calls: name and output shape.
    """
    calls, handles = _Calls(), []
    for path, each in module.named_modules():
        if not any(True for _ in each.children()):
            if _is_of_pytorch(each):
                handles.append(each.register_forward_pre_hook(calls.enter))
                handles.append(each.register_forward_hook(calls.leave, always_call=True))
            handles.append(each.register_forward_hook(calls.line(path)))
    try:
        with calls:
            yield calls.lines
    finally:
        for handle in handles:
            handle.remove()


class _Calls(TorchFunctionMode):
    """Lines of the operations outside of PyTorch's own layers, whose functions differ between versions."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: List[str] = []
        self._inside = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        outputs = function(*args, **(kwargs or {}))
        shapes = _shapes(outputs)
        if shapes and not self._inside:
            self.lines.append(" ".join([_name(function), *shapes]))
        return outputs

    def enter(self, module: nn.Module, inputs: Tuple[Any, ...]) -> None:
        """Ignore the functions that a layer calls until it ends."""
        self._inside += 1

    def leave(self, module: nn.Module, inputs: Any, outputs: Any) -> None:
        """Add lines again after a layer has ended, also by an exception."""
        self._inside -= 1

    def line(self, path: str) -> Callable[..., None]:
        """Return a hook that adds the line of a module which has ended."""

        def append(module: nn.Module, inputs: Any, outputs: Any) -> None:
            words = [path, "%s(%s)" % (type(module).__name__, module.extra_repr()), *_shapes(outputs)]
            self.lines.append(" ".join(words))

        return append


def _is_of_pytorch(module: nn.Module) -> bool:
    return type(module).__module__.startswith(("torch.nn.", "torch.ao.nn."))


def _shapes(outputs: Any) -> List[str]:
    """Return the shapes of a tensor, or of the tensors in a tuple or list."""
    found = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    return [str(tuple(each.shape)) for each in found if isinstance(each, torch.Tensor)]


def _name(function: Any) -> str:
    """Return the name of a function or property; the same for `torch.relu`, `x.relu()` and `x.relu_()`."""
    name = str(getattr(function, "__name__", type(function).__name__))
    return function.__self__.__name__ if name == "__get__" else name.strip("_")
