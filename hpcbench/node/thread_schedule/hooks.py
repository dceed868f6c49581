"""Hooks on the module where a section begins, in forward and backward."""

from typing import Any, Callable, Iterator, List

from .forward_override import IN_FORCE

FORWARD, BACKWARD = "forward", "backward"


def on_begin(module: Any, phase: str, begin: Callable[[], None]) -> List[Any]:
    """Return hooks that call `begin` when a section of this module begins, until they are removed."""
    if phase == FORWARD:
        return [module.register_forward_pre_hook(_OfForward(begin))]
    active = _Active()
    return [module.register_forward_hook(_OfBackward(begin, active)), active]


class _OfForward:
    """A hook on a module, which copies of the module share."""

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin

    def __call__(self, module: Any, inputs: Any) -> None:
        self._begin()

    def __deepcopy__(self, memo: Any) -> "_OfForward":
        return self

    def __reduce__(self) -> Any:
        raise TypeError(IN_FORCE)


class _OfBackward(_OfForward):
    """A hook on a module that places hooks on the tensors of its output."""

    def __init__(self, begin: Callable[[], None], active: "_Active") -> None:
        super().__init__(begin)
        self._active = active

    def __call__(self, module: Any, inputs: Any, output: Any = None) -> None:
        first = _First(self._begin, self._active)  # the loss may depend on any of them
        for tensor in _with_gradient(output):
            tensor.register_hook(first)


class _Active:
    """A flag: whether the hooks on tensors are active: graphs may outlive the hooks on modules."""

    on = True

    def remove(self) -> None:
        self.on = False


class _First:
    """A hook on all tensors of an output: their first gradient begins the section."""

    def __init__(self, begin: Callable[[], None], active: _Active) -> None:
        self._begin, self._active, self._begun = begin, active, False

    def __call__(self, gradient: Any) -> None:
        if self._active.on and not self._begun:
            self._begun = True
            self._begin()


def _with_gradient(output: Any) -> Iterator[Any]:
    """Yield the outputs of a module that may get a gradient, except weights, which would keep hooks."""
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (tuple, list)):
        for each in output:
            yield from _with_gradient(each)
    elif getattr(output, "grad_fn", None) is not None:
        yield output
