"""The arguments of a call: described as canonical JSON, and copied with their strides."""

import json
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Sequence, Tuple

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

Storages = FrozenSet[int]
_VARYING = "varies"  # a factor that the optimizer computes again in each step


def by_name(function: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """Return the arguments of a call of an operator by the names in its schema."""
    names = [argument.name for argument in function._schema.arguments]
    return {**dict(zip(names, args)), **kwargs}


def described(arguments: Dict[str, Any], weights: Storages, varying: bool) -> str:
    """Return arguments as canonical JSON: tensors by shape, strides and dtype, everything else by value.

    Tensors that are weights are marked. With `varying`, the values of floats are left out.
    """

    def shown(value: Any) -> Any:
        if isinstance(value, Tensor):
            if is_opaque(value):
                return "opaque"
            found = {"shape": list(value.shape), "strides": strides(value), "dtype": dtype_name(value.dtype)}
            return {**found, "weight": True} if is_weight(value, weights) else found
        if isinstance(value, (list, tuple)):
            return [shown(each) for each in value]
        if isinstance(value, float):
            return _VARYING if varying else (value if abs(value) < float("inf") else str(value))
        return value if value is None or isinstance(value, (bool, int, str)) else str(value)

    return json.dumps({name: shown(value) for name, value in arguments.items()}, separators=(",", ":"), sort_keys=True)


def dtype_name(dtype: torch.dtype) -> str:
    """Return `float32` for torch.float32."""
    return str(dtype).rpartition(".")[2]


def strides(tensor: Tensor) -> List[int]:
    """Return the strides of a tensor; none for a layout without strides, such as oneDNN's."""
    return list(tensor.stride()) if tensor.layout is torch.strided else []


def tensors(values: Any) -> Iterator[Tensor]:
    """Yield the tensors in arguments or results, those of lists one by one."""
    return (leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, Tensor))


def written(function: Any, arguments: Dict[str, Any]) -> List[Tensor]:
    """Return the tensors that a call with these arguments by name writes to, by the schema of the operator."""
    changed = [each.name for each in function._schema.arguments if each.alias_info and each.alias_info.is_write]
    return list(tensors([arguments.get(name) for name in changed]))


def storage(tensor: Tensor) -> int:
    """Return a number that tensors with a common storage have in common; 0 without a storage."""
    return int(tensor.untyped_storage()._cdata) if tensor.layout is torch.strided else 0


def storages(found: Iterator[Tensor]) -> Storages:
    """Return the storages of tensors."""
    return frozenset(map(storage, found)) - {0}


def is_weight(tensor: Tensor, weights: Storages) -> bool:
    """Return whether a tensor is a weight, or a view of one."""
    return storage(tensor) in weights


def is_opaque(tensor: Tensor) -> bool:
    """Return whether a tensor is the workspace of a library, such as oneDNN's LSTM: only the library knows its size."""
    return tensor.dtype is torch.uint8 and tensor.dim() == 1


def bytes_of(tensor: Tensor) -> int:
    """Return the bytes of the elements of a tensor; elements that share memory count once, and opaque ones not."""
    return 0 if is_opaque(tensor) else min(tensor.numel(), extent(tensor)) * tensor.element_size()


def extent(tensor: Tensor) -> int:
    """Return how many elements lie between the first and the last element of a tensor in memory, both included."""
    if tensor.layout is not torch.strided or not tensor.numel():
        return tensor.numel()
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))


def copied(values: Any, wanted: Callable[[Tensor], bool] = lambda tensor: True) -> Any:
    """Return arguments with copies of the wanted tensors. A tensor that occurs twice is copied once."""
    copies: Dict[int, Tuple[Tensor, Tensor]] = {}

    def copy(tensor: Tensor) -> Tensor:
        if not wanted(tensor):
            return tensor
        if id(tensor) not in copies:
            copies[id(tensor)] = (tensor, _copy(tensor))
        return copies[id(tensor)][1]

    return pytree.tree_map_only(Tensor, copy, values)


def _copy(tensor: Tensor) -> Tensor:
    """Return a copy with the same strides. Elements that share memory share it in the copy, too."""
    tensor = tensor.detach()
    if tensor.layout is not torch.strided:
        return tensor.clone()
    size = extent(tensor)
    flat = tensor.as_strided((size,), (1,), tensor.storage_offset()).clone()
    return flat.as_strided(tensor.shape, tensor.stride(), 0)
