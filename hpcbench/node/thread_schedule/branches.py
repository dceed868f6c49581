"""Compute independent branches of a module concurrently, each on its own thread with an equal share of the threads.

Branches are the two directions of a recurrent layer, or children of a module that all take the module's own input. If
they cannot compute concurrently (gradients, autocast, packed sequences, tracing, a GPU), the module's own forward is
called.
"""

import weakref
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import torch
from torch import nn
from torch.utils._device import DeviceContext

from .children import Children
from .forward_override import ForwardOverride
from .recurrent import Directions, directions
from .thread_pools import Run, ThreadPools

Wanted = Mapping[str, Tuple[Sequence[str], int]]  # by the path of a module: its branches, and threads for all of them


def why_not(module: nn.Module, branches: Sequence[str]) -> Optional[str]:
    """Return why a module does not have these branches, as a predicate after its name; None if it has them."""
    if tuple(branches) == directions(module):
        return None
    missing = set(branches) - {name for name, _ in module.named_children()}
    return "has no branch %s" % min(missing) if missing else None


class ConcurrentBranches:
    """The modules of a model whose branches compute concurrently."""

    def __init__(self, model: nn.Module) -> None:
        self._model = weakref.ref(model)  # an unused model can be freed, even if a schedule was applied to it
        self._apart: List[_Apart] = []
        self._lanes: Dict[Tuple[int, int], ThreadPools] = {}
        self._wanted: Wanted = {}

    def apply(self, wanted: Wanted) -> None:
        """Let the branches of these modules, and of no others, compute concurrently."""
        if wanted == self._wanted:
            return
        self._wanted = dict(wanted)
        try:
            self._take_off()
            self._put_on(wanted)
        except BaseException:  # for example, if no more threads can start
            self.apply({})
            raise

    def _take_off(self) -> None:
        while self._apart:
            self._apart.pop().remove()

    def _put_on(self, wanted: Wanted) -> None:
        shapes = {path: _shape(len(branches), threads) for path, (branches, threads) in wanted.items()}
        for shape in set(self._lanes) - set(shapes.values()):  # idle threads, too, affect how long others spin
            self._lanes.pop(shape).close()
        for shape in set(shapes.values()) - set(self._lanes):
            self._lanes[shape] = ThreadPools(*shape)
        model = self._model()
        modules = dict(model.named_modules()) if model is not None else {}
        for path, (branches, _) in wanted.items():
            self._apart.append(_Apart(modules[path], branches, self._lanes[shapes[path]].run))


def _shape(branches: int, threads: int) -> Tuple[int, int]:
    """Return the numbers of concurrent branches and of threads for each."""
    lanes = min(branches, threads)
    return lanes, threads // lanes


class _Apart(ForwardOverride):
    """A module whose branches compute concurrently if possible."""

    def __init__(self, module: nn.Module, branches: Sequence[str], run: Run) -> None:
        self._compute = (
            Directions(module, run)
            if tuple(branches) == directions(module)
            else Children(module, branches, run, module.forward)
        )
        super().__init__(module)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        if self._in_force and not named and _can_part(inputs) and self._compute.takes(*inputs):
            return self._compute(*inputs)
        return self._own(*inputs, **named)

    def remove(self) -> None:
        super().remove()
        self._compute.remove()


def _can_part(inputs: Sequence[Any]) -> bool:
    """Return whether branches may compute in other threads, which inherit no gradients, autocast or modes."""
    first = inputs[0] if inputs else None
    on_cpu = isinstance(first, torch.Tensor) and first.device.type == "cpu"
    return on_cpu and not torch.is_grad_enabled() and not _autocast() and not _intercepted()


def _autocast() -> bool:
    try:
        return torch.is_autocast_enabled("cpu")
    except TypeError:  # PyTorch 2.3
        return torch.is_autocast_cpu_enabled()


def _intercepted() -> bool:
    """Return whether operations of this thread are traced, counted, faked or batched (e.g. torch.export, vmap)."""
    modes = [torch._C._get_function_stack_at(place) for place in range(torch._C._len_torch_function_stack())]
    watching = any(not isinstance(mode, DeviceContext) for mode in modes)
    transformed = torch._C._functorch.peek_interpreter_stack() is not None
    traced = torch._C._get_tracing_state() is not None or torch.compiler.is_compiling()
    return traced or transformed or watching or torch._C._len_torch_dispatch_stack() > 0
