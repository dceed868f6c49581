"""Independent branches of a module, side by side: each on a thread of its own, with an equal part of the threads.

Branches are the two directions of a recurrent layer, or children of a module that all take the module's own input.
Where they cannot compute apart (gradients, autocast, packed sequences, a GPU) the module's own forward is called.
"""

import threading
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import torch
from torch import nn

from .lanes import Lanes, Task

DIRECTIONS = ("forward", "reverse")
_RECURRENT: Tuple[Any, ...] = (nn.LSTM, nn.GRU, nn.RNN)
_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")

Run = Callable[[Sequence[Task]], List[Any]]
Wanted = Mapping[str, Tuple[Sequence[str], int]]  # by the path of a module: its branches, and threads for all of them


def directions(module: nn.Module) -> Optional[Tuple[str, ...]]:
    """The branches of a recurrent layer that reads its input in both directions; None for any other module."""
    own = any(isinstance(module, kind) and type(module).forward is kind.forward for kind in _RECURRENT)
    return DIRECTIONS if own and module.bidirectional else None


def why_not(module: nn.Module, branches: Sequence[str]) -> Optional[str]:
    """Why a module does not have these branches, to be said behind its name; None where it has them."""
    if tuple(branches) == directions(module):
        return None
    missing = set(branches) - {name for name, _ in module.named_children()}
    return "has no branch %s" % min(missing) if missing else None


class SideBySide:
    """Modules of a model whose branches compute side by side."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._apart: Dict[str, _Apart] = {}
        self._lanes: Dict[Tuple[int, int], Lanes] = {}
        self._wanted: Wanted = {}

    def put(self, wanted: Wanted) -> None:
        """Let these modules have their branches side by side, and no others."""
        if wanted == self._wanted:
            return
        for each in self._apart.values():
            each.remove()
        shapes = {path: _shape(len(branches), threads) for path, (branches, threads) in wanted.items()}
        for shape in set(self._lanes) - set(shapes.values()):  # idle threads count, too, for how long others spin
            self._lanes.pop(shape).close()
        for shape in set(shapes.values()) - set(self._lanes):
            self._lanes[shape] = Lanes(*shape)
        modules = dict(self._model.named_modules())
        self._apart = {
            path: _Apart(modules[path], branches, self._lanes[shapes[path]].run)
            for path, (branches, _) in wanted.items()
        }
        self._wanted = dict(wanted)


def _shape(branches: int, threads: int) -> Tuple[int, int]:
    """How many lanes, and threads for each of them."""
    lanes = min(branches, threads)
    return lanes, threads // lanes


class _StandIn:
    """Stands in for the forward of a module."""

    def __init__(self, module: nn.Module) -> None:
        self._module: Any = module
        self._before = module.__dict__.get("forward")
        self._own = module.forward
        self._in_force = True
        module.forward = self.forward

    def forward(self, *inputs: Any, **named: Any) -> Any:
        return self._own(*inputs, **named)

    def remove(self) -> None:
        """Of several on one module, one that was put later stays, and what it calls is the module's own."""
        self._in_force = False
        stands: Any = self._module.__dict__.get("forward")
        while isinstance(getattr(stands, "__self__", None), _StandIn) and not stands.__self__._in_force:
            stands = stands.__self__._before
        if stands is None:
            self._module.__dict__.pop("forward", None)
        else:
            self._module.forward = stands

    def __reduce__(self) -> Any:
        raise TypeError("a schedule is in force on this model: copy or save it before that, or after remove()")


class _Apart(_StandIn):
    """A module with its branches side by side, where they can be."""

    def __init__(self, module: nn.Module, branches: Sequence[str], run: Run) -> None:
        super().__init__(module)
        self._compute = (
            _Directions(module, run)
            if tuple(branches) == directions(module)
            else _Children(module, branches, run, self._own)
        )

    def forward(self, *inputs: Any, **named: Any) -> Any:
        if self._in_force and not named and _can_part(inputs) and self._compute.takes(*inputs):
            return self._compute(*inputs)
        return self._own(*inputs, **named)

    def remove(self) -> None:
        super().remove()
        self._compute.remove()


def _can_part(inputs: Sequence[Any]) -> bool:
    """Whether branches may compute on threads of their own, which inherit neither gradients nor autocast."""
    first = inputs[0] if inputs else None
    on_cpu = isinstance(first, torch.Tensor) and first.device.type == "cpu"
    return on_cpu and not torch.is_grad_enabled() and not _autocast()


