"""Find modules with independent branches that are faster if the branches compute concurrently.

A step shows the branches: children of a module that all take the module's own input, or the two directions of a
recurrent layer. Each of these modules is then called with that input, its branches sequentially and concurrently. The
results must agree, and the input must not change: otherwise one branch depends on another.
"""

import time
from statistics import median
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence, Set, Tuple

import torch
from torch import nn

from ..branches import ConcurrentBranches
from ..module_paths import is_in
from ..recurrent import directions

TURNS = 5

Step = Callable[[], Any]


class Candidate(NamedTuple):
    """The branches of a module, and the module's inputs in a step."""

    branches: Tuple[str, ...]
    inputs: Tuple[Any, ...]  # of the module in a step


def faster_branches(model: nn.Module, step: Step, threads: int) -> Dict[str, Sequence[str]]:
    """Return the branches that are faster concurrently than sequentially, by the path of their module.

    The concurrent branches share `threads`; sequential ones are timed with as many and with one. Modules inside a
    module that is found are left out.
    """
    modules = dict(model.named_modules())
    found: Dict[str, Sequence[str]] = {}
    before = torch.get_num_threads()
    try:
        for path, candidate in candidates(model, step).items():
            inside = any(is_in(path, outer) for outer in found)
            if not inside and _is_faster(modules[path], candidate, threads):
                found[path] = candidate.branches
    finally:
        torch.set_num_threads(before)
    return found


def candidates(model: nn.Module, step: Step) -> Dict[str, Candidate]:
    """Take a step; return the modules with independent branches by path, outer ones before inner ones."""
    calls = _Calls(model)
    try:
        step()
    finally:
        calls.close()
    return {path: candidate for path in calls.inputs for candidate in calls.candidate(path)}


class _Calls:
    """The inputs of every module of the model in a step."""

    def __init__(self, model: nn.Module) -> None:
        self._modules = dict(model.named_modules())
        self.inputs: Dict[str, List[Tuple[Any, ...]]] = {path: [] for path in self._modules}
        self._hooks = [
            module.register_forward_pre_hook(self._noter(path), with_kwargs=True)
            for path, module in self._modules.items()
        ]

    def _noter(self, path: str) -> Callable[..., None]:
        def note(module: nn.Module, inputs: Tuple[Any, ...], named: Mapping[str, Any]) -> None:
            usable = not named and not torch.is_grad_enabled() and inputs and isinstance(inputs[0], torch.Tensor)
            self.inputs[path].append(inputs if usable else ())

        return note

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def candidate(self, path: str) -> List[Candidate]:
        """Return the independent branches of a module as a list of one candidate; empty without them."""
        inputs = self.inputs[path]
        if len(inputs) != 1 or not inputs[0]:
            return []
        both = directions(self._modules[path])
        branches = both or self._children(path, inputs[0])
        return [Candidate(branches, inputs[0])] if len(branches) > 1 else []

    def _children(self, path: str, inputs: Tuple[Any, ...]) -> Tuple[str, ...]:
        """Return children called once, with the parent's input, that share no module."""
        names: List[str] = []
        parts: Set[int] = set()
        for name, child in self._modules[path].named_children():
            calls = self.inputs.get(path + "." + name if path else name, [])
            alone = len(calls) == 1 and len(calls[0]) == len(inputs) == 1 and calls[0][0] is inputs[0]
            own = {id(part) for part in child.modules()}
            if alone and not own & parts and any(True for _ in child.parameters()):
                names.append(name)
                parts |= own
        return tuple(names)


def _is_faster(module: Any, candidate: Candidate, threads: int) -> bool:
    side_by_side = ConcurrentBranches(module)
    first = candidate.inputs[0]
    times: Dict[Tuple[int, bool], List[float]] = {}
    outputs: Dict[bool, List[torch.Tensor]] = {}
    try:
        with torch.inference_mode():
            kept = first.clone()
            for turn in range(1 + TURNS):  # the first one warms up
                for count, apart in ((1, False), (threads, False), (threads, True)):
                    side_by_side.apply({"": (candidate.branches, threads)} if apart else {})
                    torch.set_num_threads(count)
                    module(*candidate.inputs)  # absorbs the after-effects of earlier calls
                    start = time.perf_counter()
                    outputs[apart] = _tensors(module(*candidate.inputs))
                    if turn:
                        times.setdefault((count, apart), []).append(time.perf_counter() - start)
    finally:
        side_by_side.apply({})
    same = torch.equal(first, kept) and _agree(outputs[False], outputs[True])
    in_turn_s = min(median(times[1, False]), median(times[threads, False]))
    return same and median(times[threads, True]) < in_turn_s


def _tensors(output: Any) -> List[torch.Tensor]:
    if isinstance(output, torch.Tensor):
        return [output]
    return [tensor for each in output for tensor in _tensors(each)] if isinstance(output, (tuple, list)) else []


def _agree(some: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> bool:
    return len(some) == len(others) > 0 and all(_are_close(one, other) for one, other in zip(some, others))


def _are_close(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether results agree except for rounding, which may affect half of the digits in the sums of a layer."""
    if one.shape != other.shape or not (one.is_floating_point() and one.numel()):
        return torch.equal(one, other)
    return bool((one - other).abs().max() <= torch.finfo(one.dtype).eps ** 0.5 * one.abs().max())
