"""List the operators of one step: each distinct call at the level of aten, with its number of calls.

`operators_of` runs the step on fake tensors, which have shapes but no data, with the dispatch of the real device. It
therefore needs neither the time nor the memory of the step. A kernel without a fake implementation runs on zeros.
"""

import copy
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from .....core.profiling.operator_row import BACKWARD, FORWARD, OPTIMIZER
from .arguments import (
    Storages,
    by_name,
    bytes_of,
    described,
    dtype_name,
    is_weight,
    storages,
    tensors,
    workspaces,
    written,
)
from .flops import Flops
from .kinds import VIEW, kind_of

COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
_NO_OPERATORS = ("prim", "profiler")  # namespaces of calls that compute nothing
# Views that the schemas do not mark: they return another tensor with the same memory.
VIEWS = ("_unsafe_view", "_reshape_alias", "lift_fresh", "detach_")
# Of these tables, a call reads as many rows as it returns.
_LOOKUPS = ("embedding",)
# These overwrite their first argument without reading it.
_OVERWRITING = (
    *("copy_", "fill_", "zero_", "_foreach_copy_", "_foreach_zero_"),
    *("bernoulli_", "normal_", "uniform_", "random_", "exponential_"),
)


class Key(NamedTuple):
    """What distinguishes calls: those with equal keys take the same time."""

    operator: str  # with its overload: aten.add.Tensor
    phase: str
    arguments: str  # canonical JSON


class Listed(NamedTuple):
    """A distinct call of a step."""

    key: Key
    kind: str
    calls: int
    dtype: Optional[str]  # of the first output
    flops: Optional[int]
    bytes_moved: int
    weight_bytes: int
    output_bytes: int
    is_view: bool  # whether it only describes memory in another way


class Step(NamedTuple):
    """A step of a model: how to run it, and which tensors are weights after the first one."""

    run: Callable[[], Any]
    weights: Callable[[], Storages]


class AtenCalls(TorchDispatchMode):
    """A mode that passes each call of an operator of aten to `call`, which runs it.

    Compositions of operators are taken apart, as PyTorch does without a mode. One difference remains: with a mode, the
    autograd engine and linear layers add up results by `add`, otherwise sometimes by `add_`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_composite: Dict[Any, bool] = {}

    def call(self, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Run an operator, and return its result."""
        raise NotImplementedError

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function.namespace in _NO_OPERATORS:
            return function(*args, **kwargs)
        if function not in self._is_composite:
            has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
            self._is_composite[function] = has_kernel(function.name(), COMPOSITE)
        if self._is_composite[function]:
            with self:
                return function._op_dk(COMPOSITE, *args, **kwargs)
        return self.call(function, args, kwargs)