def _autocast() -> bool:
    try:
        return torch.is_autocast_enabled("cpu")
    except TypeError:  # PyTorch 2.3
        return torch.is_autocast_cpu_enabled()


class _Directions:
    """A recurrent layer as two for each of its layers, which have the same weights."""

    def __init__(self, module: Any, run: Run) -> None:
        self._module, self._run = module, run
        self._layers = [
            (_one_way(module, layer, ""), _one_way(module, layer, "_reverse")) for layer in range(module.num_layers)
        ]

    def takes(self, *inputs: Any) -> bool:
        return len(inputs) <= 2 and not (self._module.training and self._module.dropout)

    def remove(self) -> None:
        """Nothing stands in the layer itself."""

    def __call__(self, batch: torch.Tensor, state: Any = None) -> Any:
        """Output and last states, as of nn.LSTM, nn.GRU and nn.RNN."""
        time = 1 if self._module.batch_first and batch.dim() == 3 else 0
        states = []
        for layer, ways in enumerate(self._layers):
            width = ways[0].proj_size or ways[0].hidden_size
            # Each way writes its half: to join them here would wake this thread's team, which then spins for a while.
            output = batch.new_empty(*batch.shape[:-1], 2 * width)
            halves = output[..., :width], output[..., width:]
            firsts = [_of(state, 2 * layer + way) for way in (0, 1)]
            states += self._run(
                [
                    partial(_ahead, ways[0], batch, firsts[0], halves[0]),
                    partial(_back, ways[1], batch, firsts[1], halves[1], time),
                ]
            )
            batch = output
        if isinstance(states[0], tuple):
            return batch, tuple(torch.cat(each) for each in zip(*states))
        return batch, torch.cat(states)


def _one_way(module: Any, layer: int, direction: str) -> Any:
    kind = next(kind for kind in _RECURRENT if isinstance(module, kind))
    own = "l%d%s" % (layer, direction)
    more = {"nonlinearity": module.nonlinearity} if kind is nn.RNN else {}
    if module.proj_size:
        more["proj_size"] = module.proj_size
    width = getattr(module, "weight_ih_" + own).shape[1]
    single = kind(width, module.hidden_size, bias=module.bias, batch_first=module.batch_first, device="meta", **more)
    for name in _WEIGHTS:
        if hasattr(single, name + "_l0"):
            setattr(single, name + "_l0", getattr(module, "%s_%s" % (name, own)))
    return single


def _ahead(module: Any, batch: torch.Tensor, state: Any, output: torch.Tensor) -> Any:
    """The last state."""
    found, last = module(batch, state)
    output.copy_(found)
    return last


def _back(module: Any, batch: torch.Tensor, state: Any, output: torch.Tensor, time: int) -> Any:
    found, last = module(batch.flip(time), state)
    output.copy_(found.flip(time))
    return last


def _of(state: Any, place: int) -> Any:
    """One layer's part, of one direction."""
    if state is None:
        return None
    if isinstance(state, tuple):
        return tuple(each[place : place + 1] for each in state)
    return state[place : place + 1]


class _Children:
    """A module whose children find their results ready when it calls them with its own input."""

    def __init__(self, module: nn.Module, branches: Sequence[str], run: Run, own: Callable[..., Any]) -> None:
        children = dict(module.named_children())
        self._branches = [_Branch(children[name]) for name in branches]
        self._run, self._own = run, own

    def takes(self, *inputs: Any) -> bool:
        return len(inputs) == 1

    def __call__(self, batch: torch.Tensor) -> Any:
        results = self._run([partial(branch.forward, batch) for branch in self._branches])
        try:
            for branch, result in zip(self._branches, results):
                branch.keep(batch, result)
            return self._own(batch)
        finally:
            for branch in self._branches:
                branch.drop()

    def remove(self) -> None:
        for branch in self._branches:
            branch.remove()


class _Branch(_StandIn):
    """A child whose result for an input may be there already: of this thread, for others may call the model, too."""

    def __init__(self, child: nn.Module) -> None:
        super().__init__(child)
        self._kept = threading.local()

    def keep(self, batch: torch.Tensor, result: Any) -> None:
        self._kept.of = batch, result

    def drop(self) -> None:
        self._kept.of = None

    def forward(self, *inputs: Any, **named: Any) -> Any:
        kept = getattr(self._kept, "of", None)
        if kept is not None and len(inputs) == 1 and inputs[0] is kept[0] and not named:
            return kept[1]
        return self._own(*inputs, **named)
