"""Build a module without memory for its large tensors, and without the time that their initial values take."""

from math import prod
from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch
from torch import nn
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.overrides import TorchFunctionMode

# Builders read small tensors back: rates of dropped paths by layer, widths of stages, index tables of windows.
_LARGE = 4096
# Functions of tensors that change values alone, which tensors on `meta` do not have.
_CHANGE_VALUES = {
    *("normal_", "uniform_", "fill_", "zero_", "copy_", "exponential_", "bernoulli_", "random_", "erfinv_"),
    *("mul_", "add_", "sub_", "div_", "clamp_", "constant_", "kaiming_uniform_"),
}
_BY_SIZE = (torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn)
_BY_SIZE_AND_VALUE = (torch.full,)


class LargeOnMeta(TorchFunctionMode):
    """Create tensors of at least 4096 elements on the device `meta`, unless a device is given."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if function is torch.empty_like and args[0].is_meta:  # skip_init creates on `meta` first
            return args[0].detach() if args[0].numel() >= _LARGE else torch.empty(args[0].shape, dtype=args[0].dtype)
        if getattr(function, "__name__", "") in _CHANGE_VALUES:
            changed = args[0] if args else kwargs.get("tensor")  # as torch.nn.init calls it
            if isinstance(changed, torch.Tensor) and changed.is_meta:
                return changed
        if _elements(function, args, kwargs) >= _LARGE and kwargs.get("device") is None:
            kwargs["device"] = "meta"
        return function(*args, **kwargs)


def _elements(function: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> int:
    """Return the number of elements of a tensor that a call creates; 0 if it creates none."""
    if function not in _BY_SIZE and function not in _BY_SIZE_AND_VALUE:
        return 0
    size = kwargs.get("size", args[:1] if function in _BY_SIZE_AND_VALUE else args)
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    return prod(int(each) for each in size) if all(isinstance(each, int) for each in size) else 0


def built_small(build: Callable[[], Any]) -> Any:
    """Return the result of `build`, which makes a module, with large tensors on `meta`.

    If that fails, for example because the builder reads a large tensor, return the result with all its tensors.
    """
    with unset_fake_temporarily():
        try:
            with LargeOnMeta():
                return build()
        except Exception:  # of the builder, by its nature: the second try raises those that are its own
            return build()


def as_fake(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Replace the tensors of a module within a FakeTensorMode, and return the module. Tied weights stay tied.

    The new tensors are on the CPU. Those of numbers have `dtype`.
    """
    known: Dict[int, Tuple[torch.Tensor, torch.Tensor]] = {}

    def fake(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in known:
            kind = dtype if tensor.is_floating_point() else tensor.dtype
            empty = torch.empty_strided(tensor.shape, tensor.stride(), dtype=kind, device="cpu")
            is_weight = isinstance(tensor, nn.Parameter)
            known[id(tensor)] = (tensor, nn.Parameter(empty, tensor.requires_grad) if is_weight else empty)
        return known[id(tensor)][1]

    for each in module.modules():
        places: List[Dict[str, Any]] = [each._parameters, each._buffers]
        for tensors in places:
            for name, tensor in tensors.items():
                if tensor is not None:
                    tensors[name] = fake(tensor)
    return module
