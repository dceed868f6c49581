"""Compute both directions of a recurrent layer concurrently."""

from functools import partial
from typing import Any, List, Optional, Tuple

import torch
from torch import nn

from .thread_pools import Run

DIRECTIONS = ("forward", "reverse")
_RECURRENT: Tuple[Any, ...] = (nn.LSTM, nn.GRU, nn.RNN)
_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")


def directions(module: nn.Module) -> Optional[Tuple[str, ...]]:
    """Return the branches of a bidirectional recurrent layer; None for any other module.

    A layer whose weights are recomputed at each step, for example by torch.nn.utils.parametrize, has none.
    """
    own: Any = module if isinstance(module, _RECURRENT) else None
    if own is None or not own.bidirectional or not any(type(own).forward is kind.forward for kind in _RECURRENT):
        return None
    return DIRECTIONS if all(isinstance(weight, nn.Parameter) for weight in _weights(own)) else None


class Directions:
    """A bidirectional recurrent layer as two unidirectional ones for each of its layers, with the same weights."""

    def __init__(self, module: Any, run: Run) -> None:
        self._module, self._run, self._weights = module, run, _weights(module)
        self._layers = [
            (_one_way(module, layer, ""), _one_way(module, layer, "_reverse")) for layer in range(module.num_layers)
        ]

    def takes(self, *inputs: Any) -> bool:
        """Return whether the directions can compute concurrently on these inputs."""
        dropout = self._module.training and self._module.dropout
        return len(inputs) <= 2 and not dropout and self._has_states(*inputs[1:]) and self._are_its_weights()

    def _has_states(self, state: Any = None) -> bool:
        """Return whether there is a state for each direction of each layer; the layer checks the rest."""
        states = state if isinstance(state, tuple) else () if state is None else (state,)
        return not isinstance(state, list) and all(len(each) == 2 * len(self._layers) for each in states)

    def _are_its_weights(self) -> bool:
        """Return whether the layer still has its weights; load_state_dict(..., assign=True), e.g., replaces them."""
        return all(one is other for one, other in zip(self._weights, _weights(self._module)))

    def remove(self) -> None:
        """Do nothing: the layer itself was not changed."""

    def __call__(self, batch: torch.Tensor, state: Any = None) -> Any:
        """Return output and last states as nn.LSTM, nn.GRU and nn.RNN do."""
        time = 1 if self._module.batch_first and batch.dim() == 3 else 0
        states = []
        for layer, ways in enumerate(self._layers):
            width = ways[0].proj_size or ways[0].hidden_size
            # Each direction writes its half: joining them here would wake this thread's team, which would then spin for
            # a while.
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


def _weights(module: Any) -> List[Any]:
    return [weight for layer in module.all_weights for weight in layer]


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
    """Write the output of the forward direction to `output`; return the last state."""
    found, last = module(batch, state)
    output.copy_(found)
    return last


def _back(module: Any, batch: torch.Tensor, state: Any, output: torch.Tensor, time: int) -> Any:
    found, last = module(batch.flip(time), state)
    output.copy_(found.flip(time))
    return last


def _of(state: Any, place: int) -> Any:
    """Return the part of a state for one direction of one layer."""
    if state is None:
        return None
    if isinstance(state, tuple):
        return tuple(each[place : place + 1] for each in state)
    return state[place : place + 1]
