"""The kernels of a compiled step: those that the compiler made of several operators, and calls of libraries.

TorchInductor names a kernel after its operators: `cpp_fused_add_relu_0`. On CPUs, its kernels are visible to the
profiler only if they were compiled for it, so the step is compiled again.
"""

import re
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Dict, FrozenSet, Iterator, List, NamedTuple, Sequence, Tuple

import torch

from .....core.profiling.operator_row import BACKWARD, FORWARD, OPTIMIZER
from .in_network import InNetwork, Profiled, parents, seconds

_FUSED = re.compile(r"(?:graph_\d+_)?((?:cpp|triton_[a-z]+)_fused_(\w+?)(?:_\d+)?)\Z")


class Kernel(NamedTuple):
    """A kernel of a compiled step."""

    name: str
    phase: str
    members: Sequence[str]  # the operators of a fused kernel; none for a call of a library
    shapes: Sequence[Any]  # of the arguments, for a call of a library
    in_network: InNetwork


@contextmanager
def visible_kernels(is_compiled: bool) -> Iterator[None]:
    """Compile within the context so that torch.profiler shows the kernels of the CPU, named after their operators."""
    if not is_compiled:
        yield
        return
    from torch._inductor import config

    torch._dynamo.reset()
    with config.patch({"cpp.enable_kernel_profile": True, "cpp.descriptive_names": "original_aten"}):
        yield


def kernels_of(profile: Profiled) -> List[Kernel]:
    """Return the kernels of compiled steps with their mean times, in the order of their first calls."""
    times: Dict[Tuple[str, str], List[float]] = {}
    shown: Dict[Tuple[str, str], Any] = {}
    for event in profile.events:
        if _is_kernel(event) and not any(map(_is_kernel, parents(event))):
            place = (event.name, str(event.input_shapes))
            times.setdefault(place, []).append(seconds(event))
            shown[place] = event
    return [_kernel(shown[place], InNetwork(sum(each) / len(each), len(each))) for place, each in times.items()]


def _is_kernel(event: Any) -> bool:
    return bool(_FUSED.match(event.name)) or re.match(r"[a-z_]\w*::\w+\Z", event.name) is not None


def _kernel(event: Any, in_network: InNetwork) -> Kernel:
    fused = _FUSED.match(event.name)
    if not fused:
        return Kernel(event.name, _phase(event), (), event.input_shapes, in_network)
    return Kernel(fused.group(1), _phase(event), members_of(fused.group(2)), (), in_network)


def _phase(event: Any) -> str:
    around = [parent.name for parent in parents(event)]
    if any(name.startswith("autograd::engine") for name in around):
        return BACKWARD
    return OPTIMIZER if any(name.startswith("Optimizer.step") for name in around) else FORWARD


def members_of(joined: str) -> Sequence[str]:
    """Return the operators in the name of a kernel: `_softmax` and `add` of `_softmax_add`.

    Names of operators contain underscores, too: the longest known name comes first.
    """
    words, known, members = joined.split("_"), _operators(), []
    while words:
        ends = range(len(words), 0, -1)
        end = next((end for end in ends if "_".join(words[:end]) in known), 1)
        name = "_".join(words[:end])
        members += [name] if name else []
        words = words[end:]
    return members


@lru_cache(maxsize=None)
def _operators() -> FrozenSet[str]:
    """Return the names of all operators of aten, without overloads."""
    names = torch._C._dispatch_get_all_op_names()
    return frozenset(name[len("aten::") :].partition(".")[0] for name in names if name.startswith("aten::"))