class Calls(AtenCalls):
    """A mode that passes each call of an operator to `seen`, with its key and arguments, before it runs."""

    def __init__(self, weights: Storages) -> None:
        super().__init__()
        self.weights = weights
        self._went_back = False

    def seen(self, key: Key, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        """Take note of a call that will run."""

    def ran(self, key: Key, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], output: Any) -> None:
        """Take note of a call that has run."""

    def call(self, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Run an operator between `seen` and `ran`."""
        phase = self._phase()
        arguments = described(function, by_name(function, args, kwargs), self.weights, varying=phase == OPTIMIZER)
        key = Key(str(function), phase, arguments)
        self.seen(key, function, args, kwargs)
        output = function(*args, **kwargs)
        self.ran(key, function, args, kwargs, output)
        return output

    def _phase(self) -> str:
        if torch._C._current_graph_task_id() != -1:  # the autograd engine calls
            self._went_back = True
            return BACKWARD
        return OPTIMIZER if self._went_back and not torch.is_grad_enabled() else FORWARD


class _Listing(Calls):
    """A mode that counts the calls with each key."""

    def __init__(self, weights: Storages) -> None:
        super().__init__(weights)
        self.found: Dict[Key, Listed] = {}
        self._flops = Flops()

    def ran(self, key: Key, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], output: Any) -> None:
        """Count a call."""
        known = self.found.get(key)
        self.found[key] = (
            known._replace(calls=known.calls + 1) if known else self._listed(key, function, args, kwargs, output)
        )

    def _listed(self, key: Key, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], output: Any) -> Listed:
        name = function._overloadpacket.__name__
        inputs, outputs = list(tensors((args, kwargs))), list(tensors(output))
        named = by_name(function, args, kwargs)
        opaque = workspaces(function, named, outputs)
        known = [tensor for tensor in outputs if id(tensor) not in opaque]
        output_bytes = sum(map(bytes_of, known))
        sizes = {id(tensor): bytes_of(tensor) for tensor in inputs if id(tensor) not in opaque}
        if name in _LOOKUPS:
            sizes[id(inputs[0])] = output_bytes
        is_view = function.is_view or name in VIEWS
        own = {id(tensor) for tensor in inputs if is_weight(tensor, self.weights)}
        return Listed(
            key=key,
            kind=VIEW if is_view else kind_of(name, _dimensions(named), named.get("mode", 0)),
            calls=1,
            dtype=dtype_name(outputs[0].dtype) if outputs else None,
            flops=self._flops.of_call(function, args, kwargs, output),
            bytes_moved=_bytes_moved(function, named, sizes, known),
            weight_bytes=sum(size for place, size in sizes.items() if place in own),
            output_bytes=output_bytes,
            is_view=is_view,
        )


def _bytes_moved(
    function: Any, arguments: Dict[str, Any], read: Dict[int, int], outputs: Sequence[torch.Tensor]
) -> int:
    """Return the bytes that a call reads and writes; an array that it changes counts twice.

    `read` has the bytes to read of each input, by its ID.
    """
    name = function._overloadpacket.__name__
    if name.startswith("_fused_") and arguments.get("grad_scale") is None:  # by the schema, it writes gradients, too
        arguments = {**arguments, "grads": None}
    changed = {id(tensor): tensor for tensor in written(function, arguments)}
    overwritten = tensors(arguments.get("self") if name in _OVERWRITING else arguments.get("out"))
    not_read = sum(read.get(place, 0) for place in {id(tensor) for tensor in overwritten})
    own = storages(iter(changed.values()))
    new = [tensor for tensor in outputs if id(tensor) not in changed and not is_weight(tensor, own)]
    return sum(read.values()) - not_read + sum(map(bytes_of, [*changed.values(), *new]))


def _dimensions(arguments: Dict[str, Any]) -> int:
    """Return the dimensions of a convolution; 0 if there is no tensor of weights."""
    weight = arguments.get("weight")
    return weight.dim() - 2 if isinstance(weight, torch.Tensor) else 0


def operators_of(module: nn.Module, inputs: Any, prepare: Callable[[nn.Module, Any], Step]) -> List[Listed]:
    """Return the operators of a step of a module, in the order of their first calls, without running the step.

    `inputs` are tensors or collections of them. `prepare` takes the module and the inputs as fake tensors, and returns
    the step. The module is not changed. Raise an error of PyTorch if the step depends on the values of tensors, for
    example by a test for infinite gradients.
    """
    mode = FakeTensorMode()
    fakes: Dict[int, Any] = {id(buffer): mode.from_tensor(buffer) for buffer in module.buffers()}
    for weight in module.parameters():
        fakes[id(weight)] = nn.Parameter(mode.from_tensor(weight.detach()), weight.requires_grad)
    fake_inputs = pytree.tree_map_only(torch.Tensor, mode.from_tensor, inputs)
    with mode:
        step = prepare(copy.deepcopy(module, fakes), fake_inputs)
        step.run()  # the first step creates the state of the optimizer
        return listed(step)


def listed(step: Step) -> List[Listed]:
    """Return the operators of a step, in the order of their first calls, by running it."""
    with _Listing(step.weights()) as listing:
        step.run()
    return list(listing.found.values())


def weights_of(module: nn.Module, optimizer: Optional[torch.optim.Optimizer]) -> Storages:
    """Return the storages that persist from step to step: weights, buffers, and the state of the optimizer."""
    state = tensors(list(optimizer.state.values())) if optimizer else iter(())
    return storages(iter([*module.parameters(), *module.buffers(), *state]))
