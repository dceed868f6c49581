"""The rows of a profile."""

import json
from dataclasses import replace
from statistics import median
from typing import Any, Iterator, Optional, Sequence, Tuple

from .....core.profiling.operator_row import FORWARD, FUSED, IDLE, NETWORK, OperatorRow
from ....measurement.stopping_rules import interval
from ..network import PyTorchNetwork
from .compiled_kernels import Kernel, is_view
from .in_network import InNetwork, Profiled
from .in_stream import StreamTime
from .kinds import VIEW, kind_of
from .listing import Key, Listed

VIEW_REASON = "view: it shares the storage of its input, and computes nothing"
KERNEL_REASON = "a kernel of a compiled network is not measured alone"
GONE_REASON = "later steps did not call it with these arguments"


def of_network(
    network: PyTorchNetwork,
    step_times_s: Sequence[float],
    profiled: Profiled,
    in_turn: Optional[StreamTime] = None,
    measured_s: Tuple[Optional[float], Optional[float]] = (None, None),
) -> OperatorRow:
    """Return the row of the whole step: its median time as the case has measured it, from start to end `measured_s`.

    `in_turn` is its time in turn with steps whose operators were timed.
    """
    parameters, work = network.problem.parameters, network.work
    flops = work.flops_per_item * work.items_per_step if work.flops_per_item and work.items_per_step else None
    low_s, high_s = interval(step_times_s) or (None, None)
    return OperatorRow(
        kind=NETWORK,
        operator=NETWORK,
        phase=FORWARD,
        arguments=_json({name: parameters[name] for name in ("model", "model_options", "batch_size", "task")}),
        dtype=parameters["dtype"],
        flops=flops,
        hot_s=median(step_times_s),
        hot_low_s=low_s,
        hot_high_s=high_s,
        measurements=len(step_times_s),
        in_network_s=profiled.step_s,
        in_network_calls=len(profiled.kept),
        measured_start_s=measured_s[0],
        measured_end_s=measured_s[1],
        **(in_turn._asdict() if in_turn else {}),
    )


def of_idle() -> OperatorRow:
    """Return the row of the idle device."""
    return OperatorRow(kind=IDLE, operator=IDLE, phase=FORWARD, arguments="{}", calls_per_step=0)


def of_operator(listed: Listed, inside: Optional[InNetwork], **fields: Any) -> OperatorRow:
    """Return the row of an operator with its times, or with the `reason` why it has none."""
    return OperatorRow(
        kind=listed.kind,
        operator=listed.key.operator,
        phase=listed.key.phase,
        arguments=listed.key.arguments,
        dtype=listed.dtype,
        calls_per_step=listed.calls,
        flops=listed.flops,
        bytes_moved=listed.bytes_moved,
        weight_bytes=listed.weight_bytes,
        in_network_s=inside.mean_s if inside else None,
        in_network_calls=inside.calls if inside else None,
        **fields,
    )


def of_kernels(kernels: Sequence[Kernel]) -> Iterator[OperatorRow]:
    """Yield a row for each kernel of a compiled step."""
    for kernel in kernels:
        library, _, name = kernel.name.partition("::")
        dimensions = max(map(len, kernel.shapes), default=2) - 2
        view = bool(name) and is_view(kernel.name)
        yield OperatorRow(
            kind=VIEW if view else kind_of(name, dimensions) if name else FUSED,
            operator="%s.%s" % (library, name) if name else kernel.name,
            phase=kernel.phase,
            arguments=_json({"shapes": list(kernel.shapes)}),
            members=kernel.members,
            calls_per_step=kernel.inside.calls_per_step,
            in_network_s=kernel.inside.mean_s,
            in_network_calls=kernel.inside.calls,
            reason=VIEW_REASON if view else KERNEL_REASON,
        )


def on(device: str, row: OperatorRow) -> OperatorRow:
    """Return a row with its device."""
    return replace(row, device=device)


def key_of(row: OperatorRow) -> Key:
    """Return the key of the row of an operator."""
    return Key(row.operator, row.phase, row.arguments)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
