"""The modules that FSDP shards one by one."""

from typing import Any, Dict, Iterator, List, Set, Tuple

from torch import nn

from .layers import Residual

_BLOCKS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer, Residual)


def units(model: nn.Module) -> List[nn.Module]:
    """Return the modules to shard separately, in the order of the model; the rest of the model is one more unit.

    They are the blocks of the shipped models and of nn.Transformer, the modules that a model of transformers names
    (`_no_split_modules`), otherwise the blocks that repeat: two or more of one type in one container. A module inside
    another one of them, or with weights that another module shares, is not sharded separately.
    """
    named: Set[str] = set(getattr(model, "_no_split_modules", None) or ())
    every = list(model.named_modules())
    found = [(path, each) for path, each in every if isinstance(each, _BLOCKS) or type(each).__name__ in named]
    homes = _paths_of_weights(model)
    kept: List[str] = []
    modules = []
    for path, each in found or _repeated(model, ""):
        if not any(path.startswith(outer + ".") for outer in kept) and not _shares_weights(each, path, homes):
            kept.append(path)
            modules.append(each)
    return modules


def _paths_of_weights(model: nn.Module) -> Dict[int, List[str]]:
    """Return the paths of each weight; a shared weight has several."""
    paths: Dict[int, List[str]] = {}
    for path, weight in model.named_parameters(remove_duplicate=False):
        paths.setdefault(id(weight), []).append(path)
    return paths


def _shares_weights(module: nn.Module, path: str, homes: Dict[int, List[str]]) -> bool:
    own = [home for weight in module.parameters() for home in homes[id(weight)]]
    return not all(home.startswith(path + ".") for home in own)


def _repeated(module: nn.Module, path: str) -> Iterator[Tuple[str, nn.Module]]:
    prefix = path + "." if path else ""
    children: List[Tuple[str, Any]] = [(prefix + name, each) for name, each in module.named_children()]
    blocks = [type(each) for _, each in children if _is_block(each)]
    for name, child in children:
        if isinstance(module, (nn.Sequential, nn.ModuleList)) and blocks.count(type(child)) > 1:
            yield name, child
        else:
            yield from _repeated(child, name)


def _is_block(module: nn.Module) -> bool:
    """Return whether a module has modules of its own and a forward pass, which lists of modules do not have."""
    return any(True for _ in module.children()) and not isinstance(module, (nn.ModuleList, nn.ModuleDict))
