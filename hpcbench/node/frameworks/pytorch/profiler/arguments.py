"""The arguments of a call: described as canonical JSON, and copied with their strides."""

import json
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Sequence, Tuple

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

Storages = FrozenSet[int]
_VARYING = "varies"  # a factor that the optimizer computes again in each step
# Listed one by one. Fused optimizers have lists of all weights, and readers refuse lines over 1 MiB.
_MOST_TENSORS = 500
# Workspaces of libraries, of which only the library knows the content and the size: arguments by operator, and
# operators that return some. They are one-dimensional and of bytes.
_WORKSPACES = {
    "mkldnn_rnn_layer_backward": ("workspace",),
    "_cudnn_rnn": ("dropout_state",),
    "_cudnn_rnn_backward": ("dropout_state", "reserve"),
    "miopen_rnn": ("dropout_state",),
    "miopen_rnn_backward": ("dropout_state", "reserve"),
    "cudnn_batch_norm_backward": ("reserveSpace",),
    "_batch_norm_impl_index_backward": ("reservedSpace",),
    "batch_norm_backward": ("reserve",),
}
_RETURN_WORKSPACES = {
    *("mkldnn_rnn_layer", "_cudnn_rnn", "miopen_rnn", "_cudnn_init_dropout_state"),
    *("cudnn_batch_norm", "_batch_norm_impl_index", "_batch_norm_with_update"),
}


def by_name(function: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """Return the arguments of a call of an operator by the names in its schema."""
    names = [argument.name for argument in function._schema.arguments]
    return {**dict(zip(names, args)), **kwargs}


def described(function: Any, arguments: Dict[str, Any], weights: Storages, varying: bool) -> str:
    """Return the arguments of an operator as canonical JSON: tensors by shape, strides and dtype, all else by value.

    Tensors that are weights are marked, and workspaces of libraries are `opaque`. Lists of over 500 tensors are
    described by their number, their elements in total and their dtypes. With `varying`, values of floats are left out.
    """
    opaque = workspaces(function, arguments)

    def shown(value: Any) -> Any:
        if isinstance(value, Tensor):
            if id(value) in opaque:
                return "opaque"
            found = {"shape": list(value.shape), "strides": strides(value), "dtype": dtype_name(value.dtype)}
            return {**found, "weight": True} if is_weight(value, weights) else found
        if isinstance(value, (list, tuple)):
            several = [each for each in value if isinstance(each, Tensor)]
            if len(several) > _MOST_TENSORS:
                dtypes = sorted({dtype_name(each.dtype) for each in several})
                return {"tensors": len(several), "elements": sum(map(Tensor.numel, several)), "dtypes": dtypes}
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


def workspaces(function: Any, arguments: Dict[str, Any], results: Sequence[Tensor] = ()) -> FrozenSet[int]:
    """Return the IDs of the tensors of a call that are workspaces of a library, such as oneDNN's LSTM."""
    name = function._overloadpacket.__name__
    found = [arguments.get(each) for each in _WORKSPACES.get(name, ())]
    found += results if name in _RETURN_WORKSPACES else ()
    return frozenset(id(each) for each in tensors(found) if each.dtype is torch.uint8 and each.dim() == 1)


def bytes_of(tensor: Tensor) -> int:
    """Return the bytes of the elements of a tensor; elements that share memory count once."""
    return min(tensor.numel(), extent(tensor)) * tensor.element_size()


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
