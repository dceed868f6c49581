"""Calls of operators that can be repeated: their arguments are copies of those that a real step passes.

Values are therefore real: indices are in range, masks are valid, and activations have their distribution. The arguments
of all operators together may need more memory than the step, so they are captured in several steps.
"""

import functools
from typing import Any, Callable, Dict, Iterator, NamedTuple, Sequence, Set, Tuple

from .arguments import Storages, by_name, bytes_of, copied, is_weight, tensors, written
from .listing import Calls, Key, Step

# Bytes of arguments that are copied in one step; beyond them, the next step continues. 1 GiB is small compared
# with the memory of a node, and contains the arguments of most networks.
_CAPTURED_BYTES = 2**30
# Calls after which an operator that changes its arguments gets the captured values again. A decay by 0.9 would end in
# denormals, which are slow: after 800 calls, since 0.9**829 is the smallest normal number of float32.
_RESTORED_AFTER = 200

Call = Callable[[], Any]


class Round(NamedTuple):
    """Calls that follow one another. `size` of them are calls of the operator."""

    calls: Sequence[Call]
    size: int


class Captured(NamedTuple):
    """An operator with the arguments of one real call."""

    key: Key
    function: Any
    arguments: Tuple[Tuple[Any, ...], Dict[str, Any]]
    weights: Sequence[bool]  # whether each tensor of the arguments is a weight

    @property
    def bytes(self) -> int:
        """Return the bytes of all tensors."""
        return sum(map(bytes_of, tensors(self.arguments)))

    @property
    def weight_bytes(self) -> int:
        """Return the bytes of the weights."""
        return sum(bytes_of(tensor) for tensor, weight in zip(tensors(self.arguments), self.weights) if weight)

    def round(self, copies: int, *, weights_only: bool = False) -> Round:
        """Return calls that take turns on copies of all arguments, or with `weights_only` on copies of the weights."""
        changed = self._written()
        wanted = [not weights_only or weight or id(tensor) in changed for tensor, weight in self._tensors()]
        made = [self._call(wanted) for _ in range(copies)]
        if not changed:
            return Round([call for call, _ in made], copies)
        times = max(1, _RESTORED_AFTER // copies)
        return Round([call for call, _ in made] * times + [restore for _, restore in made], copies * times)

    def _tensors(self) -> Iterator[Tuple[Any, bool]]:
        return zip(tensors(self.arguments), self.weights)

    def _call(self, wanted: Sequence[bool]) -> Tuple[Call, Call]:
        """Return a call with copies of the wanted tensors, and what gives those that it changes their values again."""
        by_id = {id(tensor): want for (tensor, _), want in zip(self._tensors(), wanted)}
        args, kwargs = arguments = copied(self.arguments, lambda tensor: by_id[id(tensor)])
        changed = self._written()
        pairs = [(copy, own) for copy, own in zip(tensors(arguments), tensors(self.arguments)) if id(own) in changed]

        def restore() -> None:
            for copy, own in pairs:
                copy.copy_(own)

        return functools.partial(self.function._op, *args, **kwargs), restore  # OpOverload.__call__ takes 1 us more

    def _written(self) -> Set[int]:
        """Return the IDs of the tensors that a call writes to."""
        return set(map(id, written(self.function, by_name(self.function, *self.arguments))))


class _Capture(Calls):
    """A mode that keeps the arguments of the first call with each wanted key."""

    def __init__(self, weights: Storages, wanted: Set[Key]) -> None:
        super().__init__(weights)
        self.found: Dict[Key, Captured] = {}
        self._wanted = wanted
        self._bytes = 0

    def seen(self, key: Key, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        """Copy the arguments of a call."""
        if key not in self._wanted or key in self.found or self._bytes > _CAPTURED_BYTES:
            return
        weights = [is_weight(tensor, self.weights) for tensor in tensors((args, kwargs))]
        made = Captured(key, function, copied((args, kwargs)), weights)
        self.found[key] = made
        self._bytes += made.bytes


def captured(step: Step, wanted: Sequence[Key]) -> Iterator[Captured]:
    """Yield the operators with these keys, with arguments of real steps, which this runs.

    Those that the steps no longer call are left out.
    """
    left = set(wanted)
    while left:
        with _Capture(step.weights(), left) as capture:
            step.run()
        if not capture.found:
            return
        left -= set(capture.found)
        while capture.found:
            yield capture.found.pop(next(iter(capture.found)))
