"""The kernels of a compiled step: those that the compiler made of several operators, and calls of libraries.

TorchInductor names a kernel after its operators: `cpp_fused_add_relu_0`. Kernels of several graphs may have one name,
so that of their graph comes first: `graph_0_cpp_fused_add_relu_0`. On CPUs, kernels are visible to the profiler only
if they were compiled for it, so the step is compiled again.
"""

import json
import re
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence

import torch
from torch._C._autograd import DeviceType

from .....core.profiling.operator_row import BACKWARD, FORWARD, OPTIMIZER
from .in_network import InNetwork, Profiled, in_network, parents, seconds
from .listing import COMPOSITE, VIEWS

_FUSED = re.compile(r"(graph_\d+_)?((?:cpp|triton_[a-z]+)_fused_(\w+?)(?:_\d+)?)\Z")

_GRAPH = re.compile(r"## Call CompiledFxGraph (\w+) ##\Z")


class Kernel(NamedTuple):
    """A kernel of a compiled step."""

    name: str
    phase: str
    members: Sequence[str]  # the operators of a fused kernel; none for a call of a library
    shapes: Sequence[Any]  # of the arguments, for a call of a library
    inside: InNetwork


@contextmanager
def visible_kernels(is_compiled: bool) -> Iterator[None]:
    """Compile within the context so that torch.profiler shows the kernels of the CPU, named after their operators.

    Such kernels are slower. Other networks with the same modules would use them, so that on leaving, all are discarded.
    """
    if not is_compiled:
        yield
        return
    from torch._inductor import config

    torch._dynamo.reset()
    try:
        with config.patch({"cpp.enable_kernel_profile": True, "cpp.descriptive_names": "original_aten"}):
            yield
    finally:
        torch._dynamo.reset()


def kernels_of(profile: Profiled) -> List[Kernel]:
    """Return the kernels of compiled steps with their times, in the order of their first calls."""
    times: Dict[_Place, List[float]] = {}
    graphs: Dict[str, int] = {}
    for event in _on_host(profile.events):
        if _is_kernel(event) and not any(map(_is_kernel, parents(event))):
            times.setdefault(_place(event, graphs), []).append(seconds(event))
    return [_kernel(place, in_network(each, profile)) for place, each in times.items()]


class _Place(NamedTuple):
    """What distinguishes kernels."""

    name: str
    phase: str
    members: str  # joined by underscores; empty for a call of a library
    shapes: str  # JSON


def _on_host(events: Sequence[Any]) -> Iterator[Any]:
    """Yield the events of the host, which have the times of what they launched, and others only if these lack them.

    A kernel of Triton is there twice: on the host and, without parents, on the device.
    """
    on_host = {event.name for event in events if event.device_type == DeviceType.CPU}
    return (event for event in events if event.device_type == DeviceType.CPU or event.name not in on_host)


def _place(event: Any, graphs: Dict[str, int]) -> _Place:
    """Return the place of a kernel. `graphs` has the numbers of the graphs so far, in the order of the steps."""
    fused = _FUSED.match(event.name)
    if not fused:
        return _Place(event.name, _phase(event), "", json.dumps(event.input_shapes))
    prefix, name, members = fused.groups()
    around = (_GRAPH.match(parent.name) for parent in parents(event))
    graph = prefix or next((match.group(1) for match in around if match), "")
    return _Place("graph_%d_%s" % (graphs.setdefault(graph, len(graphs)), name), _phase(event), members, "[]")


def _is_kernel(event: Any) -> bool:
    if _FUSED.match(event.name):
        return True
    return re.match(r"[a-z_]\w*::\w+\Z", event.name) is not None and not _is_composite(event.name)


@lru_cache(maxsize=None)
def _is_composite(name: str) -> bool:
    """Return whether an operator, such as `aten::linear`, only calls others, which are listed instead."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return any(has_kernel(each, COMPOSITE) for each in _overloads().get(name, ()))


@lru_cache(maxsize=None)
def is_view(name: str) -> bool:
    """Return whether an operator, such as `aten::detach`, describes the same memory in another way."""
    library, _, base = name.partition("::")
    overloads = [each.partition(".")[2] or "default" for each in _overloads().get(name, ())]
    packet = getattr(getattr(torch.ops, library), base) if overloads else None
    return base in VIEWS or any(getattr(packet, overload).is_view for overload in overloads)


@lru_cache(maxsize=None)
def _overloads() -> Dict[str, List[str]]:
    """Return the overloads of each operator by its name: `aten::add.Tensor` for `aten::add`."""
    found: Dict[str, List[str]] = {}
    for each in torch._C._dispatch_get_all_op_names():
        found.setdefault(each.partition(".")[0], []).append(each)
    return found


def _kernel(place: _Place, inside: InNetwork) -> Kernel:
    members = members_of(place.members) if place.members else ()
    return Kernel(place.name, place.phase, members, json.loads(place.shapes), inside)


def _phase(event: Any) -> str:
    around = [parent.name for parent in parents(event)]
    if any(name.startswith("autograd::engine") for name in around):
        return BACKWARD
    return OPTIMIZER if any(name.startswith("Optimizer.step") for name in around) else FORWARD


def members_of(joined: str) -> Sequence[str]:
    """Return the operators in the name of a kernel: `_softmax` and `add` of `_softmax_add`.

    Names of operators contain underscores, too: the longest known name comes first.
    """
    words, known, members = joined.split("_"), _overloads(), []
    while words:
        ends = range(len(words), 0, -1)
        end = next((end for end in ends if "aten::" + "_".join(words[:end]) in known), 1)
        name = "_".join(words[:end])
        members += [name] if name else []
        words = words[end:]
    return members
